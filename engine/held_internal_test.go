package engine

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/chunk"
)

// TestAStateNeverChanges: whoever holds a state finds in it what was there, to the
// last bit, whatever commits and the maintainer do meanwhile: documents added,
// replaced and deleted, parts compacted, factors and local bridges made, a graph
// grown.
func TestAStateNeverChanges(t *testing.T) {
	t.Parallel()
	for name, graphAbove := range map[string]int{"exact": autoHNSW, "graph grown": 560} {
		t.Run(name, func(t *testing.T) {
			e := opened(t, t.TempDir(), Options{ChunkTokens: 60, Local: true, NoSync: true}, graphAbove)
			r := rand.New(rand.NewPCG(1, 2))
			put(t, e, madeDocs(r, 0, 300)...)
			flushed(t, e)
			// One state with all in it, and one that local bridges lag behind.
			put(t, e, madeDocs(r, 290, 310)...)
			type held struct {
				ref  *state.Ref
				ids  []uint64
				want [][]search.Found
			}
			var all []held
			hold := func() {
				h := held{ref: e.db.Acquire()}
				h.ids = h.ref.Value.IDs()
				for _, q := range probing {
					h.want = append(h.want, foundIn(t, e, h.ref.Value, q))
				}
				all = append(all, h)
			}
			check := func(when string) {
				t.Helper()
				for n, h := range all {
					s := h.ref.Value
					if ids := s.IDs(); !slices.Equal(ids, h.ids) {
						t.Fatalf("%s: state %d sees %d chunks, before %d", when, n, len(ids), len(h.ids))
					}
					for i, q := range probing {
						if got := foundIn(t, e, s, q); !reflect.DeepEqual(got, h.want[i]) {
							t.Fatalf("%s: state %d at commit %d answers %+v otherwise: %d hits, before %d", when, n, s.Seq, q, len(got), len(h.want[i]))
						}
					}
				}
			}
			hold()
			for round := range 4 {
				for i := range 25 {
					put(t, e, made(r, r.IntN(310)))
					if n := r.IntN(310); i%3 == 0 {
						if _, err := e.Delete(t.Context(), []string{fmt.Sprint("d", n)}); err != nil {
							t.Fatal(err)
						}
					}
				}
				put(t, e, madeDocs(r, 310+round*40, 350+round*40)...)
				if round == 2 {
					hold()
				}
				check(fmt.Sprint("round ", round))
				flushed(t, e)
				check(fmt.Sprint("round ", round, ", flushed"))
			}
			var most []string
			for i := range 310 {
				most = append(most, fmt.Sprint("d", i))
			}
			if _, err := e.Delete(t.Context(), most); err != nil {
				t.Fatal(err)
			}
			flushed(t, e) // words, metadata and sums are compacted
			check("most deleted")
			hold()
			put(t, e, madeDocs(r, 0, 200)...)
			flushed(t, e)
			check("filled again")
			ref := e.db.Acquire()
			if grown := ref.Value.Vectors.Kind == "hnsw-int8"; grown != (graphAbove == 560) || ref.Value.Local == nil {
				t.Fatalf("%s, local bridges %v", ref.Value.Vectors.Kind, ref.Value.Local != nil)
			}
			ref.Release()
			for _, h := range all {
				h.ref.Release()
			}
			flushed(t, e)
			whole(t, e, "at the end")
			closed(t, e)
		})
	}
}

// TestVectorsGoWithTheLastState: vectors that are gone stay for as long as a state
// that sees them is held, and no longer.
func TestVectorsGoWithTheLastState(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"flat-int8", "hnsw-int8"} {
		e := opened(t, t.TempDir(), Options{Index: kind, ChunkTokens: 60, NoSync: true}, autoHNSW)
		r := rand.New(rand.NewPCG(3, 4))
		put(t, e, madeDocs(r, 0, 60)...)
		ref := e.db.Acquire()
		s := ref.Value
		before := map[uint64][]float32{}
		for _, id := range s.IDs() {
			before[id] = slices.Clone(s.Vector(id))
		}
		for range 3 {
			put(t, e, madeDocs(r, 0, 30)...)
			flushed(t, e)
		}
		removed(t, e, "d40", "d42") // 42 has chunks
		flushed(t, e)
		for id, v := range before {
			if !slices.Equal(s.Vector(id), v) {
				t.Fatalf("%s: the vector of chunk %d of version %d changed under a state that is held", kind, chunk.Number(id), chunk.Ord(id))
			}
		}
		if s.Vectors.Len() <= len(before) {
			t.Fatalf("%s: %d vectors, those of the state that is held are %d", kind, s.Vectors.Len(), len(before))
		}
		ref.Release()
		flushed(t, e)
		last := e.db.Acquire()
		if n := last.Value.Vectors.Len(); n != last.Value.Chunks() {
			t.Fatalf("%s: %d vectors of %d chunks once the state is released", kind, n, last.Value.Chunks())
		}
		for id := range before {
			if seen := last.Value.Sees(id); seen != (last.Value.Vector(id) != nil) {
				t.Fatalf("%s: version %d: live %v, with a vector %v", kind, chunk.Ord(id), seen, !seen)
			}
		}
		last.Release()
		closed(t, e)
	}
}
