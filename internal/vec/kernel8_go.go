package vec

import "unsafe"

// kernel8Go is the plain Go form of the kernel for other machines: 4×4 sums in registers.
var kernel8Go = &kernel8{name: "go", mr: 4, nr: 4, run: tile8Go}

func tile8Go(c *float32, ldc int, a *uint8, lda int, b *int8, quads int, row, col *float32, acc bool) {
	const mr, nr = 4, 4
	cv := unsafe.Slice(c, (mr-1)*ldc+nr)
	av, bv := unsafe.Slice(a, (mr-1)*lda+4*quads), unsafe.Slice(b, 4*nr*quads)
	rows, cols := unsafe.Slice(row, 2*mr), unsafe.Slice(col, 2*nr)
	for i := range mr {
		var s [nr]int32
		for q, codes := 0, av[i*lda:i*lda+4*quads]; q < quads; q++ {
			x := (*[4]uint8)(codes[4*q:])
			x0, x1, x2, x3 := int32(x[0]), int32(x[1]), int32(x[2]), int32(x[3])
			y := (*[4 * nr]int8)(bv[4*nr*q:])
			s[0] += x0*int32(y[0]) + x1*int32(y[1]) + x2*int32(y[2]) + x3*int32(y[3])
			s[1] += x0*int32(y[4]) + x1*int32(y[5]) + x2*int32(y[6]) + x3*int32(y[7])
			s[2] += x0*int32(y[8]) + x1*int32(y[9]) + x2*int32(y[10]) + x3*int32(y[11])
			s[3] += x0*int32(y[12]) + x1*int32(y[13]) + x2*int32(y[14]) + x3*int32(y[15])
		}
		for j, v := range s {
			x := dequantize(v, rows[2*i], rows[2*i+1], cols[j], cols[nr+j])
			if acc {
				x += cv[i*ldc+j]
			}
			cv[i*ldc+j] = x
		}
	}
}

// dequantize converts a sum of products to float32, as kernels do. sum, zero and the
// product of zero with the sum of codes are whole numbers, so the difference is rounded
// once, as by a fused multiply-add.
func dequantize(sum int32, scale, zero, weight, codes float32) float32 {
	t := float32(float64(float32(sum)) - float64(zero)*float64(codes))
	return float32(float32(t*scale) * weight)
}
