package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// signInput is codes of random vectors in all lanes but the last, and a query.
func signInput(r *rand.Rand, dim, lanes int) (s *Signs, packed [][]byte, q *SignQuery, x []float32) {
	x = make([]float32, dim)
	random := func() []float32 {
		for i := range x {
			x[i] = float32(r.NormFloat64())
			switch r.IntN(8) {
			case 0:
				x[i] = 0
			case 1:
				x[i] *= 3
			}
		}
		return x
	}
	s, q = NewSigns(dim), &SignQuery{}
	s.Grow(lanes)
	for lane := range lanes - 1 {
		packed = append(packed, make([]byte, SignBytes(dim)))
		PackSigns(packed[lane], random())
		s.Set(lane, packed[lane], r.Float32(), float32(r.NormFloat64()))
	}
	q.Make(random())
	return s, packed, q, x
}

func TestSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, dim := range []int{1, 2, 3, 4, 5, 7, 8, 9, 24, 100, 384, 1023, 1024, 1025, 1536, 2064, 2500, 5000} {
		for _, lanes := range []int{1, 2, 16, 17, 32, 33, 100} {
			s, packed, q, x := signInput(r, dim, lanes)
			if s.Lanes()%SignLanes != 0 || s.Lanes() < lanes || s.Lanes() >= lanes+SignLanes {
				t.Fatalf("%d lanes for %d", s.Lanes(), lanes)
			}
			codes := make([]int8, dim)
			scale := QuantizeTo(codes, x, SignTop)
			scores, got := make([]float32, s.Lanes()), make([]byte, SignBytes(dim))
			s.Score(scores, q)
			for lane := range scores {
				want := float32(math.Inf(-1))
				if lane < lanes-1 {
					var sum int32
					for i, c := range codes {
						if packed[lane][i/4]>>(i%4)&1 != 0 {
							sum += int32(c)
						} else {
							sum -= int32(c)
						}
					}
					want = float32(float32(float32(sum)*scale)*s.Factors[lane]) + s.Offsets[lane]
					if s.Get(got, lane); string(got) != string(packed[lane]) {
						t.Fatalf("dimension %d: lane %d has %v, was given %v", dim, lane, got, packed[lane])
					}
				}
				if scores[lane] != want {
					t.Fatalf("dimension %d, lane %d of %d: %g, want %g", dim, lane, lanes, scores[lane], want)
				}
			}
			if lanes < 3 {
				continue
			}
			first, last := scores[0], scores[lanes-2]
			s.Move(0, lanes-2)
			if s.Score(scores, q); scores[0] != last || lanes > 3 && scores[1] == first || !math.IsInf(float64(scores[lanes-2]), -1) {
				t.Fatalf("dimension %d: %g and %g after a move of %g to the place of %g", dim, scores[0], scores[lanes-2], last, first)
			}
		}
	}
}

// TestPackSigns holds that zeros count as positive, and that a query of zeros
// leaves the offsets.
func TestPackSigns(t *testing.T) {
	got := []byte{255, 255}
	PackSigns(got, []float32{1, -1, 0, float32(math.Copysign(0, -1)), -2, 3})
	if got[0] != 0b1101 || got[1] != 0b10 {
		t.Fatalf("%04b", got)
	}
	s, _, q, x := signInput(rand.New(rand.NewPCG(1, 1)), 24, 3)
	clear(x)
	q.Make(x)
	scores := make([]float32, s.Lanes())
	if s.Score(scores, q); scores[0] != s.Offsets[0] || scores[1] != s.Offsets[1] {
		t.Fatalf("%v, want %v", scores[:2], s.Offsets[:2])
	}
}

func TestFirstAbove(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for n := range 140 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.IntN(1000))
			if r.IntN(3) == 0 {
				x[i] = float32(math.Inf(-1))
			}
		}
		for _, bar := range append([]float32{float32(math.Inf(-1)), -1, 500, 998, 2000}, x...) {
			want := 0
			for want < n && x[want] <= bar {
				want++
			}
			if got := FirstAbove(x, bar); got != want {
				t.Fatalf("%d of %v above %g, want %d", got, x, bar, want)
			}
		}
	}
}

// FuzzSigns compares the kernels with their plain twins.
func FuzzSigns(f *testing.F) {
	f.Add(uint64(1), uint16(384), uint8(40))
	f.Add(uint64(2), uint16(1031), uint8(3))
	f.Fuzz(func(t *testing.T, seed uint64, dim uint16, lanes uint8) {
		s, _, q, _ := signInput(rand.New(rand.NewPCG(seed, 2)), 1+int(dim)%5000, 1+int(lanes))
		tables := make([]byte, len(q.tables))
		signTablesGo(tables, q.codes)
		if string(tables) != string(q.tables) {
			t.Fatalf("dimension %d: another table", dim)
		}
		got, want := make([]float32, s.Lanes()), make([]float32, s.Lanes())
		s.Score(got, q)
		signScoresGo(want, s.Codes, tables, s.Factors, s.Offsets, q.zero, q.scale)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("dimension %d, lane %d: %g, want %g", dim, i, got[i], want[i])
			}
		}
	})
}

func BenchmarkSigns(b *testing.B) {
	s, _, q, x := signInput(rand.New(rand.NewPCG(1, 1)), 384, 1024)
	scores := make([]float32, s.Lanes())
	b.Run("query/"+SignKernel(), func(b *testing.B) {
		for b.Loop() {
			q.Make(x)
		}
	})
	b.Run("1024x384/"+SignKernel(), func(b *testing.B) {
		for b.Loop() {
			s.Score(scores, q)
		}
	})
	b.Run("above/"+SignKernel(), func(b *testing.B) {
		for b.Loop() {
			FirstAbove(scores, float32(math.Inf(1)))
		}
	})
}
