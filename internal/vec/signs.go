package vec

import "math"

// A code of one bit per component holds, for a vector x, the signs of its components, and two
// numbers that estimate the inner product of x with a query q from ⟨sgn x, q⟩. The codes of
// SignLanes vectors are stored together. A query becomes one table per four components, with ⟨sgn,
// q⟩ for each of the 16 codes, so that kernels look up 32 codes at once.

const (
	// SignLanes is the number of codes in a block.
	SignLanes = 32
	// SignTop is the largest component of a query, so that four of them fit a byte.
	SignTop = 31
)

// SignKernel names the instruction set that Signs uses on this machine: "avx2", "neon" or "go". "go"
// is slower than some hundred inner products.
func SignKernel() string { return signKernel }

// Signs holds one-bit codes of up to len(Factors) vectors, one lane each. Lanes are in blocks of
// SignLanes. A lane that was not set scores −Inf.
type Signs struct {
	Codes            []byte // block by block, group by group; see Set
	Factors, Offsets []float32
	pairs            int // two groups of four components each
}

// NewSigns returns empty Signs for vectors of dim components.
func NewSigns(dim int) *Signs { return &Signs{pairs: signPairs(dim)} }

func signPairs(dim int) int { return (dim + 7) / 8 }

// SignBytes returns the length of a packed code in bytes.
func SignBytes(dim int) int { return 2 * signPairs(dim) }

// Lanes returns the number of lanes for which there is room.
func (s *Signs) Lanes() int { return len(s.Factors) }

// Grow makes room for n lanes, and for up to SignLanes−1 more.
func (s *Signs) Grow(n int) {
	for len(s.Factors) < n {
		s.Codes = append(s.Codes, make([]byte, SignLanes*s.pairs)...)
		for range SignLanes {
			s.Factors, s.Offsets = append(s.Factors, 0), append(s.Offsets, float32(math.Inf(-1)))
		}
	}
}

// PackSigns writes the signs of x to dst, of length SignBytes. Four components make a number of four
// bits, the first in the lowest bit; 1 means 0 or above. The other bits are zeros.
func PackSigns(dst []byte, x []float32) {
	clear(dst)
	for i, v := range x {
		if v >= 0 {
			dst[i/4] |= 1 << (i % 4)
		}
	}
}

// Set stores a code made by PackSigns in a lane below Lanes. Its score is factor · ⟨sgn x, q⟩ +
// offset.
func (s *Signs) Set(lane int, packed []byte, factor, offset float32) {
	s.Factors[lane], s.Offsets[lane] = factor, offset
	block := s.Codes[lane/SignLanes*SignLanes*s.pairs:][:SignLanes*s.pairs]
	at, shift := lane%16, lane%SignLanes/16*4
	for g, bits := range packed[:2*s.pairs] { // 16 bytes a group: lanes 0 to 15 in their lower halves, 16 to 31 in the upper ones
		b := &block[16*g+at]
		*b = *b&^(15<<shift) | bits<<shift
	}
}

// Get writes the code that Set stored to packed.
func (s *Signs) Get(packed []byte, lane int) {
	block := s.Codes[lane/SignLanes*SignLanes*s.pairs:]
	at, shift := lane%16, lane%SignLanes/16*4
	for g := range packed[:2*s.pairs] {
		packed[g] = block[16*g+at] >> shift & 15
	}
}

// Move moves the contents of one lane to another and empties the first.
func (s *Signs) Move(to, from int) {
	packed := make([]byte, 2*s.pairs)
	s.Get(packed, from)
	s.Set(to, packed, s.Factors[from], s.Offsets[from])
	s.Factors[from], s.Offsets[from] = 0, float32(math.Inf(-1))
}

// SignQuery is a query for Signs. Its memory is reused.
type SignQuery struct {
	codes  []int8
	tables []byte
	zero   int32 // what sums of tables are above twice those of components
	scale  float32
}

// Make sets the query to q, which must be finite. It scales q so that the largest component becomes
// SignTop, and rounds.
func (s *SignQuery) Make(q []float32) {
	pairs := signPairs(len(q))
	if len(s.codes) != 8*pairs {
		s.codes, s.tables = make([]int8, 8*pairs), make([]byte, 32*pairs)
	}
	s.scale = QuantizeTo(s.codes[:len(q)], q, SignTop)
	s.zero = 256 * int32(2*pairs)
	for _, c := range s.codes[:len(q)] {
		s.zero += int32(c)
	}
	if !signTables(s.tables, s.codes) {
		signTablesGo(s.tables, s.codes)
	}
}

// signTablesGo is the plain Go form: for each four components, the sums of all their subsets, plus
// 128.
func signTablesGo(tables []byte, codes []int8) {
	for i := 0; i < len(codes); i += 4 {
		t := (*[16]byte)(tables[4*i:])
		t[0] = 128
		for k, c := range codes[i : i+4] {
			for j := range 1 << k {
				t[1<<k+j] = t[j] + byte(c)
			}
		}
	}
}

// Score writes the scores of all lanes to dst, which has length Lanes. They are the same on every
// machine.
func (s *Signs) Score(dst []float32, q *SignQuery) {
	dst, codes := dst[:len(s.Factors)], s.Codes[:len(s.Factors)*s.pairs]
	offsets, tables := s.Offsets[:len(dst)], q.tables[:32*s.pairs]
	if len(codes) == 0 || !signScores(dst, codes, tables, s.Factors, offsets, q.zero, q.scale) {
		signScoresGo(dst, codes, tables, s.Factors, offsets, q.zero, q.scale)
	}
}

// signScoresGo is the plain Go form.
func signScoresGo(dst []float32, codes, tables []byte, factors, offsets []float32, zero int32, scale float32) {
	pairs := len(tables) / 32
	for from := 0; from < len(dst); from += SignLanes {
		var sums [SignLanes]int32
		block := codes[from*pairs : (from+SignLanes)*pairs]
		for i := 0; i < len(tables); i += 16 {
			t, c := (*[16]byte)(tables[i:]), (*[16]byte)(block[i:])
			for j, b := range c {
				sums[j] += int32(t[b&15])
				sums[j+16] += int32(t[b>>4])
			}
		}
		for j, sum := range sums {
			x := float32(float32(2*sum-zero) * scale)
			dst[from+j] = float32(x*factors[from+j]) + offsets[from+j]
		}
	}
}

// FirstAbove returns the index of the first component of x above bar, or len(x) if there is none. x
// must not hold NaN.
func FirstAbove(x []float32, bar float32) int {
	i := firstAbove(x, bar)
	for i < len(x) && !(x[i] > bar) {
		i++
	}
	return i
}
