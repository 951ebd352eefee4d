package text

import (
	"strings"
	"testing"
)

// TestLanguageOf: each language that is told has a text here, and short, mixed or unknown ones have no answer.
func TestLanguageOf(t *testing.T) {
	told := map[string]bool{}
	for text, want := range map[string]string{
		"The bridge was closed after engineers found cracks in a cable of the tower.":                          "en",
		"Der Teig muss zwei Stunden ruhen, bevor er in den Ofen kommt und nicht mehr geht.":                    "de",
		"Le facteur passe plus tard le samedi matin, et il ne sonne pas à la porte.":                           "fr",
		"El volcán expulsó ceniza durante tres días, y los vecinos no pudieron salir de casa.":                 "es",
		"O carteiro passa mais tarde no sábado, e não toca à porta quando ela está aberta.":                    "pt",
		"La farina non si conserva bene se il sacco è aperto, ma questo lo sanno tutti.":                       "it",
		"De postbode komt op zaterdag later en hij belt niet aan als de deur open is.":                         "nl",
		"Brevbäraren kommer senare på lördagar och han ringer inte på när dörren är öppen.":                    "sv",
		"Postbudet kommer senere om lørdagen, og hvad skulle hun også have gjort ved den dør, der nu er åben.": "da",
		"Eg veit ikkje kva han gjer, men hun vet at det ikke er så lett å være ute mens vi går.":               "no",
		"Postinkantaja tulee myöhemmin, koska hän ei ole enää se, joka oli ennen, mutta kun he ovat täällä.":   "fi",
		"A postás szombaton később jön, és nem csenget, ha az ajtó nyitva van, mert ez csak így jó.":           "hu",
		"Poștașul vine mai târziu sâmbăta și nu sună la ușă, dar acest lucru este bine pentru toți.":           "ro",
		"Postacı cumartesi günü daha geç gelir ve kapı açık olsa bile çalmaz, ama bu çok iyi bir şey.":         "tr",
		"Người đưa thư đến muộn hơn vào thứ bảy.":                                                              "vi",
		"Поезд опоздал на сорок минут из-за снега.":                                                            "ru",
		"Поїзд запізнився на сорок хвилин через сніг і лід.":                                                   "uk",
		"Το τρένο άργησε σαράντα λεπτά.":                                                                       "el", "הרכבת איחרה בארבעים דקות": "he", "تأخر القطار أربعين دقيقة بسبب الثلج": "ar",
		"قطار به دلیل برف چهل دقیقه تأخیر داشت پس چرا گفتی": "fa", "ट्रेन चालीस मिनट देर से आई": "hi", "ট্রেনটি চল্লিশ মিনিট দেরিতে": "bn",
		"ரயில் நாற்பது நிமிடம்": "ta", "రైలు నలభై నిమిషాలు ఆలస్యం": "te", "รถไฟมาช้าสี่สิบนาที": "th", "ລົດໄຟມາຊ້າສີ່ສິບນາທີ": "lo",
		"រថភ្លើងមកយឺតសែសិបនាទី": "km", "ရထားမိနစ်လေးဆယ်နောက်ကျ": "my", "მატარებელმა დააგვიანა": "ka", "Գնացքն ուշացավ քառասուն րոպե": "hy",
		"기차가 눈 때문에 사십 분 늦었다": "ko", "電車は雪のために四十分遅れました": "ja", "火车因为下雪晚点了四十分钟": "zh",
		"": "", "Hello": "", "1234 5678 !!! 42 - 17 = 25": "", "xyzzy plugh quux grault garply waldo fred": "", "\xff\xfe\xff": "",
		"func main() { fmt.Println(x, y); return nil }":         "",
		"Поезд опоздал. The train is late because of the snow.": "en", // more letters
	} {
		if got := LanguageOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		told[want] = true
	}
	for code := range names {
		if !told[code] {
			t.Errorf("no text of %s", LanguageName(code))
		}
	}
	if got := LanguageOf(strings.Repeat("Der Teig und die Stunden. ", 200) + strings.Repeat("Поезд опоздал. ", 10_000)); got != "de" {
		t.Errorf("a long text: %q", got)
	}
}
