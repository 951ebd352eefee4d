package index

import (
	"fmt"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/vec"
)

// checkCodes checks that the codes of the live slots of a chunk, which is ready for reading, belong to
// their vectors. Each component must be within half a scale, as vec.QuantizeInt8 promises, or exactly
// as vec.QuantizeInt4 makes it, and norms must be those of the rows. The error bound of the codes, and
// so the exactness of a scan, depends on this.
func (v *view) checkCodes(chunk int) error {
	x := v.mem
	if !x.coded {
		return nil
	}
	rows := 1 << x.rows.bits
	slots := make([]uint32, rows)
	from := chunk * rows
	for _, slot := range slots[:v.pick(slots, from, min(rows, v.n-from))] {
		if !x.codes.fit(slot, x.rows.row(slot)) {
			return fmt.Errorf("the codes of id %d are not those of its vector: %w", x.id(slot), ErrCorrupt)
		}
	}
	return nil
}

// fit reports whether the codes of a slot belong to row.
func (c *codes) fit(slot uint32, row []float32) bool {
	const rounding = 1 + 1e-4 // more than what the arithmetic of codes loses
	code, scale := c.rows.row(slot), c.scales.row(slot)[0]
	if c.by == byInt4 {
		same := make([]int8, len(code))
		if s, lost := vec.QuantizeInt4(same, row); s != scale || lost != c.losts.row(slot)[0] || !slices.Equal(same, code) {
			return false
		}
	} else if scale == 0 { // a row of zeros, or one too small for codes
		if vec.QuantizeInt8(make([]int8, len(row)), row) != 0 {
			return false
		}
		for _, k := range code {
			if k != 0 {
				return false
			}
		}
	} else {
		for i, y := range row {
			if off := y - scale*float32(code[i]); !(max(off, -off) <= scale/2*rounding) {
				return false
			}
		}
	}
	if c.m.unit {
		return true
	}
	norm := vec.Norm(row)
	return math.Abs(float64(c.norms.row(slot)[0]-norm)) <= float64(norm)*(rounding-1)
}
