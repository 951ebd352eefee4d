package filestest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
)

// Mark is the n-th mark of [Marked].
func Mark(n int) string { return fmt.Sprintf("mark%04dz", n) }

// Rest follows each mark.
const Rest = "of the walrus that sleeps on the ice"

// MarkedKinds are the kinds of [Marked].
var MarkedKinds = []string{"markdown", "text", "code", "html", "jsonl", "json", "csv", "tsv", "pdf", "docx", "pptx", "xlsx",
	"odt", "ods", "odp", "epub", "rtf", "ipynb", "eml", "mbox"}

// MarkedFiles are files of [Marked], one of each of MarkedKinds in a folder of the kind's name, by their paths.
func MarkedFiles(t testing.TB, n int) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, kind := range MarkedKinds {
		name, content := Marked(t, kind, n)
		out[kind+"/"+name] = content
	}
	return out
}

// Marked is an intact file of a kind. Its text has n marks, which are stored unchanged and in order. A file with
// several documents has one for each mark, with the mark's number as id.
func Marked(t testing.TB, kind string, n int) (name, content string) {
	t.Helper()
	each := func(format string) string { // of a mark and its number
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, Mark(i)+" "+Rest, i)
		}
		return b.String()
	}
	listed := func(format string) string { return strings.TrimSuffix(each(format), ",") }
	const xml = `<?xml version="1.0" encoding="UTF-8"?>`
	core := []string{"docProps/core.xml", xml + "<p><title>Marks</title><creator>Ann</creator></p>"}
	meta := []string{"meta.xml", xml + "<m><title>Marks</title></m>"}
	name = "a." + kind
	switch kind {
	case "markdown":
		return "a.md", "---\ntitle: Marks\ntags: [a, b]\n---\n\n" + each("## Part %[2]d\n\n%[1]s.\n\n")
	case "text":
		return "a.txt", each("%[1]s.\n")
	case "code":
		return "a.go", "package marks\n\n" + each("// f%[2]d says %[1]s.\nfunc f%[2]d() {}\n\n")
	case "html":
		return name, "<!doctype html><title>Marks</title><meta charset=utf-8><main>" + each("<h2>Part %[2]d</h2>\n<p>%[1]s.</p>\n") + "</main>"
	case "jsonl":
		return name, each(`{"_id":"%[2]d","text":"%[1]s.","n":%[2]d}` + "\n")
	case "json":
		return name, "[" + listed(`{"_id":"%[2]d","text":"%[1]s."},`) + "]"
	case "csv":
		return name, "id,text,n\n" + each("%[2]d,\"%[1]s.\",%[2]d\n")
	case "tsv":
		return name, "id\ttext\tn\n" + each("%[2]d\t%[1]s.\t%[2]d\n")
	case "ipynb":
		return name, `{"cells":[` + listed(`{"cell_type":"markdown","source":["%[1]s."]},`) + `],"metadata":{"title":"Marks"},"nbformat":4,"nbformat_minor":5}`
	case "eml":
		return name, "From: a@b.example\nSubject: Marks\nContent-Type: text/plain; charset=utf-8\n\n" + each("%[1]s.\n\n")
	case "mbox":
		return name, each("From a@b.example Mon Jan  1 00:00:00 2024\nMessage-Id: <%[2]d>\nSubject: Part %[2]d\n\n%[1]s.\n\n")
	case "rtf":
		return name, `{\rtf1\ansi{\info{\title Marks}}` + "\n" + each("\\pard %[1]s.\\par\n") + "}"
	case "docx":
		return name, stored(t, append(core, "word/document.xml", xml+"<document><body>"+each("<p><r><t>%[1]s.</t></r></p>")+"</body></document>")...)
	case "xlsx":
		return name, stored(t, append(core, "xl/workbook.xml", `<workbook><sheets><sheet name="S" r:id="r1"/></sheets></workbook>`,
			"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r1" Type="http://x/worksheet" Target="s.xml"/></Relationships>`,
			"xl/s.xml", "<worksheet>"+each(`<row><c t="inlineStr"><is><t>%[1]s</t></is></c></row>`)+"</worksheet>")...)
	case "pptx":
		parts := append(core, "ppt/presentation.xml", "<p>"+each(`<sldId id="%[2]d" r:id="r%[2]d"/><!--%.0[1]s-->`)+"</p>",
			"ppt/_rels/presentation.xml.rels", "<Relationships>"+each(`<Relationship Id="r%[2]d" Type="http://x/slide" Target="slides/%[2]d.xml"/><!--%.0[1]s-->`)+"</Relationships>")
		for i := range n {
			parts = append(parts, fmt.Sprintf("ppt/slides/%d.xml", i), "<sld><sp><p><r><t>"+Mark(i)+" "+Rest+"</t></r></p></sp></sld>")
		}
		return name, stored(t, parts...)
	case "odt":
		return name, stored(t, append(meta, "content.xml", xml+"<d><text>"+each("<p>%[1]s.</p>")+"</text></d>")...)
	case "ods":
		return name, stored(t, append(meta, "content.xml", xml+`<d><spreadsheet><table name="T">`+each("<table-row><table-cell><p>%[1]s</p></table-cell></table-row>")+"</table></spreadsheet></d>")...)
	case "odp":
		return name, stored(t, append(meta, "content.xml", xml+"<d><presentation>"+each("<page><p>%[1]s.</p></page>")+"</presentation></d>")...)
	case "epub":
		parts := []string{"META-INF/container.xml", `<container><rootfile full-path="b.opf"/></container>`, "b.opf",
			"<package><title>Marks</title>" + each(`<item id="c%[2]d" href="%[2]d.xhtml" media-type="application/xhtml+xml"/><itemref idref="c%[2]d"/><!--%.0[1]s-->`) + "</package>"}
		for i := range n {
			parts = append(parts, fmt.Sprintf("%d.xhtml", i), "<html><body><h1>Part</h1><p>"+Mark(i)+" "+Rest+".</p></body></html>")
		}
		return name, stored(t, parts...)
	case "pdf":
		return name, pages(n)
	}
	t.Fatalf("no marked file of kind %q", kind)
	return "", ""
}

// stored is a zip archive of uncompressed parts, with their sizes before them: name, content, name, content.
func stored(t testing.TB, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		raw := []byte(parts[i+1])
		w, err := z.CreateRaw(&zip.FileHeader{Name: parts[i], CRC32: crc32.ChecksumIEEE(raw), CompressedSize64: uint64(len(raw)), UncompressedSize64: uint64(len(raw))})
		if err == nil {
			_, err = w.Write(raw)
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

// pages is a PDF with a mark on each page, in the structure of its format: objects, the table of their positions, and
// the trailer.
func pages(n int) string {
	var b strings.Builder
	var at []int
	object := func(format string, args ...any) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), fmt.Sprintf(format, args...))
	}
	b.WriteString("%PDF-1.4\n")
	var kids strings.Builder
	for i := range n {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Count %d /Kids [ %s] >>", n, kids.String())
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	for i := range n {
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F 3 0 R >> >> /Contents %d 0 R >>", 5+2*i)
		text := fmt.Sprintf("BT /F 12 Tf 50 700 Td (%s %s) Tj ET", Mark(i), Rest)
		object("<< /Length %d >>\nstream\n%s\nendstream", len(text), text)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, a := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", a)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, table)
	return b.String()
}
