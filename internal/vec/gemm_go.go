package vec

import "unsafe"

// kernelGo is the plain Go form of the kernel for other machines: 4×4 sums in registers.
var kernelGo = &kernel{name: "go", mr: 4, nr: 4, run: tileGo, transpose: transposeGo}

func tileGo(c *float32, ldc int, a *float32, rs, cs int, b *float32, k int, acc bool) {
	av := unsafe.Slice(a, 3*rs+(k-1)*cs+1)
	bv := unsafe.Slice(b, 4*k)
	cv := unsafe.Slice(c, 3*ldc+4)
	var s [4][4]float32
	for p := range k {
		row := (*[4]float32)(bv[4*p:])
		b0, b1, b2, b3 := row[0], row[1], row[2], row[3]
		for i := range 4 {
			x := av[i*rs+p*cs]
			t := &s[i]
			t[0] += x * b0
			t[1] += x * b1
			t[2] += x * b2
			t[3] += x * b3
		}
	}
	for i := range 4 {
		row := (*[4]float32)(cv[i*ldc:])
		for j, v := range s[i] {
			if acc {
				row[j] += v
			} else {
				row[j] = v
			}
		}
	}
}

func transposeGo(dst *float32, ldd int, src *float32, lds, k int) {
	d, s := unsafe.Slice(dst, (k-1)*ldd+8), unsafe.Slice(src, 7*lds+k)
	for j := range 8 {
		for p, v := range s[j*lds : j*lds+k] {
			d[p*ldd+j] = v
		}
	}
}
