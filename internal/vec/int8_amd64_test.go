//go:build amd64 && !purego

package vec

import (
	"math/rand/v2"
	"testing"
)

// TestInt8Kernels compares every kernel that this machine has, not only the
// one in use, with the plain twin.
func TestInt8Kernels(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	type kernel func(out *[4]int32, q, a, b, c, d *int8, n int)
	ran := map[string]kernel{}
	if hasVNNI {
		ran["avx512-vnni"] = dotInt8x4vnni
	}
	if hasAVX2 {
		ran["avx2"] = dotInt8x4avx2
	}
	for name, f := range ran {
		for n := 16; n <= 400; n += 16 {
			q, a, b, c, d := randomCodes(r, n), randomCodes(r, n), randomCodes(r, n), randomCodes(r, n), randomCodes(r, n)
			var got, want [4]int32
			f(&got, &q[0], &a[0], &b[0], &c[0], &d[0], n)
			dotInt8x4Go(&want, q, a, b, c, d)
			if got != want {
				t.Fatalf("%s, %d codes: %v, want %v", name, n, got, want)
			}
		}
	}
	rows := map[string]func(out *int32, q, rows *int8, d, groups int){}
	if hasVNNI {
		rows["avx512-vnni"] = dotInt8Rowsvnni
	}
	if hasAVX2 {
		rows["avx2"] = dotInt8Rowsavx2
	}
	for name, f := range rows {
		for n := 16; n <= 400; n += 16 {
			q, all := randomCodes(r, n), randomCodes(r, 12*n)
			got := make([]int32, 12)
			f(&got[0], &q[0], &all[0], n, 3)
			for i, x := range got {
				if want := plainInt8(q, all[i*n:(i+1)*n]); x != want {
					t.Fatalf("%s, row %d of %d codes: %d, want %d", name, i, n, x, want)
				}
			}
		}
	}
	at := map[string]func(out *int32, q *int8, rows **int8, d, n int){}
	if hasVNNI {
		at["avx512-vnni"] = dotInt8Atvnni
	}
	if hasAVX2 {
		at["avx2"] = dotInt8Atavx2
	}
	for name, f := range at {
		for n := 16; n <= 400; n += 16 {
			q, all := randomCodes(r, n), randomCodes(r, 11*n)
			for count := 4; count <= 11; count++ {
				got, at := make([]int32, count), rowsAt(all, n, count)
				f(&got[0], &q[0], &at[0], n, count)
				for i, x := range got {
					if want := plainInt8(q, rowAt(at, i, n)); x != want {
						t.Fatalf("%s, row %d of %d that lie apart, of %d codes: %d, want %d", name, i, count, n, x, want)
					}
				}
			}
		}
	}
	if len(ran) == 0 {
		t.Skip("NOT TESTED: the int8 kernels in assembly; this CPU has neither AVX2 nor AVX-512 VNNI: run on one that has")
	}
}

// rowsAt are the first count of rows that lie one after another, backwards.
func rowsAt(rows []int8, n, count int) []*int8 {
	var at []*int8
	for i := count - 1; i >= 0; i-- {
		at = append(at, &rows[i*n])
	}
	return at
}

// TestInt4Kernels does so for codes of four bits.
func TestInt4Kernels(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	has := map[string]bool{"avx512-vnni": hasVNNI, "avx2": hasAVX2}
	for name, f := range map[string]int4Kernel{"avx512-vnni": dotInt4x4vnni, "avx2": dotInt4x4avx2} {
		if !has[name] {
			t.Logf("NOT TESTED: %s, which this CPU has not", name)
			continue
		}
		equalsInt4Go(t, r, name, f)
	}
	for name, f := range map[string]func(out *int32, lo, hi *int8, rows **int8, d, n int){"avx512-vnni": dotInt4Atvnni, "avx2": dotInt4Atavx2} {
		if !has[name] {
			continue
		}
		for n := 32; n <= 416; n += 32 {
			lo, hi, all := randomInt8(r, n), randomInt8(r, n), randomInt8(r, 11*n)
			for count := 4; count <= 11; count++ {
				got, at := make([]int32, count), rowsAt(all, n, count)
				f(&got[0], &lo[0], &hi[0], &at[0], n, count)
				for i, x := range got {
					var want [4]int32
					row := rowAt(at, i, n)
					if dotInt4x4Go(&want, lo, hi, row, row, row, row); x != want[0] {
						t.Fatalf("%s, row %d of %d that lie apart, of %d bytes: %d, want %d", name, i, count, n, x, want[0])
					}
				}
			}
		}
	}
}
