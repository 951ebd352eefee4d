package inverted_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// small is a snapshot of each kind.
func small(t testing.TB) (words, sparse []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	x := newWords(t, inverted.Options{Analysis: "a"})
	s, err := inverted.NewSparse(50, "a")
	if err != nil {
		t.Fatal(err)
	}
	for id := range uint64(150) {
		if err := x.Add(id*id, randomDoc(r, 40)); err != nil {
			t.Fatal(err)
		}
		if err := s.Add(id*id, []inverted.Weighted{{Term: int32(id % 50), Weight: 1 + r.Float32()}, {Term: int32(r.IntN(50))}}); err != nil && !errors.Is(err, inverted.ErrTerm) {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return write(t, x), b.Bytes()
}

func loadBoth(data []byte) (*inverted.Words, error, *inverted.Sparse, error) {
	x, errX := inverted.LoadWords(inverted.Options{Analysis: "a"}, data)
	s, errS := inverted.LoadSparse(50, "a", data)
	return x, errX, s, errS
}

func TestSnapshotDamage(t *testing.T) {
	words, sparse := small(t)
	for kind, data := range [][]byte{words, sparse} {
		if _, errX, _, errS := loadBoth(data); (errX == nil) != (kind == 0) || (errS == nil) != (kind == 1) {
			t.Fatalf("kind %d: %v, %v", kind, errX, errS)
		}
		bad := func(what string, at int, d []byte) {
			t.Helper()
			_, errX, _, errS := loadBoth(d)
			for _, err := range []error{errX, errS} {
				if !errors.Is(err, inverted.ErrCorrupt) && !errors.Is(err, inverted.ErrMismatch) {
					t.Fatalf("kind %d, %s %d: %v", kind, what, at, err)
				}
			}
		}
		for n := range data {
			bad("cut at", n, data[:n])
		}
		for i := range data {
			d := bytes.Clone(data)
			d[i] ^= 1 << (i % 8)
			bad("bit of byte", i, d)
		}
		bad("longer by", 1, append(bytes.Clone(data), 0))
	}
}

func TestSnapshotOfOther(t *testing.T) {
	words, sparse := small(t)
	for _, o := range []inverted.Options{{Analysis: "b"}, {}, {Analysis: "a", K1: 1.3, B: .75}, {Analysis: "a", K1: 1.2}} {
		if _, err := inverted.LoadWords(o, words); !errors.Is(err, inverted.ErrMismatch) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := inverted.LoadSparse(51, "a", sparse); !errors.Is(err, inverted.ErrMismatch) {
		t.Error(err)
	}
	if _, err := inverted.LoadSparse(50, "b", sparse); !errors.Is(err, inverted.ErrMismatch) {
		t.Error(err)
	}
	if _, err := inverted.LoadWords(inverted.Options{K1: -1}, words); !errors.Is(err, inverted.ErrOptions) {
		t.Error(err)
	}
}

// failing fails once n bytes have passed.
type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestSnapshotWriteError(t *testing.T) {
	words, _ := small(t)
	x, err := inverted.LoadWords(inverted.Options{Analysis: "a"}, words)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(words); n += 7 {
		if got, err := x.WriteTo(&failing{n}); !errors.Is(err, io.ErrShortWrite) || got > int64(n) {
			t.Fatalf("after %d bytes: %d, %v", n, got, err)
		}
	}
}

// resum makes the checksums of a snapshot right again, as far as its sections
// can be followed, so that fuzzing gets behind them.
func resum(data []byte) []byte {
	d := bytes.Clone(data)
	for at := 0; at+16 <= len(d); {
		n := binary.LittleEndian.Uint64(d[at+4:])
		if n > uint64(len(d)-at-16) {
			break
		}
		end := at + 12 + int(n)
		binary.LittleEndian.PutUint32(d[end:], crc32.Checksum(d[at:end], crc32.MakeTable(crc32.Castagnoli)))
		at = end + 4
	}
	return d
}

// FuzzLoad: whatever the bytes, loading gives an index that works and is
// written down as the same bytes, or a typed error; and takes no more memory
// than a multiple of them.
func FuzzLoad(f *testing.F) {
	words, sparse := small(f)
	f.Add(words)
	f.Add(sparse)
	f.Add([]byte("HEAD"))
	query := terms("w0", "w1", "w2")
	f.Fuzz(func(t *testing.T, data []byte) {
		data = resum(data)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		x, errX, s, errS := loadBoth(data)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20+256*uint64(len(data)) {
			t.Fatalf("%d bytes allocated for %d", used, len(data))
		}
		for _, err := range []error{errX, errS} {
			if err != nil && !errors.Is(err, inverted.ErrCorrupt) && !errors.Is(err, inverted.ErrMismatch) {
				t.Fatal(err)
			}
		}
		if errX == nil {
			if _, err := x.Search(nil, query, 5, nil); err != nil {
				t.Fatal(err)
			}
			again, err := inverted.LoadWords(inverted.Options{Analysis: "a"}, write(t, x))
			if err != nil || again.Len() != x.Len() {
				t.Fatal(err)
			}
		}
		if errS == nil {
			if _, err := s.Search(nil, []inverted.Weighted{{Term: 1, Weight: 1}}, 5, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzSearch: any text can be indexed and searched for, and finds itself if it
// has a word.
func FuzzSearch(f *testing.F) {
	for _, s := range []string{"", "ERR_CONN_RESET of io.ReadAll", "東京タワー", "a\xff\x00b'c-d", "é e\u0301 ﬁ ½ İ"} {
		f.Add(s, s)
	}
	a := analyzer(f)
	f.Fuzz(func(t *testing.T, doc, query string) {
		x := newWords(t, inverted.Options{})
		d, q := a.Terms(nil, doc), a.Terms(nil, query)
		for id, terms := range [][]text.Term{d, q} {
			if err := x.Add(uint64(id), terms); err != nil {
				t.Fatal(err)
			}
		}
		got, err := x.Search(nil, q, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		found := len(q) == 0
		for _, g := range got {
			found = found || g.ID == 1
			if c := inverted.Coverage(g.Score, x.UB(q)); !(c > 0 && c < 1) {
				t.Fatalf("coverage %v", c)
			}
		}
		if !found {
			t.Fatalf("%q does not find itself: %v", query, got)
		}
		pairs := make([]float64, 1)
		if err := pairShares(x, pairs, q, []uint64{0}); err != nil {
			t.Fatal(err)
		}
		if p := pairs[0]; !(p >= 0 && p <= 1+1e-12) {
			t.Fatalf("pair bonus %v", p)
		}
	})
}
