package late_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/lexsem/lexsem/internal/late"
)

// The axes span the directions of most variance, and each has its share.
func TestFitBasisFindsWhatVaries(t *testing.T) {
	for _, o := range []struct{ dim, rank int }{{6, 3}, {40, 40}, {150, 8}, {160, 96}} {
		states := cloud(9, 1500, o.dim)
		b := fit(t, states, o.dim, o.rank)
		if b.Dim() != o.dim || b.Rank() != o.rank {
			t.Fatalf("%d of %d, want %d of %d", b.Rank(), b.Dim(), o.rank, o.dim)
		}
		at, err := b.Project(nil, states)
		if err != nil {
			t.Fatal(err)
		}
		n := len(states) / o.dim
		var total, most float64
		for i := range o.rank { // coordinates of mean 0
			var mean, square float64
			for r := range n {
				x := float64(at[r*o.rank+i])
				mean, square = mean+x/float64(n), square+x*x/float64(n)
			}
			if math.Abs(mean) > 1e-4 {
				t.Errorf("dim %d: mean %g of coordinate %d", o.dim, mean, i)
			}
			total, most = total+square, max(most, square)
		}
		if o.rank > 90 && most > 3*total/float64(o.rank) {
			t.Errorf("dim %d: a coordinate has the variance %g, the mean is %g", o.dim, most, total/float64(o.rank))
		}
		if want := leadingVariance(states, o.dim, o.rank); math.Abs(total-want) > 1e-3*want {
			t.Errorf("dim %d: %d directions have the variance %g, the best ones %g", o.dim, o.rank, total, want)
		}
		if again := fit(t, states, o.dim, o.rank); again.ID() != b.ID() {
			t.Error("the same states gave another basis")
		}
		if other := fit(t, cloud(10, 1500, o.dim), o.dim, o.rank); other.ID() == b.ID() {
			t.Error("other states gave the same ID")
		}
	}
	if b := fit(t, cloud(1, 10, 16), 16, 0); b.Rank() != 16 {
		t.Errorf("rank %d by default where there are 16 dimensions", b.Rank())
	}
	if b := fit(t, cloud(1, 300, 128), 128, 0); b.Rank() != late.DefaultRank {
		t.Errorf("rank %d by default", b.Rank())
	}
}

// States of less variety than the rank have a basis, too: what is left over is any direction.
// leadingVariance is the sum of the largest eigenvalues of the covariance of states.
func leadingVariance(states []float32, dim, rank int) (sum float64) {
	n := len(states) / dim
	x := mat.NewDense(n, dim, nil)
	for i, v := range states {
		x.Set(i/dim, i%dim, float64(v))
	}
	cov, eigen := mat.NewSymDense(dim, nil), mat.EigenSym{}
	stat.CovarianceMatrix(cov, x, nil)
	if !eigen.Factorize(cov, false) {
		panic("no eigenvalues")
	}
	for _, v := range eigen.Values(nil)[dim-rank:] {
		sum += v * float64(n-1) / float64(n)
	}
	return sum
}

func TestFitBasisOfFewStates(t *testing.T) {
	const dim = 24
	for _, states := range [][]float32{cloud(1, 2, dim), make([]float32, 5*dim), slices.Repeat(cloud(1, 1, dim), 9)} {
		b := fit(t, states, dim, 12)
		data, err := late.Coder{Basis: b}.Encode(nil, states, nil)
		if err != nil {
			t.Fatal(err)
		}
		q, err := late.NewQuery(states, nil, nil, b)
		if err != nil {
			t.Fatal(err)
		}
		c, err := late.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := q.Score(c); err != nil || math.IsNaN(s.Whole) || math.Abs(s.Whole) > 1.05 {
			t.Errorf("score %+v, %v", s, err)
		}
	}
}

func TestFitBasisRefuses(t *testing.T) {
	nan, inf := cloud(1, 4, 3), cloud(1, 4, 3)
	nan[7], inf[2] = float32(math.NaN()), float32(math.Inf(1))
	for name, o := range map[string]struct {
		states    []float32
		dim, rank int
		want      error
	}{
		"no dimension":    {nil, 0, 3, late.ErrOptions},
		"large dimension": {nil, late.MaxDim + 1, 3, late.ErrOptions},
		"negative rank":   {cloud(1, 4, 3), 3, -1, late.ErrOptions},
		"large rank":      {cloud(1, 4, 3), 3, late.MaxRank + 1, late.ErrOptions},
		"one state":       {cloud(1, 1, 3), 3, 2, late.ErrLength},
		"half a state":    {cloud(1, 4, 3)[:11], 3, 2, late.ErrLength},
		"NaN":             {nan, 3, 2, late.ErrNotFinite},
		"infinity":        {inf, 3, 2, late.ErrNotFinite},
		"out of range":    {slices.Repeat([]float32{3e38, -3e38}, 30), 3, 2, late.ErrNotFinite},
	} {
		if _, err := late.FitBasis(o.states, o.dim, o.rank); !errors.Is(err, o.want) {
			t.Errorf("%s: %v, want %v", name, err, o.want)
		}
	}
}

func TestBasisAsBytes(t *testing.T) {
	b := fit(t, cloud(1, 100, 20), 20, 7)
	data, err := b.AppendBinary([]byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	data = data[len("before"):]
	again, err := late.ReadBasis(data)
	if err != nil {
		t.Fatal(err)
	}
	if again.ID() != b.ID() || again.Dim() != 20 || again.Rank() != 7 {
		t.Errorf("%08x, %d of %d", again.ID(), again.Rank(), again.Dim())
	}
	want, _ := b.Project(nil, cloud(5, 9, 20))
	got, err := again.Project(nil, cloud(5, 9, 20))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("projects otherwise: %v", err)
	}
	for i := range data {
		for _, flip := range []byte{1, 0x80} {
			bad := bytes.Clone(data)
			bad[i] ^= flip
			if _, err := late.ReadBasis(bad); !errors.Is(err, late.ErrDamaged) {
				t.Fatalf("byte %d flipped: %v", i, err)
			}
		}
		if _, err := late.ReadBasis(data[:i]); !errors.Is(err, late.ErrDamaged) {
			t.Fatalf("%d bytes: %v", i, err)
		}
	}
	if _, err := late.ReadBasis(append(bytes.Clone(data), 0)); !errors.Is(err, late.ErrDamaged) {
		t.Errorf("a byte too many: %v", err)
	}
	older := long(data, 20, 7)
	if old, err := late.ReadBasis(older); err != nil {
		t.Errorf("of an older program: %v", err)
	} else if got, err := old.Project(nil, cloud(5, 9, 20)); err != nil || !slices.Equal(got, want) {
		t.Errorf("of an older program: projects otherwise: %v", err)
	} else if again, _ := old.AppendBinary(nil); !bytes.Equal(again, older) {
		t.Error("of an older program: other bytes")
	}
	binary.LittleEndian.PutUint32(older[40:], math.Float32bits(float32(math.NaN()))) // under a checksum that fits
	if _, err := late.ReadBasis(sealed(older[:len(older)-4])); !errors.Is(err, late.ErrDamaged) {
		t.Errorf("NaN: %v", err)
	}
	data[16] = 5 // a mean of zeros has another exponent
	clear(data[17 : 17+2*20])
	if _, err := late.ReadBasis(sealed(data[:len(data)-4])); !errors.Is(err, late.ErrDamaged) {
		t.Errorf("another exponent: %v", err)
	}
	if _, err := b.Project(nil, make([]float32, 21)); !errors.Is(err, late.ErrLength) {
		t.Errorf("half a state: %v", err)
	}
	states := make([]float32, 20)
	states[3] = float32(math.Inf(1))
	if got, err := b.Project([]float32{7}, states); !errors.Is(err, late.ErrNotFinite) || !slices.Equal(got, []float32{7}) {
		t.Errorf("infinity: %v, %v", got, err)
	}
}

// sealed appends the checksum.
func sealed(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// long turns the bytes of a basis into those of older programs.
func long(short []byte, dim, rank int) []byte {
	out, p := append([]byte("lexlate1"), short[8:16]...), short[16:]
	for _, n := range []int{dim, rank * dim} {
		e := int(int8(p[0]))
		p = p[1:]
		for range n {
			x := float32(math.Ldexp(float64(int16(binary.LittleEndian.Uint16(p))), e))
			out, p = binary.LittleEndian.AppendUint32(out, math.Float32bits(x)), p[2:]
		}
	}
	return sealed(out)
}

func FuzzReadBasis(f *testing.F) {
	b := fit(f, cloud(1, 30, 5), 5, 3)
	data, _ := b.AppendBinary(nil)
	f.Add(data)
	f.Add(long(data, 5, 3))
	f.Add([]byte("lexlate1\xff\xff\xff\xff\xff\xff\xff\xff....."))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := late.ReadBasis(data)
		if err != nil {
			if !errors.Is(err, late.ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if again, _ := b.AppendBinary(nil); !bytes.Equal(again, data) {
			t.Fatal("another form of the same basis")
		}
	})
}
