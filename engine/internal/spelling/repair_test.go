package spelling

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// corpus is what a Speller is asked about: texts, and the words that a model knows.
type corpus struct {
	t     testing.TB
	a     *text.Analyzer
	x     *inverted.Words
	texts []string
	s     *Speller
	model map[string]bool // nil for a model without tokens
	reads int
}

func newCorpus(t testing.TB, language string, texts ...string) *corpus {
	a, err := text.For(language)
	if err != nil {
		t.Fatal(err)
	}
	x, err := inverted.NewWords(inverted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &corpus{t: t, a: a, x: x, s: New(a)}
	c.add(texts...)
	return c
}

func (c *corpus) add(texts ...string) {
	e := c.x.Edit()
	for _, s := range texts {
		if err := e.Add(uint64(len(c.texts)), c.a.Terms(nil, s)); err != nil {
			c.t.Fatal(err)
		}
		c.texts = append(c.texts, s)
	}
	c.x = e.Done()
}

func (c *corpus) known() Known {
	k := Known{Written: func(_ context.Context, term int) (words []string, err error) {
		c.reads++
		ids, err := c.x.Some(term, 3)
		for _, id := range ids {
			for _, t := range c.a.Terms(nil, c.texts[id]) {
				if t.Text == c.x.Term(term) {
					words = append(words, strings.ToLower(c.texts[id][t.Start:t.End]))
				}
			}
		}
		return words, err
	}}
	if c.model != nil {
		k.Word = func(word string) bool { return c.model[word] }
	}
	return k
}

func (c *corpus) repair(query string) string {
	c.t.Helper()
	rs, err := c.s.Repair(context.Background(), c.x, query, c.a.Terms(nil, query), c.known())
	if err != nil {
		c.t.Fatalf("%q: %v", query, err)
	}
	return rs.Query(query)
}

const manual = `Rotate the signing keys with keyctl rotate, once a quarter. Regular expressions replace text.
The environment variables of a process. Authentication of users by certificates and passwords. A batch of commands.
The configuration of a connection; the transactions of the databases. Waiting for a group of goroutines.
Available memory, separate threads, received messages, pancakes, a library and its libraries, the beach.
Aerodynamic heating of blunt bodies. Kubernetes clusters. A server, a web, the web of servers. Rhythm. Fallen leaves.
They cast keys. An equation of state. A firework, many fireworks. The fire, the wall and the firewell. No harm: charmless.
The number has zeros. An edition.`

// TestSpellings is a table of typos, as people make them.
func TestSpellings(t *testing.T) {
	c := newCorpus(t, "en", strings.Split(manual, "\n")...)
	for typed, want := range map[string]string{
		"singing":              "signing", // a swap
		"sigining kesy":        "signing keys",
		"signnig keys":         "signing keys",
		"ratote":               "ratote", // three edits
		"rotaet the keys":      "rotate the keys",
		"regluar expression":   "regular expression",
		"enviroment variable":  "environment variable",
		"environmnet":          "environment",
		"certificte":           "certificates",
		"authentcation":        "authentication",
		"authetnicaton users":  "authentication users",
		"autehntcation keys":   "autehntcation keys", // two edits, and no text has both words
		"comand":               "commands",           // the texts have no other form
		"configuraton":         "configuration",
		"conection":            "connection",
		"transactoin":          "transactions",
		"databse":              "databases",
		"grouip of goroutines": "group of goroutines",
		"oroutine":             "goroutines",
		"availble memory":      "available memory",
		"seperate":             "separate",
		"recieved":             "received",
		"pancaek":              "pancakes",
		"librari":              "librari", // its stem is known
		"libary":               "library",
		"ebach":                "beach",
		"aerodinamic heating":  "aerodynamic heating",
		"kubernets":            "kubernets", // its stem is known
		"kuberntes":            "kubernetes",
		"passwodr":             "passwords",
		"rythm":                "rhythm",
		"Kuberntes clusters":   "kubernetes clusters",
		"keys wtih passwords":  "keys with passwords",
		"dont rotate":          "don't rotate",
		"kyes, sigining; kyes": "kyes, signing; kyes", // a word that stands twice is meant
		"wtih":                 "wtih",                // nothing else is asked for
		"\"sigining\" kesy":    "\"sigining\" keys",
		"“sigining kesy”":      "“sigining kesy”",
		"\"sigining kesy":      "\"signing keys", // no quote ends
		"\"keys\" sigining":    "\"keys\" signing",
		"«kesy» kyes":          "«kesy» keys",
		"SIGNNG keys":          "SIGNNG keys", // an abbreviation
		"signng_keys":          "signng_keys", // a name
		"SigningKesy rotate":   "SigningKesy rotate",
		"ConNecton":            "ConNecton",
		"BBatch of eKys":       "batch of keys", // a capital twice, or too late
		"BatBch of KEys":       "batch of KEys",
		"BBatCh":               "BBatCh",
		"BatTch":               "BatTch",
		"sKeys":                "sKeys",
		"SKeys":                "SKeys",
		"keyctl.eKys":          "keyctl.eKys",
		"equaiton":             "equation",
		"proces":               "process",
		"firewors":             "fireworks",
		"firewall":             "firewall", // of two known words
		"harmless":             "harmless", // a known word with an ending
		"zfros":                "zeros",
		"ediiton":              "edition",
		"cant rotate":          "can't rotate",
		"x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 kesy": "x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 kesy", // a text of codes
		"keys.rotaet":                 "keys.rotaet",
		"s1gning keys":                "s1gning keys",
		"kye":                         "kye", // short
		"webserver":                   "webserver",
		"serverless":                  "serverless",
		"quarterly":                   "quarterly",
		"xylophone":                   "xylophone",
		"aaaa bbbb cccc dddd ee":      "aaaa bbbb cccc dddd ee",
		"kesy xxxx yyyy zzzz qq wwww": "kesy xxxx yyyy zzzz qq wwww", // of another language
	} {
		if got := c.repair(typed); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

// TestModelKnows: what the model knows is no typo, and of two forms of a term it tells which is a word.
func TestModelKnows(t *testing.T) {
	c := newCorpus(t, "en", strings.Split(manual, "\n")...)
	if got := c.repair("conection"); got != "connection" || c.reads == 0 {
		t.Errorf("%q after %d reads, want one", got, c.reads)
	}
	c.s, c.model, c.reads = New(c.a), map[string]bool{"connection": true, "ebach": true, "batch": true}, 0
	if got := c.repair("conection"); got != "connection" || c.reads != 0 {
		t.Errorf("%q after %d reads, want none of a word that the model knows", got, c.reads)
	}
	if got := c.repair("ebach"); got != "ebach" {
		t.Errorf("a word that the model knows became %q", got)
	}
	c.s, c.model, c.reads = New(c.a), map[string]bool{"pancake": true}, 0
	if got := c.repair("pancaek"); got != "pancake" || c.reads != 0 {
		t.Errorf("%q after %d reads, want the form that the model knows", got, c.reads)
	}
	c = newCorpus(t, "en", "a new one")
	c.model = map[string]bool{"news": true}
	if got := c.repair("newz"); got != "new" {
		t.Errorf("%q, want no form of another term", got)
	}
}

// TestDerived: a word that the model knows with a prefix or an inflection is right, though no document has it.
func TestDerived(t *testing.T) {
	c := newCorpus(t, "en", "invested money", "three painters", "a white sofa", "lower the flag", "tags", "taper", "unlock a door", "tapped maple", "models", "unruptured", "called")
	c.model = map[string]bool{"vested": true, "point": true, "white": true, "blow": true, "block": true, "lap": true, "modem": true, "tab": true, "culture": true, "cal": true}
	for typed, want := range map[string]string{
		"unvested": "unvested", "pointers": "pointers", "whiter": "whiter", "blower": "blower", "unblock": "unblock", "lapped": "lapped", "Modems": "Modems", "uncultured": "uncultured", "tabs": "tabs",
		"unlocj": "unlock", "taber": "taper", "caled": "called", "paintrs": "painters", // no derived words
	} {
		if got := c.repair(typed); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	de := newCorpus(t, "de", "painters")
	if de.model = map[string]bool{"point": true}; de.repair("pointers") != "painters" {
		t.Error("a German word by English endings")
	}
}

// TestLikelyFirst: of words that are equally near, one beside the query's other words is meant, then the most frequent.
// A letter that is missing or doubled, or two that are swapped, count 25 times as much as another typo, and the first
// letter a quarter.
func TestLikelyFirst(t *testing.T) {
	texts := []string{"flow of air", "slow cars", "flows", "hold", "child", "lamp", "transport", "best", "west", "bar", "trail", "bird"}
	for word, n := range map[string]int{"low clouds": 2, "child": 1, "lamb": 2, "transposing": 2, "last": 3, "best": 1, "cast": 5, "barn": 5, "trap": 5, "brig": 5, "stat": 5, "whap": 5, "kalmoreni": 1, "kalxoren": 3} {
		texts = append(texts, slices.Repeat([]string{word}, n)...)
	}
	c := newCorpus(t, "en", texts...)
	for typed, want := range map[string]string{
		"hild": "child", "lamq": "lamb", "transporr": "transport", "lfow": "flow", "clouds lfow": "clouds low", "air lfow": "air flow", "sloww cars": "slow cars",
		"bast": "best", "wast": "cast", "barr": "bar", "tral": "trail", "brid": "bird", "htat bird": "that bird", "statt bird": "stat bird", "whan bird": "whap bird",
		"kalmaren": "kalxoren", // of two edits all are alike
	} {
		if got := c.repair(typed); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

// TestGuessedForms: a stem with a made-up ending comes after the words that the texts have.
func TestGuessedForms(t *testing.T) {
	c := newCorpus(t, "en", "pants", "pants", "pants", "a piano", "committers", "committers", "commit", "transports", "transports", "trespart")
	for typed, want := range map[string]string{"pano": "piano", "pent": "pants", "commtit": "commit", "trnsport": "transports"} {
		if got := c.repair(typed); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	c.s, c.model = New(c.a), map[string]bool{"piano": true}
	if got := c.repair("pano"); got != "piano" {
		t.Errorf("%q where the model knows piano", got)
	}
}

// TestChangedStems: a stem that changes before an ending is found by its other forms too.
func TestChangedStems(t *testing.T) {
	c := newCorpus(t, "en", "hiking in the hills", "they are running and swimming", "a library", "a certificate", "closed doors", "insurance against acne; they insure")
	for typed, want := range map[string]string{
		"hiknig": "hiking", "runinng": "running", "swmming": "swimming", "libray": "library", "crtificate": "certificate",
		"clsoed": "closed", "insuracne": "insuracne",
	} {
		if got := c.repair(typed); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	c.s, c.model = New(c.a), map[string]bool{"insurance": true}
	for typed, want := range map[string]string{"insuracne": "insurance", "runacne": "runacne", "hillsrun": "hillsrun", "acnes": "acnes", "hillss": "hillss"} {
		if got := c.repair(typed); got != want {
			t.Errorf("%q: %q, want %q where the model knows words", typed, got, want)
		}
	}
	if got := newCorpus(t, "none", "library").repair("libray"); got != "library" {
		t.Errorf("%q", got)
	}
}

// TestStands: a typo that documents have is repaired if 50 times as many have the word, one of them beside another word of
// the query. Names, short words and words that the model knows are no typos.
func TestStands(t *testing.T) {
	texts := []string{"a garbge collector", "the wieght", "linkin parks", "gits", "kernals", "kernals", "serving"}
	for range often {
		texts = append(texts, "garbage collector", "weight of parts", "linking parks", "bits", "kernel collector", "selving")
	}
	for range mostStands + 1 {
		texts = append(texts, "pattren")
		texts = append(texts, slices.Repeat([]string{"pattern of parts"}, often)...)
	}
	c := newCorpus(t, "en", texts...)
	c.model = map[string]bool{"serving": true, "garbage": true}
	for typed, want := range map[string]string{
		"garbge collector":               "garbage collector",
		"garbge":                         "garbage",
		"garbge colector":                "garbage collector",
		"garbge collectors of the parks": "garbage collectors of the parks",
		"wieght of parts":                "weight of parts",
		"Linkin parks":                   "Linkin parks",
		"linkin collectors":              "linkin collectors",    // no document has the repaired words
		"kernals collector":              "kernals collector",    // two documents have it, not a hundred times as many the word
		"gits of parts":                  "gits of parts",        // short
		"pattren":                        "pattren",              // five documents have it
		"serving of parts":               "serving of parts",     // the model knows it
		"\"garbge\" collector":           "\"garbge\" collector", // quoted
		"garbge wieght linkin gits xxxx yyyy zzzz qqqq wwww":       "garbge wieght linkin gits xxxx yyyy zzzz qqqq wwww",
		strings.Repeat("garbge collector wieght parts linkin ", 2): strings.Repeat("garbge collector wieght parts linkin ", 2),
	} {
		if got := c.repair(typed); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	rs, err := c.s.Repair(t.Context(), c.x, "garbge colector", c.a.Terms(nil, "garbge colector"), c.known())
	if err != nil || len(rs) != 2 || !rs[0].Stands || rs[1].Stands {
		t.Fatalf("%+v, %v", rs, err)
	}
	var terms []string
	for _, x := range rs.Terms(c.a.Asked(nil, "garbge colector")) {
		terms = append(terms, fmt.Sprint(x.Text, x.Beside, x.Weight))
	}
	if want := []string{"garbagfalse 1", "garbgtrue 1", "collectorfalse 1", "colectortrue 0.25"}; !slices.Equal(terms, want) {
		t.Errorf("%q, want %q", terms, want)
	}
}

// TestEndings: each language with stems has its endings.
func TestEndings(t *testing.T) {
	for _, l := range text.Languages() {
		if n := len(endings[l]); (n > 10) == (l == "none") || !slices.IsSorted(endings[l]) {
			t.Errorf("%s has %d endings: %q", l, n, endings[l])
		}
	}
}

func TestOtherLanguages(t *testing.T) {
	for _, x := range []struct{ language, text, typed, want string }{
		{"de", "Die Schlüssel werden erneuert; die Verschlüsselung der Häuser", "Schlüsel verschlüselung", "schlüssel verschlüsselung"},
		{"fr", "L'environnement et les bibliothèques", "l'enviroment des biblothèques", "l'enviroment des bibliothèques"},
		{"ru", "Старые книги и новый словарь", "словраь книг", "словарь книг"},
		{"none", "Το κλειδί της πόρτας", "κλεδί", "κλειδί"},
		{"none", "שלום עולם", "שלוום", "שלום"},
		{"none", "東京タワーは高い 한국어는", "東京タウー 한국오는", "東京タウー 한국오는"},
		{"en", "a café with a piñata", "the pinata of a cafe", "the pinata of a cafe"}, // known without their accents,
	} {
		if got := newCorpus(t, x.language, x.text).repair(x.typed); got != x.want {
			t.Errorf("%s: %q, want %q", x.typed, got, x.want)
		}
	}
}

// TestVocabularyChanges: a word that comes is known, one that goes repairs nothing.
func TestVocabularyChanges(t *testing.T) {
	c := newCorpus(t, "en", "signing keys", "rotating doors")
	if got := c.repair("sigining"); got != "signing" {
		t.Errorf("%q", got)
	}
	c.add("the verification of sigining")
	if got := c.repair("sigining"); got != "sigining" {
		t.Errorf("a word that was added became %q", got)
	}
	if got := c.repair("verfication"); got != "verification" {
		t.Errorf("%q, want a word that came after the table was made", got)
	}
	e := c.x.Edit()
	if _, err := e.Remove([]uint64{1}); err != nil {
		t.Fatal(err)
	}
	c.x = e.Done()
	if got := c.repair("dooors"); got != "dooors" {
		t.Errorf("%q repaired from a word that no text has", got)
	}
}

// TestLongQuery: a long query costs no more than a look at its words, and ends with its context.
func TestLongQuery(t *testing.T) {
	c := newCorpus(t, "en", "signing keys", strings.Repeat("quarter ", 100))
	long := strings.Repeat("keys quarter ", 5000)
	if got := c.repair("sigining " + long); got != "signing "+long {
		t.Errorf("%.40q", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.s.Repair(ctx, c.x, long, c.a.Terms(nil, long), c.known()); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	foreign := strings.Repeat("lorem ipsum dolor sit amet consectetur ", 5000)
	if got := c.repair(foreign); got != foreign || c.s.table == nil {
		t.Errorf("%.40q", got)
	}
}

// TestConcurrentUse: repairs over states of one database, old and new, at the same time.
func TestConcurrentUse(t *testing.T) {
	c := newCorpus(t, "en", "signing keys")
	terms := c.a.Terms(nil, "sigining")
	k := Known{Written: func(context.Context, int) ([]string, error) { return []string{"signing"}, nil }}
	var wg sync.WaitGroup
	for i := range 40 {
		c.add(fmt.Sprintf("quarter%c%c doors", 'a'+i%26, 'a'+i/26))
		x := c.x
		wg.Go(func() {
			if rs, err := c.s.Repair(context.Background(), x, "sigining", terms, k); err != nil || len(rs) != 1 {
				t.Errorf("%v, %v", rs, err)
			}
		})
	}
	wg.Wait()
}

func TestLeastDF(t *testing.T) {
	for n, want := range map[int]int{0: 1, 9_999: 1, 10_000: 2, 1_000_000: 5} {
		if got := leastDF(n); got != want {
			t.Errorf("of %d documents %d, want %d", n, got, want)
		}
	}
	var texts []string
	for range 10_000 {
		texts = append(texts, "signing")
	}
	c := newCorpus(t, "en", append(texts, "lonely")...)
	if one, many := c.repair("lonley"), c.repair("sigining"); one != "lonley" || many != "signing" {
		t.Errorf("%q of one document, %q of many", one, many)
	}
}

func TestErrors(t *testing.T) {
	c := newCorpus(t, "en", "signing keys")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	terms := c.a.Terms(nil, "sigining")
	if _, err := c.s.Repair(ctx, c.x, "sigining", terms, c.known()); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	broken := errors.New("broken")
	k := Known{Written: func(context.Context, int) ([]string, error) { return nil, broken }}
	if _, err := c.s.Repair(context.Background(), c.x, "sigining", terms, k); !errors.Is(err, broken) {
		t.Errorf("%v, want the error of reading", err)
	}
}

// TestForget: the table is given back once nobody has used it for a while.
func TestForget(t *testing.T) {
	c := newCorpus(t, "en", "signing keys")
	c.repair("signing")
	if c.s.table != nil {
		t.Error("a query without an unknown word made a table")
	}
	c.repair("sigining")
	c.s.forget()
	if c.s.table == nil {
		t.Error("a table in use was given back")
	}
	c.s.used = time.Now().Add(-kept)
	c.s.forget()
	if c.s.table != nil || c.s.judged != nil {
		t.Error("a table that nobody uses was kept")
	}
	if got := c.repair("sigining"); got != "signing" {
		t.Errorf("%q", got)
	}
}

// TestJudgedOnce: a word is judged once for a vocabulary, whatever the other words of the query are; a bounded number of
// words is kept.
func TestJudgedOnce(t *testing.T) {
	c := newCorpus(t, "en", "signing keys", "air flow", "low clouds", "low clouds")
	for range 2 {
		for typed, want := range map[string]string{"sigining": "signing", "the sigining of keys": "the signing of keys", "lfow": "flow", "air lfow": "air flow", "clouds lfow": "clouds low"} {
			if got := c.repair(typed); got != want {
				t.Errorf("%q: %q, want %q", typed, got, want)
			}
		}
	}
	if c.reads != 3 {
		t.Errorf("%d reads for signing, low and flow", c.reads)
	}
	c.add("other words")
	c.repair("sigining")
	if c.reads != 4 || len(c.s.judged) != 1 {
		t.Errorf("%d reads, %d words of another vocabulary", c.reads-3, len(c.s.judged)-1)
	}
	for i := range mostJudged {
		c.repair(fmt.Sprintf("zz%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676))
	}
	if n := len(c.s.judged); n > mostJudged {
		t.Errorf("%d words are kept", n)
	}
}

// TestQuery: what is searched for, and where its tokens stand in the query.
func TestQuery(t *testing.T) {
	const typed = "rotaet the sigining kesy"
	a, err := text.For("en")
	if err != nil {
		t.Fatal(err)
	}
	rs := Repairs{{0, 6, "rotate", "rotat", false}, {11, 19, "signing", "sign", false}, {20, 24, "keys", "key", false}}
	if got := rs.Query(typed); got != "rotate the signing keys" {
		t.Errorf("%q", got)
	}
	encoded, back := rs.Encoded(typed)
	if encoded != "rotate the signing keys rotaet sigining kesy" {
		t.Errorf("%q", encoded)
	}
	var words []string
	for _, w := range strings.Fields(encoded) {
		at := strings.Index(encoded, w)
		o := back(encoder.Span{Start: int32(at), End: int32(at + len(w))})
		words = append(words, typed[o.Start:o.End])
	}
	if want := []string{"rotaet", "the", "sigining", "kesy", "rotaet", "sigining", "kesy"}; !slices.Equal(words, want) {
		t.Errorf("%q, want %q", words, want)
	}
	var terms []string
	for _, x := range rs.Terms(a.Asked(nil, typed)) {
		terms = append(terms, fmt.Sprint(x.Text, x.Start, x.End, x.Beside, x.Weight))
	}
	if want := []string{"rotat0 6 false 1", "rotaet0 6 true 0.25", "sign11 19 false 1", "sigin11 19 true 0.25", "key20 24 false 1", "kesi20 24 true 0.25"}; !slices.Equal(terms, want) {
		t.Errorf("%q, want %q", terms, want)
	}
	function := Repairs{{0, 4, "with", "", false}}
	if got := function.Terms(a.Terms(nil, "wtih keys")); len(got) != 2 || got[0].Text != "wtih" || !got[0].Beside || got[1].Text != "key" {
		t.Errorf("a function word became the terms %+v", got)
	}
	for _, none := range []Repairs{nil, {}} {
		if encoded, back := none.Encoded(typed); encoded != typed || back(encoder.Span{Start: 3, End: 5}) != (encoder.Span{Start: 3, End: 5}) || none.Query(typed) != typed {
			t.Error("no repairs change a query")
		}
	}
}

// TestBack: for random repairs, the bytes that a token stands on are the same, or those of the mistyped word.
func TestBack(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 500 {
		var b strings.Builder
		var rs Repairs
		for i := range 1 + r.IntN(5) {
			if i > 0 {
				b.WriteByte(' ')
			}
			word := strings.Repeat(string(rune('a'+i)), 1+r.IntN(6))
			if r.IntN(2) == 0 {
				rs = append(rs, Repair{Start: b.Len(), End: b.Len() + len(word), Word: strings.Repeat(string(rune('A'+i)), 1+r.IntN(6))})
			}
			b.WriteString(word)
		}
		typed := b.String()
		encoded, back := rs.Encoded(typed)
		for i := range len(encoded) {
			o := back(encoder.Span{Start: int32(i), End: int32(i + 1)})
			at, was := encoded[i], typed[o.Start:o.End]
			if at != ' ' && (was == "" || strings.Trim(was, strings.ToLower(string(at))) != "") {
				t.Fatalf("%q of %q: byte %d comes from %q of %q", string(at), encoded, i, was, typed)
			}
		}
	}
}

// words200k is a vocabulary of 200,000 terms in as many documents, with the lengths and letters of English.
func words200k(b *testing.B) *corpus {
	r := rand.New(rand.NewPCG(9, 9))
	syllables := strings.Fields("con tra in de re mo ti ex pro ab ser ver ta ling for per com un sta ri on er al ment ous ic ate ist ful ness th sh ch ing qu ea oo st br cl pr")
	c := newCorpus(b, "en")
	var texts []string
	for range 200_000 {
		w := string(rune('a' + r.IntN(26)))
		for range 2 + r.IntN(4) {
			w += syllables[r.IntN(len(syllables))]
		}
		texts = append(texts, w+string(rune('a'+r.IntN(26)))+string(rune('a'+r.IntN(26)))+" signing keys")
	}
	c.add(texts...)
	b.Logf("%d terms", c.x.Terms())
	return c
}

func BenchmarkRepair(b *testing.B) {
	c := words200k(b)
	for _, q := range []string{"signing keys", "signing kesy", "sigining keys", "protamentxx keys", "xylophonists keys", c.x.Term(c.x.Terms()/2) + " signing keys"} {
		terms, k := c.a.Terms(nil, q), c.known()
		k.Word = func(word string) bool { return word == "signing" || word == "keys" }
		if _, err := c.s.Repair(context.Background(), c.x, q, terms, k); err != nil {
			b.Fatal(err)
		}
		b.Run(strings.ReplaceAll(q, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				c.s.judged = nil
				c.s.Repair(context.Background(), c.x, q, terms, k)
			}
		})
	}
	b.Run("a word again", func(b *testing.B) {
		terms := c.a.Terms(nil, "sigining keys")
		for b.Loop() {
			c.s.Repair(context.Background(), c.x, "sigining keys", terms, c.known())
		}
	})
	b.Run("table", func(b *testing.B) {
		for b.Loop() {
			if _, err := newTable(context.Background(), c.x); err != nil {
				b.Fatal(err)
			}
		}
	})
}
