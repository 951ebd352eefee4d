package files_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
	"github.com/lexsem/lexsem/internal/place"
)

// TestLostText: texts that stand aside of the running text are found too: what images say to who cannot see them, comments, signs of old
// fonts, headers and footers, and letters that LaTeX writes by commands.
func TestLostText(t *testing.T) {
	run := func(s string) string { return "<p><r><t>" + s + "</t></r></p>" }
	const dc = ` xmlns:dc="http://purl.org/dc/elements/1.1/"`
	for _, c := range []struct{ name, in, want string }{
		{"alt.html", `<p>a<img alt="the  red&#10;buoy"><input type=image alt=go>b<img alt=""><img alt="IMG_7.JPG"><img hidden alt=no></p>`, "a the red buoy go b"},
		{"caption.html", `<figure><img alt="Red  buoy"><figcaption>Fig. 1: Red buoy at sea</figcaption></figure>`, "Fig. 1: Red buoy at sea"},
		{"alt.eml", "Subject: s\nContent-Type: text/html\n\n<p>a <img alt=offer></p>", "a offer"},
		{"alt.epub", simple(t, "epub", `<p>a <img alt="map"/> b</p>`), "a map b"},
		{"alt.docx", simple(t, "docx", `<p><r><t>a</t><AlternateContent><Choice><drawing><docPr name="Picture 1" descr="red buoy" title="no"/></drawing></Choice><Fallback><pict><shape alt="red buoy"/></pict></Fallback></AlternateContent><t>b</t></r></p><p><pict><shape alt="old map"/></pict></p><p><docPr title="T"/></p>`), "a red buoy b\n\nold map\n\nT"},
		{"alt.pptx", simple(t, "pptx", `<sp><nvSpPr><cNvPr id="1" name="Text"/></nvSpPr><p><r><t>a</t></r></p></sp><pic><cNvPr id="2" name="Picture" descr="red buoy"/></pic>`), "a\n\nred buoy"},
		{"alt.odt", simple(t, "odt", `<p>a<frame><image/><desc>red buoy</desc></frame>b</p>`), "ab\n\nred buoy"},
		{"alt.odp", simple(t, "odp", `<page><frame><image/><desc>red buoy</desc></frame><p>a</p></page>`), "red buoy\n\na"},
		{"comment.docx", simple(t, "docx", run("a"), "word/_rels/document.xml.rels", rels("1", "comments", "c.xml"), "word/c.xml", `<comments><comment author="no">`+run("really?")+`</comment></comments>`), "a\n\nreally?"},
		{"comment.odt", simple(t, "odt", `<p>a<annotation`+dc+`><dc:creator>no</dc:creator><dc:date>no</dc:date><date-string>no</date-string><p>really?</p></annotation>b</p>`), "ab\n\nreally?"},
		{"comment.xlsx", simple(t, "xlsx", `<row><c t="str"><v>a</v></c></row>`, "xl/_rels/s.xml.rels", rels("1", "comments", "c.xml"), "xl/c.xml", `<comments><authors><author>no</author></authors><commentList><comment ref="B2"><text><r><t>one </t></r><r><t>two</t></r></text></comment></commentList></comments>`), "S\n\na\n" + place.Unknown + "B2\tone two"},
		{"thread.xlsx", simple(t, "xlsx", `<row><c t="str"><v>a</v></c></row>`, "xl/_rels/s.xml.rels", rels("1", "comments", "c.xml", "2", "threadedComment", "t.xml"), "xl/c.xml", `<comments><comment ref="B2"><text><t>no</t></text></comment></comments>`, "xl/t.xml", `<ThreadedComments><threadedComment ref="B2"><text>why?</text></threadedComment><threadedComment ref="B2"><text>so.</text></threadedComment></ThreadedComments>`), "S\n\na\n" + place.Unknown + "B2\twhy?\nB2\tso."},
		{"sign.docx", simple(t, "docx", `<p><r><sym font="Symbol" char="F061"/><sym font="Symbol" char="F0A3"/><sym font="Wingdings" char="F0FC"/><sym font="Wingdings" char="F020"/><sym font="Webdings" char="F061"/><sym font="Arial" char="20AC"/><sym font="Symbol" char="x"/></r></p>`), "α≤✓€"},
		{"margin.rtf", `{\rtf1{\header\pard ACME\tab No. 7\par}{\headerf ACME\tab No. 7\par}{\footer secret{\field{\*\fldinst no}{\fldrslt }}}body\par{\footnote note}end}`, "body\n\nend\n\nnote\n\nACME\tNo. 7\n\nsecret"},
		{"margin2.rtf", `{\rtf1 a\par{\header\trowd b\cell c\cell\row\pard d\par}e}`, "a\n\ne\n\nb\tc\n\nd"},
		{"a.tex", `Caf\'e caf\'{e}s {\'E}tat G{\"o}del na\"\i ve \c{c}a Dvo\v r\'ak Erd\H{o}s \~n stra{\ss}e S\o ren {\O}rsted \aa{}r \textbf{\'e} \\'a \omega \'x`, "Café cafés État Gödel naïve ça Dvořák Erdős ñ straße Søren Ørsted år \\textbf{é} \\\\'a \\omega \\'x"},
	} {
		recs, warned := warnings(t, c.name, c.in, Options{ID: "x"})
		if len(recs) != 1 || bare(recs[0].Text) != c.want || len(warned) > 0 {
			t.Errorf("%s: %+v, warned %q; want %q", c.name, recs, warned, c.want)
		}
	}
}

// TestNested: a record without a text has the texts within its objects, in the order of time.
func TestNested(t *testing.T) {
	long := strings.Repeat("ship ", 1000)
	for in, want := range map[string]struct{ text, meta, warn string }{
		// a conversation as ChatGPT exports it
		`[{"id":"x","title":"T","mapping":{"b":{"message":{"create_time":2.5,"author":{"role":"user"},"content":{"content_type":"text","parts":["how deep?"," "]}}},"r":{"message":null},"a":{"message":{"create_time":10,"content":{"parts":["` + long + `",{"asset":"no"}]}}}}}]`: {"how deep?\n\n" + strings.TrimSpace(long), "map[]", `the texts within the field "mapping"`},
		`[{"id":"x","chat_messages":[{"text":"one","content":[{"type":"text","text":"one"}]},{"text":"","content":[{"text":"two"}]}]}]`:                                                                                                                                             {"one\n\ntwo", "chat_messages", ""},
		`{"id":"x","messages":[{"role":"user","content":"one"},{"role":"assistant","content":[{"type":"text","text":"two"},{"type":"image_url","image_url":{"url":"no"}}]}]}`:                                                                                                       {"one\n\ntwo", "messages", ""},
		`{"id":"x","z":{"created_at":"2024-01-02T00:00:00Z","body":"two"},"list":[{"deep":{"page_content":"one"}}]}`:                                                                                                                                                                {"one\n\ntwo", "list", ""},
		`{"id":"x","text":"own","messages":[{"content":"no"}]}`: {"own", "messages", ""},
	} {
		recs, warned := warnings(t, "a.json", in, Options{ID: "f"})
		if len(recs) != 1 || recs[0].Text != want.text || !strings.Contains(fmt.Sprint(recs[0].Metadata), want.meta) || (want.warn == "") != (len(warned) == 0) || !strings.Contains(strings.Join(warned, " "), want.warn) {
			t.Errorf("%.200s: %.300v, warned %q; want %.200q", in, recs, warned, want)
		}
	}
	if recs, _, err := filestest.ReadAll(t, "a.json", `[{"title":"t","a":`+strings.Repeat(`{"message":`, 3000)+"1"+strings.Repeat("}", 3000)+"}]", Options{ID: "x"}); err != nil || recs[0].Text != "" {
		t.Errorf("a deep one: %v, %v", recs, err)
	}
	if recs, _, err := filestest.ReadAll(t, "a.json", `{"name":"settings","scripts":{"test":"go test"},"metadata":{"text":"no"}}`, Options{ID: "x"}); len(recs) > 0 && err == nil {
		t.Errorf("settings: %+v", recs)
	}
	if recs, _, err := filestest.ReadAll(t, "a.json", `[{"id":"x","title":"t","a":{"text":"no"},"b":"own"}]`, Options{ID: "x", Columns: Columns{Text: "b"}}); err != nil || recs[0].Text != "own" {
		t.Errorf("a named field: %+v, %v", recs, err)
	}
}

// TestOtherInside: a file is read as what it is where its name has more than one format.
func TestOtherInside(t *testing.T) {
	flat := func(body string) string {
		return `<?xml version="1.0"?><office:document xmlns:office="urn:o" xmlns:text="urn:t"><office:meta><dc:title>T</dc:title><dc:creator>A</dc:creator></office:meta><office:styles><text:p>no</text:p></office:styles>` +
			`<office:master-styles><style:master-page><style:header><text:p>ACME</text:p></style:header></style:master-page></office:master-styles><office:body>` + body + `</office:body></office:document>`
	}
	const mht = "MIME-Version: 1.0\r\nSubject: T\r\nContent-Type: multipart/related; type=\"text/html\"; boundary=b\r\n\r\n--b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<title>no</title><p>caf=C3=A9 words</p>\r\n--b\r\nContent-Type: text/css\r\n\r\np { color: red }\r\n--b\r\nContent-Type: image/png\r\n\r\nx\r\n--b--\r\n"
	for _, c := range []struct{ name, in, title, want string }{
		{"a.doc", `{\rtf1 words\par}`, "", "words"},
		{"a.doc", "\ufeff <html><title>T</title><p>words", "T", "words"},
		{"A.DOC", mht, "T", "café words"},
		{"a.doc", simple(t, "docx", "<p><r><t>words</t></r></p>"), "", "words"},
		{"a.doc", "plain words", "", "plain words"},
		{"a.mht", mht, "T", "café words"},
		{"a.mhtml", mht, "T", "café words"},
		{"a.fodt", flat(`<office:text><text:p>words<draw:frame><draw:image><office:binary-data>bm8=</office:binary-data></draw:image></draw:frame><office:annotation><dc:creator>no</dc:creator><text:p>why?</text:p></office:annotation></text:p></office:text>`), "T", "words\n\nwhy?\n\nACME"},
		{"a.fods", flat(`<office:spreadsheet><table:table table:name="S"><table:table-row><table:table-cell><text:p>words</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>`), "T", "S\n\nwords"},
		{"a.epub", archiveOf(t, "meta-inf/Container.xml", `<container><rootfile full-path="OPS/b.OPF"/></container>`, "ops/b.opf", `<package><item id="c" href="Text/One.xhtml" media-type="application/xhtml+xml"/><itemref idref="c"/></package>`, "ops/text/one.XHTML", "<p>words</p>"), "", "words"},
	} {
		recs, warned := warnings(t, c.name, c.in, Options{ID: "x"})
		if len(recs) != 1 || recs[0].Title != c.title || bare(recs[0].Text) != c.want || len(warned) > 0 {
			t.Errorf("%s, %.60q: %+v, warned %q; want %q", c.name, c.in, recs, warned, c.want)
		}
	}
	stored := archiveOf(t, "<office:document", "", "content.xml", `<x><p>words</p></x>`, "meta.xml", `<x xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>T</dc:title></x>`) // as in one without compression
	if recs, _, err := filestest.ReadAll(t, "a.odt", stored, Options{ID: "x"}); err != nil || recs[0].Title != "T" || bare(recs[0].Text) != "words" {
		t.Errorf("an archive that begins as a flat file: %+v, %v", recs, err)
	}
	for in, is := range map[string]error{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ErrBinary, "": ErrNoText, "\x00\x01\x02\x03": ErrBinary} {
		if recs, _, err := filestest.ReadAll(t, "a.doc", in, Options{ID: "x"}); !errors.Is(err, is) {
			t.Errorf("%q: %v, %v", in, recs, err)
		}
	}
}

// TestTableWithoutTexts: the columns of words are the text of a table that has no column of texts, and stay metadata.
func TestTableWithoutTexts(t *testing.T) {
	for _, c := range []struct {
		in, want string
		o        Options
		warned   int
	}{
		{"id,city,price,note\n1,Oslo,5,far north\n2,Rome,6,\n", "1||city: Oslo\nnote: far north|map[city:Oslo note:far north price:5];2||city: Rome|map[city:Rome price:6]", Options{}, 1},
		{"name,city,price\nBo,Oslo,5\n", "x#1|Bo|city: Oslo|map[city:Oslo price:5]", Options{ID: "x"}, 0},
		{"id,text,city\n1,own,Oslo\n", "1||own|map[city:Oslo]", Options{}, 0},
		{"id,city,note\n1,Oslo,far\n", "1||far|map[city:Oslo]", Options{Columns: Columns{Text: "note"}}, 0},
		{"id,city\n1,Oslo\n", "|||map[city:Oslo id:1]", Options{Rows: true}, 0},
	} {
		var got, warned []string
		c.o.Warn = func(w Warning) { warned = append(warned, w.Text) }
		for r, err := range Read(t.Context(), strings.NewReader(c.in), int64(len(c.in)), "a.csv", c.o) {
			got = append(got, fmt.Sprint(r.ID, "|", r.Title, "|", r.Text, "|", r.Metadata))
			if err != nil {
				t.Error(err)
			}
		}
		if strings.Join(got, ";") != c.want || len(warned) != c.warned {
			t.Errorf("%q: %q, warned %q; want %q", c.in, got, warned, c.want)
		}
	}
	if _, _, err := filestest.ReadAll(t, "a.csv", "id,price\n1,5\n", Options{}); !errors.Is(err, ErrNoText) {
		t.Errorf("numbers alone: %v", err)
	}
}

// TestPointersOfLFS: a file that Git LFS has not fetched has no document, whatever its kind, and a warning says how to get it.
func TestPointersOfLFS(t *testing.T) {
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	for _, name := range []string{"a.go", "a.md", "a.csv", "a.ipynb", "a.docx", "a.jsonl", "a.json"} {
		var warned []Warning
		recs, _, err := filestest.ReadAll(t, name, pointer, Options{Warn: func(w Warning) { warned = append(warned, w) }})
		if len(recs) > 0 || !errors.Is(err, ErrNoText) || len(warned) != 1 || !strings.Contains(warned[0].Text, "git lfs pull") {
			t.Errorf("%s: %+v, %+v, %v", name, recs, warned, err)
		}
	}
	if recs, _, err := filestest.ReadAll(t, "a.md", pointer+strings.Repeat("A text about pointers of Git LFS.\n", 40), Options{}); len(recs) != 1 || err != nil {
		t.Errorf("a text about pointers: %+v, %v", recs, err)
	}
}
