package fusion

import (
	"math"
	"slices"
	"testing"
)

// TestWithSparse: the share of impacts is a term of the calibrated score where it is asked for, which the spread of the
// encoder does not scale, and of no other kind.
func TestWithSparse(t *testing.T) {
	for _, o := range []Options{{}, {Tokens: -1}, {Unknown: .5}, Options{}.Calibrate(.75), {Kind: RRF}, {Kind: Convex}} {
		plain, with := candidates(), candidates()
		for _, cs := range [][]Candidate{plain, with} {
			for i := range cs {
				cs[i].Sparse = .5
			}
		}
		p := o.WithSparse()
		if o.Fuse(plain) != nil || p.Fuse(with) != nil {
			t.Fatal("refused")
		}
		want := 0.0
		if o.Kind == "" {
			want = sparseWeight / 2
		}
		for i, c := range with {
			if math.Abs(c.Score-plain[i].Score-want) > 1e-12 {
				t.Errorf("%+v: %d has %v, and without impacts %v", o, c.Ord, c.Score, plain[i].Score)
			}
			named := slices.ContainsFunc(p.Terms(c), func(x Term) bool { return x == Term{"sparse", sparseWeight, .5} })
			if named != (o.Kind == "") || slices.ContainsFunc(o.Terms(c), func(x Term) bool { return x.Name == "sparse" }) {
				t.Errorf("%+v: terms %+v", o, p.Terms(c))
			}
		}
	}
}
