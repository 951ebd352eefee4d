package engine

import (
	"context"
	"io"
	"slices"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// metadataColumns is the part that answers filters.
type metadataColumns struct{ *columns.Columns }

func (p *metadataColumns) kind() string { return "metadata" }
func (p *metadataColumns) texts() bool  { return true }
func (p *metadataColumns) len() int     { return p.Len() }

func (p *metadataColumns) reset() error {
	p.Columns = columns.New()
	return nil
}

func (p *metadataColumns) load(data []byte) error {
	f, err := snapshot.Parse(slices.Clone(data))
	if err != nil {
		return err
	}
	if err := f.Verify(context.Background()); err != nil {
		return err
	}
	p.Columns, err = columns.Open(f)
	return err
}

func (p *metadataColumns) save(w io.Writer) (int64, error) {
	out := &counter{w: w}
	s := snapshot.NewWriter(out, snapshot.Header{Kind: columns.Kind, Version: columns.Version})
	if err := p.Save(s); err != nil {
		return out.n, err
	}
	return out.n, s.Close()
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

func (p *metadataColumns) add(vs []version) error {
	e := p.Edit()
	for _, v := range vs {
		if chunk.Number(v.ord) > 0 { // metadata are the document's
			continue
		}
		if err := e.Add(v.ord, v.metadata); err != nil {
			return err
		}
	}
	p.Columns = e.Done()
	return nil
}

func (p *metadataColumns) remove(vs []version) (err error) {
	e := p.Edit()
	for _, v := range vs {
		if chunk.Number(v.ord) == 0 {
			e.Remove(v.ord)
		}
	}
	p.Columns = e.Done()
	if p.Wasteful() {
		p.Columns, err = p.Compacted(context.Background())
	}
	return err
}
