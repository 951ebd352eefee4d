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
	short     bool      // as bytes: mean and axes are as round leaves them
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

// A basis as bytes: magic, dim (4), rank (4), mean, axes, CRC-32C of all before it (4). Numbers are little-endian. With
// the magic basisShort, mean and axes each are an exponent (int8), and for each number an int16, which counts 2^exponent;
// otherwise float32. Bases of FitBasis are rounded so that they are short.
const (
	basisMagic = "lexlate1"
	basisShort = "lexlate2"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// round rounds numbers to whole multiples below 2^15 of a power of two.
func round(x []float32) {
	e := exponentOf(x)
	for i, v := range x {
		k := min(max(math.RoundToEven(math.Ldexp(float64(v), -e)), -math.MaxInt16), math.MaxInt16)
		x[i] = float32(math.Ldexp(k+0, e)) // + 0: there is no -0
	}
}

// exponentOf is the e for which the largest number is less than 2^15 times 2^e.
func exponentOf(x []float32) int {
	var top float64
	for _, v := range x {
		top = max(top, math.Abs(float64(v)))
	}
	_, e := math.Frexp(top)
	return max(e-15, math.MinInt8)
}

// AppendBinary appends the bytes of b for ReadBasis: 2·(Rank+1)·Dim + 22 of them for one of FitBasis. The error is
// always nil; it is there for encoding.BinaryAppender.
func (b *Basis) AppendBinary(dst []byte) ([]byte, error) {
	at, magic := len(dst), basisMagic
	if b.short {
		magic = basisShort
	}
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(b.dim))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(b.rank))
	for _, part := range [][]float32{b.mean, b.axes} {
		e := exponentOf(part)
		if b.short {
			dst = append(dst, byte(e))
		}
		for _, x := range part {
			if b.short {
				dst = binary.LittleEndian.AppendUint16(dst, uint16(int16(math.Ldexp(float64(x), -e))))
			} else {
				dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
			}
		}
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli)), nil
}

// ReadBasis reads what AppendBinary wrote. Other data gives ErrDamaged. It allocates about as
// much memory as data takes.
func ReadBasis(data []byte) (*Basis, error) {
	head := len(basisMagic) + 8
	magic := string(data[:min(len(data), len(basisMagic))])
	if len(data) < head+4 || magic != basisMagic && magic != basisShort {
		return nil, fmt.Errorf("%w: %d bytes without the mark %q or %q", ErrDamaged, len(data), basisShort, basisMagic)
	}
	dim, rank := binary.LittleEndian.Uint32(data[len(basisMagic):]), binary.LittleEndian.Uint32(data[len(basisMagic)+4:])
	if dim < 1 || dim > MaxDim || rank < 1 || rank > min(dim, MaxRank) {
		return nil, fmt.Errorf("%w: %d directions of %d dimensions", ErrDamaged, rank, dim)
	}
	short, want := magic == basisShort, head+4*(int(rank)+1)*int(dim)+4
	if short {
		want = head + 2*(int(rank)+1)*int(dim) + 2 + 4
	}
	if len(data) != want {
		return nil, fmt.Errorf("%w: %d bytes where %d directions of %d dimensions take %d", ErrDamaged, len(data), rank, dim, want)
	}
	body := data[:len(data)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(data[len(body):]) {
		return nil, fmt.Errorf("%w: the checksum is another", ErrDamaged)
	}
	numbers := make([]float32, (rank+1)*dim)
	p, e := data[head:], 0
	for i := range numbers {
		if !short {
			numbers[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
			continue
		}
		if i == 0 || i == int(dim) { // the exponent of the mean, that of the axes
			e, p = int(int8(p[0])), p[1:]
		}
		numbers[i] = float32(math.Ldexp(float64(int16(binary.LittleEndian.Uint16(p))), e))
		p = p[2:]
	}
	if !vec.Finite(numbers) {
		return nil, fmt.Errorf("%w: it holds NaN or an infinity", ErrDamaged)
	}
	mean, axes := numbers[:dim:dim], numbers[dim:]
	if short && (exponentOf(mean) != int(int8(data[head])) || exponentOf(axes) != int(int8(data[head+1+2*int(dim)]))) {
		return nil, fmt.Errorf("%w: its exponents are not those of its numbers", ErrDamaged)
	}
	return newBasis(mean, axes, int(dim), int(rank), short), nil
}

// newBasis uses mean and axes without copying.
func newBasis(mean, axes []float32, dim, rank int, short bool) *Basis {
	b := &Basis{dim: dim, rank: rank, mean: mean, axes: axes, short: short, shift: make([]float32, rank)}
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
