package text

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// recordedDigest is that of the defaults in version 4.
const recordedDigest = "63e3ff19cb76e0f0"

func analyzerOf(t testing.TB, o Options) *Analyzer {
	t.Helper()
	a, err := NewAnalyzer(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// shown writes terms as words, those beside in brackets.
func shown(terms []Term) string {
	var out []string
	for _, t := range terms {
		s := t.Text
		if t.Beside {
			s = "[" + s + "]"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// TestTerms fixes what the analysis makes of texts. A change here needs
// another analyzerVersion: indexes hold these terms.
func TestTerms(t *testing.T) {
	for _, c := range []struct{ language, in, want string }{
		{"en", "", ""},
		{"en", "The quick brown foxes were jumping!", "quick brown fox jump"},
		{"en", "don't won’t John's John’s", "john john"},
		{"en", "a well-known state-of-the-art method", "known state art [stateoftheart] method"},
		{"en", "ERR_CONN_RESET", "[err_conn_reset] err conn reset"},
		{"en", "io.ReadAll(r)", "[io.readall] io readal [read] r"},
		{"en", "v1.2.3, V10", "[v1.2.3] [1.2.3] v1 2 3 v10"},
		{"en", "0x80070057 p53 3.14", "0x80070057 p53 [3.14] 3 14"},
		{"en", "CVE-2021-44228 COVID-19", "[cve-2021-44228] cve 2021 44228 [covid-19] covid 19 [covid19]"},
		{"en", "camelCase HTTPServer iPhones GitHub", "camelcas [camel] [case] httpserver [http] [server] iphon [phone] github [git] [hub]"},
		{"en", "/usr/local/bin/my_tool.sh", "[usr/local/bin/my_tool.sh] [my_tool.sh] usr local bin tool sh"},
		{"en", `C:\Temp\a-b.txt`, `[c:\temp\a-b.txt] [a-b.txt] c temp b txt`},
		{"en", "https://x.org/q?a=1", "[https://x.org/q] [x.org] https x org q [a=1] 1"},
		{"en", "std::vector p->next a@b.org R&D", "[std::vector] std vector [p->next] p next [a@b.org] [b.org] b org [r&d] r d"},
		{"en", "C++ and C# in F#, not abc# or C++11", "[c++] c [c#] c [f#] f abc c 11"},
		{"en", "--flag __init__ ...dots... 50%", "flag init dot 50"},
		{"en", "caf\u00e9 cafe\u0301 ﬁne ＡＢＣ", "café [cafe] café [cafe] fine abc"},
		{"en", "東京タワーは高い", "東京 [東] 京タ [京] タワ [タ] ワー [ワ] ーは [ー] は高 [は] 高い [高] [い]"},
		{"en", "茶 tea日本abc", "茶 tea 日本 [日] [本] abc"},
		{"en", "한국어", "한국 [한] 국어 [국] [어]"},
		{"en", "ภาษา", "ภา [ภ] าษ [า] ษา [ษ] [า]"},
		{"en", "a\xffb\x00c", "b c"},
		{"en", "CO₂ H₂O C₆H₁₂O₆ 25 m² ½ Ⅳ 30 ㎡", "co2 h2o c6h12o6 25 m2 1⁄2 iv 30 m2"},
		{"en", "the temperatures² and Smith¹²", "temperatur 2 smith 12"},
		{"en", "SARS\u2011CoV\u20112 well\u2010known", "[sars-cov-2] sar cov [co] [v] 2 known"},
		{"en", "Wasser\u00adkraft zero\u200bwidth \ufeffmark a\u00ad", "wasserkraft zerowidth mark"},
		{"en", "ship 🚀 👩🏽\u200d💻 ❤\ufe0f!", "ship 🚀 👩 💻 ❤"},
		{"en", "µm μm Ω Ω", "μm μm ω ω"},
		{"fr", "Étudiant ŒUVRE déjà-vu", "étudi [etudi] œuvr [oeuvr] déjà [dej] vu [déjàvu]"},
		{"de", "Straße", "strass"},
		{"ru", "Ёлка йод", "ёлка [елк] йод"},
		{"none", "Işık", "işık [isik]"},
		{"none", "ΛΟΓΟΣ λόγος", "λογοσ λόγοσ [λογοσ]"},
		{"none", "हिन्दी ภาษา", "हिन्दी ภา [ภ] าษ [า] ษา [ษ] [า]"},
		{"none", "The foxes were ReadAll", "the foxes were readall [read] [all]"},
		{"fr", "L'homme qu’il aimait n'est pas l'Amérique", "homm aim amer"},
		{"it", "dell'acqua e l'uomo", "acqua uom"},
		{"de", "Die Häuser und die Straßen", "haus strass"},
		{"ru", "Старые книги и новый дом", "стар книг нов дом"},
		{"es", "Las casas de los niños", "cas niñ [nin]"},
		{"ar", "في المكتبات كتب جديدة", "مكتب كتب جديد"},
		{"ro", "Casele și cărțile din biblioteci", "cas cărț [cart] bibliotec"},
		{"tr", "Evler ve kitapların sayfaları", "ev kitap sayfa [sayfalari]"},
		{"en", "The foxes, старые книги и новый дом, في المكتبات", "fox стар книг нов дом مكتب"}, // each script by its language
		{"uk", "Старі книги і дім, the foxes", "старі книги і дім the foxes"},
		{"fa", "المكتبات и книги", "المكتبات книг"},
		{"ja", "図書館 старые", "図書 [図] 書館 [書] [館] стар"},
		{"none", "старые книги и", "старые книги и"},
	} {
		a := analyzerOf(t, Options{Language: c.language, Stem: true, Stop: true})
		words := slices.DeleteFunc(a.Terms(nil, c.in), func(t Term) bool { return Function(t.Text) }) // TestFunctionWords has these
		if got := shown(words); got != c.want {
			t.Errorf("%s %q:\n got %s\nwant %s", c.language, c.in, got, c.want)
		}
	}
}

// TestFunctionWords: a text has each function word, each pair of neighbours and each in capitals once; a query has them
// where it has nothing else, or in capitals among small letters.
func TestFunctionWords(t *testing.T) {
	a := analyzerOf(t, Defaults())
	for in, want := range map[string][2]string{
		"To be, or not to be!":    {"[=to] [=be] [=to=be] [=or] [=be=or] [=not] [=or=not] [=not=to]", "[=to] [=be] [=to=be] [=or] [=be=or] [=not] [=or=not] [=not=to]"},
		"The Who plays":           {"[=the] [=who] [=the=who] play", "play"},
		"the who":                 {"[=the] [=who] [=the=who]", "[=the] [=who] [=the=who]"},
		"who sees the":            {"[=who] see [=the]", "see"},
		"IT":                      {"[=IT] [=it]", "[=IT] [=it]"},
		"the US economy, us, US":  {"[=the] [=US] [=us] [=the=us] economi [=us=us]", "[=US] economi"},
		"US ECONOMY":              {"[=US] [=us] economi", "economi"},
		"I am a":                  {"[=i] [=am] [=i=am] [=a] [=am=a]", "[=i] [=am] [=i=am] [=a] [=am=a]"},
		"over-the-top the 東京 the": {"[=over] [=the] [=over=the] top [overthetop] [=top] 東京 [東] [京]", ""},
	} {
		if in == "over-the-top the 東京 the" { // other words part neighbours
			want = [2]string{"[=over] [=the] [=over=the] top [overthetop] 東京 [東] [京]", "top [overthetop] 東京"}
		}
		if got := [2]string{shown(a.Terms(nil, in)), shown(a.Asked(nil, in))}; got != want {
			t.Errorf("%q:\n got %q\nwant %q", in, got, want)
		}
	}
	for _, term := range a.Terms(nil, "to be or a=b") {
		if Function(term.Text) != (term.Text != "a=b" && term.Text != "b") {
			t.Errorf("%q: function words are %t", term.Text, Function(term.Text))
		}
	}
	if s := Shown("=to=be") + Shown("=US") + Shown("a=b"); s != "to beUSa=b" {
		t.Error(s)
	}
}

// TestCompoundsMeet: what is written together and apart has a term in common, in texts and queries both ways.
func TestCompoundsMeet(t *testing.T) {
	a := analyzerOf(t, Defaults())
	for _, c := range [][]string{
		{"wifi", "Wi-Fi", "WiFi", "wi‑fi"}, {"GPT4", "GPT-4", "gpt4"}, {"covid19", "COVID-19"}, {"1,000,000", "1000000"}, {"email", "e-mail", "E-Mails"},
		{"étudiant", "etudiant", "e\u0301tudiant"}, {"straße", "STRASSE", "strasse"}, {"ΛΟΓΟΣ", "λόγος", "λογος", "λογοσ"}, {"ёлка", "елка"}, {"물을", "물", "물이"}, {"학교에서", "학교", "학교는"}, {"ก", "กา"},
	} {
		for _, text := range c {
			has := map[string]bool{}
			for _, term := range a.Terms(nil, "then "+text+" then") {
				has[term.Text] = true
			}
			for _, query := range c {
				if query == "กา" && text == "ก" {
					continue // a word is not in its first character
				}
				found := false
				for _, term := range a.Asked(nil, query) {
					found = found || has[term.Text]
				}
				if !found {
					t.Errorf("%q has %v, and %q asks for %s", text, has, query, shown(a.Asked(nil, query)))
				}
			}
		}
	}
	for in, want := range map[string]string{
		"100,200,30": "100 200 30", "1990,200": "1990 200", "1,000th": "1 000th", "1,0000": "1 0000", "12,345.6": "12345 [12] [345] 6", "a 1,234,": "[=a] 1234 [1] [234]",
		"re-use": "re use [reus]", "GPT-4o-2": "[gpt-4o-2] gpt 4o 2", "10-20": "[10-20] 10 20",
	} {
		if got := shown(a.Terms(nil, in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{"물을": "물 [물을]", "학교에서는": "학교 [교에] [에서] [서는]", "은": "은", "나이지리아": "나이 이지 지리 리아", "한국의tea": "한국 국의 tea"} {
		if got := shown(a.Asked(nil, in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestOptionsDecide(t *testing.T) {
	const s = "The foxes"
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "the foxes"},
		{Options{Stem: true}, "the fox"},
		{Options{Stop: true}, "[=the] foxes"},
		{Options{Stem: true, Stop: true}, "[=the] fox"},
	} {
		if got := shown(analyzerOf(t, c.o).Terms(nil, s)); got != c.want {
			t.Errorf("%+v: %q, want %q", c.o, got, c.want)
		}
	}
	if got := shown(analyzerOf(t, Options{Language: "en", Stem: true}).Terms(nil, "старые книги и")); got != "стар книг и" {
		t.Errorf("stems without function words: %s", got)
	}
	if got := shown(analyzerOf(t, Options{Language: "en", Stop: true}).Terms(nil, "старые книги и")); got != "старые книги [=и]" {
		t.Errorf("function words without stems: %s", got)
	}
	for code, hint := range map[string]string{"deu": "write it as de", "nb": "write it as no", "mul": "unknown", "": "", "gsw": "", "zh": "", "German": "unknown"} {
		if _, err := For(code); (err == nil) != (hint == "") || err != nil && !strings.Contains(err.Error(), hint) {
			t.Errorf("language %q: %v", code, err)
		}
	}
	if _, err := NewAnalyzer(Options{Language: "xx"}); !errors.Is(err, ErrLanguage) || !strings.Contains(err.Error(), "da, de, en, ") {
		t.Error(err)
	}
}

// A text in another language of Latin script than the analyzer's has the stems of both languages, a query divides the
// weight between them, and function words of its language lose a share. Texts without a known language, texts of the
// analyzer's language and texts for "none" have none.
func TestOwnStems(t *testing.T) {
	const de, fr = "Die Häuser und die Straßen der Stadt waren nicht groß.", "Les maisons de l'homme ne sont pas dans les villes."
	for _, c := range []struct{ language, in, want string }{
		{"en", de, "die häuser [haus] [hauser] und die straßen [strass] [strassen] der stadt waren nicht groß [gross]"},
		{"de", de, "haus strass stadt gross"},
		{"en", fr, "les maison de l'homm [homm] ne sont pas dan les vill"},
		{"fr", fr, "maison homm vill"},
		{"none", de, "die häuser [hauser] und die straßen [strassen] der stadt waren nicht groß [gross]"},
		{"en", "Häusern", "häusern [hausern]"},
		{"de", "The houses of the town were not happily on the hills, and this is why.", "the hous of the town wer not happily [happili] on the hill and this is why"},
	} {
		a, err := For(c.language)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, term := range a.Terms(nil, c.in) {
			if w := shown([]Term{term}); !Function(term.Text) {
				words = append(words, w)
			}
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%s %q:\n got %s\nwant %s", c.language, c.in, got, c.want)
		}
	}
	a := analyzerOf(t, Defaults())
	weights := map[string]float32{}
	for _, term := range a.Asked(nil, de) {
		weights[term.Text] = term.Weight
	}
	for term, want := range map[string]float32{"und": .4, "stadt": 1, "häuser": .24, "hauser": .16, "haus": .6} {
		if got := weights[term]; got < want-1e-6 || got > want+1e-6 {
			t.Errorf("%s weighs %v in a query, want %v", term, got, want)
		}
	}
	if !Fits("de", "") || !Fits("en", "de") || Fits("ru", "bg") {
		t.Error("stems of German in English texts, of English in German ones, of Russian in Bulgarian ones")
	}
}

// TestDigests: one for each set of options, fixed for good.
func TestDigests(t *testing.T) {
	seen := map[string]Options{}
	for _, l := range Languages() {
		for _, o := range []Options{{l, false, false}, {l, true, false}, {l, false, true}, {l, true, true}} {
			d := analyzerOf(t, o).Digest()
			if was, dup := seen[d]; dup {
				t.Errorf("%+v and %+v have one digest", was, o)
			}
			seen[d] = o
		}
	}
	if d := analyzerOf(t, Defaults()).Digest(); d != recordedDigest || analyzerOf(t, Options{Stem: true, Stop: true}).Digest() != d {
		t.Errorf("the digest of the defaults is %s, was %s", d, recordedDigest)
	}
}

func TestEveryLanguageHasStops(t *testing.T) {
	for _, l := range Languages() {
		if n := len(stopWords(l)); (n < 90) != (l == "none") {
			t.Errorf("%s has %d function words", l, n)
		}
		for w := range stopWords(l) {
			if strings.ToLower(w) != w || strings.Contains(w, "’") {
				t.Errorf("%s: %q is never met", l, w)
			}
		}
	}
}

// TestLongWords: terms are bounded, and long words are still told apart.
func TestLongWords(t *testing.T) {
	a := analyzerOf(t, Defaults())
	long := strings.Repeat("é", 500_000)
	x, y := a.Terms(nil, long), a.Terms(nil, long+"x")
	if len(x) != 1 || len(y) != 1 || x[0].Text == y[0].Text || len(x[0].Text) > MaxTerm || !utf8.ValidString(x[0].Text) {
		t.Errorf("%.80v %.80v", x, y)
	}
	for _, s := range []string{strings.Repeat("a.", 100_000), strings.Repeat("aB", 100_000), strings.Repeat("東", 100_000)} {
		if n, asked := len(a.Terms(nil, s)), len(a.Asked(nil, s)); n > 200_000 || asked > 110_000 {
			t.Errorf("%d terms of %.4s…, %d in a query", n, s, asked)
		}
	}
}

// TestAsked: a query has the terms of its text without single characters of longer runs, and words weigh as they do
// without accents.
func TestAsked(t *testing.T) {
	a := analyzerOf(t, Defaults())
	for in, want := range map[string]string{"猫": "猫", "猫が寝": "猫が が寝", "집": "집", "犬 tea 猫": "犬 tea 猫", "café ERR_CONN": "café [cafe] [err_conn] err conn"} {
		if got := shown(a.Asked(nil, in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	var sum float32
	for _, x := range a.Asked(nil, "café crème") {
		sum += x.Weight
	}
	if sum < 2-1e-6 || sum > 2+1e-6 {
		t.Errorf("two words with accents weigh %v", sum)
	}
}

func TestWeightsOfCompounds(t *testing.T) {
	a := analyzerOf(t, Defaults())
	for in, want := range map[string]float32{"fox": 1, "red fox": 2, "well-known": 1, "red-hot": 2.3, "ERR_CONN_RESET": 2, "0x80070057": 1, "GitHub": 2} {
		sum := float32(0)
		for _, x := range a.Asked(nil, in) {
			sum += x.Weight
		}
		if sum < want-1e-6 || sum > want+1e-6 {
			t.Errorf("%q weighs %v, want %v", in, sum, want)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	a := analyzerOf(t, Defaults())
	s := strings.Repeat("Foxes were jumping over many different lazy dogs of ERR_CONN_RESET. ", 50)
	want := a.Terms(nil, s)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				if !slices.Equal(a.Terms(nil, s), want) {
					t.Error("terms differ")
				}
			}
		})
	}
	wg.Wait()
}

// FuzzTerms: any bytes in any language give bounded, valid terms whose offsets
// lie in the text and ascend, the same each time.
func FuzzTerms(f *testing.F) {
	var all []*Analyzer
	for _, l := range Languages() {
		all = append(all, analyzerOf(f, Options{Language: l, Stem: true, Stop: true}))
	}
	for _, s := range []string{"The ERR_CONN_RESET of io.ReadAll v1.2.3", "東京タワー ภาษาไทย", "a\xff\u0301b’c", "l'homme C++ https://x.org/a-b", "İSTANBUL ǅ ﬁ ½ ß", "Häuser árvíztűrő книги"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, a := range all {
			terms := a.Terms(nil, s)
			if !slices.Equal(terms, a.Terms(nil, s)) {
				t.Fatal("the second time differs")
			}
			last := 0
			for _, x := range terms {
				if x.Text == "" || len(x.Text) > MaxTerm || !utf8.ValidString(x.Text) {
					t.Fatalf("%s: term %q of %q", a.o.Language, x.Text, s)
				}
				if x.Start < 0 || x.End <= x.Start || x.End > len(s) || !(x.Weight > 0 && x.Weight <= 1) {
					t.Fatalf("%s: %+v of %q", a.o.Language, x, s)
				}
				if !x.Beside {
					if x.Start < last {
						t.Fatalf("%s: words of %q overlap or go back", a.o.Language, s)
					}
					last = x.Start
				}
			}
		}
	})
}

func BenchmarkTerms(b *testing.B) {
	a := analyzerOf(b, Defaults())
	const s = "Searching for the meaning of words, one finds documents that mention them, and others that merely speak of the same things; the first are found by counting."
	var terms []Term
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		terms = a.Terms(terms[:0], s)
	}
}
