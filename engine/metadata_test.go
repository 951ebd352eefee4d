package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestManyMetadataKeys: a document of very many keys is stored, found by one of them
// and given back, in time that goes with their number. The bound is that of a loaded
// machine.
func TestManyMetadataKeys(t *testing.T) {
	n, each := 50_000, 100*time.Microsecond
	if trial.Long() {
		n, each = 1_000_000, 10*time.Microsecond
	}
	m := make(map[string]any, n)
	for i := range n {
		m[fmt.Sprintf("key%d", i)] = i
	}
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	begin := time.Now()
	add(t, e, []engine.Document{{ID: "a", Text: "x", Metadata: m}, {ID: "b", Text: "y"}})
	took := time.Since(begin)
	t.Logf("%d keys in %v", n, took)
	if bound := time.Duration(n) * each; took > bound {
		t.Errorf("%d keys took %v, at most %v should do", n, took, bound)
	}
	r, err := e.Search(t.Context(), engine.Query{Text: "x", Filter: filter.Eq(fmt.Sprintf("key%d", n-1), n-1)})
	if err != nil || len(r.Hits) != 1 || len(r.Hits[0].Metadata) != n {
		t.Fatalf("%d hits, %v", len(r.Hits), err)
	}
}

// TestNumbersOutOfRange: a number that no float64 holds is refused by every call that stores metadata, whatever type has it.
func TestNumbersOutOfRange(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, []engine.Document{{ID: "a", Text: "x", Metadata: map[string]any{"digits": json.Number("9007199254740993.10"), "text": `1e400 "\\\" 1e400`}}})
	long := json.Number(strings.Repeat("9", 310))
	for _, v := range []any{json.Number("1e400"), json.Number("-1E+999"), long, []any{1, map[string]any{"b": json.Number("1e309")}}, json.RawMessage(`{"\"":1e400}`), struct{ N json.Number }{"1e400"}} {
		docs := []engine.Document{{ID: "b", Text: "y", Metadata: map[string]any{"a": `\" 1e5`, "n": v, "z": "z"}}}
		_, added := e.Add(t.Context(), docs)
		_, upserted := e.Upsert(t.Context(), docs)
		_, patched := e.Patch(t.Context(), []engine.Patch{{ID: "a", Metadata: docs[0].Metadata}})
		for _, err := range []error{added, upserted, patched} {
			if d := (*engine.DocumentError)(nil); !errors.Is(err, engine.ErrInvalid) || !errors.As(err, &d) || !strings.Contains(err.Error(), "out of range") {
				t.Errorf("%v: %v", v, err)
			}
		}
	}
	if n, err := e.Count(t.Context(), engine.Filter{}); n != 1 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
}
