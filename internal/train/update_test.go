package train

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

// An update learns the passages that are new, keeps what was learned of the
// others, and draws queries in proportion to what is new.
func TestUpdate(t *testing.T) {
	enc := encoder.NewHash(64)
	texts := invented(400)
	corpus := encoded(t, enc, texts)
	part := &list{texts[:320], corpus.vectors[:320]}
	o := small
	o.Stack, o.Epochs = "slr", 4
	base, r, err := Fit(t.Context(), part, enc, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Probes {
		if p.Queries != probeQueries {
			t.Errorf("probe %+v of 320 passages: want %d queries", p, probeQueries)
		}
	}
	before, err := base.Encode()
	if err != nil {
		t.Fatal(err)
	}
	o.Base, o.Fresh = base, 320
	updated, r2, err := Fit(t.Context(), corpus, enc, o)
	if err != nil {
		t.Fatal(err)
	}
	if most := r.Queries / 2; r2.Queries > most {
		t.Errorf("%d queries for 80 new passages, %d for the first 320; want at most %d", r2.Queries, r.Queries, most)
	}
	if updated.Passages != 400 || updated.Queries != r.Queries+r2.Queries {
		t.Errorf("%d passages, %d queries recorded", updated.Passages, updated.Queries)
	}
	if after, err := base.Encode(); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the base was changed: %v", err)
	}
	again, _, err := Fit(t.Context(), corpus, enc, o)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := updated.Encode()
	if b, _ := again.Encode(); !bytes.Equal(a, b) {
		t.Error("two updates of one base differ")
	}
	hits := func(w *modulate.Weights, from, to int) (n int) {
		quiet, err := small.defaults()
		if err != nil {
			t.Fatal(err)
		}
		set, err := readPassages(t.Context(), corpus, 64, quiet)
		if err != nil {
			t.Fatal(err)
		}
		m, err := modulate.NewStack("slr", modulate.Parts{Weights: w})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(3, 4))
		var queries []float32
		for r := from; r < to; r++ {
			out, err := enc.Encode(t.Context(), encoder.Query, encoder.Texts(Keyword.Draw(rng, set.passage(r))), encoder.NeedDense)
			if err != nil {
				t.Fatal(err)
			}
			queries = m.Modulate(queries, inputOf(out[0]))
		}
		best, err := nearest(t.Context(), set, queries, make([]int32, to-from), quiet)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range best {
			if int(b.first) == from+i {
				n++
			}
		}
		return n
	}
	if was, now := hits(base, 320, 400), hits(updated, 320, 400); now < was+5 {
		t.Errorf("of 80 new passages %d are found, %d before the update", now, was)
	}
	if was, now := hits(base, 0, 320), hits(updated, 0, 320); now < was-16 {
		t.Errorf("of 320 known passages %d are found, %d before the update", now, was)
	}

	o.Stack = "rlr+slr"
	if _, _, err := Fit(t.Context(), corpus, enc, o); !errors.Is(err, ErrOptions) {
		t.Errorf("a base of another stack: %v", err)
	}
	o.Stack = "slr"
	if _, _, err := Fit(t.Context(), encoded(t, encoder.NewHash(32), texts), encoder.NewHash(32), o); !errors.Is(err, encoder.ErrMismatch) {
		t.Errorf("a base of another encoder: %v", err)
	}
}

// An update goes on from the base's bias, too: where steps are as good as none
// the weights are the base's.
func TestUpdateKeepsTheBias(t *testing.T) {
	enc := encoder.NewHash(32)
	corpus := encoded(t, enc, invented(120))
	o := small
	o.Stack, o.Bias = "slr", true
	base, _, err := Fit(t.Context(), corpus, enc, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Base, o.Fresh, o.LearningRate = base, 100, 1e-9
	updated, _, err := Fit(t.Context(), corpus, enc, o)
	if err != nil {
		t.Fatal(err)
	}
	var size float64
	for i, want := range base.Projection.Bias() {
		size = max(size, math.Abs(float64(want)))
		if got := updated.Projection.Bias()[i]; math.Abs(float64(got-want)) > 1e-5 {
			t.Fatalf("component %d of the bias is %v, was %v in the base", i, got, want)
		}
	}
	if size < 1e-3 {
		t.Fatalf("the base has no bias to speak of: %v at most", size)
	}
}
