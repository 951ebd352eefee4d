package files_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// made is a file that testdata/make.sh has made.
func made(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestMade: of the files of other programs the text comes in its order, with title and author, and breaks at headings.
func TestMade(t *testing.T) {
	guide := []string{"Install\n\n", "The anchor weighs", "Zażółć gęślą jaźń.", "On Linux\n\n", "setup", "Port", "Akureyri", "eleven", "Húsavík", "seven", "Usage", "Mooring needs two persons."}
	talk := []string{"Tides\n\nebb at noon\n\nflood at midnight", "Mention the lighthouse.", "Currents\n\nThe eddy turns left."}
	ports := []string{"office\n\nname\twhen\tdepth\nAkureyri\t2024-03-01\t11\nHúsavík, north\t2024-04-02\t7.5"}
	markup := []string{"Install"}
	for _, words := range guide[1:] {
		markup = append(markup, strings.TrimSpace(words))
	}
	buoy := []string{"The buoy 1 drifts für immer.\nFrom here it goes north.\n\ndepths.csv\n\ndepth;seven"}
	const ann = "Ann Árnadóttir"
	for name, c := range map[string]struct {
		title, author string
		has           []string
		breaks        string // what begins at them
	}{
		"pandoc.docx": {"Harbour guide", ann, append(guide, "Weighed without its chain."), "Install|On Linux|Usage"}, "office.docx": {"Harbour guide", ann, append(guide, "Weighed without its chain."), "Install|On Linux|Usage"},
		"pandoc.odt": {"Harbour guide", ann, guide, "Install|On Linux|Usage"}, "office.odt": {"Harbour guide", ann, guide, "Install|On Linux|Usage"},
		"pandoc.rtf": {"", "", guide, "Install|On Linux|Usage"}, "office.rtf": {"Harbour guide", ann, guide, "Install|On Linux|Usage"},
		"pandoc.epub": {"Harbour guide", ann, guide, "Install|On Linux|Usage"}, "office.epub": {"Harbour guide", ann, guide[:5], "Install|Usage"},
		"pandoc.pptx": {"Sea talk", ann, talk, "Tides|Currents"}, "office.pptx": {"Sea talk", ann, talk, "Tides|Currents"}, "office.odp": {"Sea talk", ann, talk, "Tides|Currents"},
		"office.xlsx": {"", "", ports, ""}, "office.ods": {"", "", ports, ""},
		"pandoc.ipynb":   {"Install", "", guide[1:2], "## On Linux|# Usage"},
		"nbformat.ipynb": {"Tide tables", ann, []string{"Tides\n\nMeasured at noon.\n\n## Method\n\nBy a staff.\n\nheight = 3.5\nprint(height)\n\n3.5 metres\n<Figure of spring tide>\nValueError: ebb below zero\n\nraw words"}, "## Method"},
		"pandoc.org":     {"Harbour guide", ann, markup, "* Install|** On Linux|* Usage"}, "pandoc.rst": {"Harbour guide", ann, markup, "Install|On Linux|Usage"},
		"pandoc.adoc": {"Harbour guide", ann, markup, "== Install|=== On Linux|== Usage"}, "pandoc.tex": {"Harbour guide", ann, markup, `\begin{document}|\section{Install}|\subsection{On Linux}|\section{Usage}`},
		"python.eml": {"Höfn: report 1", "", buoy, "depths.csv"},
	} {
		recs, warned := warnings(t, name, made(t, name), Options{ID: "x"})
		if len(recs) != 1 || len(warned) > 0 {
			t.Errorf("%s: %d records, warned %q", name, len(recs), warned)
			continue
		}
		r := recs[0]
		rest := bare(r.Text)
		for _, want := range c.has {
			_, after, ok := strings.Cut(rest, want)
			if rest = after; !ok {
				t.Errorf("%s: no %q in its order in %q", name, want, r.Text)
				break
			}
		}
		var begin []string
		for i, b := range r.Breaks {
			if want := strings.Split(c.breaks, "|"); i < len(want) && strings.HasPrefix(r.Text[b:], want[i]) {
				begin = append(begin, want[i])
			} else {
				begin = append(begin, fmt.Sprintf("%.20q", r.Text[b:]))
			}
		}
		if author, _ := r.Metadata["author"].(string); r.Title != c.title || author != c.author || strings.Join(begin, "|") != c.breaks {
			t.Errorf("%s: title %q, metadata %v, breaks at %q", name, r.Title, r.Metadata, begin)
		}
	}
}

// archiveOf is a zip archive of parts: name, content, name, content.
func archiveOf(t testing.TB, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err == nil {
			_, err = w.Write([]byte(parts[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// rels are relations of OOXML: id, type, target.
func rels(of ...string) string {
	var b strings.Builder
	b.WriteString("<Relationships>")
	for i := 0; i < len(of); i += 3 {
		fmt.Fprintf(&b, `<Relationship Id="%s" Type="http://x/%s" Target="%s"/>`, of[i], of[i+1], of[i+2])
	}
	return b.String() + "</Relationships>"
}

// simple is an archive of a kind whose one text is what stands in its main part.
func simple(t testing.TB, kind, content string, more ...string) string {
	t.Helper()
	switch kind {
	case "docx":
		return archiveOf(t, append([]string{"word/document.xml", "<document><body>" + content + "</body></document>"}, more...)...)
	case "pptx":
		return archiveOf(t, append([]string{"ppt/presentation.xml", `<p><sldId id="256" r:id="r1"/></p>`, "ppt/_rels/presentation.xml.rels", rels("r1", "slide", "slides/slide1.xml"), "ppt/slides/slide1.xml", "<sld>" + content + "</sld>"}, more...)...)
	case "xlsx":
		return archiveOf(t, append([]string{"xl/workbook.xml", `<workbook><sheets><sheet name="S" r:id="r1"/></sheets></workbook>`, "xl/_rels/workbook.xml.rels", rels("r1", "worksheet", "/xl/s.xml", "r2", "sharedStrings", "strings.xml", "r3", "styles", "styles.xml"), "xl/s.xml", "<worksheet>" + content + "</worksheet>"}, more...)...)
	case "epub":
		return archiveOf(t, append([]string{"META-INF/container.xml", `<container><rootfile full-path="O/b.opf"/></container>`, "O/b.opf", `<package><item id="c" href="a%20b.xhtml" media-type="application/xhtml+xml"/><itemref idref="c"/></package>`, "O/a b.xhtml", content}, more...)...)
	}
	return archiveOf(t, append([]string{"content.xml", "<document>" + content + "</document>"}, more...)...)
}

// bare is a text without what says where its parts are.
func bare(text string) string { return strings.ReplaceAll(text, "\f", "") }

// TestOfficeText: what counts as text of a document, and what does not.
func TestOfficeText(t *testing.T) {
	run := func(s string) string { return "<p><r><t>" + s + "</t></r></p>" }
	for _, c := range []struct{ kind, content, want string }{
		{"docx", "<p><r><t>a</t><tab/><t>b</t><br/><t>c</t></r><del><r><delText>no</delText><t>no</t></r></del><r><instrText>no</instrText></r></p>" + run("d"), "a\tb\nc\n\nd"},
		{"docx", "<p><r><t>out</t><AlternateContent><Choice>" + run("in") + "</Choice><Fallback>" + run("in") + "</Fallback></AlternateContent></r></p>", "in\n\nout"},
		{"docx", "<tbl><tr><tc>" + run("a") + run("b") + "</tc><tc><tbl><tr><tc>" + run("c") + "</tc></tr></tbl></tc></tr><tr><tc>" + run("d") + "</tc></tr></tbl>", "a b\tc\nd"},
		{"docx", "<p><r><t>soft\u00adware</t></r></p>", "software"},
		{"docx", `<p><pPr><outlineLvl val="1"/></pPr><r><t>h</t></r></p>` + run("a"), "h\n\na"},
		{"pptx", `<sp><nvPr><ph type="sldNum"/></nvPr><p><r><t>7</t></r></p></sp><sp><p><r><t>a</t></r><br/><r><t>b</t></r></p></sp>`, "a\nb"},
		{"pptx", `<tbl><tr><tc><p><r><t>a</t></r></p></tc><tc><p><r><t>b</t></r></p></tc></tr></tbl>`, "a\tb"},
		{"xlsx", `<row><c t="s"><v>0</v></c><c t="s"><v>9</v></c><c t="b"><v>1</v></c><c><f>A1</f><v>1.5</v></c></row><row><c t="inlineStr"><is><t>x
y</t></is></c><c s="1"><v>45352</v></c><c s="2"><v>45352.5</v></c><c s="0"><v>45352</v></c></row>`, "S\n\nshared text\t\tTRUE\t1.5\nx y\t2024-03-01\t2024-03-01 12:00:00\t45352"},
		{"odt", `<h outline-level="2">H</h><p>a<s/>b<tab/>c<line-break/>d<note><note-citation>1</note-citation><note-body><p>note</p></note-body></note></p><tracked-changes><p>no</p></tracked-changes>`, "H\n\na b\tc\nd\n\nnote"},
		{"ods", `<spreadsheet><table name="T"><table-row><table-cell><p>a</p><p>b</p></table-cell><table-cell><p>c</p></table-cell></table-row></table></spreadsheet>`, "T\n\na b\tc"},
		{"odp", `<page><frame class="title"><text-box><p>First</p></text-box></frame><p>a</p></page><page><p>b<page-number>2</page-number></p></page>`, "a\n\nb"},
		{"epub", "<html><head><title/><style>no</style></head><body><p>a<script src='x'/></p><p>é</p></body></html>", "a\n\né"},
	} {
		more := []string{}
		if c.kind == "xlsx" {
			more = []string{"xl/strings.xml", "<sst><si><r><t>shared </t></r><r><t>text</t></r><rPh><t>no</t></rPh></si></sst>",
				"xl/styles.xml", `<s><numFmts><numFmt numFmtId="170" formatCode="dd\.mm\.yyyy"/><numFmt numFmtId="171" formatCode="0&quot;day&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="171"/><xf numFmtId="170"/><xf numFmtId="22"/></cellXfs></s>`}
		}
		recs, warned := warnings(t, "a."+c.kind, simple(t, c.kind, c.content, more...), Options{ID: "x"})
		if len(recs) != 1 || bare(recs[0].Text) != c.want || len(warned) > 0 {
			t.Errorf("%s, %s: %+v, warned %q; want %q", c.kind, c.content, recs, warned, c.want)
		}
	}
}

// TestOfficeParts: the main part may have any name, which the relations of the file tell: Word Online writes word/document2.xml.
func TestOfficeParts(t *testing.T) {
	for kind, parts := range map[string][]string{
		"docx": {"word/document2.xml", "<document><body><p><r><t>words</t></r></p></body></document>"},
		"pptx": {"deck/p7.xml", `<p><sldId id="256" r:id="r1"/></p>`, "deck/_rels/p7.xml.rels", rels("r1", "slide", "/slides/one.xml"), "slides/one.xml", "<sld><sp><p><r><t>words</t></r></p></sp></sld>"},
		"xlsx": {"xl/book.xml", `<workbook><sheets><sheet name="S" r:id="r1"/></sheets></workbook>`, "xl/_rels/book.xml.rels", rels("r1", "worksheet", "s.xml"), "xl/s.xml", `<worksheet><row><c t="str"><v>words</v></c></row></worksheet>`},
	} {
		for _, slash := range []string{"", "/"} {
			about := []string{"_rels/.rels", rels("r1", "officeDocument", slash+parts[0], "r2", "core-properties", slash+"props/about.xml"), "props/about.xml", "<p><title>Named</title></p>"}
			recs, warned := warnings(t, "a."+kind, archiveOf(t, append(about, parts...)...), Options{ID: "x"})
			if len(recs) != 1 || !strings.HasSuffix(bare(recs[0].Text), "words") || recs[0].Title != "Named" || len(warned) > 0 {
				t.Errorf("%s: %+v, warned %q", kind, recs, warned)
			}
		}
	}
}

// TestMargins: headers and footers, which hold letterheads and numbers of documents, stand once behind the text.
func TestMargins(t *testing.T) {
	p := func(s string) string { return "<p><r><t>" + s + "</t></r></p>" }
	docx := simple(t, "docx", p("body"), "word/_rels/document.xml.rels", rels("1", "header", "h1.xml", "2", "footer", "f.xml", "3", "header", "h2.xml", "4", "header", "gone.xml", "5", "footnotes", "n.xml"),
		"word/h1.xml", "<hdr><tbl><tr><tc>"+p("ACME")+"</tc><tc>"+p("No. 7")+"</tc></tr></tbl></hdr>", "word/h2.xml", "<hdr><tbl><tr><tc>"+p("ACME")+"</tc><tc>"+p("No. 7")+"</tc></tr></tbl></hdr>", "word/f.xml", "<ftr>"+p("secret")+p("")+"</ftr>", "word/n.xml", "<n>"+p("note")+"</n>")
	odt := simple(t, "odt", "<p>body</p><p>note</p>", "styles.xml", "<styles><header-style><p>no</p></header-style><master-page><header><table><table-row><table-cell><p>ACME</p></table-cell><table-cell><p>No. 7</p></table-cell></table-row></table></header><header-first><table><table-row><table-cell><p>ACME</p></table-cell><table-cell><p>No. 7</p></table-cell></table-row></table></header-first><footer><p>secret<page-number>1</page-number></p></footer></master-page></styles>")
	for name, in := range map[string]string{"a.docx": docx, "a.odt": odt} {
		if got, warned := textOf(t, name, in); bare(got) != "body\n\nnote\n\nACME\tNo. 7\n\nsecret" || len(warned) > 0 {
			t.Errorf("%s: %q, warned %q", name, got, warned)
		}
	}
}

// TestBookWithoutSpine: the chapters of a book that does not name them in order are read, with a warning.
func TestBookWithoutSpine(t *testing.T) {
	for _, spine := range []string{"", `<itemref idref="none"/>`, `<itemref idref="cover"/>`} {
		book := archiveOf(t, "META-INF/container.xml", `<container><rootfile full-path="b.opf"/></container>`,
			"b.opf", `<package><item id="cover" href="c.svg" media-type="image/svg+xml"/><item id="2" href="z.xhtml" media-type="application/xhtml+xml"/><item id="1" href="a.xhtml" media-type="application/xhtml+xml"/>`+spine+`</package>`,
			"c.svg", "<svg/>", "a.xhtml", "<p>second</p>", "z.xhtml", "<p>first</p>")
		recs, warned := warnings(t, "a.epub", book, Options{ID: "x"})
		if len(recs) != 1 || bare(recs[0].Text) != "first\n\nsecond" || len(warned) != 1 {
			t.Errorf("%q: %+v, warned %q", spine, recs, warned)
		}
	}
}

// TestOfficeDamage: what is wrong besides the text is a warning, and so is a text that ends too early; without any text the
// file fails.
func TestOfficeDamage(t *testing.T) {
	para := map[string]string{"docx": "<p><r><t>first words</t></r></p>", "pptx": "<p><r><t>first words</t></r></p>", "odt": "<p>first words</p>",
		"ods": "<p>first words</p>", "odp": "<p>first words</p>", "xlsx": `<row><c t="str"><v>first words</v></c></row>`, "epub": "<p>first words</p>"}
	about := map[string]string{"odt": "meta.xml", "ods": "meta.xml", "odp": "meta.xml"}
	for kind, text := range para {
		deep := strings.Repeat("<x>", 1100)
		many := ""
		switch kind {
		case "docx":
			many = "word/_rels/document.xml.rels"
		case "pptx":
			many = "ppt/slides/_rels/slide1.xml.rels"
		}
		cases := map[string]struct{ in, warn string }{
			"damaged XML": {simple(t, kind, text+"<p <<"), "it cannot be read to its end"},
			"deep":        {simple(t, kind, text+deep), "nests deeper than 1000"},
			"bomb":        {simple(t, kind, text+strings.Repeat("<y> </y>", 1<<16)), "it expands to more than"},
			"metadata":    {simple(t, kind, text, cmpOr(about[kind], "docProps/core.xml"), "<x><title>T</x><<"), "its title and author cannot be read"},
			"date":        {simple(t, kind, text, cmpOr(about[kind], "docProps/core.xml"), "<x><created>yesterday</created></x>"), `the date "yesterday" cannot be read`},
			"long":        {simple(t, kind, text+strings.Repeat(strings.ReplaceAll(text, "first", "later"), 6000)), "its text is longer than"},
		}
		if many != "" {
			list := make([]string, 0, 3*51_000)
			for i := range cap(list) / 3 {
				list = append(list, fmt.Sprint(i), fmt.Sprint("t", i), "x")
			}
			recs, warned := warnings(t, "a."+kind, simple(t, kind, text, many, rels(list...)), Options{ID: "x"})
			if len(recs) != 1 || bare(recs[0].Text) != "first words" || len(warned) != 1 || !strings.Contains(warned[0], "more than 100000 parts") {
				t.Errorf("%s, many: %d records, warned %q", kind, len(recs), warned)
			}
		}
		if kind == "epub" { // HTML has no damage, and its metadata are in its list of chapters
			delete(cases, "damaged XML")
			delete(cases, "deep")
			delete(cases, "metadata")
			delete(cases, "date")
		}
		for name, c := range cases {
			var recs []Record
			var warned []string
			took := trial.Took(t, func() { recs, warned = warnings(t, "a."+kind, c.in, Options{ID: "x", MaxBytes: 64 << 10}) })
			if len(recs) != 1 || !strings.HasPrefix(strings.TrimPrefix(bare(recs[0].Text), "S\n\n"), "first words") || !strings.Contains(strings.Join(warned, "\n"), c.warn) {
				t.Errorf("%s, %s: %d records, warned %q", kind, name, len(recs), warned)
			}
			if took > 2*time.Second {
				t.Errorf("%s, %s: took %v", kind, name, took)
			}
		}
		whole := simple(t, kind, text, "rest", strings.Repeat("x", 100))
		recs, warned := warnings(t, "a."+kind, whole[:len(whole)-60], Options{ID: "x"})
		if len(recs) != 1 || !strings.Contains(recs[0].Text, "first words") || len(warned) != 1 || !strings.Contains(warned[0], "the file is damaged") {
			t.Errorf("%s, cut: %+v, warned %q", kind, recs, warned)
		}
		for name, c := range map[string]struct {
			in   string
			is   error
			want string
		}{
			"other":     {"no archive", ErrMalformed, "damaged, or not of this kind"},
			"before":    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 512), ErrMalformed, "encrypted, or of the format before 2007"},
			"no part":   {archiveOf(t, "x", "y"), ErrMalformed, ""},
			"nothing":   {simple(t, kind, ""), ErrNoText, ""},
			"encrypted": {strings.ReplaceAll(whole, "PK\x01\x02\x14\x00\x14\x00\x08", "PK\x01\x02\x14\x00\x14\x00\x09"), ErrMalformed, ""},
		} {
			recs, _, err := filestest.ReadAll(t, "a."+kind, c.in, Options{ID: "x"})
			if kind == "xlsx" && name == "nothing" {
				continue // the name of a sheet is a text
			}
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %+v, %v; want %q", kind, name, recs, err, c.want)
			}
		}
	}
	locked := simple(t, "odt", "<p>x</p>", "META-INF/manifest.xml", "<m><encryption-data/></m>")
	if _, _, err := filestest.ReadAll(t, "a.odt", locked, Options{}); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "without a password") {
		t.Errorf("an encrypted ODF: %v", err)
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// TestManyParts: the list of parts of an archive is bounded.
func TestManyParts(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	pad := strings.Repeat("p", 60_000)
	for i := range 300 {
		if _, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i), Comment: pad}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := filestest.ReadAll(t, "a.docx", b.String(), Options{}); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "too many parts") {
		t.Error(err)
	}
}

// TestContextWithinPart: the context ends the reading of one large part.
func TestContextWithinPart(t *testing.T) {
	in := simple(t, "docx", "<p><r><t>a</t></r></p>"+strings.Repeat("<y> </y>", 1<<20))
	ctx, cancel := context.WithCancel(t.Context())
	r := &cancelAfter{strings.NewReader(in), cancel, 3}
	for rec, err := range Read(ctx, r, int64(len(in)), "a.docx", Options{ID: "x"}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", rec, err)
		}
	}
}

type cancelAfter struct {
	*strings.Reader
	cancel func()
	left   int
}

func (c *cancelAfter) ReadAt(p []byte, off int64) (int, error) {
	if c.left--; c.left == 0 {
		c.cancel()
	}
	return c.Reader.ReadAt(p, off)
}

func FuzzDOCX(f *testing.F) {
	filestest.Fuzz(f, "docx", made(f, "pandoc.docx"), made(f, "office.docx"))
}
func FuzzPPTX(f *testing.F) {
	filestest.Fuzz(f, "pptx", simple(f, "pptx", `<sp><ph type="title"/><p><t>a</t></p></sp>`))
}
func FuzzXLSX(f *testing.F) { filestest.Fuzz(f, "xlsx", made(f, "office.xlsx")) }
func FuzzODF(f *testing.F) {
	filestest.Fuzz(f, "odt", made(f, "pandoc.odt"), made(f, "office.ods"), simple(f, "odp", "<page><p>a<note><p>b</p></note></p></page>"))
}
func FuzzEPUB(f *testing.F) {
	filestest.Fuzz(f, "epub", made(f, "office.epub"), made(f, "pandoc.epub"))
}
func FuzzRTF(f *testing.F) { filestest.Fuzz(f, "rtf", made(f, "pandoc.rtf"), made(f, "office.rtf")) }
func FuzzNotebook(f *testing.F) {
	filestest.Fuzz(f, "ipynb", made(f, "nbformat.ipynb"), "7E777", `{"cells":7E777}`, `{"cells":[7E777]}`, `{"metadata":7E777}`)
}
func FuzzMail(f *testing.F) {
	filestest.Fuzz(f, "eml", made(f, "python.eml"), "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\nA",
		"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: message/rfc822\n\nSubject: x", "Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n====")
}
func FuzzMbox(f *testing.F) { filestest.Fuzz(f, "mbox", made(f, "python.mbox")) }
