package files_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

func TestJSONL(t *testing.T) {
	in := "\ufeff" + `{"_id": "a", "title": "T", "text": "one", "year": 2024, "metadata": {"lang": "en"}}` + "\r\n" +
		"\n" +
		`{"id": 12345678901234567890, "text": "two", "big": 12345678901234567890}` + "\n" +
		`{"_id": "c", "id": "kept", "text": "three", "name": "Bob"}` + "\n" +
		`{"_id": "d", "text": "x", "lexsem": {"chunks": []}, "metadata": {"lexsem": 1, "title": "m"}}`
	recs, bad, err := filestest.ReadAll(t, "a.jsonl", in, Options{ID: "f"})
	if err != nil || len(bad) > 0 || len(recs) != 4 {
		t.Fatalf("%+v, %q, %v", recs, bad, err)
	}
	a, b, c, d := recs[0], recs[1], recs[2], recs[3]
	if a.ID != "a" || a.Title != "T" || a.Text != "one" || a.Metadata["lang"] != "en" || a.From != 1 || a.To != 1 || a.Verbatim {
		t.Errorf("first: %+v", a)
	}
	if b.ID != "12345678901234567890" || b.From != 3 {
		t.Errorf("second: %+v", b)
	}
	if c.Metadata["id"] != "kept" || c.Metadata["name"] != "Bob" || c.Title != "" {
		t.Errorf("third: %+v", c)
	}
	if d.Title != "" || d.Metadata["title"] != "m" || d.Metadata["lexsem"] == nil {
		t.Errorf("an export's metadata stay metadata: %+v", d)
	}
}

func TestJSONLDumps(t *testing.T) {
	for name, in := range map[string]string{
		"qdrant":    `{"id": "x", "vector": [1, 0.5], "payload": {"text": "words", "k": 1}}`,
		"langchain": `{"id": "x", "vector": [1, 0.5], "payload": {"page_content": "words", "metadata": {"k": 1}}}`,
		"chroma":    `{"id": "x", "document": "words", "embedding": [1, 5e-1], "metadata": {"k": 1}}`,
		"nulls":     `{"id": "x", "text": null, "document": "words", "embedding": [1, 0.5], "title": null, "k": 1}`,
	} {
		recs, bad, err := filestest.ReadAll(t, name+".jsonl", in, Options{})
		if err != nil || len(bad) > 0 || len(recs) != 1 {
			t.Errorf("%s: %+v, %q, %v", name, recs, bad, err)
			continue
		}
		if r := recs[0]; r.ID != "x" || r.Text != "words" || !slices.Equal(r.Vector, []float32{1, .5}) || len(r.Metadata) != 1 || r.Metadata["k"] == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	recs, _, err := filestest.ReadAll(t, "a.jsonl", `{"id": 1, "text": "t", "body": {"a": 1}, "vector": "v", "embedding": [], "content": "c"}`, Options{})
	if err != nil || len(recs[0].Metadata) != 4 {
		t.Errorf("usual names with other things in them are metadata: %+v, %v", recs, err)
	}
	recs, _, err = filestest.ReadAll(t, "a.jsonl", `{"key": 7, "head": "h", "words": "w", "text": "t", "v": [1]}`, Options{Columns: Columns{"key", "head", "words", "v"}})
	if err != nil || recs[0].ID != "7" || recs[0].Title != "h" || recs[0].Text != "w" || len(recs[0].Vector) != 1 || recs[0].Metadata["text"] != "t" {
		t.Errorf("fields that were named: %+v, %v", recs, err)
	}
}

func TestBadJSONL(t *testing.T) {
	for in, want := range map[string]string{
		`{"_id": "a", "text": "x"`:               "not a JSON object",
		`[1]`:                                    "not a JSON object but array; put one object on each line",
		`null`:                                   "not a JSON object",
		`{"_id": "a", "text": "x"} {"_id": "b"}`: "one object on each line",
		`{"text": "x"}`:                          "no \"_id\"",
		`{"_id": "", "text": "x"}`:               "is empty",
		`{"_id": ["a"], "text": "x"}`:            "neither a string nor a number",
		`{"_id": "a", "text": [5]}`:              "not a string",
		`{"_id": "a", "text": " \t"}`:            "no text",
		`{"_id": "a"}`:                           "no text",
		`{"_id": "a", "text": "x", "vector": [1, 1e39]}`: "out of range",
		strings.Repeat("[", 20_000):                      "not a JSON object",
		"\x01":                                           "not a JSON object",
		strings.Repeat("x", 1<<15+3):                     "longer than 32768 bytes",
	} {
		recs, bad, err := filestest.ReadAll(t, "a.jsonl", in+"\n{\"_id\": \"ok\", \"text\": \"fine\"}\n", Options{MaxBytes: 1 << 15})
		if err != nil || len(bad) != 1 || !strings.Contains(bad[0], want) || !strings.HasPrefix(bad[0], "1: ") || len(recs) != 1 {
			t.Errorf("%.60q: %v, complaints %q, error %v; want one about %q", in, recs, bad, err, want)
		}
	}
	recs, _, err := filestest.ReadAll(t, "a.jsonl", "{\"text\":\"x\"}\n\n!\n{\"text\":\"y\"}", Options{ID: "f"})
	if err != nil || len(recs) != 2 || recs[0].ID != "f#1" || recs[1].ID != "f#3" {
		t.Errorf("ids of those without one: %+v, %v", recs, err)
	}
}

func TestLines(t *testing.T) {
	var got []string
	for l, err := range Lines(strings.NewReader("\ufeff a\r\n\n"+strings.Repeat("x", 200_000)+"\n12345\n123456789\nb"), 5) {
		if err != nil {
			if !errors.Is(err, ErrTooLarge) {
				t.Fatal(err)
			}
			got = append(got, "!")
			continue
		}
		got = append(got, string(rune('0'+l.N))+string(l.Text))
	}
	if want := []string{"1a", "!", "412345", "!", "6b"}; !slices.Equal(got, want) {
		t.Errorf("lines %q, want %q", got, want)
	}
}

func FuzzJSONL(f *testing.F) {
	filestest.Fuzz(f, "jsonl", `{"_id": "a", "title": "t", "text": "x", "metadata": {"y": [1, 2.5e3, null]}}`,
		`{"id": 1e5, "text": "\ud800"}`+"\n\n{}", `{"id":1,"payload":{"page_content":"x","metadata":{}},"vector":[1,2]}`)
}
