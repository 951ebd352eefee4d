package native

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/lexsem/lexsem/internal/vec"
)

// unread says where the matrices of the layers are: first in the file, then in memory.
//
// Most of the time that it takes to read a model goes into new memory. A command that encodes one query needs each
// matrix once. So the first call, if its texts are short, reads the matrices of a layer into memory that the next layer
// uses again. The second call, or a first one with more tokens, reads all matrices and keeps them.
type unread struct {
	turn chan struct{} // who is in it reads
	lent bool          // the first call was made
	kept atomic.Bool   // all matrices are in memory
}

// fewTokens is the most that a call may have to borrow matrices.
const fewTokens = 64

// loan is memory for the matrices of one layer. A nil loan is for layers that have theirs.
type loan [4]vec.Packed

// matrices makes the matrices of all layers available to a call with n tokens: in memory, or by a loan. The call must
// end with end.
func (m *model) matrices(ctx context.Context, n int) (lent *loan, end func(), err error) {
	u := m.unread
	if u == nil || u.kept.Load() {
		return nil, func() {}, nil
	}
	select {
	case u.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	end = func() { <-u.turn }
	if !u.kept.Load() && !u.lent && n <= fewTokens {
		u.lent = true
		return new(loan), end, nil
	}
	defer end()
	for i := 0; i < len(m.layers) && !u.kept.Load(); i++ {
		for _, l := range m.layers[i].linears() {
			if l.w != nil { // by a call that was cancelled
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			w := new(vec.Packed)
			if err := l.read(w); err != nil {
				return nil, nil, fmt.Errorf("layer %d: %w", i, err)
			}
			l.w = w
		}
	}
	u.kept.Store(true)
	return nil, func() {}, nil
}

// fill returns l with its matrices.
func (o *loan) fill(l *layer) (*layer, error) {
	if o == nil {
		return l, nil
	}
	filled := *l
	for i, of := range filled.linears() {
		of.w = &o[i]
		if err := of.read(of.w); err != nil {
			return nil, err
		}
	}
	return &filled, nil
}

// linears are the products of a layer.
func (l *layer) linears() [4]*linear { return [...]*linear{&l.qkv, &l.mix, &l.inner, &l.outer} }
