package ridge

import (
	"context"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/vec"
)

// Totals are the parts of Sums that can be added: the number of passages, Σx, Σx·xᵀ, and df_t and
// s_t of each token. Totals of parts of a corpus can be merged into those of the whole. They do
// not contain the passages. Numbers are summed in float64. Memory 8·d bytes for each token that
// occurs, and 8·d². For one goroutine.
type Totals struct {
	dim, vocab int
	n          int
	sum        []float64           // Σx [d]
	products   []float64           // Σx·xᵀ, the upper triangle of [d × d]
	df         []uint32            // [|V|]
	rows       map[int32][]float64 // s_t [d] of each token with a passage

	block []float32 // vectors that are not in products yet
	tile  []float32
}

// NewTotals returns the totals of no passages, for vectors of length dim over a vocabulary of
// vocab tokens. It returns ErrOptions for an impossible shape.
func NewTotals(dim, vocab int) (*Totals, error) {
	if dim < 1 || dim > maxDim || vocab < 1 || vocab > maxVocab {
		return nil, fmt.Errorf("%w: totals of dimension %d over %d tokens", ErrOptions, dim, vocab)
	}
	return (&Totals{dim: dim, vocab: vocab}).Empty(), nil
}

// Empty returns totals of no passages with the same shape.
func (t *Totals) Empty() *Totals {
	return &Totals{dim: t.dim, vocab: t.vocab, sum: make([]float64, t.dim), products: make([]float64, t.dim*t.dim),
		df: make([]uint32, t.vocab), rows: map[int32][]float64{}}
}

// Len is the number of passages.
func (t *Totals) Len() int { return t.n }

// Shape returns the length of the vectors and the size of the vocabulary.
func (t *Totals) Shape() (dim, vocab int) { return t.dim, t.vocab }

// Add adds a passage: its vector [dim] and its tokens with lexical weight (encoder.Tokens.Lexical;
// repetition counts once). ErrPassage, and no change, for a vector of another length or not
// finite, or a token outside the vocabulary. Cost about O(d²/2 + L·d).
func (t *Totals) Add(x []float32, tokens []int32) error {
	if len(x) != t.dim || !vec.Finite(x) {
		return fmt.Errorf("%w: a vector of length %d where %d finite numbers are needed", ErrPassage, len(x), t.dim)
	}
	seen := make(map[int32]struct{}, len(tokens))
	for _, id := range tokens {
		if id < 0 || int(id) >= t.vocab {
			return fmt.Errorf("%w: token %d outside the vocabulary of %d; use the encoder of this corpus", ErrPassage, id, t.vocab)
		}
		seen[id] = struct{}{}
	}
	t.n++
	vec.AxpyWide(t.sum, 1, x)
	for id := range seen {
		row := t.rows[id]
		if row == nil {
			row = make([]float64, t.dim)
			t.rows[id] = row
		}
		t.df[id]++
		vec.AxpyWide(row, 1, x)
	}
	if t.block = append(t.block, x...); len(t.block) == scatterBlock*t.dim {
		t.multiply()
	}
	return nil
}

// multiply adds the block to the products.
func (t *Totals) multiply() {
	d, k := t.dim, len(t.block)/t.dim
	if k == 0 {
		return
	}
	if t.tile == nil {
		t.tile = make([]float32, d*d)
	}
	vec.MatMulTN(t.tile, t.block, t.block, d, d, k)
	for i := range d {
		for j := i; j < d; j++ {
			t.products[i*d+j] += float64(t.tile[i*d+j])
		}
	}
	t.block = t.block[:0]
}

// Merge adds o to t. It returns ErrOptions if the shapes differ.
func (t *Totals) Merge(o *Totals) error {
	if o.dim != t.dim || o.vocab != t.vocab {
		return fmt.Errorf("%w: totals of dimension %d over %d tokens, and of %d over %d; make both with one encoder", ErrOptions, o.dim, o.vocab, t.dim, t.vocab)
	}
	t.multiply()
	o.multiply()
	t.n += o.n
	for i, x := range o.sum {
		t.sum[i] += x
	}
	for i, x := range o.products {
		t.products[i] += x
	}
	for id, df := range o.df {
		t.df[id] += df
	}
	for id, from := range o.rows {
		row := t.rows[id]
		if row == nil {
			row = make([]float64, t.dim)
			t.rows[id] = row
		}
		for i, x := range from {
			row[i] += x
		}
	}
	return nil
}

// scatter adds Σ(x−μ)(x−μ)ᵀ to the upper triangle of a, whose rows are ld apart.
func (t *Totals) scatter(a []float64, ld int) {
	if t.n == 0 {
		return
	}
	for i := range t.dim {
		mean := t.sum[i] / float64(t.n)
		for j := i; j < t.dim; j++ {
			a[i*ld+j] += t.products[i*t.dim+j] - mean*t.sum[j]
		}
	}
}

// Sums returns the sums of the passages of t, with the ridge lambda (Lambda) and their factor.
// They answer all queries but cannot be edited, compacted or saved (ErrPassage). t must not
// change afterwards. Cost O(|V|·d + d³). Memory 4·d bytes for each token. Errors: those of Lambda
// and Factor.
func (t *Totals) Sums(ctx context.Context, lambda float64) (*Sums, error) {
	s, err := NewSums(t.dim, t.vocab, lambda, func(uint64, *[]float32) []float32 { return nil })
	if err != nil {
		return nil, err
	}
	t.multiply()
	t.block, t.tile = nil, nil
	s.totals = &Totals{dim: t.dim, vocab: t.vocab, n: t.n, sum: t.sum, products: t.products}
	s.n, s.total, s.gen = t.n, t.sum, uint64(t.n)
	e := cow.Array[posted]{}.Edit()
	e.Resize(t.vocab)
	for id, from := range t.rows {
		r := &row{sum: make([]float32, t.dim)}
		r.round(from)
		p := e.Ptr(int(id))
		p.df, p.row = int32(t.df[id]), r
	}
	s.tokens = e.Done()
	if t.n == 0 {
		return s, nil
	}
	return s.settled(ctx, s.lambda)
}

// totalsTags are the sections of totals in a snapshot.
type totalsTags struct {
	meta     string // shape, counts, Σx, the tokens that have rows
	products string // float64 × d(d+1)/2, the upper triangle of Σx·xᵀ by rows
	df       string // uint32 × |V|
	rows     string // float64 × d for each token with a row
}

// tagsOf returns the tags of the totals with this number.
func tagsOf(number int) totalsTags {
	if number == 0 {
		return totalsTags{"tot", "tot.prd", "tot.df", "tot.row"}
	}
	of := func(what string) string { return fmt.Sprintf("%d.%s", number, what) }
	return totalsTags{of("tot"), of("prd"), of("df"), of("row")}
}

// Save writes t as sections of a snapshot that can hold several totals, by number, 0 to 999.
// w.Close returns write errors.
func (t *Totals) Save(w *snapshot.Writer, number int) {
	tag := tagsOf(number)
	t.multiply()
	var ids []uint32
	for id, df := range t.df {
		if df > 0 {
			ids = append(ids, uint32(id))
		}
	}
	w.Begin(tag.meta)
	w.U32(uint32(t.dim))
	w.U32(uint32(t.vocab))
	w.U64(uint64(t.n))
	w.U32(uint32(len(ids)))
	w.Float64s(t.sum)
	w.Uint32s(ids)
	w.Begin(tag.products)
	for i := range t.dim {
		w.Float64s(t.products[i*t.dim+i : (i+1)*t.dim])
	}
	w.Begin(tag.df)
	w.Uint32s(t.df)
	w.Begin(tag.rows)
	for _, id := range ids {
		w.Float64s(t.rows[int32(id)])
	}
}

// OpenTotals reads the totals that Save wrote under number. The file may be closed afterwards. It
// returns ErrCorrupt for sections that are missing, damaged or impossible.
func OpenTotals(f *snapshot.File, number int) (*Totals, error) {
	t, err := openTotals(f, tagsOf(number))
	if err != nil {
		return nil, fmt.Errorf("%w: totals: %w; make them anew from the passages", ErrCorrupt, err)
	}
	return t, nil
}

func openTotals(f *snapshot.File, tag totalsTags) (*Totals, error) {
	meta, err := f.Section(tag.meta)
	if err != nil {
		return nil, err
	}
	r := meta.Reader()
	dim, vocab, n, k := int64(r.U32()), int64(r.U32()), r.U64(), int64(r.U32())
	if err := r.Err(); err != nil {
		return nil, err
	}
	if dim < 1 || dim > maxDim || vocab < 1 || vocab > maxVocab || n > math.MaxInt32 || k > vocab {
		r.Fail("dimension %d, vocabulary %d, %d passages, %d rows", dim, vocab, n, k)
		return nil, r.Err()
	}
	if int64(meta.Len()) != 20+8*dim+4*k { // before anything is made of that size
		r.Fail("%d bytes for dimension %d and %d rows", meta.Len(), dim, k)
		return nil, r.Err()
	}
	sum, ids := r.Float64s(int(dim)), r.Uint32s(int(k))
	if err := r.Done(); err != nil {
		return nil, err
	}
	numbers := func(name string, size int64) ([]byte, error) {
		s, err := f.Section(name)
		if err != nil {
			return nil, err
		}
		if int64(s.Len()) != size {
			r.Fail("section %s of %d bytes, not %d", name, s.Len(), size)
			return nil, r.Err()
		}
		return s.All()
	}
	products, err := numbers(tag.products, 4*dim*(dim+1))
	if err != nil {
		return nil, err
	}
	df, err := numbers(tag.df, 4*vocab)
	if err != nil {
		return nil, err
	}
	rows, err := numbers(tag.rows, 8*dim*k)
	if err != nil {
		return nil, err
	}
	t, err := NewTotals(int(dim), int(vocab))
	if err != nil {
		return nil, err
	}
	t.n = int(n)
	copy(t.sum, sum)
	from := snapshot.Float64s(products)
	for i := range t.dim {
		from = from[copy(t.products[i*t.dim+i:(i+1)*t.dim], from):]
	}
	copy(t.df, snapshot.Uint32s(df))
	for id, df := range t.df {
		if uint64(df) > n {
			r.Fail("token %d is in %d of %d passages", id, df, n)
			return nil, r.Err()
		}
	}
	all := snapshot.Float64s(rows)
	for _, id := range ids {
		if int64(id) >= vocab || t.df[id] == 0 || t.rows[int32(id)] != nil {
			r.Fail("a row of token %d", id)
			return nil, r.Err()
		}
		t.rows[int32(id)] = append([]float64(nil), all[:t.dim]...)
		all = all[t.dim:]
	}
	if !finite(t.sum) || !finite(t.products) {
		r.Fail("numbers that are not finite")
		return nil, r.Err()
	}
	for id, df := range t.df {
		if row := t.rows[int32(id)]; (df > 0) != (row != nil) || !finite(row) {
			r.Fail("token %d of %d passages has no row, or one that is not finite", id, df)
			return nil, r.Err()
		}
	}
	return t, nil
}
