package vec

// Dot returns the inner product of a and b, which must have equal length. It is 0 for empty vectors.
func Dot(a, b []float32) float32 {
	return dot(a, b[:len(a)])
}

// Axpy adds f·x to y in place. x and y have equal length.
func Axpy(y []float32, f float32, x []float32) {
	x = x[:len(y)]
	for i := axpy(y, f, x); i < len(y); i++ {
		y[i] += f * x[i]
	}
}

// Dot4 writes the inner products of q with the rows a, b, c and d into out. All have q's length. A row
// gives the same bits in each of the four places, so equal rows have equal products. Dot may differ by
// rounding.
func Dot4(out *[4]float32, q, a, b, c, d []float32) {
	n := len(q)
	a, b, c, d = a[:n], b[:n], c[:n], d[:n]
	*out = [4]float32{}
	i := dot4(out, q, a, b, c, d)
	if i == n {
		return
	}
	s0, s1, s2, s3 := out[0], out[1], out[2], out[3]
	for ; i < n; i++ {
		x := q[i]
		s0 += x * a[i]
		s1 += x * b[i]
		s2 += x * c[i]
		s3 += x * d[i]
	}
	out[0], out[1], out[2], out[3] = s0, s1, s2, s3
}

// SquaredL2x4 writes the squared Euclidean distances between q and the rows a, b, c and d into out.
// The bits do not depend on the place, as in Dot4.
func SquaredL2x4(out *[4]float32, q, a, b, c, d []float32) {
	n := len(q)
	a, b, c, d = a[:n], b[:n], c[:n], d[:n]
	*out = [4]float32{}
	i := l2x4(out, q, a, b, c, d)
	if i == n {
		return
	}
	s0, s1, s2, s3 := out[0], out[1], out[2], out[3]
	for ; i < n; i++ {
		x := q[i]
		t0, t1, t2, t3 := x-a[i], x-b[i], x-c[i], x-d[i]
		s0 += t0 * t0
		s1 += t1 * t1
		s2 += t2 * t2
		s3 += t3 * t3
	}
	out[0], out[1], out[2], out[3] = s0, s1, s2, s3
}

// DotAxpy4 writes the inner products of x with the rows a, b, c and d into out, and adds f[0]·a +
// f[1]·b + f[2]·c + f[3]·d to y. x, y and the rows have one length. It reads each row once, so that
// four rows of a symmetric matrix are used on both sides of the diagonal.
func DotAxpy4(out *[4]float32, y []float32, f *[4]float32, x, a, b, c, d []float32) {
	n := len(y)
	x, a, b, c, d = x[:n], a[:n], b[:n], c[:n], d[:n]
	*out = [4]float32{}
	i := dotAxpy4(out, y, f, x, a, b, c, d)
	if i == n {
		return
	}
	var rest [4]float32
	Dot4(&rest, x[i:], a[i:], b[i:], c[i:], d[i:])
	for k, row := range [4][]float32{a, b, c, d} {
		out[k] += rest[k]
		Axpy(y[i:], f[k], row[i:])
	}
}

// DotRows writes q·rows[i] into out[i], for len(out) rows of length len(q) stored one after another.
// The bits do not depend on the place, as in Dot4.
func DotRows(out, q, rows []float32) { fours(out, q, rows, false) }

// SquaredL2Rows is DotRows for the squared Euclidean distance.
func SquaredL2Rows(out, q, rows []float32) { fours(out, q, rows, true) }

func fours(out, q, rows []float32, l2 bool) {
	d, n := len(q), len(out)
	rows = rows[:n*d]
	for i := 0; i < n; i += 4 {
		if n < 4 { // the last row stands in for those that are missing
			row := func(j int) []float32 { j = min(j, n-1); return rows[j*d : j*d+d] }
			var s [4]float32
			four(&s, q, row(0), row(1), row(2), row(3), l2)
			copy(out, s[:])
			return
		}
		i = min(i, n-4) // the last four may overlap those before
		r := rows[i*d : i*d+4*d]
		four((*[4]float32)(out[i:]), q, r[:d], r[d:2*d], r[2*d:3*d], r[3*d:], l2)
	}
}

func four(out *[4]float32, q, a, b, c, d []float32, l2 bool) {
	if l2 {
		SquaredL2x4(out, q, a, b, c, d)
	} else {
		Dot4(out, q, a, b, c, d)
	}
}

// dotGo is the plain Go form: four sums, so that additions need not wait for each other.
func dotGo(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		s0 += x * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}
