package ridge

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/radix"
	"github.com/lexsem/lexsem/internal/vec"
)

// editBatch is the number of passages whose tokens are sorted at a time.
const editBatch = 4096

// Edit makes the next Sums. It is for one goroutine, and only one Edit of a corpus may be open at
// a time. An Edit that met an error, or whose Done was never called, changes nothing.
type Edit struct {
	s      Sums // as edited so far
	tokens *cow.Editor[posted]
	dead   *cow.SetEditor
	log    []change
	bulk   bool // too many changes to be followed by steps
	buried bool // dead has changed since s.dead
	by     *byte
	err    error
	pairs  []uint64
	spare  []uint64 // that sorting them took
	most   int32    // the greatest token of them
	sum    []float64
	ctx    context.Context // that of Obey
	left   int             // multiplications until the next look at it
}

// Edit begins the next Sums.
func (s *Sums) Edit() *Edit {
	e := &Edit{s: *s, tokens: s.tokens.Edit(), dead: s.dead.Edit(), by: new(byte), sum: make([]float64, s.dim), ctx: context.Background()}
	e.s.total, e.err = slices.Clone(s.total), s.Await() // its vectors may be gone after the edit
	if s.totals != nil {
		e.fail("sums of totals do not follow single passages; make the totals anew")
	}
	return e
}

// Obey makes AddAll, RemoveAll and Done stop with the error of ctx within milliseconds. It returns
// e.
func (e *Edit) Obey(ctx context.Context) *Edit {
	e.ctx = ctx
	return e
}

// look counts multiplications, and checks the context after about half a millisecond of them. It
// reports whether the Edit may go on.
func (e *Edit) look(work int) bool {
	if e.left -= work; e.left < 0 && e.err == nil {
		e.left = 1 << 20
		e.err = e.ctx.Err()
	}
	return e.err == nil
}

// AddAll adds passages: their ids, each piece<<44 | document, their vectors [Dim] and their tokens
// with lexical weight (encoder.Tokens.Lexical; repetition counts once). Ordered by document and
// piece, they must come after all passages added before. Errors: ErrPassage for another order, a
// vector that has another length or is not finite, or a token outside the vocabulary. The slices
// are not kept. Cost about O(L·log L + R·d) for L tokens in total, R of them with a row.
func (e *Edit) AddAll(ids []uint64, xs [][]float32, tokens [][]int32) error {
	if len(xs) != len(ids) || len(tokens) != len(ids) {
		return e.fail("%d ids, %d vectors and %d lists of tokens", len(ids), len(xs), len(tokens))
	}
	order := make([]int, len(ids))
	for i, id := range ids {
		if order[i] = i; !e.check(id, xs[i], tokens[i]) || !e.look(e.s.dim) {
			return e.err
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(key(ids[a]), key(ids[b])) })
	for at := 0; at < len(order) && e.err == nil; at += editBatch {
		e.add(order[at:min(len(order), at+editBatch)], ids, xs, tokens)
	}
	return e.err
}

func (e *Edit) fail(format string, args ...any) error {
	if e.err == nil {
		e.err = fmt.Errorf("%w: %s", ErrPassage, fmt.Sprintf(format, args...))
	}
	return e.err
}

func (e *Edit) check(id uint64, x []float32, tokens []int32) bool {
	if len(x) != e.s.dim || !vec.Finite(x) {
		e.fail("passage %d has a vector of length %d where %d finite numbers are needed", id, len(x), e.s.dim)
	}
	for _, t := range tokens {
		if most := cmp.Or(e.s.vocab, maxVocab); t < 0 || int(t) >= most {
			e.fail("passage %d has token %d outside the vocabulary of %d; use the encoder of this corpus", id, t, most)
		}
	}
	return e.err == nil
}

func (e *Edit) add(order []int, ids []uint64, xs [][]float32, tokens [][]int32) {
	s := &e.s
	first := s.slots()
	e.pairs, e.most = e.pairs[:0], 0
	for k, i := range order {
		if n := s.slots(); n > 0 && key(s.id(n-1)) >= key(ids[i]) {
			e.fail("passage %d comes after passage %d; give documents in the order they were made in, each once", ids[i], s.id(n-1))
			return
		}
		if !e.look(2 * s.dim) {
			return
		}
		s.ids = append(s.ids, ids[i])
		e.record(arrival, xs[i], 1)
		for _, t := range tokens[i] {
			e.pair(t, k)
			if int(t) >= e.tokens.Len() {
				e.tokens.Resize(int(t) + 1)
			}
		}
	}
	e.group(func(t int, of []uint64) {
		p := e.tokens.Ptr(t)
		for _, k := range of {
			slot := uint32(first) + uint32(k)
			p.tail = binary.AppendUvarint(p.tail, uint64(slot-max(p.next, uint32(len(s.frozen.ids)))))
			p.next = slot + 1
		}
		p.df += int32(len(of))
		e.addRow(t, p, 1, of, func(k uint64) []float32 { return xs[order[k]] })
	})
}

// record adds x to the sum of all, or subtracts it, and records the resulting change of the
// scatter.
func (e *Edit) record(change func([]float32, []float64, int) change, x []float32, sign int) {
	s := &e.s
	s.gen++
	if !e.bulk {
		if e.bulk = len(e.log) >= s.editSteps(); e.bulk {
			e.log = nil
		} else {
			e.log = append(e.log, change(x, s.total, s.n))
		}
	}
	s.n += sign
	vec.AxpyWide(s.total, float64(sign), x)
}

// editSteps bounds the changes of one Edit that become steps, so that it stays
// well below a second.
func (s *Sums) editSteps() int {
	if s.inverse.packed == nil {
		return s.steps()
	}
	return max(64, s.steps()/4)
}

// pair records that the passage with a number has token t; numbers must not decrease.
func (e *Edit) pair(t int32, number int) {
	e.pairs, e.most = append(e.pairs, uint64(t)<<32|uint64(number)), max(e.most, t)
}

// group calls f for each token of the pairs token<<32 | passage, ascending, with its distinct
// passages, ascending.
func (e *Edit) group(f func(t int, of []uint64)) {
	e.spare = radix.Sort(e.pairs, e.spare, 32, uint64(e.most))
	e.pairs = slices.Compact(e.pairs)
	for at := 0; at < len(e.pairs) && e.err == nil; {
		t, end := e.pairs[at]>>32, at
		for ; end < len(e.pairs) && e.pairs[end]>>32 == t; end++ {
			e.pairs[end] &= 1<<32 - 1
		}
		f(int(t), e.pairs[at:end])
		e.look((end - at + 1) * e.s.dim)
		at = end
	}
}

// addRow adds sign·Σx of some passages to the row of t; if t has no row and has become frequent,
// it computes one.
func (e *Edit) addRow(t int, p *posted, sign float64, of []uint64, x func(k uint64) []float32) {
	s := &e.s
	if p.row == nil {
		if s.keeps(s.df(t, *p)) {
			e.bury()
			r, err := s.sumRow(e.ctx, t, *p)
			if err != nil {
				e.err = err
				return
			}
			r.by, p.row = e.by, r
		}
		return
	}
	sum, err := s.rowOf(p.row)
	if err != nil {
		e.err = err
		return
	}
	if p.row.by != e.by {
		p.row = &row{sum: slices.Clone(sum), rounds: p.row.rounds, by: e.by}
	}
	if len(of) == 1 {
		vec.Axpy(p.row.sum, float32(sign), x(of[0]))
		p.row.rounds++
		return
	}
	clear(e.sum)
	for _, k := range of {
		vec.AxpyWide(e.sum, sign, x(k))
	}
	vec.AxpyWide(e.sum, 1, p.row.sum)
	p.row.round(e.sum)
}

// bury replaces s.dead by the set of all removed passages.
func (e *Edit) bury() {
	if e.buried {
		e.s.dead = e.dead.Done()
		e.dead, e.buried = e.s.dead.Edit(), false
	}
}

func (r *row) round(sum []float64) {
	vec.Narrow(r.sum, sum)
	r.rounds++
}

// sumRow computes the row of t from the vectors.
func (s *Sums) sumRow(ctx context.Context, t int, p posted) (*row, error) {
	g := make([]float64, s.dim)
	if err := s.sumUp(ctx, g, 1, t, p); err != nil {
		return nil, err
	}
	r := &row{sum: make([]float32, s.dim)}
	r.round(g)
	return r, nil
}

// RemoveAll removes passages, given with the vectors and tokens they were added with. Errors:
// ErrPassage for a passage that cannot have been added. The cost is that of AddAll.
func (e *Edit) RemoveAll(ids []uint64, xs [][]float32, tokens [][]int32) error {
	if len(xs) != len(ids) || len(tokens) != len(ids) {
		return e.fail("%d ids, %d vectors and %d lists of tokens", len(ids), len(xs), len(tokens))
	}
	for at := 0; at < len(ids) && e.err == nil; at += editBatch {
		end := min(len(ids), at+editBatch)
		e.remove(ids[at:end], xs[at:end], tokens[at:end])
	}
	return e.err
}

func (e *Edit) remove(ids []uint64, xs [][]float32, tokens [][]int32) {
	e.pairs, e.most = e.pairs[:0], 0
	for i, id := range ids {
		if !e.check(id, xs[i], tokens[i]) || !e.look(3*e.s.dim) {
			return
		}
		slot, ok := e.s.slot(id)
		if !ok || !e.dead.Add(uint64(slot)) {
			e.fail("passage %d is not in the sums; rebuild them", id)
			return
		}
		e.buried = true
		e.record(departure, xs[i], -1)
		for _, t := range tokens[i] {
			e.pair(t, i)
		}
	}
	e.group(func(t int, of []uint64) {
		if t >= e.tokens.Len() {
			e.fail("token %d of the removed passages was never added; rebuild the sums", t)
			return
		}
		p := e.tokens.Ptr(t)
		p.df -= int32(len(of))
		switch df := e.s.df(t, *p); {
		case df < 0:
			e.fail("token %d of the removed passages is in fewer than have it; rebuild the sums", t)
		case df == 0:
			p.row = nil // so that no rounding survives
		default:
			e.addRow(t, p, -1, of, func(k uint64) []float32 { return xs[k] })
		}
	})
}

// quick is the work, in multiplications, that Done spends on a factor if there are too many steps:
// some 5 ms.
const quick = 1 << 25

// Done returns the next Sums, or the first error of the Edit. Up to max(64, d/4) changes since the
// last factor, and up to max(64, d/16) in one Edit, become steps of the inverse, each O(d²). A
// corpus of up to 256 passages needs no factor.
func (e *Edit) Done() (*Sums, error) { return e.done(true) }

func (e *Edit) done(follow bool) (*Sums, error) {
	if e.err != nil {
		return nil, e.err
	}
	next := e.s
	s := &next
	s.tokens, s.dead = e.tokens.Done(), e.dead.Done()
	if s.n == 0 {
		clear(s.total)
		s.inverse = inverse{lambda: s.lambda}
		s.factor = &Factor{inverse: s.inverse, history: s.history, gen: s.gen}
		s.log, s.exact = nil, true
		return s, nil
	}
	if e.bulk || !follow {
		s.log, s.exact = nil, false
	} else {
		s.log = append(s.log, e.log...)
		if extra := len(s.log) - max(256, s.dim/4); extra > 0 {
			s.log = s.log[extra:]
		}
		if s.exact {
			if err := s.follow(e.ctx, uint64(len(e.log))); err != nil {
				return nil, err
			}
		}
	}
	if !s.exact && follow && s.n*s.dim*s.dim+s.dim*s.dim*s.dim <= quick {
		return s.settled(e.ctx, s.lambda)
	}
	return s, nil
}
