package files_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		"{\"text\":\"x\"}\n[]":                                          "f#1 x 1-1",
		`{"text": "x", "k": 1}`:                                         "f x 1-1",
		"\n{\n\"id\": 1,\n\"text\": \"x\"\n}\n":                         "1 x 2-5",
		"[\n{\"text\": \"x\"},\n\n{\"id\": \"b\",\n\"text\": \"y\"}\n]": "f#1 x 2-2|b y 4-5",
		"{\"version\": 1, \"documents\": [{\"text\": \"x\"},\n{\"text\": \"y\"}], \"text\": \"no\"}": "f#1 x 1-1|f#2 y 2-2",
		"{\"text\":\"x\"}\n{\"text\":\"y\"} [{\"text\":\"z\"}]":                                      "f#1 x 1-1|f#2 y 2-2|f#3 z 2-2",
		"[]": "", "{\"documents\": []}": "",
		"\xff\xfe{\x00}\x00":                      "!1 no text",
		`[{"text":"x","n":1e400},{"text":"y"},5]`: "f#1 x 1-1|f#2 y 1-1|!1 put one object",
		`{"text":"x","n":1e400}`:                  "f x 1-1",
		"[{\"text\": \"caf\xe9\"}]":               "f#1 café 1-1",
		`{"id":"a","text":"x","documents":"two"}`: "a x 1-1",
		`{"name": "config"}`:                      "!1 no text",
	} {
		recs, bad, err := filestest.ReadAll(t, "a.json", in, Options{ID: "f"})
		var got []string
		for _, r := range recs {
			got = append(got, fmt.Sprintf("%s %s %d-%d", r.ID, r.Text, r.From, r.To))
		}
		var good, wantBad []string
		for w := range strings.SplitSeq(want, "|") {
			if strings.HasPrefix(w, "!") {
				wantBad = append(wantBad, w[1:])
			} else if w != "" {
				good = append(good, w)
			}
		}
		ok := err == nil && strings.Join(got, "|") == strings.Join(good, "|") && len(bad) == len(wantBad)
		for i := range wantBad {
			line, reason, _ := strings.Cut(wantBad[i], " ")
			ok = ok && strings.HasPrefix(bad[i], line+":") && strings.Contains(bad[i], reason)
		}
		if !ok {
			t.Errorf("%q: %q, %q, %v; want %q", in, got, bad, err, want)
		}
	}
}

func TestBadJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"text": "x"`:                         "ends in the middle",
		`[{"text": "x"}`:                       "ends in the middle",
		`[{"text": "x"},` + "\n" + `x]`:        "line 2: not JSON",
		`5`:                                    "neither an object nor an array",
		`null`:                                 "neither an object nor an array",
		`{"documents": {"a": 1}}`:              "make it an array",
		"[{\"text\": \"a\x01b\"}]":             "not JSON",
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR":  "not UTF-8",
		`{"a": ` + strings.Repeat("[", 20_000): "not JSON",
		`[{"text": "` + strings.Repeat("x", 1<<17) + `"}]`:          "longer than 32768 bytes",
		`{"a": "` + strings.Repeat("x", 40_000) + `", "text": "x"}`: "longer than 32768 bytes",
	} {
		recs, bad, err := filestest.ReadAll(t, "a.json", in, Options{ID: "f", MaxBytes: 1 << 15})
		if err == nil || !strings.Contains(err.Error(), want) || len(bad) > 0 || len(recs) > 1 {
			t.Errorf("%.60q: %v, %q, %v; want %q", in, recs, bad, err, want)
		}
	}
	// Longer than a record may be, and short enough to be read to its end.
	in := `[{"text": "` + strings.Repeat("x", 33_000) + `"}, {"text": "y"}]`
	recs, bad, err := filestest.ReadAll(t, "a.json", in, Options{ID: "f", MaxBytes: 1 << 15})
	if err != nil || len(recs) != 1 || len(bad) != 1 || !strings.Contains(bad[0], "longer than") {
		t.Errorf("a long record among others: %d, %q, %v", len(recs), bad, err)
	}
	if _, _, err := filestest.ReadAll(t, "a.json", `{"a"`, Options{}); !errors.Is(err, ErrMalformed) {
		t.Errorf("%v is not ErrMalformed", err)
	}
}

func TestNamedVectors(t *testing.T) {
	in := `{"id": 1, "vector": {"a": [1], "b": [2], "s": {"indices": [1]}}, "payload": {"text": "x"}}`
	if _, bad, _ := filestest.ReadAll(t, "a.jsonl", in, Options{}); len(bad) != 1 || !strings.Contains(bad[0], `2 vectors, "a", "b"; name one of them`) {
		t.Errorf("two vectors: %q", bad)
	}
	recs, bad, err := filestest.ReadAll(t, "a.jsonl", in, Options{Columns: Columns{Vector: "b"}})
	if err != nil || len(bad) > 0 || len(recs[0].Vector) != 1 || recs[0].Vector[0] != 2 || recs[0].Metadata != nil {
		t.Errorf("the one that was named: %+v, %q, %v", recs, bad, err)
	}
	recs, _, _ = filestest.ReadAll(t, "a.jsonl", `{"id": 1, "vector": {"": [3]}, "payload": {"text": "x"}}`, Options{})
	if len(recs) != 1 || len(recs[0].Vector) != 1 {
		t.Errorf("one that has a name: %+v", recs)
	}
}

func FuzzJSON(f *testing.F) {
	filestest.Fuzz(f, "json", `{"text":"x"}`, "[{\"text\":\"x\"},\n{\"id\":2}]", `{"documents":[{"text":"y","vector":{"a":[1]}}],"k":[1e5]}`, `{} {}`,
		`{"text":"x","a":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`}`, `{"text":"x","a":7E777,"a":-0}`)
}
