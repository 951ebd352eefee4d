package late_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/late"
)

// cloud are n states like those of an encoder: far from the origin, and of more
// variance in some directions than in others.
func cloud(seed uint64, n, dim int) []float32 {
	r := rand.New(rand.NewPCG(seed, 5))
	out := make([]float32, n*dim)
	for i := range out {
		k := i % dim
		out[i] = 0.5 + float32(r.NormFloat64()*math.Exp(-3*float64(k)/float64(dim)))
	}
	return out
}

func fit(t testing.TB, states []float32, dim, rank int) *late.Basis {
	t.Helper()
	b, err := late.FitBasis(states, dim, rank)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// cosines are those of the definition, between the tokens of two texts in a basis.
func cosines(t testing.TB, b *late.Basis, query, passage []float32) [][]float64 {
	t.Helper()
	q, err := b.Project(nil, query)
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Project(nil, passage)
	if err != nil {
		t.Fatal(err)
	}
	rank := b.Rank()
	var out [][]float64
	for i := 0; i < len(q); i += rank {
		var row []float64
		for j := 0; j < len(p); j += rank {
			var dot, x, y float64
			for k := range rank {
				a, b := float64(q[i+k]), float64(p[j+k])
				dot, x, y = dot+a*b, x+a*a, y+b*b
			}
			row = append(row, dot/math.Sqrt(x*y))
		}
		out = append(out, row)
	}
	return out
}

func TestScoreIsNearTheDefinition(t *testing.T) {
	const dim = 128
	for _, o := range []struct {
		bits, rank int
		within     float64
	}{{8, 96, 0.004}, {4, 96, 0.015}, {4, 64, 0.02}, {4, 37, 0.025}, {2, 96, 0.06}, {8, 1, 0.001}} {
		b := fit(t, cloud(1, 2000, dim), dim, o.rank)
		for _, count := range []int{1, 2, 15, 16, 17, 32, 100} {
			passage, query := cloud(2, count, dim), cloud(3, 12, dim)
			copy(query[5*dim:6*dim], passage[(count-1)*dim:]) // one token that is in both
			weights := make([]float32, 12)
			for i := range weights {
				weights[i] = float32(i)
			}
			data, err := late.Coder{Basis: b, Bits: o.bits}.Encode(nil, passage, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := (late.Coder{Basis: b, Bits: o.bits}).Size(count); len(data) != want {
				t.Fatalf("%d bytes, Size says %d", len(data), want)
			}
			q, err := late.NewQuery(query, nil, weights, b)
			if err != nil {
				t.Fatal(err)
			}
			codes, err := late.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			match, err := q.Score(codes)
			got := match.Whole
			if err != nil {
				t.Fatal(err)
			}
			all := cosines(t, b, query, passage)
			part := func(from, to int) float64 {
				var sum, total float64
				for i, row := range all {
					sum += float64(weights[i]) * slices.Max(row[from:min(to, count)])
					total += float64(weights[i])
				}
				return sum / total
			}
			want := late.Match{Whole: part(0, count), Near: part(0, 32), Front: part(0, 48)}
			for from := 32; from < count; from += 32 {
				want.Near = max(want.Near, part(from, from+32))
			}
			if math.Abs(got-want.Whole) > o.within || math.Abs(match.Near-want.Near) > o.within || math.Abs(match.Front-want.Front) > o.within {
				t.Errorf("%d bits, %d directions, %d tokens: %+v, want %+v", o.bits, o.rank, count, match, want)
			}
			ties, err := q.Ties(nil, codes)
			if err != nil || len(ties) != 11 { // the first has no weight
				t.Fatalf("%d ties, %v", len(ties), err)
			}
			var sum float64
			for _, tie := range ties {
				sum += tie.Weight * tie.Cosine
				if d := all[tie.Query][tie.From] - tie.Cosine; math.Abs(d) > 3*o.within || tie.To != tie.From+1 {
					t.Errorf("%d bits, %d tokens: tie %+v, the cosine is %g", o.bits, count, tie, all[tie.Query][tie.From])
				}
			}
			if math.Abs(sum-got) > 1e-6 {
				t.Errorf("ties add up to %g, the score is %g", sum, got)
			}
			if tie := ties[4]; tie.Query != 5 || tie.From != count-1 && o.rank > 1 || math.Abs(tie.Cosine-1) > 3*o.within {
				t.Errorf("the token of both sides: %+v", tie)
			}
		}
	}
}

func TestScoreAll(t *testing.T) {
	const dim = 48
	b := fit(t, cloud(1, 500, dim), dim, 32)
	q, err := late.NewQuery(cloud(3, 5, dim), nil, nil, b)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for i := range 30 {
		data, err := late.Coder{Basis: b}.Encode(nil, cloud(uint64(i), i, dim), nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	all[7] = nil
	scores := make([]late.Match, len(all))
	if err := q.ScoreAll(context.Background(), scores, all); err != nil {
		t.Fatal(err)
	}
	for i, data := range all {
		if i == 7 {
			if !math.IsNaN(scores[i].Whole) || !math.IsNaN(scores[i].Near) || !math.IsNaN(scores[i].Front) {
				t.Errorf("a passage without codes scored %+v", scores[i])
			}
			continue
		}
		c, err := late.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := q.Score(c); err != nil || scores[i] != want {
			t.Errorf("passage %d: %+v, alone %+v (%v)", i, scores[i], want, err)
		}
	}
	if scores[0] != (late.Match{}) {
		t.Errorf("a passage without tokens scored %+v", scores[0])
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := q.ScoreAll(ctx, scores, all); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if n := testing.AllocsPerRun(20, func() { _ = q.ScoreAll(context.Background(), scores, all) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkScoreAll is the work of one search: 200 candidates of 100 tokens against a query of 12.
func BenchmarkScoreAll(b *testing.B) {
	const dim = 384
	basis := fit(b, cloud(1, 3000, dim), dim, late.DefaultRank)
	q, err := late.NewQuery(cloud(3, 12, dim), nil, nil, basis)
	if err != nil {
		b.Fatal(err)
	}
	for _, bits := range []int{2, 4, 8} {
		var all [][]byte
		for i := range 200 {
			data, err := late.Coder{Basis: basis, Bits: bits}.Encode(nil, cloud(uint64(i), 100, dim), nil)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, data)
		}
		scores := make([]late.Match, len(all))
		b.Run(fmt.Sprintf("%d bits", bits), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := q.ScoreAll(context.Background(), scores, all); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	const dim = 384
	states := cloud(1, 3000, dim)
	basis := fit(b, states, dim, late.DefaultRank)
	var data []byte
	for b.Loop() {
		var err error
		if data, err = (late.Coder{Basis: basis}).Encode(data[:0], states[:100*dim], nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFitBasis(b *testing.B) {
	const dim = 1024
	states := cloud(1, 3000, dim)
	for b.Loop() {
		fit(b, states, dim, late.DefaultRank)
	}
}
