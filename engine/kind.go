package engine

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/store"
)

// Values of Options.Kind.
const (
	// KindAuto is KindCode while more than half of the documents are files of source code, as package folder stores
	// them, else KindText.
	KindAuto = "auto"
	// KindCode ranks by the files, too: hybrid searches with calibrated fusion add to the score of a passage how well the
	// file's name and the names that it defines fit, and take from it for tests, examples and documentation, unless the
	// query asks for those. The ids of the documents are the paths. Explanation.Terms has the parts. Queries with Like and package
	// remote rank as KindText does.
	KindCode = "code"
	// KindText ranks by the passages alone.
	KindText = "text"
)

// kind is what the database holds.
type kind struct {
	stored string // "" where the documents decide
	auto   atomic.Pointer[kindAt]
	files  search.Files
}

// kindAt is what the documents of a state decide.
type kindAt struct {
	seq  uint64
	kind string
}

// startKind reads the kind of the database, or writes that of the options.
func (e *Engine) startKind(ctx context.Context) error {
	was := cmp.Or(e.st.Manifest().Kind, KindAuto)
	e.kind.stored = cmp.Or(e.o.Kind, was)
	if e.kind.stored == was || e.o.ReadOnly {
		return nil
	}
	return e.st.SetManifest(ctx, func(m *store.Manifest) error { m.Kind = e.kind.stored; return nil })
}

// ofSource are the documents that are files of source code.
var ofSource = filter.And(filter.Eq("kind", "code"), filter.Exists("language"), filter.Exists("path"))

// kindOf is KindCode or KindText.
func (e *Engine) kindOf(ctx context.Context, s *state.State) (string, error) {
	if e.kind.stored != KindAuto {
		return e.kind.stored, nil
	}
	if at := e.kind.auto.Load(); at != nil && at.seq == s.Seq {
		return at.kind, nil
	}
	m, err := s.Match(ctx, ofSource)
	if err != nil {
		return "", err
	}
	k := KindText
	if 2*m.Len() > s.View.Len() {
		k = KindCode
	}
	e.kind.auto.Store(&kindAt{s.Seq, k})
	return k, nil
}

// symbols gives hits of source code the names of what they lie in, and those of other files the page, or the headings above.
func (e *Engine) symbols(ctx context.Context, s *state.State, found []search.Found, hits []Hit) error {
	for i := range hits {
		placed := search.HasPlaces(hits[i].Metadata)
		if !placed && !search.OfSource(hits[i].Metadata) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := s.View.Text(chunk.Ord(found[i].Ord))
		if err != nil {
			return err
		}
		if placed {
			hits[i].Symbol = search.Place(hits[i].Metadata, d.Title, d.Text, hits[i].Start, hits[i].End, hits[i].Span)
			continue
		}
		if hits[i].Symbol, err = search.Symbol(ctx, d.Text, hits[i].Start, hits[i].End, hits[i].Span); err != nil {
			return err
		}
	}
	return nil
}

// readFiles lets a query rank by the files where the database holds source code.
func (e *Engine) readFiles(ctx context.Context, r *search.Run) error {
	k, err := e.kindOf(ctx, r.S)
	if k == KindCode {
		r.Files = &e.kind.files
	}
	return err
}
