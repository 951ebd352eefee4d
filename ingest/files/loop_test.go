package files

import (
	"fmt"
	"strings"
	"testing"
)

// loops has a file of each kind that a loop may leave early.
func loops(t *testing.T) map[string]string {
	return map[string]string{
		"a.md": "# A\n\ntext\n", "a.txt": "text", "a.go": "package a\n", "a.html": "<p>text</p>", "a.json": `[{"text":"a"},{"text":"b"}]`,
		"a.jsonl": `{"_id":"a","text":"a"}` + "\n" + `{"_id":"b","text":"b"}`, "a.csv": "id,text\n1,a\n2,b\n", "a.tsv": "id\ttext\n1\ta\n2\tb\n",
		"a.parquet": parquetFile(t, parquetRow{ID: 1, Text: "a"}, parquetRow{ID: 2, Text: "b"}), "a.pdf": testPDF(t, "p_simple.pdf"),
		"a.fvecs": strings.Repeat("\x01\x00\x00\x00\x00\x00\x80\x3f", 2), "a.fbin": "\x02\x00\x00\x00\x01\x00\x00\x00" + strings.Repeat("\x00\x00\x80\x3f", 2), "a.gob": gobFile(t, chromemExport(), false),
	}
}

func TestLoopsThatEndEarly(t *testing.T) {
	for name, in := range loops(t) {
		n := 0
		for rec, err := range Read(t.Context(), strings.NewReader(in), int64(len(in)), name, Options{ID: "x"}) {
			if n++; err != nil || rec.ID == "" {
				t.Errorf("%s: %+v, %v", name, rec, err)
			}
			break
		}
		if n != 1 {
			t.Errorf("%s: %d records", name, n)
		}
	}
}

// A panic of whoever reads the records is not taken for damage of the file.
func TestLoopsThatPanic(t *testing.T) {
	for name, in := range loops(t) {
		got := func() (p any) {
			defer func() { p = recover() }()
			for range Read(t.Context(), strings.NewReader(in), int64(len(in)), name, Options{ID: "x"}) {
				panic("of the loop")
			}
			return nil
		}()
		if fmt.Sprint(got) != "of the loop" {
			t.Errorf("%s: %v", name, got)
		}
	}
}
