package native

import (
	"math"

	"github.com/lexsem/lexsem/internal/transformer"
)

// turns are the rotations that give queries and keys their positions (Su et al. 2021): at
// position p the components k and k + width/2 of a head are the coordinates of a point
// that is turned by p·frequency[k].
type turns struct {
	frequency []float32 // [width/2]
}

func newTurns(a transformer.Attention, width int) *turns {
	t := &turns{frequency: make([]float32, width/2)}
	for k := range t.frequency {
		t.frequency[k] = float32(1 / math.Pow(a.Theta, float64(2*k)/float64(width)) / a.Slower)
	}
	return t
}

// turnTable holds the cosines and sines of positions, up to those of the longest text so
// far.
type turnTable struct{ cos, sin []float32 }

// table returns the table for n positions or more.
func (b *buffers) table(t *turns, n int) *turnTable {
	if b.tables == nil {
		b.tables = map[*turns]*turnTable{}
	}
	x := b.tables[t]
	if x == nil {
		x = &turnTable{}
		b.tables[t] = x
	}
	for p := len(x.cos) / len(t.frequency); p < n; p++ {
		for _, f := range t.frequency {
			sin, cos := math.Sincos(float64(float32(p) * f)) // the angle in float32, as models were trained
			x.cos, x.sin = append(x.cos, float32(cos)), append(x.sin, float32(sin))
		}
	}
	return x
}

// place normalises the queries and keys of one text, if the model does so, and rotates
// them by their positions. qkv is [n × qkvWidth].
func (m *model) place(b *buffers, l *layer, qkv []float32, n int) {
	if l.queries.scale == nil && l.turns == nil {
		return
	}
	var table *turnTable
	if l.turns != nil {
		table = b.table(l.turns, n)
	}
	w, half := m.width, m.width/2
	for i := range n {
		row := qkv[i*m.qkvWidth():]
		for h := range m.heads + m.kv {
			x := row[h*w : h*w+w]
			if l.queries.scale != nil {
				of := l.queries
				if h >= m.heads {
					of = l.keys
				}
				m.normalizeRow(x, x, of)
			}
			if table == nil {
				continue
			}
			cos, sin := table.cos[i*half:][:half], table.sin[i*half:][:half]
			for k, c := range cos {
				a, b := x[k], x[half+k]
				x[k], x[half+k] = a*c-b*sin[k], b*c+a*sin[k]
			}
		}
	}
}
