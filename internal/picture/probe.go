package picture

// Probe returns probe image i, from 0. The vectors of these images identify a vision model. They show
// waves of different lengths and colours over a dark disc.
func Probe(i int) *Image {
	const side = 96
	m := New(side, side)
	for y := range side {
		row := m.row(y)
		for x := range side {
			dx, dy := x-side/2, y-side/2
			for c := range 3 {
				v := (x*(2+i) + y*(5-i) + 40*c + x*y*i/16) % 256
				if dx*dx+dy*dy < (10+8*i)*(10+8*i) {
					v /= 4
				}
				row[3*x+c] = uint8(v)
			}
		}
	}
	return m
}
