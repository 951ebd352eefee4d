package engine

import (
	"errors"
	"testing"

	"github.com/lexsem/lexsem/engine/internal/chunk"
)

// TestOneOrdinalForTwoIDs: where ids of two documents give one ordinal, the second gets
// another, and keeps it.
func TestOneOrdinalForTwoIDs(t *testing.T) {
	c := &remoteCorpus{ids: map[uint64]PassageID{}, seen: map[uint64]seen{}}
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
	for _, where := range []string{"", "b = 1", "a = ", "a > 1", `a = 1 and a = 2`, "true"} {
		if _, err := (bridgeSource{By: "a", Values: []BridgeValue{{Where: where}}}).facts(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: %v", where, err)
		}
	}
}
