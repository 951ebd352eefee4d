package inverted

import (
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// Holds reports whether a document is present with exactly these terms and title, in the analyzer's order.
// Error: ErrCorrupt. Cost O(terms).
func (x *Words) Holds(id uint64, terms []text.Term) (ok bool, err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	slot, ok, err := x.slot(id)
	if err != nil || !ok {
		return false, err
	}
	w, err := x.walk(slot)
	if err != nil {
		return false, err
	}
	for _, t := range terms {
		if w.left == 0 {
			return false, nil
		}
		if e := w.next(); int(e.term) >= x.terms.len() || e.beside != t.Beside || e.title != t.Title || x.terms.name(e.term) != t.Text {
			return false, nil
		}
	}
	if w.left > 0 {
		return false, nil
	}
	return true, w.end()
}
