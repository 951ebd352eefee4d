package bench

import (
	"cmp"
	"slices"
)

// Targets are the distinct texts of a corpus. No system can tell passages with the same text apart, so
// they form one target, which is encoded and indexed once. Targets are sorted by the smallest id of
// their passages, so a tie broken by position is a tie broken by id.
type Targets struct {
	// Texts holds title and body of each target.
	Texts []string
	// Members holds the ids of the passages with that text, ascending and never empty. The first one
	// names the target.
	Members [][]string

	first []Passage // the passages that name the targets
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
			t.Members, t.first = append(t.Members, nil), append(t.first, p)
		}
		t.Members[i] = append(t.Members[i], p.ID)
	}
	return t
}

// of returns the targets to which a passage of c belongs.
func (t *Targets) of(c *Corpus) *Targets {
	known := make(map[string]struct{}, len(c.Passages))
	for _, p := range c.Passages {
		known[p.Text()] = struct{}{}
	}
	out := &Targets{}
	for i, text := range t.Texts {
		if _, ok := known[text]; ok {
			out.Texts, out.Members, out.first = append(out.Texts, text), append(out.Members, t.Members[i]), append(out.first, t.first[i])
		}
	}
	return out
}

// ID returns the name of target i.
func (t *Targets) ID(i int) string { return t.Members[i][0] }

// Len returns the number of targets.
func (t *Targets) Len() int { return len(t.Texts) }
