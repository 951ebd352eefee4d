package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/store"
)

// The index compares words by their stems, and a score weighs words against meaning. A user who types a name wants the
// documents with exactly that name. So a search by words checks whether one of the first hits has the exact string. If
// none has it, the best document with the string takes a place among them. The hits of a query for places are all
// documents with the string, and no others.

const (
	firstPage = 10   // hits that are looked at for an exact string
	mostNames = 4    // names of a query that are looked for
	mostRead  = 2000 // documents that are read for one of them: those that have its words, then in source code all
)

// exact is a string that is looked for byte by byte. Where it begins or ends with a letter, digit or underscore, none may
// stand next to it.
type exact string

func wordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// next is where the string stands in s from a byte on, -1 for nowhere.
func (x exact) next(s string, from int) int {
	first, _ := utf8.DecodeRuneInString(string(x))
	last, _ := utf8.DecodeLastRuneInString(string(x))
	for {
		n := strings.Index(s[from:], string(x))
		if n < 0 {
			return -1
		}
		at := from + n
		before, _ := utf8.DecodeLastRuneInString(s[:at])
		after, _ := utf8.DecodeRuneInString(s[at+len(x):])
		if !(wordRune(first) && wordRune(before) || wordRune(last) && wordRune(after)) {
			return at
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		from = at + size
	}
}

// exacts are the strings that a query names: its phrases in quotes and words with +, else what names there are in it. In
// source code, every word that is alone is a name; elsewhere only one that is written as one is.
func (r *Run) exacts() (names []exact) {
	add := func(s string) {
		if x := exact(s); s != "" && len(names) < mostNames && !slices.Contains(names, x) {
			names = append(names, x)
		}
	}
	for _, c := range r.Clauses {
		if !c.Not && !c.Title && !c.Prefix {
			add(c.Text)
		}
	}
	if len(names) > 0 {
		return names
	}
	words := strings.Fields(r.Q.Text)
	for _, w := range words {
		w = strings.TrimFunc(w, func(c rune) bool { return !wordRune(c) })
		if written := isName(w); len(words) == 1 && (written || r.Files != nil) || written && r.Files != nil {
			add(w)
		}
	}
	return names
}

// isName says that a word is written as names in programs are: parseURL, max_depth, sha256.
func isName(w string) bool {
	var before rune
	letters, digits := false, false
	for _, c := range w {
		if c == '_' || unicode.IsLower(before) && unicode.IsUpper(c) {
			return true
		}
		letters, digits = letters || unicode.IsLetter(c), digits || unicode.IsDigit(c)
		before = c
	}
	return letters && digits
}

// certain gives the first places to the files that the query asks for, and a place among the first hits to a document that has a
// string which the query names, where none has it.
func (r *Run) certain(ctx context.Context, cs []fusion.Candidate) ([]fusion.Candidate, error) {
	r.lifts = nil
	if !r.Plan.Lexical || r.S == nil || r.Q.Image != nil {
		return cs, nil
	}
	if r.asked == nil { // a search that looks deeper has them already
		var err error
		if r.asked, err = r.askedFiles(ctx); err != nil {
			return nil, err
		}
	}
	ids := slices.Clone(r.asked)
	all := r.exacts()
	whole := len(all) == 1 && strings.Trim(r.typed, " \t\n+\"“”") == string(all[0]) // it is all of the query
	for _, x := range all {
		id, err := r.missed(ctx, cs, x)
		if err != nil {
			return nil, err
		}
		if id != 0 && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	known := len(cs)
	for _, id := range ids {
		if !slices.ContainsFunc(cs, func(c fusion.Candidate) bool { return c.Ord == id }) {
			cs = append(cs, fusion.Candidate{Ord: id})
		}
	}
	if len(cs) > known {
		if err := r.order(ctx, cs); err != nil {
			return nil, err
		}
		if err := r.boost(ctx, cs); err != nil {
			return nil, err
		}
	}
	for n, id := range ids {
		hit := firstPage - 1 - n
		if n < len(r.asked) {
			hit = n
		} else if whole {
			hit = len(r.asked)
		}
		cs = r.lift(cs, id, hit)
	}
	return cs, nil
}

// missed is the chunk of the best document that has a string; 0 if one of the first hits has it, or no document.
func (r *Run) missed(ctx context.Context, cs []fusion.Candidate, x exact) (uint64, error) {
	seen := map[uint64]bool{}
	hits := 0
	for i := 0; i < min(len(cs), minDepth) && hits < firstPage; i++ {
		if ord := chunk.Ord(cs[i].Ord); !seen[ord] {
			seen[ord] = true
			if id, err := r.standing(ctx, ord, x); err != nil || id != 0 {
				return 0, err
			}
		} else if !r.Q.PerChunk {
			continue
		}
		hits++
	}
	ids, err := r.S.Words.Having(ctx, nil, r.AnalyseQuery(string(x)))
	if err != nil {
		return 0, err
	}
	having := map[uint64]bool{}
	for _, id := range ids {
		having[chunk.Ord(id)] = true
	}
	read, found := 0, uint64(0)
	try := func(ord uint64) bool { // whether to go on
		if seen[ord] || !r.S.Live.Has(ord) || !r.Allows(chunk.ID(ord, 0)) {
			return true
		}
		seen[ord] = true
		found, err = r.standing(ctx, ord, x)
		read++
		return err == nil && found == 0 && read < mostRead
	}
	for _, c := range cs[:min(len(cs), minDepth)] { // the best first
		if ord := chunk.Ord(c.Ord); having[ord] && !try(ord) {
			return found, err
		}
	}
	for _, id := range ids {
		if !try(chunk.Ord(id)) {
			return found, err
		}
	}
	if r.Files != nil { // of a word that others are joined to, such as \x7F, the index has other terms
		r.S.Live.All(try)
	}
	return found, err
}

// standing is the chunk of a document in which a string stands first, 0 if it stands in none, not in the title, and not in the words
// of the file.
func (r *Run) standing(ctx context.Context, ord uint64, x exact) (uint64, error) {
	d, err := r.text(ctx, ord)
	if err != nil {
		return 0, err
	}
	at := x.next(d.Text, 0)
	if at < 0 && x.next(d.Title, 0) < 0 {
		if _, more := metadata.FileWords(d.Metadata); x.next(more, 0) < 0 {
			return 0, nil
		}
	}
	return chunk.ID(ord, chunkAt(d, at, len(x))), nil
}

// text reads a document.
func (r *Run) text(ctx context.Context, ord uint64) (*store.Document, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := r.S.View.Text(ctx, ord)
	if err != nil {
		return nil, fmt.Errorf("reading a text: %w", state.Missing(err))
	}
	return d, nil
}

// chunkAt is the number of the first chunk that has so many bytes of the text from a byte on, or their beginning.
func chunkAt(d *store.Document, at, n int) int {
	best := 0
	for i, row := range d.Rows {
		if row.Start <= at && at < row.End {
			if best = i; at+n <= row.End {
				break
			}
		}
	}
	return best
}

// lift moves a chunk to the place of a hit, by its number from 0, and gives it the score there, unless it is in front of it.
func (r *Run) lift(cs []fusion.Candidate, id uint64, hit int) []fusion.Candidate {
	from := slices.IndexFunc(cs, func(c fusion.Candidate) bool { return c.Ord == id })
	to, seen := 0, map[uint64]bool{}
	for ; to < from; to++ {
		if ord := chunk.Ord(cs[to].Ord); !seen[ord] || r.Q.PerChunk {
			if seen[ord] = true; hit == 0 {
				break
			}
			hit--
		}
	}
	if to >= from {
		return cs
	}
	c := cs[from]
	if r.lifts == nil {
		r.lifts = map[uint64]float64{}
	}
	r.lifts[id] = cs[to].Score - c.Score
	c.Score = cs[to].Score
	return slices.Insert(slices.Delete(cs, from, from+1), to, c)
}

// placed is a document that has the string of a query for places.
type placed struct {
	key string // id of the document
	id  uint64 // of the chunk in which it stands first
}

// sought are the strings of a query for places, and leaves the clauses that are other conditions.
func (r *Run) sought() error {
	r.places = nil
	if !r.Q.Places {
		return nil
	}
	if len(r.Q.Like) > 0 || r.Q.Image != nil || r.Q.Vector != nil || r.S == nil {
		return fmt.Errorf("%w: places are those of a text, in a database on this machine; leave out the vector, the image, the examples or the places", fault.ErrInvalid)
	}
	r.Clauses = slices.DeleteFunc(r.Clauses, func(c Clause) bool {
		if c.Not || c.Title || c.Prefix {
			return false
		}
		r.places = append(r.places, exact(c.Text))
		return true
	})
	if s := strings.TrimSpace(r.Q.Text); len(r.places) == 0 && s != "" {
		r.places = append(r.places, exact(s))
	}
	if len(r.places) == 0 {
		return fmt.Errorf("%w: a query for places needs a string to look for; give one, in quotes if there are operators", fault.ErrInvalid)
	}
	return nil
}

// findPlaces leaves the documents whose text has all strings of a query for places.
func (r *Run) findPlaces(ctx context.Context, m matches) (matches, error) {
	if m == nil {
		m = documents{r.S.Live}
	}
	var none cow.Set
	left := none.Edit()
	r.placed = nil
	var err error
	m.All(func(ord uint64) bool {
		var d *store.Document
		if d, err = r.text(ctx, ord); err != nil {
			return false
		}
		at := -1
		for i, x := range r.places {
			n := x.next(d.Text, 0)
			if n < 0 {
				return true
			}
			if i == 0 || n < at {
				at = n
			}
		}
		left.Add(ord)
		r.placed = append(r.placed, placed{d.ID, chunk.ID(ord, chunkAt(d, at, 1))})
		return true
	})
	slices.SortFunc(r.placed, func(a, b placed) int { return strings.Compare(a.key, b.key) })
	return documents{left.Done()}, err
}

// Places has the type of engine.Hit.Places.
type Places = []struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// placeText is how many bytes of a line a place shows.
const placeText = 240

// Places are the lines of a text, from 1, in which the strings of a query for places stand.
func (r *Run) Places(ctx context.Context, s string) (lines Places, err error) {
	type one struct{ at, n int }
	next := make([]one, len(r.places))
	for i, x := range r.places {
		next[i] = one{x.next(s, 0), len(x)}
	}
	line := chunk.Lines{Text: s}
	for {
		first := -1
		for i, p := range next {
			if p.at >= 0 && (first < 0 || p.at < next[first].at) {
				first = i
			}
		}
		if first < 0 {
			return lines, ctx.Err()
		}
		if len(lines)%scored == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		at, n := next[first].at, next[first].n
		end := len(s)
		if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
			end = at + i
		}
		lines = append(lines, make(Places, 1)...)
		p := &lines[len(lines)-1]
		p.Line, p.Text = line.At(at), lineAround(s, at, n, end)
		for i, x := range r.places { // further ones of the line are of this place
			for next[i].at >= 0 && next[i].at < end {
				next[i].at = x.next(s, min(len(s), next[i].at+max(1, len(x))))
			}
		}
	}
}

// lineAround is the line in which bytes of a text stand and which ends at a byte, or of a long one the part around them.
func lineAround(s string, at, n, end int) string {
	from := strings.LastIndexByte(s[:at], '\n') + 1
	if end-from > placeText {
		from = max(from, min(at-placeText/4, end-placeText))
		end = min(end, max(from+placeText, at+min(n, placeText)))
		for from < at && !utf8.RuneStart(s[from]) {
			from++
		}
		for end < len(s) && end > at && !utf8.RuneStart(s[end]) {
			end--
		}
	}
	return strings.TrimSuffix(s[from:end], "\r")
}
