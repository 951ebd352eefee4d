package modulate

import "math"

// Rows of W as int8 codes. A row is 2^e times whole numbers in [−127, 127], with the smallest e
// that fits its largest number. Rounding a rounded row again changes nothing, so weights are the
// same in memory and file.

// leastExponent bounds e from below, for rows of almost zero.
const leastExponent = -120

// exponent8 is the exponent e of a row of finite numbers.
func exponent8(row []float32) int {
	var top float64
	for _, x := range row {
		top = max(top, math.Abs(float64(x)))
	}
	frac, e := math.Frexp(top / 127) // top/127 = frac · 2^e, frac in [1/2, 1)
	if frac == 0.5 {
		e--
	}
	return max(e, leastExponent)
}

// Round rounds each row of W to int8 codes times a power of two, which a weights file holds in a
// quarter of the bytes. No number moves by more than 1/127 of the largest of its row. The rows
// must be finite. Cost O(rows·d).
func (p *Projection) Round() {
	for at := 0; at < len(p.rows); at += p.dim {
		row := p.rows[at : at+p.dim]
		e := exponent8(row)
		for i, x := range row {
			row[i] = float32(math.Ldexp(math.Round(math.Ldexp(float64(x), -e)), e))
			if row[i] == 0 {
				row[i] = 0 // not −0
			}
		}
	}
}

// rounded reports whether every row equals its rounded form.
func (p *Projection) rounded() bool {
	for at := 0; at < len(p.rows); at += p.dim {
		row := p.rows[at : at+p.dim]
		e := exponent8(row)
		for _, x := range row {
			if c := math.Ldexp(float64(x), -e); c != math.Trunc(c) || x == 0 && math.Signbit(float64(x)) {
				return false
			}
		}
	}
	return true
}

// append8 appends a rounded row: e and its codes, 1 + d bytes.
func append8(b []byte, row []float32) []byte {
	e := exponent8(row)
	b = append(b, byte(int8(e)))
	for _, x := range row {
		b = append(b, byte(int8(math.Ldexp(float64(x), -e))))
	}
	return b
}

// read8 reads rows of d numbers. ok reports whether the codes are in range.
func read8(b []byte, rows, d int) (x []float32, ok bool) {
	x = make([]float32, rows*d)
	for r := range rows {
		from := b[r*(d+1) : (r+1)*(d+1)]
		scale := math.Ldexp(1, int(int8(from[0])))
		for i, c := range from[1:] {
			if int8(c) == -128 {
				return nil, false
			}
			x[r*d+i] = float32(float64(int8(c)) * scale)
		}
	}
	return x, true
}
