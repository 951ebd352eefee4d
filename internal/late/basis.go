package late

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/lexsem/lexsem/internal/vec"
)

const (
	// DefaultRank is the number of directions that FitBasis keeps for rank 0.
	DefaultRank = 96
	// MaxDim is the greatest length of a state.
	MaxDim = 1 << 14
	// MaxRank is the greatest number of directions.
	MaxRank = 1024
)

// Basis is the mean of token states and the directions in which they vary most. It projects a
// state of Dim numbers to Rank numbers, in which cosines are compared. It is immutable and safe
// for concurrent use.
type Basis struct {
	dim, rank int
	mean      []float32 // [dim]
	axes      []float32 // [rank × dim], orthonormal rows
	shift     []float32 // axes·mean [rank]
	id        uint32
}

// Dim is the length of a state.
func (b *Basis) Dim() int { return b.dim }

// Rank is the number of directions.
func (b *Basis) Rank() int { return b.rank }

// ID is a checksum of the basis that codes carry. The same sample gives the same ID on the same
// machine.
func (b *Basis) ID() uint32 { return b.id }

// Project appends the coordinates of states [n × Dim] to dst: [n × Rank], not normalised.
// ErrLength if states are not whole rows, ErrNotFinite for NaN and infinities. Cost n·Dim·Rank.
func (b *Basis) Project(dst, states []float32) ([]float32, error) {
	if len(states)%b.dim != 0 {
		return dst, fmt.Errorf("%w: %d numbers are no whole states of %d", ErrLength, len(states), b.dim)
	}
	if !vec.Finite(states) {
		return dst, ErrNotFinite
	}
	n, at := len(states)/b.dim, len(dst)
	dst = append(dst, make([]float32, n*b.rank)...)
	out := dst[at:]
	vec.MatMulNT(out, states, b.axes, n, b.rank, b.dim)
	for i := range n {
		vec.Axpy(out[i*b.rank:(i+1)*b.rank], -1, b.shift)
	}
	if !vec.Finite(out) {
		return dst[:at], ErrNotFinite
	}
	return dst, nil
}

// A basis as bytes: magic, dim (4), rank (4), mean, axes, CRC-32C of all before it (4).
// Numbers are little-endian.
const basisMagic = "lexlate1"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendBinary appends the bytes of b, 4·(Rank+1)·Dim + 20 of them, for ReadBasis. The error is
// always nil; it is there for encoding.BinaryAppender.
func (b *Basis) AppendBinary(dst []byte) ([]byte, error) {
	at := len(dst)
	dst = append(dst, basisMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(b.dim))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(b.rank))
	for _, part := range [][]float32{b.mean, b.axes} {
		for _, x := range part {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
		}
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli)), nil
}

// ReadBasis reads what AppendBinary wrote. Other data gives ErrDamaged. It allocates about as
// much memory as data takes.
func ReadBasis(data []byte) (*Basis, error) {
	head := len(basisMagic) + 8
	if len(data) < head+4 || string(data[:len(basisMagic)]) != basisMagic {
		return nil, fmt.Errorf("%w: %d bytes without the mark %q", ErrDamaged, len(data), basisMagic)
	}
	dim, rank := binary.LittleEndian.Uint32(data[len(basisMagic):]), binary.LittleEndian.Uint32(data[len(basisMagic)+4:])
	if dim < 1 || dim > MaxDim || rank < 1 || rank > min(dim, MaxRank) {
		return nil, fmt.Errorf("%w: %d directions of %d dimensions", ErrDamaged, rank, dim)
	}
	if want := head + 4*(int(rank)+1)*int(dim) + 4; len(data) != want {
		return nil, fmt.Errorf("%w: %d bytes where %d directions of %d dimensions take %d", ErrDamaged, len(data), rank, dim, want)
	}
	body := data[:len(data)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(data[len(body):]) {
		return nil, fmt.Errorf("%w: the checksum is another", ErrDamaged)
	}
	numbers := make([]float32, (rank+1)*dim)
	for i := range numbers {
		numbers[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[head+4*i:]))
	}
	if !vec.Finite(numbers) {
		return nil, fmt.Errorf("%w: it holds NaN or an infinity", ErrDamaged)
	}
	return newBasis(numbers[:dim:dim], numbers[dim:], int(dim), int(rank)), nil
}

// newBasis uses mean and axes without copying.
func newBasis(mean, axes []float32, dim, rank int) *Basis {
	b := &Basis{dim: dim, rank: rank, mean: mean, axes: axes, shift: make([]float32, rank)}
	for i := range b.shift { // in float64: a mean may be long beside what differs from it
		var s float64
		for j, x := range axes[i*dim : (i+1)*dim] {
			s += float64(x) * float64(mean[j])
		}
		b.shift[i] = float32(s)
	}
	data, _ := b.AppendBinary(nil)
	b.id = binary.LittleEndian.Uint32(data[len(data)-4:])
	return b
}
