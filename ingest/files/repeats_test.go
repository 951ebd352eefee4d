package files_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestRepeatedNames: an object that has a name twice keeps its first text, and the later one is stored and named.
func TestRepeatedNames(t *testing.T) {
	for _, c := range []struct{ name, in, text, metadata string }{
		{"a.json", `{"text":"a","text":"b"}`, "a", "map[text~2:b]"},
		{"a.json", `[{"text":"a","text":"b","text":"c","text~2":1}]`, "a", "map[text~2:b text~2~2:1 text~3:c]"},
		{"a.json", `[{"id":"1","text":"a\":","id":"2"}]`, `a":`, "map[id~2:2]"},
		{"a.json", `{"text":"a","documents":1,"documents":2}`, "a", "map[documents:1 documents~2:2]"},
		{"a.json", `{"text":"a","k":[{"x":1,"x":2}]}`, "a", "map[k:[map[x:1 x~2:2]]]"},
		{"a.jsonl", `{"text":"a","text":"b"}`, "a", "map[text~2:b]"},
		{"a.jsonl", `{"payload":{"text":"a","text":"b"}}`, "a", "map[text~2:b]"},
		{"a.jsonl", `{"metadata":{"m":1e2,"m":null,"m":[]},"text":"a"}`, "a", "map[m:1e2 m~2:<nil> m~3:[]]"},
		{"a.ipynb", `{"cells":[{"cell_type":"raw","source":["a"],"source":"b"}]}`, "a\n\nb", "map[]"},
	} {
		recs, warned := warnings(t, c.name, c.in, Options{ID: "x"})
		if len(recs) != 1 || recs[0].Text != c.text || fmt.Sprint(recs[0].Metadata) != c.metadata {
			t.Errorf("%s: %+v; want %q and %s", c.in, recs, c.text, c.metadata)
		}
		if len(warned) == 0 || !strings.Contains(warned[0], "may be damaged") {
			t.Errorf("%s: warned %q", c.in, warned)
		}
	}
	for _, in := range []string{`{"a:":":\":","b":{"a:":[{"a:":1},{"a:":1}]},"text":"a\\"}`, `[{"text":"x"},{"text":"x"}]`, "{\"text\":\"x\"}\n{\"text\":\"x\"}"} {
		if _, warned := warnings(t, "a.json", in, Options{ID: "x"}); len(warned) > 0 {
			t.Errorf("%s: warned %q", in, warned)
		}
	}
	if took := trial.Took(t, func() {
		warnings(t, "a.jsonl", `{"text":"a"`+strings.Repeat(`,"k":1`, 300_000)+"}", Options{ID: "x"})
	}); took > 10*time.Second {
		t.Errorf("many members of one name take %v", took)
	}
}
