package engine

import (
	"errors"
	"io"
	"strings"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// vectors is the part that finds the nearest vectors.
type vectors struct {
	index.Keeper
	name string // one of index.Kinds
	dim  int
	ids  []uint64
	rows []float32
}

func (p *vectors) options() index.Options { return index.Options{Dim: p.dim, Metric: metric} }

// moves says that removing a vector may move others, which searches must not
// see happen; it is quick then.
func (p *vectors) moves() bool { return strings.HasPrefix(p.name, "flat") }

func (p *vectors) kind() string { return p.name }
func (p *vectors) texts() bool  { return false }
func (p *vectors) len() int     { return p.Len() }

func (p *vectors) reset() error {
	x, err := index.New(p.name, p.options())
	if err != nil {
		return err
	}
	p.Keeper = x.(index.Keeper) // as every index of that package is
	return nil
}

// load goes on using data, which the engine keeps.
func (p *vectors) load(data []byte) error {
	f, err := snapshot.Parse(data)
	if err != nil {
		return err
	}
	x, err := index.Open(p.name, p.options(), f)
	if err != nil {
		return err
	}
	p.Keeper = x.(index.Keeper)
	return nil
}

func (p *vectors) save(w io.Writer) (int64, error) {
	n := &counter{w: w}
	s := snapshot.NewWriter(n, snapshot.Header{Kind: p.name, Version: 1})
	err := p.Keeper.(index.Snapshotter).Save(s)
	return n.n, errors.Join(err, s.Close())
}

// counter counts what is written to w.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

func (p *vectors) add(vs []version) error {
	p.ids, p.rows = p.ids[:0], p.rows[:0]
	for _, v := range vs {
		p.ids = append(p.ids, v.ord)
		p.rows = append(p.rows, v.vector...)
	}
	return p.Add(p.ids, p.rows)
}

func (p *vectors) remove(vs []version) error {
	p.ids = p.ids[:0]
	for _, v := range vs {
		p.ids = append(p.ids, v.ord)
	}
	p.Delete(p.ids)
	return nil
}
