package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/store"
)

// Values of Options.Kind.
const (
	// KindAuto is KindCode while files of source code, as package folder stores them, are more than half of the documents
	// that are no records of tables, and more than a quarter of all; else KindText.
	KindAuto = "auto"
	// KindCode also ranks by files: hybrid searches with calibrated fusion raise the score of a passage if the file's
	// name and the names that it defines fit the query. They lower it for tests, examples and documentation, unless the
	// query asks for those. The ids of the documents are the paths. Explanation.Terms has the parts. Queries with Like
	// and package remote rank as KindText does.
	KindCode = "code"
	// KindText ranks by the passages alone.
	KindText = "text"
)

// kind describes what the database contains.
type kind struct {
	stored string // "" where the documents decide
	auto   atomic.Pointer[kindAt]
	files  *search.Files
}

// kindAt is the kind derived from the documents of a state.
type kindAt struct {
	seq  uint64
	kind string
}

// startKind reads the kind of the database, or writes that of the options.
func (e *Engine) startKind(ctx context.Context) error {
	was := cmp.Or(e.st.Manifest().Kind, KindAuto)
	e.kind.stored, e.kind.files = cmp.Or(e.o.Kind, was), search.NewFiles()
	if e.kind.stored == was || e.o.ReadOnly {
		return nil
	}
	return e.st.SetManifest(ctx, func(m *store.Manifest) error { m.Kind = e.kind.stored; return nil })
}

// ofSource are the documents that are files of source code, as search.OfSource tells.
var ofSource = filter.And(filter.Exists("language"), filter.Or(filter.Eq(metadata.File+".kind", "code"),
	filter.And(filter.Eq("kind", "code"), filter.Exists("path"), filter.Not(filter.Exists(metadata.File+".kind")))))

// ofRecords matches documents from files of records; such a file can hold many documents.
var ofRecords = filter.In(metadata.File+".kind", "csv", "tsv", "jsonl", "json", "parquet", "mbox", "chromem")

// kindOf is KindCode or KindText.
func (e *Engine) kindOf(ctx context.Context, s *state.State) (string, error) {
	if e.kind.stored != KindAuto {
		return e.kind.stored, nil
	}
	if at := e.kind.auto.Load(); at != nil && at.seq == s.Seq {
		return at.kind, nil
	}
	source, err := s.Match(ctx, ofSource)
	if err != nil {
		return "", err
	}
	records, err := s.Match(ctx, ofRecords)
	if err != nil {
		return "", err
	}
	k := autoKind(source.Len(), records.Len(), s.View.Len())
	e.kind.auto.Store(&kindAt{s.Seq, k})
	return k, nil
}

// autoKind is the kind of documents that are files of source code, records of tables, or others.
func autoKind(source, records, all int) string {
	if 2*source > all-records && 4*source > all {
		return KindCode
	}
	return KindText
}

// sparesCode reports whether new documents get no token states because the database holds source code: these would take
// some five times the space of the source, and its ranking by names finds about as much without them. Where most of the
// stored passages have some, from KeepTokenStates or an earlier program, new ones get them, too. In an empty database
// the documents decide that come first.
func (e *Engine) sparesCode(ctx context.Context, s *state.State, first []record) (bool, error) {
	if e.tokenMode() != TokenStatesAuto || e.tokens.ofCode || 2*s.Tokens.Len() > s.Encoded() {
		return false, nil
	}
	if s.Live.Len() > 0 || e.kind.stored != KindAuto {
		k, err := e.kindOf(ctx, s)
		return k == KindCode, err
	}
	source := 0
	for i := range first {
		if search.StoredSource(first[i].Metadata) {
			source++
		}
	}
	return autoKind(source, 0, len(first)) == KindCode, nil
}

// symbols gives hits of source code the names of their functions or types, and hits of other files the page or the
// headings above.
func (e *Engine) symbols(ctx context.Context, s *state.State, found []search.Found, hits []Hit) error {
	wanted := func(i int) bool { return search.HasPlaces(hits[i].Metadata) || search.OfSource(hits[i].Metadata) }
	var last *store.Document
	var where func(from, to int) string
	return eachHit(ctx, s, found, wanted, func(i int, d *store.Document) (err error) {
		h := &hits[i]
		if search.OfSource(h.Metadata) {
			h.Symbol, err = search.Symbol(ctx, d.Text, h.Start, h.End, h.Span)
			h.Symbol = strings.Clone(h.Symbol) // a part of a text holds the text
			return err
		}
		if d != last {
			last, where = d, search.PlacesIn(h.Metadata, d.Title, d.Text)
		}
		from, to := h.Start, h.End
		if h.Span[1] > 0 {
			from, to = h.Span[0], h.Span[1]
		}
		h.Symbol = strings.Clone(where(from, to))
		return nil
	})
}

// eachHit calls fn with the document of each hit that is wanted; nil wants all. It reads a document once, and holds one
// at a time, since they may be large: so the hits come in the order of their documents and places.
func eachHit(ctx context.Context, s *state.State, found []search.Found, wanted func(i int) bool, fn func(i int, d *store.Document) error) error {
	order := make([]int, 0, len(found))
	for i := range found {
		if wanted == nil || wanted(i) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int { return chunk.Compare(found[i].Ord, found[j].Ord) })
	var d *store.Document
	for n, i := range order {
		if err := ctx.Err(); err != nil {
			return err
		}
		if ord := chunk.Ord(found[i].Ord); n == 0 || ord != chunk.Ord(found[order[n-1]].Ord) {
			var err error
			if d, err = s.View.Text(ctx, ord); err != nil {
				return fmt.Errorf("reading hit %d: %w", i+1, state.Missing(err))
			}
		}
		if err := fn(i, d); err != nil {
			return err
		}
	}
	return nil
}

// readFiles lets a query rank by files if the database holds source code.
func (e *Engine) readFiles(ctx context.Context, r *search.Run) error {
	k, err := e.kindOf(ctx, r.S)
	if k == KindCode {
		r.Files = e.kind.files
	}
	return err
}

// noteSample is the number of documents from which the language of a database is determined.
const noteSample = 48

// noteAt is the note of a state.
type noteAt struct {
	seq  uint64
	note string
}

// noteOf returns the reason why searches of this database's texts are poor: most of them are in a language that the
// model does not read, or they are stemmed as another language. The language is the one of more than half of a
// sample. It is "" if nothing is known to be wrong. Cost: reading the sample, once for each commit.
func (e *Engine) noteOf(ctx context.Context, s *state.State) (string, error) {
	if e.fp.Media != "" || s.Live.Len() == 0 {
		return "", nil
	}
	if at := e.note.Load(); at != nil && at.seq == s.Seq {
		return at.note, nil
	}
	by, n, step := map[string]int{}, 0, (s.Live.Len()+noteSample-1)/noteSample
	var err error
	s.Live.All(func(ord uint64) bool {
		if n++; (n-1)%step != 0 {
			return true
		}
		if err = ctx.Err(); err != nil {
			return false
		}
		d, failed := s.View.Text(ctx, ord)
		if err = failed; err != nil {
			return false
		}
		by[text.LanguageOf(d.Title+"\n"+d.Text)]++
		return true
	})
	if err != nil {
		return "", err
	}
	note := ""
	taken := (s.Live.Len() + step - 1) / step
	for code, count := range by {
		if code != "" && 2*count > taken {
			note = languageNote(code, e.st.Manifest().Language, e.fp.Model, text.ModelLanguages(e.fp.Model))
		}
	}
	e.note.Store(&noteAt{s.Seq, note})
	return note, nil
}

// languageNote is the note about texts in a language, in a database whose words are analysed as another
// language.
func languageNote(code, analysed, model string, reads []string) string {
	var wrong []string
	if len(reads) > 0 && !slices.Contains(reads, code) && !slices.Contains(reads, "mul") {
		wrong = append(wrong, fmt.Sprintf("%s reads %s: words carry the search; `lexsem reembed --model multilingual-e5-small-q4` changes the model",
			model, text.LanguageName(reads[0])))
	}
	if !text.Fits(code, analysed) {
		wrong = append(wrong, fmt.Sprintf("its words have the stems of %s; a new database with `--language %s` has its own", text.LanguageName(cmp.Or(analysed, "en")), code))
	}
	if len(wrong) == 0 {
		return ""
	}
	return "most text is " + text.LanguageName(code) + "; " + strings.Join(wrong, "; ")
}
