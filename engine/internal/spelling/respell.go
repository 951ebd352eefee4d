package spelling

import (
	"regexp"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

const (
	mostRespelled = 64  // terms of a query that is respelled; a longer one is a text
	otherwise     = 0.3 // weight of another spelling, where documents have the typed one
	inPieces      = 0.1 // and of its pieces: documents with GPT-4 have them beside GPT4
	longUnit      = 4   // letters that are joined to a number
	longCount     = 6   // bytes of a word that is a number
)

var (
	apostrophes = strings.NewReplacer("'", "", "’", "")
	particles   = regexp.MustCompile(`^(?i)[odl]\pL{4,}$`) // O'Brien, D'Angelo, L'Oréal
	mixed       = regexp.MustCompile(`^(?:(\pL+)(\d+)|(\d+)(\pL+))$`)
	apart       = regexp.MustCompile(`^(?:(\pL+)[ \x{a0}-](\d+)|(\d+)[ \x{a0}-](\pL+))$`)
	counted     = regexp.MustCompile(`^(?i)(?:act|book|chapter|class|episode|grade|level|part|phase|season|section|stage|step|type|unit|version|volume)$`)
	counts      = [][]string{{"2", "two", "ii"}, {"3", "three", "iii"}, {"4", "four", "iv"}, {"5", "five", "v"}, {"6", "six", "vi"},
		{"7", "seven", "vii"}, {"8", "eight", "viii"}, {"9", "nine", "ix"}, {"10", "ten", "x"}}
)

// Respelled returns the terms of a query together with those of other spellings that documents of x have: O'Brien for obrien and the
// reverse, AB 1234 for AB1234 and the reverse, so also 10 GB, and in English part two or part II for part 2. If no document has the
// typed word, its other spelling takes its place.
func (s *Speller) Respelled(x *inverted.Words, query string, terms []text.Term) []text.Term {
	if len(terms) > mostRespelled {
		return terms
	}
	out := make([]text.Term, 0, len(terms)+4)
	last, at := -1, 0 // the word before, and its place in out
	for i, t := range terms {
		if t.Beside {
			out = append(out, t)
			continue
		}
		typed := query[t.Start:t.End]
		var others []string // each a spelling of its own
		var parts []string  // of one spelling
		switch m := numbered(mixed, typed); {
		case m != nil:
			parts = []string{m[1] + m[3], m[2] + m[4]}
		case strings.ContainsAny(typed, "'’"):
			others = []string{apostrophes.Replace(typed)}
		case strings.IndexByte("odlODL", typed[0]) >= 0 && particles.MatchString(typed):
			others = []string{typed[:1] + "'" + typed[1:]}
		}
		if n := countOf(typed); len(n) > 0 && last >= 0 && s.english() && counted.MatchString(query[terms[last].Start:terms[last].End]) {
			others = append(others, n...)
		}
		n := len(out)
		for _, o := range others {
			out = s.other(out, x, o, t, t.Weight)
		}
		if len(parts) > 0 {
			both := s.other(s.other(nil, x, parts[0], t, t.Weight/2), x, parts[1], t, t.Weight/2)
			if len(both) == 2 {
				out = append(out, both...)
			}
		}
		if found := out[n:]; len(found) == 0 || documents(x, terms, i) > 0 {
			share := float32(otherwise)
			if len(parts) > 0 {
				share = inPieces
			}
			for j := range found {
				found[j].Beside = true
				found[j].Weight *= share
			}
			out = slices.Insert(out, n, t) // the word first
		}
		if last >= 0 {
			p := terms[last]
			m := numbered(apart, query[p.Start:t.End])
			if m != nil && len(m[1]+m[4]) <= longUnit {
				known, knows := documents(x, terms, last) > 0, documents(x, terms, i) > 0
				weight := t.Weight
				if known && knows {
					weight *= otherwise
				}
				if joined := s.other(nil, x, m[1]+m[2]+m[3]+m[4], text.Term{Start: p.Start, End: t.End}, weight); len(joined) > 0 {
					if joined[0].Beside = known || knows; !joined[0].Beside { // in place of both
						out, n = out[:at], at
					}
					out = append(out, joined[0])
				}
			}
		}
		last, at = i, n
	}
	return out
}

// other appends the term of a word if documents of x have it. It stands for the word of t.
func (s *Speller) other(to []text.Term, x *inverted.Words, word string, t text.Term, weight float32) []text.Term {
	for _, o := range s.analyzer.Terms(nil, word) {
		if o.Beside {
			continue
		}
		if n, ok := x.Find(o.Text); ok && x.DF(n) > 0 && o.Text != t.Text {
			to = append(to, text.Term{Text: o.Text, Start: t.Start, End: t.End, Weight: weight})
		}
		break
	}
	return to
}

// numbered returns the submatches of a pattern that has a number: without one it costs nothing.
func numbered(pattern *regexp.Regexp, s string) []string {
	if !strings.ContainsAny(s, "0123456789") {
		return nil
	}
	return pattern.FindStringSubmatch(s)
}

// countOf returns the other forms of a number.
func countOf(typed string) []string {
	if len(typed) > longCount {
		return nil
	}
	for _, forms := range counts {
		for i, f := range forms {
			if strings.EqualFold(f, typed) {
				return append(append([]string{}, forms[:i]...), forms[i+1:]...)
			}
		}
	}
	return nil
}
