package late

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/lexsem/lexsem/internal/vec"
)

const (
	// DefaultBits is the size of a component that Coder.Bits 0 means.
	DefaultBits = 2
	maxPool     = 3
	maxStates   = 1 << 24
)

// Coder turns the token states of passages into codes. Safe for concurrent use.
type Coder struct {
	Basis *Basis
	// Bits of a component: 2, 4 or 8; 0 means 2.
	Bits int
	// Pool is how many neighbouring tokens share one code, the mean of their directions: 1, 2 or 3; 0
	// means 1.
	Pool int
}

// fill returns c with defaults filled in, or ErrOptions.
func (c Coder) fill() (Coder, error) {
	c.Bits = cmp.Or(c.Bits, DefaultBits)
	c.Pool = cmp.Or(c.Pool, 1)
	switch {
	case c.Basis == nil:
		return c, fmt.Errorf("%w: a coder without a basis; fit one", ErrOptions)
	case c.Bits != 2 && c.Bits != 4 && c.Bits != 8:
		return c, fmt.Errorf("%w: %d bits a component; use 2, 4 or 8", ErrOptions, c.Bits)
	case c.Pool < 1 || c.Pool > maxPool:
		return c, fmt.Errorf("%w: codes of %d tokens; use 1, 2 or 3", ErrOptions, c.Pool)
	}
	return c, nil
}

// Size is the number of bytes that Encode appends for n states, 0 for invalid options.
func (c Coder) Size(n int) int {
	c, err := c.fill()
	if err != nil {
		return 0
	}
	return headSize + (n+c.Pool-1)/c.Pool*(2+codeSize(c.Basis.rank, c.Bits))
}

// Encode appends the codes of a passage to dst. states are [n × Dim], row by row; rows marked in
// skip are left out (encoder.Tokens.Special, or nil). A passage without states also has codes.
// ErrOptions, ErrLength or ErrNotFinite; dst is then unchanged. Cost n·Dim·Rank; memory
// 4·n·(Dim+Rank), kept for the next call.
func (c Coder) Encode(dst []byte, states []float32, skip []bool) ([]byte, error) {
	c, err := c.fill()
	if err != nil {
		return dst, err
	}
	b := c.Basis
	s := coderScratches.Get().(*coderScratch)
	defer coderScratches.Put(s)
	if s.kept, err = kept(s.kept[:0], states, b.dim, skip); err != nil {
		return dst, err
	}
	s.states = gather(s.states[:0], states, b.dim, s.kept)
	if s.rows, err = b.Project(s.rows[:0], s.states); err != nil {
		return dst, err
	}
	n := len(s.kept)
	if n > maxStates {
		return dst, fmt.Errorf("%w: %d tokens in one passage; cut it", ErrLength, n)
	}
	for i := range n {
		vec.Normalize(s.rows[i*b.rank : (i+1)*b.rank])
	}
	rows := pool(s.rows, b.rank, c.Pool)
	return c.append(dst, rows, n, s), nil
}

// append appends the codes of rows, which are unit vectors or zero.
func (c Coder) append(dst []byte, rows []float32, states int, s *coderScratch) []byte {
	rank, groups, size := c.Basis.rank, groupsOf(c.Basis.rank), codeSize(c.Basis.rank, c.Bits)
	n := len(rows) / rank
	at := len(dst)
	dst = append(dst, make([]byte, headSize+n*(2+size))...)
	out := dst[at:]
	out[0], out[1], out[2] = codesVersion, byte(c.Bits), byte(c.Pool)
	binary.LittleEndian.PutUint16(out[4:], uint16(rank))
	binary.LittleEndian.PutUint32(out[8:], c.Basis.id)
	binary.LittleEndian.PutUint32(out[12:], uint32(states))
	scales, codes := out[headSize:headSize+2*n], out[headSize+2*n:]
	if len(s.code) < 4*groups {
		s.code, s.trial = make([]byte, 4*groups), make([]byte, 4*groups)
	}
	code, trial := s.code[:4*groups], s.trial[:4*groups]
	for from := 0; from < n; from += vec.SimLanes {
		w := min(vec.SimLanes, n-from)
		block := codes[from*size : (from+w)*size]
		for j := range w {
			i := from + j
			scale := quantize(code, trial, rows[i*rank:(i+1)*rank], c.Bits)
			binary.LittleEndian.PutUint16(scales[2*i:], scale)
			for g := range groups {
				pack(block, (g*w+j)*4, code[4*g:4*g+4], c.Bits)
			}
		}
	}
	return dst
}

// pack writes four components at position at of a block of unpacked bytes.
func pack(block []byte, at int, four []byte, bits int) {
	part := at / len(block) // which share of the block
	at -= part * len(block)
	for _, x := range four {
		if at == len(block) {
			part, at = part+1, 0
		}
		block[at] |= x << (part * bits)
		at++
	}
}

// quantize writes the components of the code of y, a unit vector or zero, and returns its scale.
// Of several scales it takes the one whose code is closest to y.
func quantize(code, trial []byte, y []float32, bits int) (scale uint16) {
	var top float32
	for _, x := range y {
		top = max(top, x, -x)
	}
	clear(code)
	if top == 0 {
		return 0
	}
	levels := int32(topOf(bits))
	half := float32(levels+1) / 2
	best := float32(-1)
	for _, clip := range clips[bits] {
		f := half / (clip * top)
		var along float32
		var squares int32
		for i, x := range y {
			u := min(max(int32(x*f+half), 0), levels)
			trial[i] = byte(u)
			v := 2*u - levels
			along += float32(v) * x
			squares += v * v
		}
		if near := along / float32(math.Sqrt(float64(squares))); near > best {
			best = near
			copy(code, trial[:len(y)])
		}
	}
	var along float64
	for i, x := range y {
		along += float64(2*int32(code[i])-levels) * float64(x)
	}
	// The scale makes the cosine of y with its own code 1.
	return uint16(min(math.Round(1/(along*float64(unitOf(bits)))), 65535))
}

// clips are the shares of the largest component at which codes may be clipped.
var clips = map[int][]float32{2: {1, 0.85, 0.7, 0.55, 0.4}, 4: {1, 0.9, 0.8, 0.7, 0.6}, 8: {1}}

// pool averages the directions of size neighbouring rows into one, in place.
func pool(rows []float32, rank, size int) []float32 {
	if size == 1 {
		return rows
	}
	n := len(rows) / rank
	out := rows[:0]
	for i := 0; i < n; i += size {
		row := rows[i*rank : (i+1)*rank]
		for j := i + 1; j < min(i+size, n); j++ {
			vec.Axpy(row, 1, rows[j*rank:(j+1)*rank])
		}
		vec.Normalize(row)
		out = append(out, row...)
	}
	return out
}

// kept appends the numbers of the rows of states that are not in skip.
func kept(dst []int, states []float32, dim int, skip []bool) ([]int, error) {
	n := len(states) / dim
	if len(states) != n*dim || skip != nil && len(skip) != n {
		return dst, fmt.Errorf("%w: %d numbers for states of %d dimensions, %d marks", ErrLength, len(states), dim, len(skip))
	}
	for i := range n {
		if skip == nil || !skip[i] {
			dst = append(dst, i)
		}
	}
	return dst, nil
}

// gather appends some rows of states to dst.
func gather(dst, states []float32, dim int, rows []int) []float32 {
	for _, i := range rows {
		dst = append(dst, states[i*dim:(i+1)*dim]...)
	}
	return dst
}

type coderScratch struct {
	kept        []int
	states      []float32
	rows        []float32
	code, trial []byte
}

var coderScratches = sync.Pool{New: func() any { return new(coderScratch) }}
