package engine

import (
	"io"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/columns"
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

func (p *metadataColumns) load(data []byte) (err error) {
	p.Columns, err = columns.Load(data)
	return err
}

func (p *metadataColumns) save(w io.Writer) (int64, error) { return p.WriteTo(w) }

func (p *metadataColumns) add(vs []version) error {
	for _, v := range vs {
		if chunk.Number(v.ord) > 0 { // metadata are the document's
			continue
		}
		if err := p.Add(v.ord, v.metadata); err != nil {
			return err
		}
	}
	return nil
}

func (p *metadataColumns) remove(vs []version) error {
	for _, v := range vs {
		if chunk.Number(v.ord) == 0 {
			p.Delete(v.ord)
		}
	}
	return nil
}
