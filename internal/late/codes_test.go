package late_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/late"
)

func TestCodesTellWhatTheyAre(t *testing.T) {
	const dim = 96
	b := fit(t, cloud(1, 500, dim), dim, 96)
	for _, bits := range []int{0, 2, 4, 8} {
		for pool := range 4 {
			for _, n := range []int{0, 1, 2, 3, 16, 31, 50} {
				coder := late.Coder{Basis: b, Bits: bits, Pool: pool}
				data, err := coder.Encode([]byte("before"), cloud(2, n, dim), nil)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.HasPrefix(data, []byte("before")) {
					t.Fatal("what stood before is gone")
				}
				data = data[len("before"):]
				c, err := late.Parse(data)
				if err != nil {
					t.Fatal(err)
				}
				wantBits, wantPool := cmpOr(bits, 2), cmpOr(pool, 1)
				if c.Bits() != wantBits || c.Pool() != wantPool || c.Rank() != 96 || c.Basis() != b.ID() || c.States() != n {
					t.Errorf("%d bits, pool %d, %d states: %+v", bits, pool, n, c)
				}
				if len(data) != coder.Size(n) {
					t.Errorf("%d bytes, Size says %d", len(data), coder.Size(n))
				}
				if wantBits == 2 && wantPool == 1 && len(data) > 16+26*n {
					t.Errorf("%d bytes for %d tokens", len(data), n)
				}
			}
		}
	}
}

func cmpOr(x, otherwise int) int {
	if x == 0 {
		return otherwise
	}
	return x
}

// What the caller marks is as if it had not been there.
func TestEncodeLeavesOutWhatIsMarked(t *testing.T) {
	const dim, n = 32, 21
	b := fit(t, cloud(1, 500, dim), dim, 16)
	states := cloud(2, n, dim)
	skip := make([]bool, n)
	var rest []float32
	for i := range skip {
		if skip[i] = i == 0 || i == n-1 || i%5 == 2; !skip[i] {
			rest = append(rest, states[i*dim:(i+1)*dim]...)
		} else {
			clear(states[i*dim : (i+1)*dim])
		}
	}
	for pool := 1; pool <= 3; pool++ {
		got, err := late.Coder{Basis: b, Pool: pool}.Encode(nil, states, skip)
		if err != nil {
			t.Fatal(err)
		}
		want, err := late.Coder{Basis: b, Pool: pool}.Encode(nil, rest, nil)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("pool %d: marked states changed the codes (%v)", pool, err)
		}
	}
	skip[3] = false
	q, err := late.NewQuery(states, skip, nil, b)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := late.NewQuery(rest, nil, nil, b)
	if err != nil || q.Len() != alone.Len() {
		t.Fatalf("%d tokens, %d without what is marked (%v)", q.Len(), alone.Len(), err)
	}
	data, _ := late.Coder{Basis: b}.Encode(nil, cloud(7, 40, dim), nil)
	c, _ := late.Parse(data)
	if x, _ := q.Score(c); x == (late.Match{}) {
		t.Error("score 0")
	} else if y, _ := alone.Score(c); x != y {
		t.Errorf("%+v, %+v without what is marked", x, y)
	}
}

// A code of several tokens answers for each of them.
func TestPooledCodes(t *testing.T) {
	const dim = 64
	b := fit(t, cloud(1, 1000, dim), dim, 48)
	states := cloud(2, 20, dim)
	for i := range 10 { // pairs of alike tokens: pooling loses nothing
		copy(states[(2*i+1)*dim:], states[2*i*dim:(2*i+1)*dim])
	}
	q, err := late.NewQuery(states, nil, nil, b)
	if err != nil {
		t.Fatal(err)
	}
	data, err := late.Coder{Basis: b, Pool: 2}.Encode(nil, states, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := late.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := q.Score(c); err != nil || math.Abs(s.Whole-1) > 0.02 {
		t.Errorf("score %g, %v", s, err)
	}
	ties, err := q.Ties(nil, c)
	if err != nil || len(ties) != 20 {
		t.Fatal(len(ties), err)
	}
	for i, tie := range ties {
		if tie.Query != i || tie.From != i/2*2 || tie.To != i/2*2+2 {
			t.Errorf("token %d: %+v", i, tie)
		}
	}
	odd, err := late.Coder{Basis: b, Pool: 3}.Encode(nil, states[:7*dim], nil)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = late.Parse(odd); err != nil {
		t.Fatal(err)
	}
	if ties, err = q.Ties(nil, c); err != nil || ties[6].From != 6 || ties[6].To != 7 {
		t.Errorf("the rest of a pool: %+v, %v", ties[6], err)
	}
	all, err := q.Cosines(slices.Clone(ties[:1]), c) // 3 codes for each of 20 tokens, by the places of the codes
	if err != nil || len(all) != 1+3*20 {
		t.Fatal(len(all), err)
	}
	best := make([]late.Tie, 20)
	for i, x := range all[1:] {
		if x.Query != i%20 || x.From != i/20*3 || x.To != min(x.From+3, 7) {
			t.Errorf("cosine %d: %+v", i, x)
		}
		if i < 20 || x.Cosine > best[x.Query].Cosine {
			best[x.Query] = x
		}
	}
	if !slices.Equal(best, ties) {
		t.Errorf("the best of all are %+v, and the ties %+v", best, ties)
	}
}

func TestQueryTakesSeveralBases(t *testing.T) {
	const dim = 40
	one, two := fit(t, cloud(1, 500, dim), dim, 24), fit(t, cloud(2, 500, dim), dim, 13)
	passage, query := cloud(3, 30, dim), cloud(4, 6, dim)
	both, err := late.NewQuery(query, nil, nil, one, two)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*late.Basis{one, two} {
		alone, err := late.NewQuery(query, nil, nil, b)
		if err != nil {
			t.Fatal(err)
		}
		data, err := late.Coder{Basis: b}.Encode(nil, passage, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := late.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		x, err := both.Score(c)
		y, err2 := alone.Score(c)
		if err != nil || err2 != nil || x != y {
			t.Errorf("%+v with both, %+v alone (%v, %v)", x, y, err, err2)
		}
	}
	data, err := late.Coder{Basis: two}.Encode(nil, passage, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := late.Parse(data)
	alone, err := late.NewQuery(query, nil, nil, one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alone.Score(c); !errors.Is(err, late.ErrBasis) {
		t.Errorf("codes of another basis: %v", err)
	}
	if got, err := alone.Cosines(nil, c); !errors.Is(err, late.ErrBasis) || len(got) != 0 {
		t.Errorf("cosines of another basis: %v, %v", got, err)
	}
	if _, err := alone.Ties(nil, c); !errors.Is(err, late.ErrBasis) {
		t.Errorf("ties with codes of another basis: %v", err)
	}
	if err := alone.ScoreAll(t.Context(), make([]late.Match, 2), [][]byte{nil, data}); !errors.Is(err, late.ErrBasis) {
		t.Errorf("codes of another basis: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	const dim = 8
	b, other := fit(t, cloud(1, 50, dim), dim, 4), fit(t, cloud(1, 50, 9), 9, 4)
	nan := cloud(1, 3, dim)
	nan[9] = float32(math.NaN())
	for name, o := range map[string]struct {
		coder  late.Coder
		states []float32
		skip   []bool
		want   error
	}{
		"no basis":     {late.Coder{}, nil, nil, late.ErrOptions},
		"three bits":   {late.Coder{Basis: b, Bits: 3}, nil, nil, late.ErrOptions},
		"sixteen bits": {late.Coder{Basis: b, Bits: 16}, nil, nil, late.ErrOptions},
		"pool of four": {late.Coder{Basis: b, Pool: 4}, nil, nil, late.ErrOptions},
		"negative":     {late.Coder{Basis: b, Pool: -1}, nil, nil, late.ErrOptions},
		"half a state": {late.Coder{Basis: b}, cloud(1, 3, dim)[:20], nil, late.ErrLength},
		"few marks":    {late.Coder{Basis: b}, cloud(1, 3, dim), make([]bool, 2), late.ErrLength},
		"NaN":          {late.Coder{Basis: b}, nan, nil, late.ErrNotFinite},
	} {
		got, err := o.coder.Encode([]byte("x"), o.states, o.skip)
		if !errors.Is(err, o.want) || string(got) != "x" {
			t.Errorf("%s: %q, %v, want %v", name, got, err, o.want)
		}
		if errors.Is(o.want, late.ErrOptions) && o.coder.Size(3) != 0 {
			t.Errorf("%s: a size", name)
		}
	}
	if _, err := (late.Coder{Basis: b}).Encode(nil, nan, []bool{false, true, false}); err != nil {
		t.Errorf("a NaN in what is left out: %v", err)
	}
	states := cloud(1, 3, dim)
	for name, o := range map[string]struct {
		states  []float32
		skip    []bool
		weights []float32
		bases   []*late.Basis
		want    error
	}{
		"no basis":        {states, nil, nil, nil, late.ErrOptions},
		"bases differ":    {states, nil, nil, []*late.Basis{b, other}, late.ErrLength},
		"half a state":    {states[:9], nil, nil, []*late.Basis{b}, late.ErrLength},
		"few weights":     {states, nil, []float32{1, 2}, []*late.Basis{b}, late.ErrLength},
		"many marks":      {states, make([]bool, 4), nil, []*late.Basis{b}, late.ErrLength},
		"NaN":             {nan, nil, nil, []*late.Basis{b}, late.ErrNotFinite},
		"negative weight": {states, nil, []float32{1, -1, 1}, []*late.Basis{b}, late.ErrNotFinite},
		"infinite weight": {states, nil, []float32{1, 1, float32(math.Inf(1))}, []*late.Basis{b}, late.ErrNotFinite},
	} {
		if _, err := late.NewQuery(o.states, o.skip, o.weights, o.bases...); !errors.Is(err, o.want) {
			t.Errorf("query of %s: %v, want %v", name, err, o.want)
		}
	}
	q, err := late.NewQuery(states, []bool{true, true, true}, nil, b)
	if err != nil || q.Len() != 0 {
		t.Fatalf("%d tokens, %v", q.Len(), err)
	}
	data, err := late.Coder{Basis: b}.Encode(nil, states, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := late.Parse(data)
	if s, err := q.Score(c); s != (late.Match{}) || err != nil {
		t.Errorf("a query without tokens scored %g, %v", s, err)
	}
	if ties, err := q.Ties(nil, c); len(ties) != 0 || err != nil {
		t.Errorf("a query without tokens has ties %v, %v", ties, err)
	}
	if err := q.ScoreAll(t.Context(), make([]late.Match, 1), nil); !errors.Is(err, late.ErrLength) {
		t.Errorf("a score too many: %v", err)
	}
	if err := q.ScoreAll(t.Context(), make([]late.Match, 1), [][]byte{[]byte("no codes")}); !errors.Is(err, late.ErrCodes) {
		t.Errorf("no codes: %v", err)
	}
}

func TestParseRefusesWhatIsNoCodes(t *testing.T) {
	b := fit(t, cloud(1, 50, 8), 8, 6)
	data, err := late.Coder{Basis: b}.Encode(nil, cloud(2, 19, 8), nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if _, err := late.Parse(data[:n]); !errors.Is(err, late.ErrCodes) {
			t.Fatalf("%d of %d bytes: %v", n, len(data), err)
		}
	}
	if _, err := late.Parse(append(bytes.Clone(data), 0)); !errors.Is(err, late.ErrCodes) {
		t.Errorf("a byte too many: %v", err)
	}
	for at, values := range map[int][]byte{0: {0, 2, 255}, 1: {0, 1, 3, 16, 255}, 2: {0, 4, 255}, 3: {1}, 4: {0, 255}, 5: {5}, 6: {1}, 7: {1}, 12: {0, 18, 255}, 15: {1, 255}} {
		for _, v := range values {
			bad := bytes.Clone(data)
			bad[at] = v
			if _, err := late.Parse(bad); !errors.Is(err, late.ErrCodes) {
				t.Errorf("byte %d is %d: %v", at, v, err)
			}
		}
	}
}

// FuzzCodes: any bytes are refused or scored, the same by Score and by Ties, without a panic.
func FuzzCodes(f *testing.F) {
	const dim = 12
	b := fit(f, cloud(1, 50, dim), dim, 10)
	q, err := late.NewQuery(cloud(3, 5, dim), nil, nil, b)
	if err != nil {
		f.Fatal(err)
	}
	for _, bits := range []int{2, 4, 8} {
		for _, n := range []int{0, 1, 16, 20} {
			data, err := late.Coder{Basis: b, Bits: bits, Pool: 1 + n%3}.Encode(nil, cloud(2, n, dim), nil)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := late.Parse(data)
		if err != nil {
			if !errors.Is(err, late.ErrCodes) {
				t.Fatal(err)
			}
			return
		}
		m, err := q.Score(c)
		s := m.Whole
		ties, err2 := q.Ties(nil, c)
		if err != nil {
			if !errors.Is(err, late.ErrBasis) || !errors.Is(err2, late.ErrBasis) {
				t.Fatal(err, err2)
			}
			return
		}
		var sum float64
		for _, tie := range ties {
			sum += tie.Weight * tie.Cosine
			if tie.From < 0 || tie.To > c.States() || tie.From >= tie.To {
				t.Fatalf("%+v of %d states", tie, c.States())
			}
		}
		if math.Abs(sum-s) > 1e-4*(1+math.Abs(s)) || math.IsNaN(s) {
			t.Fatalf("score %g, ties add up to %g", s, sum)
		}
	})
}

// A passage answers a query made of its own tokens, in any order, best of all.
func TestOwnTokensScoreHighest(t *testing.T) {
	const dim = 96
	b := fit(t, cloud(1, 2000, dim), dim, 64)
	r := rand.New(rand.NewPCG(3, 3))
	var passages [][]float32
	var codes [][]byte
	for i := range 40 {
		p := cloud(uint64(100+i), 5+r.IntN(60), dim)
		data, err := late.Coder{Basis: b}.Encode(nil, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		passages, codes = append(passages, p), append(codes, data)
	}
	matches, scores := make([]late.Match, len(codes)), make([]float64, len(codes))
	for i, p := range passages {
		var states []float32
		for range 4 {
			at := r.IntN(len(p) / dim)
			states = append(states, p[at*dim:(at+1)*dim]...)
		}
		q, err := late.NewQuery(states, nil, nil, b)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.ScoreAll(t.Context(), matches, codes); err != nil {
			t.Fatal(err)
		}
		for i, m := range matches {
			scores[i] = m.Whole
		}
		if top := slices.Index(scores, slices.Max(scores)); top != i || math.Abs(scores[i]-1) > 0.02 {
			t.Errorf("tokens of passage %d: %g, passage %d has %g", i, scores[i], top, scores[top])
		}
	}
}
