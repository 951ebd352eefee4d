// Package late is late interaction (MaxSim): it scores how well the tokens of a passage match those of a
// query,
//
//	score = Σ_t w_t · max_u cos(t, u) / Σ_t w_t
//
// over the tokens t of the query and u of the passage. Start with [FitBasis], which finds the main directions
// of the states. [Coder.Encode] makes codes of a passage, 26 bytes a token by default. [NewQuery] and
// [Query.Score] compare a query with codes. [Query.Ties] returns the token alignment: for each token of the
// query the token of the passage that matches it.
//
// Codes are byte strings that identify their basis, and belong to the caller. A Query takes all bases in use.
// Basis, Coder and Query are safe for concurrent use. Codes of an unknown basis are ErrBasis.
package late

import (
	"encoding/binary"
	"fmt"

	"github.com/lexsem/lexsem/internal/vec"
)

// The codes of a passage as bytes, numbers little-endian:
//
//	version (1), bits (1), pool (1), 0 (1), rank (2), 0 (2), id of the basis (4), number of states (4)
//	scales   one for each code (2), in units of 2/(65535·(2^bits−1))
//	codes    in blocks of 16, the last one of what is left
//
// There is one code for each pool consecutive states, and one for the rest. A component is a number c
// of bits bits, which stands for 2c−(2^bits−1); a code has whole groups of 4. A block of w codes, at
// one byte a component, is ordered by group: for each group, the four components of every code. If a
// byte holds n components, the first 1/n of the block is in the lowest bits, the next 1/n above them.
const (
	codesVersion = 1
	headSize     = 16
)

// Codes are the token states of a passage as made by a Coder: a view of their bytes.
type Codes struct {
	basis        uint32
	bits, pool   int
	rank, states int
	n            int    // codes
	scales       []byte // 2 a code
	blocks       []byte
}

// Parse reads codes without a copy: data must not change while they are used. ErrCodes for bytes
// that are not codes. Cost O(1).
func Parse(data []byte) (Codes, error) {
	if len(data) < headSize {
		return Codes{}, fmt.Errorf("%w: %d bytes, shorter than the head of %d", ErrCodes, len(data), headSize)
	}
	c := Codes{
		bits: int(data[1]), pool: int(data[2]), rank: int(binary.LittleEndian.Uint16(data[4:])),
		basis: binary.LittleEndian.Uint32(data[8:]),
	}
	states := binary.LittleEndian.Uint32(data[12:])
	switch {
	case data[0] != codesVersion:
		return Codes{}, fmt.Errorf("%w: version %d, known is %d", ErrCodes, data[0], codesVersion)
	case c.bits != 2 && c.bits != 4 && c.bits != 8, c.pool < 1 || c.pool > maxPool, c.rank < 1 || c.rank > MaxRank, data[3] != 0, data[6] != 0, data[7] != 0:
		return Codes{}, fmt.Errorf("%w: %d bits, pool %d, %d directions", ErrCodes, c.bits, c.pool, c.rank)
	}
	left := uint64(len(data) - headSize)
	n := (uint64(states) + uint64(c.pool) - 1) / uint64(c.pool)
	if want := n * uint64(2+codeSize(c.rank, c.bits)); left != want {
		return Codes{}, fmt.Errorf("%w: %d bytes after the head where %d codes take %d", ErrCodes, left, n, want)
	}
	c.states, c.n = int(states), int(n)
	c.scales, c.blocks = data[headSize:headSize+2*c.n], data[headSize+2*c.n:]
	return c, nil
}

// Basis is the ID of the basis that made the codes.
func (c Codes) Basis() uint32 { return c.basis }

// Bits is the size of a component.
func (c Codes) Bits() int { return c.bits }

// Pool returns how many neighbouring states share a code.
func (c Codes) Pool() int { return c.pool }

// Rank is the number of components of a code.
func (c Codes) Rank() int { return c.rank }

// States is the number of token states that were encoded, without special tokens.
func (c Codes) States() int { return c.states }

// groupsOf is the number of groups of four components.
func groupsOf(rank int) int { return (rank + 3) / 4 }

// codeSize is the size of one code in bytes, without its scale.
func codeSize(rank, bits int) int { return groupsOf(rank) * bits / 2 }

// topOf is the largest value of a component.
func topOf(bits int) int { return 1<<bits - 1 }

// unitOf returns the unit of scales.
func unitOf(bits int) float32 { return 2 / (65535 * float32(topOf(bits))) }

// block fills s.sim for block i. It returns the number of codes in the block, which are repeated until the block is full.
func (c Codes) block(s *queryScratch, i int) (w int) {
	from := i * vec.SimLanes
	w = min(vec.SimLanes, c.n-from)
	groups, size := groupsOf(c.rank), codeSize(c.rank, c.bits)
	packed := c.blocks[from*size : (from+w)*size]
	scales := c.scales[2*from : 2*(from+w)]
	s.sim.Unit, s.sim.Bits = unitOf(c.bits), c.bits
	if w == vec.SimLanes {
		s.sim.Scales, s.sim.Block, s.sim.Packed = scales, packed, c.bits < 8
		return w
	}
	short := packed
	if c.bits < 8 {
		short = s.packed[:4*w*groups]
		vec.UnpackCodes(short, packed, c.bits)
	}
	for g := range groups {
		repeat(s.block[g*4*vec.SimLanes:(g+1)*4*vec.SimLanes], short[g*4*w:(g+1)*4*w])
	}
	repeat(s.tail[:], scales)
	s.sim.Scales, s.sim.Block, s.sim.Packed = s.tail[:], s.block, false
	return w
}

// repeat fills dst with what is in src.
func repeat(dst, src []byte) {
	for n := 0; n < len(dst); {
		n += copy(dst[n:], src)
	}
}
