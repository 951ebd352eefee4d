package local

import (
	"slices"

	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// directory lists the cells in which each token occurs, and counts its passages. It is a
// table from the time of building or opening, plus the changes of later edits. It never
// changes.
type directory struct {
	heads []uint32          // for each token, and the end: df, first of its cells
	lists []uint32          // the cells of each token, ascending
	file  *snapshot.Section // where the lists lie, nil for memory

	df     cow.Array[int32]    // what was added to df since; longer than the table where the vocabulary has grown
	listed cow.Array[[]uint32] // the cells of a token that got or lost some; nil for none
}

// newDirectory returns the directory of no passages.
func newDirectory(vocab int) directory { return directory{heads: make([]uint32, 2*(vocab+1))} }

// makeDirectory makes the directory of cells over a vocabulary of vocab tokens or, if
// that is 0, over their own tokens.
func makeDirectory(vocab int, cells []*cell) directory {
	if vocab == 0 {
		for _, c := range cells {
			for _, t := range c.tokens {
				vocab = max(vocab, int(t)+1)
			}
		}
	}
	d := newDirectory(vocab)
	for _, c := range cells {
		for i, t := range c.tokens {
			d.heads[2*t] += uint32(c.count(i))
			d.heads[2*t+3]++ // how many cells; their sum in a moment
		}
	}
	for t := range vocab {
		d.heads[2*t+3] += d.heads[2*t+1]
	}
	d.lists = make([]uint32, d.heads[2*vocab+1])
	next := make([]uint32, vocab)
	for at, c := range cells {
		for _, t := range c.tokens {
			d.lists[d.heads[2*t+1]+next[t]] = uint32(at)
			next[t]++
		}
	}
	return d
}

// table is the number of tokens in the table.
func (d *directory) table() int { return len(d.heads)/2 - 1 }

func (d *directory) vocab() int { return max(d.table(), d.df.Len()) }

// count is the number of passages with token t, 0 for one outside the
// vocabulary.
func (d *directory) count(t int32) int {
	n := int(d.df.At(int(t)))
	if t >= 0 && int(t) < d.table() {
		n += int(d.heads[2*t])
	}
	return n
}

// cells returns the cells with token t, which must be in the vocabulary, ascending.
func (d *directory) cells(t int32) ([]uint32, error) {
	if list := d.listed.At(int(t)); list != nil {
		return list, nil
	}
	if int(t) >= d.table() {
		return nil, nil
	}
	from, to := int(d.heads[2*t+1]), int(d.heads[2*t+3])
	if d.file != nil {
		if err := d.file.Check(4*from, 4*(to-from)); err != nil {
			return nil, err
		}
	}
	return d.lists[from:to], nil
}

// directoryEditor makes the next version of a directory.
type directoryEditor struct {
	base   *directory
	df     *cow.Editor[int32]
	listed *cow.Editor[[]uint32]
}

func (d *directory) edit() *directoryEditor {
	e := &directoryEditor{d, d.df.Edit(), d.listed.Edit()}
	e.grow(d.vocab())
	return e
}

func (e *directoryEditor) grow(vocab int) {
	if e.df.Len() < vocab {
		e.df.Resize(vocab)
		e.listed.Resize(vocab)
	}
}

// replace puts cell next in place of cell last, which has number at.
func (e *directoryEditor) replace(at int, last, next *cell) error {
	for i, t := range last.tokens {
		n := -last.count(i)
		if j, ok := next.find(t); ok {
			n += next.count(j)
		} else if err := e.list(t, uint32(at), false); err != nil {
			return err
		}
		if n != 0 {
			*e.df.Ptr(int(t)) += int32(n)
		}
	}
	for i, t := range next.tokens {
		if _, ok := last.find(t); ok {
			continue
		}
		e.grow(int(t) + 1)
		*e.df.Ptr(int(t)) += int32(next.count(i))
		if err := e.list(t, uint32(at), true); err != nil {
			return err
		}
	}
	return nil
}

// list adds a cell to the list of token t, or removes it.
func (e *directoryEditor) list(t, cell uint32, in bool) error {
	old := e.listed.At(int(t))
	if old == nil {
		var err error
		if old, err = e.base.cells(int32(t)); err != nil {
			return err
		}
	}
	i, ok := slices.BinarySearch(old, cell)
	if ok == in {
		return corrupt("the directory of token %d is wrong about cell %d", t, cell)
	}
	list := make([]uint32, 0, len(old)+1)
	list = append(list, old[:i]...)
	if in {
		list = append(append(list, cell), old[i:]...)
	} else {
		list = append(list, old[i+1:]...)
	}
	e.listed.Set(int(t), list)
	return nil
}

func (e *directoryEditor) done() directory {
	d := *e.base
	d.df, d.listed = e.df.Done(), e.listed.Done()
	return d
}
