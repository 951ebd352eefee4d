package snapshot

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"unsafe"
)

var head = Header{Kind: "sample", Version: 3, Seq: 1 << 40, Database: [16]byte{1, 15: 2}, History: [16]byte{3, 15: 4}}

// big fills a little more than two blocks.
func big() []uint64 {
	rng, v := rand.New(rand.NewPCG(1, 2)), make([]uint64, 2*blockSize/8+5)
	for i := range v {
		v[i] = rng.Uint64()
	}
	return v
}

func fill(w *Writer, large bool) {
	w.Begin("NUMBERS")
	w.U32(1 << 30)
	w.U64(1 << 50)
	w.Uvarint(300)
	w.Text("wörter")
	w.Begin("EMPTY")
	w.Begin("ARRAYS")
	w.Float64s([]float64{math.Inf(1), -2})
	w.Uint64s([]uint64{1 << 63})
	w.Float32s([]float32{1, -2, 3})
	w.Uint32s([]uint32{1 << 31})
	w.Int8s([]int8{-128, 127})
	if large {
		w.Begin("BIG")
		w.Uint64s(big())
	}
}

func sample(t testing.TB, large bool) []byte {
	var buf bytes.Buffer
	w := NewWriter(&buf, head)
	fill(w, large)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

var errOther = errors.New("read something else than was written")

// read reads a sample and says what was wrong with it.
func read(f *File) error {
	if f.Header() != head {
		return errOther
	}
	n, err := f.Section("NUMBERS")
	if err != nil {
		return err
	}
	r := n.Reader()
	ok := r.U32() == 1<<30 && r.U64() == 1<<50 && r.Uvarint() == 300 && r.Text() == "wörter"
	if err := r.Done(); err != nil {
		return err
	}
	e, err := f.Section("EMPTY")
	if err != nil {
		return err
	}
	ok = ok && e.Len() == 0
	a, err := f.Section("ARRAYS")
	if err != nil {
		return err
	}
	r = a.Reader()
	ok = ok && slices.Equal(r.Float64s(2), []float64{math.Inf(1), -2}) && slices.Equal(r.Uint64s(1), []uint64{1 << 63}) &&
		slices.Equal(r.Float32s(3), []float32{1, -2, 3}) && slices.Equal(r.Uint32s(1), []uint32{1 << 31}) &&
		slices.Equal(Int8s(r.Raw(2)), []int8{-128, 127})
	if err := r.Done(); err != nil {
		return err
	}
	if !ok {
		return errOther
	}
	return f.Verify(context.Background())
}

func parsed(data []byte) error {
	f, err := Parse(data)
	if err != nil {
		return err
	}
	return read(f)
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	for _, large := range []bool{false, true} { // the second replaces the first
		if err := Write(path, head, func(w *Writer) error { fill(w, large); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := read(f); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"NUMBERS", "EMPTY", "ARRAYS", "BIG"} {
		s, err := f.Section(tag)
		if err != nil {
			t.Fatal(err)
		}
		if s.Len() > 0 && uintptr(unsafe.Pointer(&s.Raw()[0]))%align != 0 {
			t.Errorf("section %s is not aligned", tag)
		}
	}
	s, _ := f.Section("BIG")
	all, err := s.All()
	if err != nil || !slices.Equal(Uint64s(all), big()) {
		t.Fatal("BIG differs", err)
	}
	if little && &Uint64s(all)[0] != (*uint64)(unsafe.Pointer(&s.Raw()[0])) {
		t.Error("aligned numbers were copied")
	}
	if err := f.Expect("sample", 3); err != nil {
		t.Error(err)
	}
	if err := errors.Join(f.Expect("sample", 4), f.Expect("other", 3)); !errors.Is(err, ErrForeign) {
		t.Error(err)
	}
	if _, err := f.Section("NONE"); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(filepath.Dir(path)); !errors.Is(err, ErrDamaged) {
		t.Error("a folder opens:", err)
	}
}

// TestAnywhere reads a file that lies in memory at odd addresses.
func TestAnywhere(t *testing.T) {
	data := sample(t, true)
	for off := range 9 {
		if err := parsed(append(make([]byte, off), data...)[off:]); err != nil {
			t.Errorf("offset %d: %v", off, err)
		}
	}
}

func TestFailedWriteLeavesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	if err := Write(path, head, func(w *Writer) error { fill(w, false); return nil }); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	if err := Write(path, head, func(w *Writer) error { w.Begin("A"); w.U64(1); return boom }); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := read(f); err != nil {
		t.Fatal(err)
	}
}

func TestDamage(t *testing.T) {
	data := sample(t, false)
	for i := range data {
		if i > 100 && i < page-8 && i%97 != 0 { // zeros of the header
			continue
		}
		for bit := range 8 {
			data[i] ^= 1 << bit
			if err := parsed(data); !errors.Is(err, ErrDamaged) {
				t.Fatalf("byte %d, bit %d: %v", i, bit, err)
			}
			data[i] ^= 1 << bit
		}
	}
	for i := range data {
		if err := parsed(data[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	if err := parsed(append(slices.Clone(data), 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte more: %v", err)
	}
}

// TestDamageIsMetWhereItIs: a bad block fails what reads it and nothing else,
// every time.
func TestDamageIsMetWhereItIs(t *testing.T) {
	data := sample(t, true)
	f, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := f.Section("BIG")
	data[page+blockSize+5] ^= 4
	good, bad, last := 100, blockSize, s.Len()-8 // in blocks 0, 1 and 2
	for range 2 {
		if _, err := s.Bytes(good, 8); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Bytes(bad, 8); !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		if _, err := s.Bytes(last, 8); err != nil {
			t.Fatal(err)
		}
		if err := f.Verify(context.Background()); !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		if r := s.Reader(); r.U64() != 0 || !errors.Is(r.Err(), ErrDamaged) {
			t.Fatal(r.Err())
		}
	}
	data[page+blockSize+5] ^= 4
	if _, err := s.All(); err != nil {
		t.Fatal(err)
	}
	data[page+5] ^= 4 // block 0 was read: it is not read again
	if _, err := s.Bytes(0, 8); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestRanges(t *testing.T) {
	f, err := Parse(sample(t, true))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := f.Section("BIG")
	n := s.Len()
	for _, r := range [][2]int{{-1, 1}, {0, -1}, {0, n + 1}, {n, 1}, {n + 1, 0}, {1, math.MaxInt}, {math.MaxInt, 1}, {math.MaxInt, math.MaxInt}} {
		if _, err := s.Bytes(r[0], r[1]); !errors.Is(err, ErrDamaged) {
			t.Errorf("%v: %v", r, err)
		}
	}
	for _, r := range [][2]int{{0, 0}, {n, 0}, {0, n}, {n - 1, 1}} {
		if b, err := s.Bytes(r[0], r[1]); err != nil || len(b) != r[1] || cap(b) != r[1] {
			t.Errorf("%v: %d bytes, %v", r, len(b), err)
		}
	}
	for name, read := range map[string]func(*Reader){
		"raw":      func(r *Reader) { r.Raw(n + 1) },
		"negative": func(r *Reader) { r.Raw(-1) },
		"numbers":  func(r *Reader) { r.Uint64s(math.MaxInt) },
		"fewer":    func(r *Reader) { r.Uint64s(-1) },
		"left":     func(r *Reader) { r.Raw(n - 1); r.Done() },
		"failed":   func(r *Reader) { r.Fail("no") },
	} {
		r := s.Reader()
		if read(r); !errors.Is(r.Err(), ErrDamaged) || r.Len() != 0 {
			t.Errorf("%s: %v, %d bytes left", name, r.Err(), r.Len())
		}
	}
}

// TestForgedLengths gives a reader lengths that lie, with right checksums.
func TestForgedLengths(t *testing.T) {
	reader := func(p []byte) *Reader {
		var buf bytes.Buffer
		w := NewWriter(&buf, head)
		w.Begin("A")
		w.Write(p)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := Parse(buf.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		s, _ := f.Section("A")
		return s.Reader()
	}
	for _, p := range [][]byte{binary.AppendUvarint(nil, math.MaxUint64), {5, 'a'}, {}, {0x80, 0}, bytes.Repeat([]byte{255}, 11)} {
		r := reader(p)
		if s := r.Text(); s != "" || !errors.Is(r.Err(), ErrDamaged) {
			t.Errorf("%v: %q, %v", p, s, r.Err())
		}
	}

	good := sample(t, false)
	table := len(good) - endSize - 4 - 3*entrySize
	forge := func(at int, v uint64) error {
		b := slices.Clone(good)
		binary.LittleEndian.PutUint64(b[at:], v)
		binary.LittleEndian.PutUint32(b[len(b)-4:], sum(b[table:len(b)-4]))
		return parsed(b)
	}
	first := binary.LittleEndian.Uint64(good[table+maxTag:])
	if err := forge(table+maxTag, first); err != nil {
		t.Fatal("the forge is no good:", err)
	}
	for _, v := range []uint64{0, page - align, page + 1, page + 4096, 1 << 63, math.MaxUint64 &^ 63} {
		if err := forge(table+maxTag, v); !errors.Is(err, ErrDamaged) {
			t.Errorf("first byte %d: %v", v, err)
		}
	}
	for _, v := range []uint64{65, 4096, 1 << 63, math.MaxUint64, math.MaxUint64 - page + 1} {
		if err := forge(table+maxTag+8, v); !errors.Is(err, ErrDamaged) {
			t.Errorf("length %d: %v", v, err)
		}
		if err := forge(len(good)-endSize, v); !errors.Is(err, ErrDamaged) {
			t.Errorf("length of data %d: %v", v, err)
		}
	}
	if err := forge(table, binary.LittleEndian.Uint64([]byte("ARRAYS\x00\x00"))); !errors.Is(err, ErrDamaged) {
		t.Errorf("a tag twice: %v", err)
	}
	if err := forge(table, 0); !errors.Is(err, ErrDamaged) {
		t.Errorf("no tag: %v", err)
	}

	other := slices.Clone(good)
	copy(other, "LEXSNAP1")
	binary.LittleEndian.PutUint32(other[page-4:], sum(other[:page-4]))
	if err := parsed(other); !errors.Is(err, ErrForeign) {
		t.Errorf("another format: %v", err)
	}
}

func TestWriterRefuses(t *testing.T) {
	for name, write := range map[string]func(*Writer){
		"twice":   func(w *Writer) { w.Begin("A"); w.Begin("A") },
		"long":    func(w *Writer) { w.Begin("ABCDEFGHI") },
		"no tag":  func(w *Writer) { w.Begin("") },
		"zero":    func(w *Writer) { w.Begin("A\x00B") },
		"outside": func(w *Writer) { w.U32(1) },
	} {
		var buf bytes.Buffer
		w := NewWriter(&buf, head)
		write(w)
		if err := w.Close(); err == nil {
			t.Errorf("%s: written", name)
		}
	}
	for _, kind := range []string{"", string(make([]byte, maxKind+1))} {
		if err := NewWriter(&bytes.Buffer{}, Header{Kind: kind}).Close(); err == nil {
			t.Errorf("kind of %d bytes written", len(kind))
		}
	}
	for room := range len(sample(t, true)) / 1000 {
		w := NewWriter(&full{1000 * room}, head)
		fill(w, true)
		if err := w.Close(); !errors.Is(err, errFull) {
			t.Fatalf("room for %d bytes: %v", 1000*room, err)
		}
	}
}

var errFull = errors.New("full")

// full is a disk with room for some bytes.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// calls keeps what was written, and how long each write was.
type calls struct {
	bytes.Buffer
	lens []int
}

func (c *calls) Write(p []byte) (int, error) {
	c.lens = append(c.lens, len(p))
	return c.Buffer.Write(p)
}

// TestLongWrites: what is written at once begins at a multiple of its length in the file, whose
// blocks, which do not, have their checksums all the same.
func TestLongWrites(t *testing.T) {
	for _, n := range []int{bufferSize - page, bufferSize - page + 8, bufferSize, 2*bufferSize - page, 3*bufferSize + 5*blockSize + 24} {
		var to calls
		w := NewWriter(&to, head)
		w.Begin("A")
		for i := range uint64(n / 8) {
			w.U64(i)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		last := len(to.lens) - 1 // the tables
		for i, k := range to.lens[:last] {
			if k != bufferSize && i < last-1 {
				t.Errorf("%d bytes: write %d of %v", n, i, to.lens)
			}
		}
		if want := (page+n+bufferSize-1)/bufferSize + 1; len(to.lens) != want {
			t.Errorf("%d bytes: writes of %v, want %d", n, to.lens, want)
		}
		f, err := Parse(to.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Section("A")
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.All()
		if err != nil || len(b) != n {
			t.Fatalf("%d of %d bytes: %v", len(b), n, err)
		}
		for i := range n / 8 {
			if binary.LittleEndian.Uint64(b[8*i:]) != uint64(i) {
				t.Fatalf("%d bytes: number %d", n, i)
			}
		}
	}
}

// TestConcurrentReaders reads blocks for the first time from many goroutines.
func TestConcurrentReaders(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf, head)
	w.Begin("A")
	for i := range uint64(100 * blockSize / 8) {
		w.U64(i)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := Parse(buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	s, _ := f.Section("A")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 0))
			for range 2000 {
				from := rng.IntN(s.Len() / 8)
				n := 1 + rng.IntN(min(1<<rng.IntN(20), s.Len()/8-from))
				b, err := s.Bytes(8*from, 8*n)
				if err != nil || binary.LittleEndian.Uint64(b) != uint64(from) || binary.LittleEndian.Uint64(b[8*n-8:]) != uint64(from+n-1) {
					t.Errorf("%d numbers from %d: %v", n, from, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestGuardLetsPanicsThrough(t *testing.T) {
	for _, p := range []func(){
		func() { panic("boom") },
		func() { var m map[string]int; put(m) },
		func() { var p *[1 << 20]int; sink = p[1<<19] }, // a fault, and not in a mapping
	} {
		got := func() (got any) {
			defer func() { got = recover() }()
			var err error
			defer func() {
				if err != nil {
					t.Error(err)
				}
			}()
			defer Guard(&err)()
			p()
			return nil
		}()
		if got == nil {
			t.Error("a panic was swallowed")
		}
	}
}

var sink int

// TestDatabaseOf: a whole header is enough to know whose a file is.
func TestDatabaseOf(t *testing.T) {
	whole := sample(t, false)
	f, err := Parse(whole)
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int, with string) []byte {
		b := slices.Clone(whole)
		copy(b[at:], with)
		binary.LittleEndian.PutUint32(b[page-4:], sum(b[:page-4]))
		return b
	}
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"whole":             {whole, nil},
		"cut behind header": {whole[:page], nil},
		"earlier format":    {change(0, "LEXSNAP1"), nil},
		"something else":    {change(0, "NOTSNAP2"), ErrForeign},
		"cut header":        {whole[:page-1], ErrDamaged},
		"empty":             {nil, ErrDamaged},
		"flipped":           {append([]byte{whole[0] ^ 1}, whole[1:]...), ErrDamaged},
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, c.file, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := DatabaseOf(path)
		if !errors.Is(err, c.want) || err == nil && got != f.Header().Database {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
	if _, err := DatabaseOf(t.TempDir()); !errors.Is(err, ErrDamaged) {
		t.Errorf("a folder: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	small := sample(f, false)
	f.Add(small)
	f.Add(small[:len(small)-3])
	f.Fuzz(func(t *testing.T, data []byte) {
		repaired := slices.Clone(data) // so that the checksums are not all that is tested
		if len(repaired) >= page+endSize {
			binary.LittleEndian.PutUint32(repaired[page-4:], sum(repaired[:page-4]))
			end := repaired[len(repaired)-endSize:]
			if n := binary.LittleEndian.Uint64(end); n <= uint64(len(repaired)-page-4) {
				t := repaired[page+n : len(repaired)-4]
				binary.LittleEndian.PutUint32(repaired[len(repaired)-4:], sum(t))
			}
		}
		for _, d := range [][]byte{data, repaired} {
			switch err := parsed(d); {
			case err == nil, errors.Is(err, ErrDamaged), errors.Is(err, ErrForeign), errors.Is(err, errOther):
			default:
				t.Fatal(err)
			}
			file, err := Parse(d)
			if err != nil {
				continue
			}
			for _, s := range file.sections {
				r := s.Reader()
				r.Text()
				r.Uint32s(int(int32(r.U32())))
				r.Float64s(int(int64(r.U64())))
				r.Done()
			}
		}
	})
}

func BenchmarkBytes(b *testing.B) {
	f, err := Parse(sample(b, true))
	if err != nil {
		b.Fatal(err)
	}
	s, _ := f.Section("BIG")
	for b.Loop() {
		if _, err := s.Bytes(1000, 64); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGuard(b *testing.B) {
	for b.Loop() {
		func() (err error) {
			defer Guard(&err)()
			return nil
		}()
	}
}

func ExampleWrite() {
	dir, err := os.MkdirTemp("", "snapshot")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "words")
	err = Write(path, Header{Kind: "words", Version: 1}, func(w *Writer) error {
		w.Begin("COUNTS")
		w.Uint32s([]uint32{3, 1, 4})
		return nil
	})
	if err != nil {
		panic(err)
	}
	f, err := Open(path)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	s, err := f.Section("COUNTS")
	if err != nil {
		panic(err)
	}
	b, err := s.Bytes(4, 8)
	fmt.Println(Uint32s(b), err)
	// Output: [1 4] <nil>
}

func put(m map[string]int) { m["a"] = 1 }
