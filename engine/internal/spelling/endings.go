package spelling

import (
	"slices"
	"strings"
)

// endings are the suffixes that inflection and derivation add to stems of the vocabulary, by language, in ascending
// order. A known stem with one of them is no typo; a known stem with a mistyped one is.
var endings = func() map[string][]string {
	all := map[string][]string{}
	for language, list := range map[string]string{
		"ar": "ات ون ين ان ة ه ها هم هن نا كم ك ي ية تي وا تا ته تها",
		"da": "e er en et ene erne ede ende s es r ning ninger else elser lig ligt lige hed heder",
		"de": "e en er em es n s st t te ten tet ter est ung ungen isch ische ischen lich liche lichen ig ige igen keit heit bar los er ern",
		"en": "able ables ably age ages al ally als ance ances ant ants ate ated ates ating ation ational ations ative ator ators e ed en ence ences ency ent ently ents er ers ery es est ful fully ial ially ible ibly ic ical ically icate icated icates ication ications ics ied ier ies iest ified ifies ify ifying ily iness ing ingly ings ion ional ionally ions ise ised iser ises ising ism ist ists ities ity ive ively ives ization izations ize ized izer izes izing less ly ment mental ments ness nesses or ors ory ous ously s ship th ure ures y",
		"es": "s es o a os as ar er ir ando iendo ado ada ados adas ido ida ción ciones mente dad dades ista able ible",
		"fi": "n a ä t ssa ssä sta stä lla llä lta ltä lle ksi na nä ja jä jen ien in en iin inen iset isen minen neet nut nyt taan tään",
		"fr": "s e es er ez ent é ée és ées ant ants ement ements ation ations ait aient eur eurs euse if ive ité ités able ible ique iques",
		"hu": "t ot et öt at k ok ek ök ak ban ben ba be ból ből ra re ról ről nak nek val vel hoz hez ig ért ja je i s os es ás és ás ések ások ni",
		"it": "o a i e are ere ire ato ata ati ate uto ando endo mente zione zioni ità ista isti abile ibile",
		"nl": "e en s er ers t te ten de den d ing ingen heid heden lijk lijke ig ige isch ische",
		"no": "e er en et ene ede ende s es r ing inger else elser lig lige het heter",
		"pt": "s es o a os as ar er ir ando endo indo ado ada ados adas ido ida ção ções mente dade dades ista ável ível",
		"ro": "a ul ului ei e i le lor ilor urilor uri ele elor ea are ate at ată ați ați ând esc ește eam ism iste ist ista ție ții ției tate tăți",
		"ru": "а у ы и о е ом ой ою ам ами ах ов ев ей ого ому ым ыми ый ая ое ые ых ий ия ию ии ием ть ться л ла ло ли ет ут ют ят ешь ение ения ость ости",
		"sv": "a e ar er or en et na n s ade at ande ning ningar else lig liga ligt het heter",
		"tr": "lar ler ları leri ların lerin da de ta te dan den tan ten ı i u ü ın in un ün nın nin a e ya ye la le lık lik luk lük ci cı dır dir mak mek",
	} {
		words := append(strings.Fields(list), "")
		slices.Sort(words)
		all[language] = slices.Compact(words)
	}
	return all
}()
