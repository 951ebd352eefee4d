package span

import "github.com/lexsem/lexsem/internal/text"

// pairShare is the total gain of all adjacent word pairs of a query; that of its words is 1.
const pairShare = 0.5

// Words returns the positions in a passage of words of a query, and of pairs that are adjacent in both. Gains are
// shared by idf; the idf of a pair is the sum of those of its words.
func Words(query, passage []text.Term, idf func(term string) float64) []Match {
	type part struct {
		number int
		weight float64
	}
	words, pairs := map[string]part{}, map[[2]string]part{}
	var wordSum, pairSum float64
	for _, t := range query {
		weight := idf(t.Text)
		if t.Weight > 0 {
			weight *= float64(t.Weight)
		}
		p, known := words[t.Text]
		if !known {
			p.number = len(words)
		}
		if weight > p.weight {
			wordSum += weight - p.weight
			p.weight = weight
		}
		words[t.Text] = p
	}
	each(query, func(a, b text.Term) {
		pair := [2]string{a.Text, b.Text}
		if _, known := pairs[pair]; known {
			return
		}
		p := part{len(words) + len(pairs), words[a.Text].weight + words[b.Text].weight}
		pairs[pair] = p
		pairSum += p.weight
	})
	var out []Match
	for _, t := range passage {
		if p, ok := words[t.Text]; ok {
			out = append(out, Match{t.Start, t.End, p.number, p.weight / wordSum})
		}
	}
	each(passage, func(a, b text.Term) {
		if p, ok := pairs[[2]string{a.Text, b.Text}]; ok {
			out = append(out, Match{a.Start, b.End, p.number, pairShare * p.weight / pairSum})
		}
	})
	return out
}

// each calls f for adjacent words of a text; additional terms at the same position are skipped.
func each(terms []text.Term, f func(a, b text.Term)) {
	last := -1
	for i, t := range terms {
		if t.Beside {
			continue
		}
		if last >= 0 {
			f(terms[last], t)
		}
		last = i
	}
}

// Mixed returns the matches of a and b, where b gets this share of the weight.
func Mixed(a, b []Match, share float64) []Match {
	out, parts := make([]Match, 0, len(a)+len(b)), 0
	for _, m := range a {
		parts = max(parts, m.Part+1)
		m.Gain *= 1 - share
		out = append(out, m)
	}
	for _, m := range b {
		m.Part += parts
		m.Gain *= share
		out = append(out, m)
	}
	return out
}
