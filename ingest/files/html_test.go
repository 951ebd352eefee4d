package files_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

const paragraph = "<p>Bees find their way home by the sun, by landmarks, and by the shape of the hive, as long experiments in the open have shown, and they tell each other of it.</p>"

func TestHTML(t *testing.T) {
	page := `<!doctype html><html lang=de><head><title>Bienen &amp; Wege</title><meta name=description content=" Wie Bienen
heimfinden "><meta name=author content="A. B."><meta property="article:published_time" content="2024-03-01T10:00:00+02:00"><style>p{}</style><script>var x = "<p>no</p>"</script></head>
<body><nav><a href=/>Home</a><a href=/x>Other</a></nav><article><h1>Wege</h1>` + strings.Repeat(paragraph, 6) + `<h2>Two</h2>` + strings.Repeat(paragraph, 4) +
		`<pre>code
  block</pre></article><footer>Imprint</footer></body></html>`
	recs, _, err := filestest.ReadAll(t, "a.html", page, Options{ID: "p"})
	if err != nil || len(recs) != 1 {
		t.Fatalf("%v, %v", recs, err)
	}
	r := recs[0]
	if r.ID != "p" || r.Title != "Bienen & Wege" || r.From != 1 || r.To != 4 || r.Verbatim {
		t.Errorf("%+v", r)
	}
	if want := "map[author:A. B. description:Wie Bienen heimfinden language:de published:2024-03-01T08:00:00Z]"; fmt.Sprint(r.Metadata) != want {
		t.Errorf("metadata %v", r.Metadata)
	}
	for _, no := range []string{"Home", "Imprint", "var x", "p{}", "\x00"} {
		if strings.Contains(r.Text, no) {
			t.Errorf("%q is no part of the article: %q", no, r.Text)
		}
	}
	if !strings.Contains(r.Text, "code\n  block") || strings.Count(r.Text, "Bees") != 10 {
		t.Errorf("text %q", r.Text)
	}
	if len(r.Breaks) != 1 && len(r.Breaks) != 2 || !strings.HasPrefix(r.Text[r.Breaks[len(r.Breaks)-1]:], "Two") {
		t.Errorf("breaks %v", r.Breaks)
	}
}

// TestPagesWithoutArticle: of a page that is no article nothing is lost, and of a
// reference no signatures are.
func TestPagesWithoutArticle(t *testing.T) {
	short := "<ul><li>one</li><li>two</li></ul><table><tr><td>a</td><td>b</td></tr></table>"
	recs, _, err := filestest.ReadAll(t, "a.htm", short, Options{})
	if err != nil || recs[0].Title != "" || recs[0].Metadata != nil {
		t.Fatalf("%+v, %v", recs, err)
	}
	for _, want := range []string{"one", "two", "a", "b"} {
		if !strings.Contains(recs[0].Text, want) {
			t.Errorf("%q lacks %q", recs[0].Text, want)
		}
	}
	ref := "<nav>aside</nav><main><section><h4>fn insert(k: K)</h4></section>" + strings.Repeat(paragraph, 8) + "<div class=sidebar><ul><li><a href=x>fn remove(k: K)</a></li></ul></div></main>"
	recs, _, err = filestest.ReadAll(t, "a.html", ref, Options{})
	if err != nil || !strings.Contains(recs[0].Text, "insert") || !strings.Contains(recs[0].Text, "remove") || strings.Contains(recs[0].Text, "aside") {
		t.Errorf("%+v, %v", recs, err)
	}
	large := "<p>first" + strings.Repeat("<b></b>", MaxElements) + "<p>last"
	recs, _, err = filestest.ReadAll(t, "a.html", large, Options{})
	if err != nil || !strings.Contains(recs[0].Text, "first") || !strings.Contains(recs[0].Text, "last") {
		t.Errorf("a page of many elements: %.100v, %v", recs, err)
	}
}

// TestElementsStandApart: the words before, in and after an element that is shown apart are words of their own, and
// those of an element within a word are not.
func TestElementsStandApart(t *testing.T) {
	words := func(in string) []string {
		t.Helper()
		recs, _, err := filestest.ReadAll(t, "a.html", in, Options{})
		if err != nil || len(recs) != 1 {
			t.Fatalf("%q: %+v, %v", in, recs, err)
		}
		return strings.Fields(recs[0].Text)
	}
	apart := strings.Fields("address article aside blockquote button center details dialog dir div fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 " +
		"header hgroup legend listing menu nav p pre search section slot summary xmp x-card my-own-element")
	for _, e := range apart {
		in := "<div>alpha<" + e + ">beta</" + e + ">gamma</div>"
		if got := words(in); fmt.Sprint(got) != "[alpha beta gamma]" {
			t.Errorf("%s: %q", in, got)
		}
		in = "<p>alpha</p><" + e + ">beta</" + e + "><b>gamma</b>"
		if got := words(in); fmt.Sprint(got) != "[alpha beta gamma]" {
			t.Errorf("%s: %q", in, got)
		}
	}
	for in, want := range map[string]string{
		"alpha<hr>beta": "[alpha beta]", "alpha<br>beta": "[alpha beta]", "alpha<img src=x>beta": "[alpha beta]", "alpha<input value=v>beta": "[alpha beta]",
		"<ul><li>alpha<ul><li>beta</li></ul>gamma</li></ul>delta": "[alpha beta gamma delta]", "<ol><li>alpha<li>beta</ol>gamma": "[alpha beta gamma]",
		"<dl><dt>alpha</dt><dd>beta</dd></dl>gamma":                                                                              "[alpha beta gamma]",
		"a<table><caption>b</caption><tr><th>c</th><td>d</td></tr><tr><td>e</td></tr></table>f":                                  "[a b c d e f]",
		"<table><thead><tr><td>a</td></tr></thead><tbody><tr><td>b</td></tr></tbody><tfoot><tr><td>c</td></tr></tfoot></table>d": "[a b c d]",
		"a<select><optgroup label=l><option>b</option><option>c</option></optgroup></select>d":                                   "[a b c d]",
		"<ruby>kan<rt>ji</rt></ruby>": "[kan ji]",
		"al<b>pha</b>be<i>t</i>a":     "[alphabeta]", "al<span>pha</span>": "[alpha]", "super<wbr>long": "[superlong]", "E<sub>1</sub>": "[E1]", "<code>a</code>b": "[ab]",
		"Donau&shy;dampf&#173;schiff ze&#8203;ro &#xFEFF;x&#x2060;y":                                                             "[Donaudampfschiff zero xy]",
		"<h2>Setup</h2>Install it.<h2>Usage</h2>Run it.":                                                                         "[Setup Install it. Usage Run it.]",
		"<figure><img alt=alpha><figcaption aria-hidden=true>alpha</figcaption></figure><div aria-hidden=true><p>menu</div>beta": "[alpha beta]",
	} {
		if got := words(in); fmt.Sprint(got) != want {
			t.Errorf("%s: %q, want %s", in, got, want)
		}
	}
	// Of an article, too.
	in := "<title>T&shy;itle</title><article><h1>Head</h1>" + strings.Repeat(paragraph, 8) + "<blockquote>alpha</blockquote>beta" + strings.Repeat(paragraph, 4) + "</article>"
	recs, _, err := filestest.ReadAll(t, "a.html", in, Options{})
	if err != nil || recs[0].Title != "Title" || !strings.Contains(strings.Join(strings.Fields(recs[0].Text), " "), "it. alpha beta Bees") {
		t.Errorf("%+v, %v", recs, err)
	}
}

func TestPageEncodings(t *testing.T) {
	for in, want := range map[string]string{
		"<meta charset=iso-8859-1><p>caf\xe9":                    "café",
		"\ufeff<p>café":                                          "café",
		"\xff\xfe<\x00p\x00>\x00\xe9\x00":                        "é",
		"<meta charset=utf-8><p>caf\xe9":                         "café",
		"<meta charset=windows-1251><p>\xef\xf0\xe8\xe2\xe5\xf2": "привет",
		"<p>a\x00b": "a b",
	} {
		recs, _, err := filestest.ReadAll(t, "a.html", in, Options{})
		if err != nil || len(recs) != 1 || recs[0].Text != want {
			t.Errorf("%q: %+v, %v; want %q", in, recs, err, want)
		}
	}
	for in, want := range map[string]error{"": ErrNoText, "<title> </title><script>x</script>": ErrNoText} {
		if recs, _, err := filestest.ReadAll(t, "a.html", in, Options{MaxBytes: 100}); !errors.Is(err, want) {
			t.Errorf("%q: %v, %v; want %v", in, recs, err, want)
		}
	}
}

// TestHostilePages: pages that are made to take long do not.
func TestHostilePages(t *testing.T) {
	n := MaxElements / 4
	for name, in := range map[string]string{
		"deep":      strings.Repeat("<div>", n) + "text",
		"deep font": strings.Repeat("<b><i><font>", n) + "text",
		"tables":    strings.Repeat("<table><tr><td>", n) + "text",
		"attrs":     "<p " + strings.Repeat("a=b ", n) + ">text",
		"adoption":  strings.Repeat("<a><div>", n) + "text" + strings.Repeat("</a>", n),
		"svg":       strings.Repeat("<svg><p>", n) + "text",
		"headings":  strings.Repeat("<h1>x</h1>", n),
		"template":  strings.Repeat("<template>", n) + "text",
		"select":    strings.Repeat("<select><option>x", n),
		"br":        "text" + strings.Repeat("<br>", n),
		"brackets":  strings.Repeat("<", n) + "text",
	} {
		var err error
		took := trial.Took(t, func() { _, _, err = filestest.ReadAll(t, "a.html", in, Options{}) })
		t.Logf("%s: %v, %v", name, took, err)
		if took > 20*time.Second {
			t.Errorf("%s: %d bytes took %v", name, len(in), took)
		}
	}
}

func FuzzHTML(f *testing.F) {
	filestest.Fuzz(f, "html", "<html lang=de><title>T</title><main><h1>x</h1><p>y</main>", "<meta charset=utf-16><p>x", "<table><a><div></a>", "<pre>\n x</pre><h2>")
}

// TestDeepPages: elements that stand too deep for the parser cost their tags alone; what they show is kept, with words apart.
func TestDeepPages(t *testing.T) {
	for name, page := range map[string]string{
		"closed":   "<p>first</p>" + strings.Repeat("<div>", 20_000) + "<p>alpha</p><p>beta</p>" + strings.Repeat("</div>", 20_000) + "<p>last</p>",
		"open":     "<p>first" + strings.Repeat("<table><tr><td>", 5_000) + "alpha<td>beta<p>last",
		"inline":   "<p>first " + strings.Repeat("<font color=1><b><i>", 5_000) + "alpha <p>beta<script>no</script><p>last",
		"foreign":  "first <svg>" + strings.Repeat("<g>", 5_000) + "<text>drawn</text></svg> alpha beta <p>last",
		"unpaired": "first " + strings.Repeat("</div>", 3_000) + strings.Repeat("<ul><li>", 3_000) + "alpha<li>beta" + strings.Repeat("</ul>", 9_000) + "<p>last",
	} {
		recs, warned := warnings(t, "a.html", page, Options{})
		if len(recs) != 1 {
			t.Errorf("%s: %v", name, recs)
			continue
		}
		words := strings.Fields(recs[0].Text)
		if got := strings.Join(words, " "); got != "first alpha beta last" {
			t.Errorf("%s: %q", name, got)
		}
		if len(warned) != 1 || !strings.Contains(warned[0], "deep") {
			t.Errorf("%s: warnings %v", name, warned)
		}
	}
}

// TestXHTML: an element without a content that XHTML writes as one tag, and HTML does not, hides nothing behind it.
func TestXHTML(t *testing.T) {
	for _, head := range []string{`<?xml version="1.0"?><html>`, `<html xmlns="http://www.w3.org/1999/xhtml">`} {
		for _, tag := range strings.Fields("title script style textarea iframe noscript") {
			for _, in := range []string{head + "<head><" + tag + "/></head><body><p>behind</p></body></html>", head + "<body><" + tag + ` id="x" /><p>behind</p></body></html>`} {
				for _, name := range []string{"a.xhtml", "a.html"} {
					if got, _ := textOf(t, name, in); got != "behind" {
						t.Errorf("%s %q: %q", name, in, got)
					}
				}
			}
		}
	}
}
