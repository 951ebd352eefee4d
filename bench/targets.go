package bench

import (
	"cmp"
	"slices"
)

// Targets are the distinct texts of a corpus. Two passages with the same text
// cannot be told apart by any system, so they are encoded and indexed once and
// are one target. Targets stand in the order of the smallest id of their
// passages, so that a tie broken by position is a tie broken by id.
type Targets struct {
	// Texts hold title and body of each target.
	Texts []string
	// Members hold the ids of the passages with that text, ascending; never
	// empty. The first one names the target.
	Members [][]string
}

// NewTargets groups passages by their text. Cost O(N log N).
func NewTargets(passages []Passage) *Targets {
	sorted := slices.Clone(passages)
	slices.SortFunc(sorted, func(a, b Passage) int { return cmp.Compare(a.ID, b.ID) })
	t := &Targets{}
	at := make(map[string]int, len(sorted))
	for _, p := range sorted {
		text := p.Text()
		i, ok := at[text]
		if !ok {
			i = len(t.Texts)
			at[text] = i
			t.Texts = append(t.Texts, text)
			t.Members = append(t.Members, nil)
		}
		t.Members[i] = append(t.Members[i], p.ID)
	}
	return t
}

// ID names target i.
func (t *Targets) ID(i int) string { return t.Members[i][0] }

// Len is the number of targets.
func (t *Targets) Len() int { return len(t.Texts) }
