package remote

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/modulate"
)

// TestOneOrdinalForTwoIDs: where ids of two documents give one ordinal, the second gets
// another, and keeps it.
func TestOneOrdinalForTwoIDs(t *testing.T) {
	c := &corpus{ids: map[uint64]PassageID{}, seen: map[uint64]seen{}}
	ord := ordinalOf("a")
	c.ids[chunk.ID(ord, 0)] = PassageID{ID: "of another"}
	first := c.see(Candidate{PassageID: PassageID{ID: "a", Chunk: 2}, Terms: "x"}, false)
	again := c.see(Candidate{PassageID: PassageID{ID: "a"}, Cosine: .5, Terms: "y"}, true)
	if chunk.Ord(first) != ord+1 || chunk.Number(first) != 2 || again != chunk.ID(ord+1, 0) || c.document(ord) != "of another" || c.document(ord+1) != "a" {
		t.Errorf("%x and %x, where %x is taken: %v", first, again, ord, c.ids)
	}
	if s := c.seen[again]; s.terms != "y" || !s.dense || s.cosine != .5 || c.seen[first].dense {
		t.Errorf("%+v", c.seen)
	}
}

// TestBridgeValues: what a bridge file says of values is held to what a value is.
func TestBridgeValues(t *testing.T) {
	good := bridgeSource{By: "a", Values: []BridgeValue{{Where: `a = "x"`}, {Where: "a = 2"}, {Where: "a = true"}}}
	if facts, err := good.facts(); err != nil || len(facts) != 3 {
		t.Errorf("%q, %v", facts, err)
	}
	for _, where := range []string{"", "b = 1", "a = ", "a > 1", `a = 1 and a = 2`, "true", "a exists", "a = null", "a = 2e0"} {
		if _, err := (bridgeSource{By: "a", Values: []BridgeValue{{Where: "a = 2"}, {Where: where}}}).facts(); !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("%q: %v", where, err)
		}
	}
}

// TestBridgeFileOfOthers: a file that is whole, and whose totals or names are not those that its source tells, is refused: a search by them
// would not be turned, or fail.
func TestBridgeFileOfOthers(t *testing.T) {
	enc := encoder.NewHash(8).Fingerprint()
	file := filepath.Join(t.TempDir(), "bridge")
	r := &Database{o: Options{Bridge: file}, info: Info{Dim: enc.Dim, Encoder: enc}, metric: metric.Metric("cosine")}
	p, err := modulate.NewProjection(enc.Dim, enc.VocabSize)
	if err != nil {
		t.Fatal(err)
	}
	weights := &modulate.Weights{Stack: "slr", Projection: p, Encoder: enc}
	read := func(s bridgeSource, totals ...*ridge.Totals) error {
		t.Helper()
		s.Encoder = enc
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		fitted, err := weights.Encode()
		if err != nil {
			t.Fatal(err)
		}
		err = snapshot.Write(file, snapshot.Header{Kind: bridgeKind, Version: bridgeVersion}, func(w *snapshot.Writer) error {
			for name, b := range map[string][]byte{sourceSection: raw, fittedSection: fitted} {
				w.Begin(name)
				w.Write(b)
			}
			for i, some := range totals {
				some.Save(w, i)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.loadBridge(t.Context())
		return err
	}
	of := func(n, dim, vocab int) *ridge.Totals {
		some, err := ridge.NewTotals(dim, vocab)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			x := make([]float32, dim)
			x[i%dim] = 1
			if err := some.Add(x, []int32{int32(i % 3)}); err != nil {
				t.Fatal(err)
			}
		}
		return some
	}
	whole := of(9, enc.Dim, enc.VocabSize)
	value := bridgeSource{Passages: 9, By: "a", Values: []BridgeValue{{Where: "a = 1", Passages: 4}}}
	for what, err := range map[string]error{
		"whole": read(bridgeSource{Passages: 9}, whole),
		"value": read(value, whole, of(4, enc.Dim, enc.VocabSize)),
		"fit":   read(bridgeSource{Passages: 9, Fitted: "slr", Default: "slr"}, whole),
		"rlr":   read(bridgeSource{Passages: 9, Fitted: "slr", Default: "rlr"}, whole),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"another number":                  read(bridgeSource{Passages: 8}, whole),
		"another dimension":               read(bridgeSource{Passages: 9}, of(9, enc.Dim+1, enc.VocabSize)),
		"another vocabulary":              read(bridgeSource{Passages: 9}, of(9, enc.Dim, enc.VocabSize-1)),
		"a value of another number":       read(value, whole, of(5, enc.Dim, enc.VocabSize)),
		"a value of another dimension":    read(value, whole, of(4, enc.Dim-1, enc.VocabSize)),
		"a value of another vocabulary":   read(value, whole, of(4, enc.Dim, enc.VocabSize+1)),
		"a value that is not there":       read(value, whole),
		"values without a field":          read(bridgeSource{Passages: 9, Values: value.Values}, whole, of(4, enc.Dim, enc.VocabSize)),
		"101 values":                      read(bridgeSource{Passages: 9, By: "a", Values: make([]BridgeValue, maxValues+1)}, whole),
		"a default that was not fitted":   read(bridgeSource{Passages: 9, Fitted: "slr", Default: "nosuch"}, whole),
		"a default that needs no fitting": read(bridgeSource{Passages: 9, Fitted: "slr", Default: "none"}, whole),
	} {
		if !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	enc.Model = "another"
	if err := read(bridgeSource{Passages: 9}, whole); !errors.Is(err, encoder.ErrMismatch) || strings.Count(err.Error(), file) != 1 {
		t.Errorf("of another encoder: %v", err)
	}
	if err := snapshot.Write(file, snapshot.Header{Kind: "another", Version: 1}, func(*snapshot.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := r.loadBridge(t.Context()); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a file of another kind: %v", err)
	}
}
