package engine_test

import (
	"context"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// windows notes how many texts it was handed at once.
type windows struct {
	*encoder.Hash
	wish, got []int
}

func (w *windows) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	w.got = append(w.got, len(in))
	return w.Hash.Encode(ctx, role, in, need)
}

// wishing says how many it likes.
type wishing struct{ *windows }

func (w wishing) Window() int { return w.wish[0] }

// TestFirstProgress: the first documents of a database are encoded few at a time, so
// that progress is told soon; an encoder's own wish holds from the first.
func TestFirstProgress(t *testing.T) {
	add(t, open(t, t.TempDir(), engine.Options{}), docs(0, 1)) // so that the encoder was measured (encoder.Unrelated)
	for name, c := range map[string]struct{ wish, want []int }{
		"no wish": {nil, []int{16, 16, 32, 64, 128, 44, 256, 44}},
		"none":    {[]int{0}, []int{16, 16, 32, 64, 128, 44, 256, 44}},
		"a wish":  {[]int{200}, []int{200, 100, 200, 100}},
	} {
		w := &windows{Hash: encoder.NewHash(dim), wish: c.wish}
		var enc encoder.Encoder = w
		if c.wish != nil {
			enc = wishing{w}
		}
		var told []int
		e := openWith(t, t.TempDir(), enc, engine.Options{Progress: func(p engine.Progress) {
			if p.Stage == "encode" {
				told = append(told, p.Done)
			}
		}})
		add(t, e, docs(0, 300))
		if told[0] != c.want[0] || told[len(told)-1] != 300 {
			t.Errorf("%s: progress %v", name, told)
		}
		add(t, e, docs(300, 600))
		closeIt(t, e)
		if !slices.Equal(w.got, c.want) {
			t.Errorf("%s: windows of %v texts, want %v", name, w.got, c.want)
		}
	}
}
