package modulate

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/section"
	"github.com/lexsem/lexsem/internal/vec"
)

// A file of local bridges, all numbers little-endian:
//
//	"LEXSEMLB"  magic, 8 bytes
//	uint32      format version, 1
//	uint32 d, |V|, cells, TableFrom
//	float64     λ
//	float32 × cells × d   centroids
//	for each cell:
//	  uint32 n, the passages; uint32 rows; uint32 slots; uint32 tokens
//	  n × (uint64 id, uint32 count, count × uint32 token ids ascending)
//	  n × float32 scales, n × d × int8 codes of h
//	  rows × float32 scales, rows × d × int8 codes
//	  slots × uint32
//	  tokens × (uint32 id, uint32 from, float32 weight), ids ascending
//	uint32      CRC-32C of all bytes before it
//
// It holds fitted cells only: WriteTo fits what has changed.
const (
	localMagic   = "LEXSEMLB"
	localVersion = 1
)

// WriteTo writes a snapshot of partition, passages and fits to w and returns
// its length in bytes; cells that have changed are fitted first. Queries go on,
// changes wait.
func (l *Local) WriteTo(w io.Writer) (int64, error) {
	var all []int
	for i := range l.cells {
		all = append(all, i)
	}
	if err := l.fresh(all); err != nil {
		return 0, err
	}
	defer l.mu.RUnlock()
	out := newSnapshotWriter(w)
	out.write([]byte(localMagic))
	for _, v := range []int{localVersion, l.partition.dim, len(l.df), len(l.cells), l.o.TableFrom} {
		out.u32(uint32(v))
	}
	out.float64s([]float64{l.o.Lambda})
	out.float32s(l.partition.centroids)
	tokens := l.byCells()
	for i, c := range l.cells {
		f := &c.fit
		for _, n := range []int{len(c.members), len(f.rowScale), len(f.slots), len(tokens[i])} {
			out.u32(uint32(n))
		}
		for _, m := range c.members {
			out.u64(m.id)
			out.u32(uint32(len(m.tokens)))
			for _, t := range m.tokens {
				out.u32(uint32(t))
			}
		}
		out.float32s(f.scale)
		out.int8s(f.codes)
		out.float32s(f.rowScale)
		out.int8s(f.rows)
		for _, s := range f.slots {
			out.u32(s)
		}
		for _, t := range tokens[i] {
			j, _ := slices.BinarySearchFunc(l.dir[t], uint32(i), byCell)
			e := l.dir[t][j]
			out.u32(uint32(t))
			out.u32(e.from)
			out.float32s([]float32{e.weight})
		}
	}
	return out.finish("local bridges")
}

// byCells lists the tokens of each cell, ascending.
func (l *Local) byCells() [][]int32 {
	tokens := make([][]int32, len(l.cells))
	for t, list := range l.dir {
		for _, e := range list {
			tokens[e.cell] = append(tokens[e.cell], int32(t))
		}
	}
	return tokens
}

// ReadLocal makes local bridges from what WriteTo wrote. dim, vocab, vectors
// and o are as for NewLocal; a file of other dimensions or of fits by other
// options, or a damaged one, is an ErrCorrupt. The vectors are not read.
func ReadLocal(data []byte, dim, vocab int, vectors func(id uint64) []float32, o LocalOptions) (*Local, error) {
	corrupt := func(format string, args ...any) (*Local, error) {
		return nil, fmt.Errorf("%w: local bridges: %s; make them anew from the passages", ErrCorrupt, fmt.Sprintf(format, args...))
	}
	if len(data) < len(localMagic)+4 || string(data[:len(localMagic)]) != localMagic {
		return corrupt("not a file of them")
	}
	body := data[:len(data)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(data[len(body):]) {
		return corrupt("checksum differs")
	}
	in := localReader{section.NewReader(body[len(localMagic):], ErrCorrupt)}
	version, d, v, cells, tableFrom := in.U32(), in.U32(), in.U32(), in.U32(), in.U32()
	if in.Err() != nil || version != localVersion {
		return corrupt("format version %d, this program reads %d", version, localVersion)
	}
	if int(d) != dim || int(v) != vocab {
		return corrupt("dimension %d and vocabulary %d where %d and %d are in use", d, v, dim, vocab)
	}
	lambda := math.Float64frombits(in.U64())
	p := &Partition{dim: dim, centroids: in.float32s(int(cells), dim)}
	if in.Err() != nil || cells == 0 {
		return corrupt("%d cells", cells)
	}
	l, err := NewLocal(p, vocab, vectors, o)
	if err != nil {
		return nil, err
	}
	if lambda != l.o.Lambda || int(tableFrom) != l.o.TableFrom {
		return corrupt("fitted with lambda %v and tables from %d passages where %v and %d are in use", lambda, tableFrom, l.o.Lambda, l.o.TableFrom)
	}
	for i := range l.cells {
		if why := l.readCell(in, i); why != "" {
			return corrupt("cell %d: %s", i, why)
		}
	}
	if in.Len() > 0 {
		return corrupt("%d bytes behind the last cell", in.Len())
	}
	return l, nil
}

// readCell reads cell i and says what is wrong with it.
func (l *Local) readCell(in localReader, i int) string {
	d, c := l.partition.dim, l.cells[i]
	n, rows, slots, tokens := int(in.U32()), int(in.U32()), int(in.U32()), int(in.U32())
	if in.Err() != nil || n > in.Len() || rows > tokens || tokens > len(l.df) {
		return "its sizes do not fit"
	}
	count := make(map[int32]uint32, tokens)
	c.members = make([]localMember, n)
	for at := range c.members {
		m := &c.members[at]
		m.id = in.U64()
		k := int(in.U32())
		if m.tokens = in.tokens(k, len(l.df)); m.tokens == nil && k > 0 {
			return fmt.Sprintf("the tokens of passage %d are damaged", m.id)
		}
		if _, twice := l.place[m.id]; twice {
			return fmt.Sprintf("passage %d is there twice", m.id)
		}
		l.place[m.id] = localPlace{uint32(i), uint32(at)}
		for _, t := range m.tokens {
			l.df[t]++
			count[t]++
		}
	}
	f := &c.fit
	f.scale, f.codes = in.float32s(n, 1), in.int8s(n, d)
	f.rowScale, f.rows = in.float32s(rows, 1), in.int8s(rows, d)
	if slots > in.Len()/4 {
		return "its slots are missing"
	}
	f.slots = make([]uint32, slots)
	for k := range f.slots {
		if f.slots[k] = in.U32(); int(f.slots[k]) >= n {
			return "a slot of no passage"
		}
	}
	if in.Err() != nil || tokens != len(count) {
		return fmt.Sprintf("%d tokens, its passages have %d", tokens, len(count))
	}
	last := int32(-1)
	for range tokens {
		t, from, weight := int32(in.U32()), in.U32(), math.Float32frombits(in.U32())
		k, row := count[t], int(from&^tabled)
		if t <= last || k == 0 || !(weight >= 0 && weight < 100) {
			return fmt.Sprintf("token %d with weight %v", t, weight)
		}
		if from&tabled != 0 && row >= rows || from&tabled == 0 && weight > 0 && int(from)+int(k) > slots {
			return fmt.Sprintf("token %d has no row and no slots", t)
		}
		last = t
		l.dir[t] = append(l.dir[t], localEntry{cell: uint32(i), n: k, from: from, weight: weight})
	}
	if in.Err() != nil {
		return "it is cut short"
	}
	return ""
}

// localReader reads arrays of numbers.
type localReader struct{ *section.Reader }

// float32s reads n·d finite numbers.
func (in localReader) float32s(n, d int) []float32 {
	b := in.Raw(4 * uint64(n) * uint64(d))
	out := readFloats(b, len(b)/4)
	if !vec.Finite(out) {
		in.Fail("numbers that are not finite")
	}
	return out
}

func (in localReader) int8s(n, d int) []int8 {
	b := in.Raw(uint64(n) * uint64(d))
	out := make([]int8, len(b))
	for i, c := range b {
		out[i] = int8(c)
	}
	return out
}

// tokens reads n ids in ascending order, nil where they are not.
func (in localReader) tokens(n, vocab int) []int32 {
	b := in.Raw(4 * uint64(n))
	out := make([]int32, len(b)/4)
	last := int32(-1)
	for i := range out {
		t := int32(binary.LittleEndian.Uint32(b[4*i:]))
		if t <= last || int(t) >= vocab {
			in.Fail("token %d out of order or range", t)
			return nil
		}
		out[i], last = t, t
	}
	return out
}
