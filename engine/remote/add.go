package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// atOnce is how many documents are sent to or requested from a Backend in one call.
const atOnce = 256

// encodedAtOnce is how many texts an encoder gets in one call.
const encodedAtOnce = 256

// Add implements engine.Database. On an error earlier documents may be stored.
func (r *Database) Add(ctx context.Context, docs []engine.Document) (engine.AddResult, error) {
	return r.put(ctx, docs, false)
}

// Upsert implements engine.Database. On an error some documents may be stored. A document whose title, text and chunk
// division are unchanged is not encoded again.
func (r *Database) Upsert(ctx context.Context, docs []engine.Document) (engine.AddResult, error) {
	return r.put(ctx, docs, true)
}

func (r *Database) put(ctx context.Context, docs []engine.Document, replace bool) (res engine.AddResult, err error) {
	ctx, done, err := r.write(ctx)
	if err != nil {
		return engine.AddResult{}, err
	}
	defer done(&err)
	all := make([]incoming, len(docs))
	last := make(map[string]int, len(docs))
	for i, d := range docs {
		refuse := func(err error) error { return &engine.DocumentError{Position: i, ID: d.ID, Err: err} }
		if _, twice := last[d.ID]; twice && !replace {
			return engine.AddResult{}, refuse(intake.ErrTwice)
		}
		last[d.ID] = i
		if all[i], err = r.document(ctx, d); err != nil {
			if ended := ctx.Err(); ended != nil {
				return engine.AddResult{}, ended
			}
			return engine.AddResult{}, refuse(err)
		}
		all[i].position = i
	}
	all = slices.DeleteFunc(all, func(d incoming) bool { return last[d.ID] != d.position })
	for some := range slices.Chunk(all, atOnce) {
		if err := r.putSome(ctx, some, replace, &res); err != nil {
			return res, err
		}
	}
	res.Replaced += len(docs) - len(all) // by a later one with the same id
	s, err := r.status(ctx)
	res.Seq = s.Writes
	return res, err
}

// incoming is a document on its way to a Backend.
type incoming struct {
	engine.Document
	position int
	metadata string
	facts    []string
	vector   []float32    // that it brings
	spans    []chunk.Span // that its text is cut into
	passages []Passage
}

// document checks and splits a document.
func (r *Database) document(ctx context.Context, d engine.Document) (o incoming, err error) {
	o.Document = d
	if d.WordsFirst {
		return o, fmt.Errorf("%w: words first, and the documents are kept by another search engine, which needs their vectors; leave WordsFirst out", engine.ErrInvalid)
	}
	raw, vector, err := r.space().Document(ctx, intake.Document(d), false)
	if err != nil {
		return o, err
	}
	o.metadata, o.vector = string(raw), vector
	if o.facts, err = filter.Facts(raw); err != nil {
		return o, err
	}
	if o.vector == nil {
		o.spans, err = r.chunks.Split(ctx, d.Title, d.Text, d.Breaks)
	}
	if len(o.spans) == 0 {
		o.spans = []chunk.Span{{End: len(d.Text)}}
	}
	return o, err
}

// putSome stores documents with distinct ids.
func (r *Database) putSome(ctx context.Context, docs []incoming, replace bool, res *engine.AddResult) error {
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	stored, err := r.b.Documents(ctx, ids)
	if err != nil {
		return err
	}
	var texts []string
	var to []*Passage
	var owners []int
	for i := range docs {
		d := &docs[i]
		if len(stored[i]) > 0 && !replace {
			return &engine.DocumentError{Position: d.position, ID: d.ID, Err: intake.ErrStored}
		}
		if d.passages, err = r.passages(ctx, d, stored[i]); err != nil {
			return err
		}
		title := d.Title
		if len(d.passages) > 1 {
			var left int
			if title, left, err = r.chunks.CutTitle(ctx, title); err != nil {
				return err
			}
			d.passages[0].Truncated += left
		}
		for j := range d.passages {
			p := &d.passages[j]
			if p.Vector == nil {
				texts, to, owners = append(texts, search.EncoderText(search.OfSource(d.Metadata), title, p.Text)), append(to, p), append(owners, i)
			}
		}
	}
	for at := 0; at < len(texts); at += encodedAtOnce {
		end := min(at+encodedAtOnce, len(texts))
		out, err := r.enc.Encode(ctx, encoder.Passage, encoder.Texts(texts[at:end]...), encoder.NeedDense)
		var one *encoder.TextError
		if errors.As(err, &one) && one.Text >= 0 && at+one.Text < end {
			d := docs[owners[at+one.Text]]
			return &engine.DocumentError{Position: d.position, ID: d.ID, Err: one.Err}
		}
		if err != nil {
			return fmt.Errorf("encoding documents: %w", err)
		}
		for i, o := range out {
			to[at+i].Vector, to[at+i].Tokens = o.Dense, o.Tokens.Lexical(nil)
			docs[owners[at+i]].passages[0].Truncated += o.Tokens.Truncated
		}
	}
	same := make([]bool, len(docs))
	for i, d := range docs {
		same[i] = samePassages(stored[i], d.passages)
	}
	if err := r.settled(ctx, docs, same); err != nil {
		return err
	}
	var puts [][]Passage
	for i := range docs {
		d := docs[i]
		switch {
		case same[i]:
			res.Unchanged++
			continue
		case len(stored[i]) > 0:
			res.Replaced++
		default:
			res.Added++
		}
		if len(d.passages) > 1 {
			res.Chunked++
			res.Chunks += len(d.passages)
		}
		if n := d.passages[0].Truncated; n > 0 {
			res.Truncated++
			res.TruncatedTokens += n
		}
		puts = append(puts, d.passages)
	}
	if len(puts) == 0 {
		return nil
	}
	defer r.wrote()
	return r.b.Put(ctx, puts, !replace)
}

// settled sets same to false for documents that the Backend stores, but not all of its searches find.
func (r *Database) settled(ctx context.Context, docs []incoming, same []bool) error {
	u, ok := r.b.(Unsettler)
	if !ok {
		return nil
	}
	var ids []PassageID
	at := map[string]int{}
	for i, d := range docs {
		if same[i] {
			at[d.ID] = i
			for _, p := range d.passages {
				ids = append(ids, p.PassageID)
			}
		}
	}
	left, err := u.Unsettled(ctx, ids)
	for _, id := range left {
		same[at[id.ID]] = false
	}
	return err
}

// passages returns the passages of a document, with its given vectors or those of stored passages with the
// same texts. The error is that of ctx.
func (r *Database) passages(ctx context.Context, d *incoming, stored []Passage) ([]Passage, error) {
	same := d.vector == nil && len(stored) == len(d.spans) && stored[0].Title == d.Title
	ps := make([]Passage, len(d.spans))
	lines := chunk.Lines{Text: d.Text}
	for i, s := range d.spans {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p := &ps[i]
		*p = Passage{PassageID: PassageID{d.ID, i}, Chunks: len(d.spans), Title: d.Title, Text: d.Text[s.Start:s.End], Start: s.Start,
			Line: lines.At(s.Start), Metadata: d.metadata, Facts: d.facts}
		p.analyse(r.analyzer)
		same = same && stored[i].Text == p.Text && stored[i].Start == p.Start
	}
	if len(ps) > 1 {
		ps[0].Whole = d.Text
		same = same && stored[0].Whole == d.Text
	}
	if d.vector != nil {
		ps[0].Vector = d.vector
		if r.enc != nil {
			tokens, err := r.chunks.Tokenize(ctx, search.EncoderText(search.OfSource(d.Metadata), d.Title, d.Text))
			if err != nil {
				return nil, err
			}
			ps[0].Tokens, ps[0].Truncated = tokens.Lexical(nil), tokens.Truncated
		}
	}
	if same {
		for i := range ps {
			ps[i].Vector, ps[i].Tokens = stored[i].Vector, stored[i].Tokens
		}
		ps[0].Truncated = stored[0].Truncated
	}
	return ps, nil
}

// analyse fills in the words of a passage.
func (p *Passage) analyse(a *text.Analyzer) {
	passage, title := chunk.WithFileWords(p.Title, []byte(p.Metadata))(p.Chunk, chunk.Passage(p.Title, p.Text))
	terms := text.InTitle(a.Terms(nil, passage), title)
	p.Terms, p.Length = inverted.Spell(terms), inverted.Length(terms)
}

// samePassages reports whether the stored passages of a document equal the new ones.
func samePassages(stored, now []Passage) bool {
	return slices.EqualFunc(stored, now, func(a, b Passage) bool {
		return a.Title == b.Title && a.Text == b.Text && a.Start == b.Start && a.Whole == b.Whole && a.Metadata == b.Metadata && a.Terms == b.Terms && slices.Equal(a.Vector, b.Vector)
	})
}
