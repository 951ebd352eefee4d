package search

import (
	"cmp"
	"context"
	"hash/fnv"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/recent"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/code"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/place"
	"github.com/lexsem/lexsem/internal/text"
)

// In a folder of source code, the path of a file and the names that it defines say more about its purpose than
// its passages do. Calibrated fusion then adds the signals of a candidate's file to its score.

// signals are properties of a file, from 0 to 1.
const (
	isDocumentation = iota
	isTest
	isExample
	isVendored
	nameShare    // of the words of the file's name, the share that the query has
	definedShare // of the query's words, the share by idf that is among the names that the file defines
	passageShare // how many passages of the file are among the first, and how far in front
	definesName  // the passage defines the name that is the query; half as much in another package or type than the query says
	nameRow      // the file's name is two words or more, which stand in a row in the query
	definedRows  // of the query's words, the share by idf that stands in such rows, of names that the file defines
	amount       // of names that the file defines: n/(n + manyNames)
	fileSignals
)

// fileWeights are the weights of the signals. They were chosen on 118 judged queries in axum, fastapi, gin, gson, rack
// and zod: nDCG@10 is .882 with them, .858 without the last three, .850 without definesName and these, and .755 without any.
// If each repository uses what was chosen for the last three on the other five, it is .877; four of six times these are the
// weights. With static vectors the last three raise it from .869 to .880, without vectors from .856 to .873. There are no
// vendored folders among them, which weigh as examples do. Documentation is the answer to none of them. Its weight is the smallest
// with which the Markdown of axum and gin hides no more of the answers than with -0.6 (nDCG@10 of all files .875 both, .873 with
// -0.3, hash vectors). Of 24 questions that the documentation of seven modules of Go answers, 8 find it first and 16 among three; with -0.6
// 4 and 9.
var fileWeights = [fileSignals]struct {
	name   string
	weight float64
}{
	isDocumentation: {"documentation", -0.4},
	isTest:          {"test", -0.6},
	isExample:       {"example", -0.3},
	isVendored:      {"vendored", -0.3},
	nameShare:       {"file name", 0.4},
	definedShare:    {"definitions", 0.2},
	passageShare:    {"passages", 0.3},
	definesName:     {"definition", 0.6},
	nameRow:         {"file name in a row", 0.6},
	definedRows:     {"definitions in a row", 0.4},
	amount:          {"amount", 0.2},
}

// filePresence is the weight of the term recall in source code, where names are words. On the same queries nDCG@10 is .860 with
// it and .849 with that of other texts (.854 if each repository uses the weight chosen on the other five among .25, .35, .5, .75
// and 1); with static vectors .865 and .863, without vectors .856 and .847.
const filePresence = 0.5

const (
	firstPassages = 100     // that passageShare counts
	rankConstant  = 10      // of passageShare: one at rank r counts 1/(rankConstant + r)
	manyNames     = 10      // of amount: with as many it is a half
	longestRow    = 6       // words
	rowsIn        = 64      // words of a query, from its beginning, that are looked for in rows: in a text they cost a second
	keptNames     = 1 << 20 // words that Files keeps, of 4 bytes each
)

// Files caches properties of source files, by ordinal. It is safe for concurrent use.
type Files = recent.Cache[*sourceFile]

// NewFiles is an empty Files.
func NewFiles() *Files { return recent.New[*sourceFile](keptNames) }

// sourceFile holds the properties of one version of a document.
type sourceFile struct {
	role          string
	name, defined []uint32     // hashes of terms, ascending
	row           uint32       // the hash of the name, if it has two words or more
	rows          []uint32     // hashes of the names that it defines and that have as many, ascending
	within        []uint32     // hashes of the names of the file and its folders
	definitions   []definition // of names, ascending
}

// definition is where a name is defined.
type definition struct {
	name  uint32 // the hash of its last part
	chunk uint32 // of the document
	of    uint32 // the hash of the type or package that it belongs to
}

// words is the size of x in Files, in words.
func (x *sourceFile) words() int {
	const each = 32 // that an entry without names takes
	return len(x.name) + len(x.defined) + len(x.rows) + len(x.within) + 3*len(x.definitions) + each
}

// file returns the properties of a document.
func (r *Run) file(ctx context.Context, ord uint64) (*sourceFile, error) {
	if x := r.Files.Get(ord); x != nil {
		return x, nil
	}
	d, err := r.S.View.Text(ctx, ord)
	if err != nil {
		return nil, err
	}
	x := &sourceFile{role: code.Role(d.ID)}
	for of := range strings.SplitSeq(path.Dir(strings.ReplaceAll(d.ID, `\`, "/"))+"/"+code.Name(d.ID), "/") {
		x.within = append(x.within, hashed(of))
	}
	name := r.spaced(code.Name(d.ID))
	for _, t := range name {
		x.name = append(x.name, hashed(t.Text))
	}
	if len(name) > 1 {
		x.row = hashedRow(name)
	}
	if x.role != code.Documentation {
		all, err := code.Definitions(ctx, d.Text)
		if err != nil {
			return nil, err
		}
		var names strings.Builder
		row := 0
		for _, one := range all {
			names.WriteString(one.Name)
			names.WriteByte('\n')
			for row+1 < len(d.Rows) && d.Rows[row].End <= one.At {
				row++
			}
			last := code.Last(one.Name)
			x.definitions = append(x.definitions, definition{hashed(last), uint32(row), hashed(one.Of())})
			if words := r.spaced(last); len(words) > 1 {
				x.rows = append(x.rows, hashedRow(words))
			}
		}
		slices.SortFunc(x.definitions, byName)
		x.definitions = slices.Clip(slices.Compact(x.definitions))
		for _, t := range r.Analyse(names.String()) {
			x.defined = append(x.defined, hashed(t.Text))
		}
	}
	for _, list := range []*[]uint32{&x.name, &x.defined, &x.rows} {
		slices.Sort(*list)
		*list = slices.Clip(slices.Compact(*list))
	}
	r.Files.Put(ord, x, x.words())
	return x, nil
}

func hashed(term string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(term))
	return h.Sum32()
}

// spaced returns the terms of the words of a name.
func (r *Run) spaced(name string) []text.Term {
	return slices.DeleteFunc(r.Analyse(code.Spaced(name)), func(t text.Term) bool { return t.Beside })
}

func hashedRow(words []text.Term) uint32 {
	h := fnv.New32a()
	for _, w := range words {
		h.Write([]byte(w.Text))
		h.Write([]byte{0})
	}
	return h.Sum32()
}

// asked is what a query asks of files.
type asked struct {
	words    []askedWord
	rows     []askedRow
	off      map[string]bool // roles that it names, for which files lose no score
	name, of uint32          // hashes of the name whose definition it asks for, and of what the name belongs to, or 0
}

// askedWord is a word of the query.
type askedWord struct {
	hash  uint32
	share float64 // of the idf of all
}

// askedRow is some words in a row.
type askedRow struct {
	hash  uint32
	words []int // places in asked.words
}

// ranksFiles reports whether the plan ranks by files.
func (r *Run) ranksFiles() bool {
	return r.Files != nil && r.Plan.Fusion.Kind == fusion.Calibrated
}

// defining returns the chunks that define the name which is the query, in the files of the candidates, without those that
// are candidates already: other chunks may have the name more often.
func (r *Run) defining(ctx context.Context, known []fusion.Candidate) (cs []fusion.Candidate, err error) {
	name, _ := code.Wanted(r.Q.Text)
	if !r.ranksFiles() || name == "" {
		return nil, nil
	}
	named := map[uint64]struct{}{}
	for _, c := range known {
		named[c.Ord] = struct{}{}
	}
	for _, c := range known {
		ord := chunk.Ord(c.Ord)
		x, err := r.file(ctx, ord)
		if err != nil {
			return nil, err
		}
		at, _ := slices.BinarySearchFunc(x.definitions, definition{name: hashed(name)}, byName)
		for ; at < len(x.definitions) && x.definitions[at].name == hashed(name); at++ {
			if id := chunk.ID(ord, int(x.definitions[at].chunk)); !has(named, id) {
				named[id] = struct{}{}
				cs = append(cs, fusion.Candidate{Ord: id})
			}
		}
	}
	return cs, nil
}

// byFiles adds the signals of their files to the scores of ranked candidates, and ranks them again. found says that cs
// are the retrievers' candidates, whose passages count.
func (r *Run) byFiles(ctx context.Context, cs []fusion.Candidate, found bool) error {
	if !r.ranksFiles() {
		return nil
	}
	q := r.askedOfFiles()
	if found {
		r.passages = map[uint64]float64{}
		for i, c := range cs[:min(len(cs), firstPassages)] {
			r.passages[chunk.Ord(c.Ord)] += 1 / float64(rankConstant+i+1)
		}
	}
	type measured struct {
		file    *sourceFile
		signals [fileSignals]float64
	}
	files := make(map[uint64]measured, len(r.passages)) // by ordinal: a file is measured once
	r.signals = make(map[uint64][fileSignals]float64, len(cs))
	for i := range cs {
		if err := ctx.Err(); err != nil {
			return err
		}
		ord := chunk.Ord(cs[i].Ord)
		f, ok := files[ord]
		if !ok {
			x, err := r.file(ctx, ord)
			if err != nil {
				return err
			}
			f = measured{x, x.signals(q)}
			f.signals[passageShare] = r.passages[ord]
			files[ord] = f
		}
		s := f.signals
		s[definesName] = f.file.defines(q, uint32(chunk.Number(cs[i].Ord)))
		r.signals[cs[i].Ord] = s
		for n, w := range fileWeights {
			cs[i].Score += w.weight * s[n]
		}
	}
	fusion.Sort(cs, func(c fusion.Candidate) float64 { return c.Score })
	r.step("files")
	return nil
}

// askedOfFiles returns what the query asks of files.
func (r *Run) askedOfFiles() (q asked) {
	places, all := map[string]int{}, 0.0
	for _, t := range r.Terms {
		if _, ok := places[t.Text]; ok {
			continue
		}
		places[t.Text] = len(q.words)
		w := float64(t.Weight)
		w = cmp.Or(w, 1)
		w *= r.S.Words.IDF(t.Text)
		q.words = append(q.words, askedWord{hashed(t.Text), w})
		all += w
	}
	for i := range q.words {
		if all > 0 {
			q.words[i].share /= all
		}
	}
	typed := r.spaced(r.typed)
	typed = typed[:min(len(typed), rowsIn)]
	for from := range typed {
		for to := from + 2; to <= min(len(typed), from+longestRow); to++ {
			row := askedRow{hash: hashedRow(typed[from:to])}
			for _, t := range typed[from:to] {
				if at, ok := places[t.Text]; ok {
					row.words = append(row.words, at)
				}
			}
			q.rows = append(q.rows, row)
		}
	}
	if name, of := code.Wanted(r.Q.Text); name != "" {
		if q.name = hashed(name); of != "" {
			q.of = hashed(of)
		}
	}
	q.off = map[string]bool{}
	for _, w := range text.Words(nil, code.Spaced(r.typed)) {
		for _, role := range []string{code.Test, code.Example, code.Documentation, code.Vendored} {
			q.off[role] = q.off[role] || code.Asked(role, w.Lower)
		}
	}
	return q
}

var roleSignals = map[string]int{code.Documentation: isDocumentation, code.Test: isTest, code.Example: isExample, code.Vendored: isVendored}

// signals measures a file for a query.
func (x *sourceFile) signals(q asked) (s [fileSignals]float64) {
	if x.role != code.Source && !q.off[x.role] {
		s[roleSignals[x.role]] = 1
	}
	found := 0
	for _, w := range q.words {
		if _, ok := slices.BinarySearch(x.name, w.hash); ok {
			found++
		}
		if _, ok := slices.BinarySearch(x.defined, w.hash); ok {
			s[definedShare] += w.share
		}
	}
	if len(x.name) > 0 {
		s[nameShare] = float64(found) / float64(len(x.name))
	}
	in := make([]bool, len(q.words))
	for _, row := range q.rows {
		if x.row == row.hash {
			s[nameRow] = 1
		}
		if _, ok := slices.BinarySearch(x.rows, row.hash); ok {
			for _, at := range row.words {
				if !in[at] {
					in[at] = true
					s[definedRows] += q.words[at].share
				}
			}
		}
	}
	s[amount] = float64(len(x.definitions)) / float64(len(x.definitions)+manyNames)
	return s
}

// defines is the signal definesName of a chunk.
func (x *sourceFile) defines(q asked, number uint32) (most float64) {
	if q.name == 0 {
		return 0
	}
	at, _ := slices.BinarySearchFunc(x.definitions, definition{name: q.name, chunk: number}, byName)
	for ; at < len(x.definitions) && x.definitions[at].name == q.name && x.definitions[at].chunk == number; at++ {
		if q.of == 0 || q.of == x.definitions[at].of || slices.Contains(x.within, q.of) {
			return 1
		}
		most = 0.5
	}
	return most
}

func byName(a, b definition) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.chunk, b.chunk), cmp.Compare(a.of, b.of))
}

// fileTerms returns the summands of a candidate's score that its file's signals give.
func (r *Run) fileTerms(c fusion.Candidate) (terms []fusion.Term) {
	for n, v := range r.signals[c.Ord] {
		if v != 0 {
			terms = append(terms, fusion.Term{Name: fileWeights[n].name, Weight: fileWeights[n].weight, Value: v})
		}
	}
	return terms
}

// OfSource says by its metadata whether a document is a file of source code.
func OfSource(m map[string]any) bool {
	file, _ := metadata.OfFile(m)
	_, named := m["language"].(string)
	return file["kind"] == "code" && named
}

// StoredSource is OfSource for metadata as the store has them.
func StoredSource(raw []byte) bool {
	m, err := metadata.Parse(raw)
	return err == nil && OfSource(m)
}

// EncoderText is the text that the encoder gets of a passage, of source code its CodeWords.
func EncoderText(source bool, title, text string) string {
	passage := chunk.Passage(title, text)
	if source {
		passage = CodeWords(passage)
	}
	return passage
}

// CodeWords is a passage of source code with a blank for each byte that belongs to no word; it is the passage if that has no
// word. In the judged trees of the run code, 39 to 54 % of the tokens are punctuation, of which encoders of prose know little.
func CodeWords(passage string) string {
	out, words := []byte(passage), false
	for i := 0; i < len(out); {
		r, n := utf8.DecodeRune(out[i:])
		if unicode.In(r, unicode.L, unicode.N, unicode.M) {
			words = true
		} else {
			for j := range n {
				out[i+j] = ' '
			}
		}
		i += n
	}
	if !words {
		return passage
	}
	return string(out)
}

// HasPlaces says by its metadata whether a document is of a file whose text tells where its parts are.
func HasPlaces(m map[string]any) bool {
	kind, path := kindAndPath(m)
	return path != "" && place.Known(place.In(kind, path))
}

func kindAndPath(m map[string]any) (kind, path string) {
	file, _ := metadata.OfFile(m)
	kind, _ = file["kind"].(string)
	path, _ = file["path"].(string)
	return kind, path
}

// PlacesIn tells where in a file, by its metadata, the parts of its text are.
func PlacesIn(m map[string]any, title, text string) func(from, to int) string {
	kind, path := kindAndPath(m)
	return place.Of(place.In(kind, path), title, text)
}

// Symbol names the function or type that contains a span of a text or, without a span, the first one in the bytes from
// from to to.
func Symbol(ctx context.Context, text string, from, to int, span [2]int) (string, error) {
	at := span[0]
	if span[1] == 0 {
		at = from
		all, err := code.Definitions(ctx, text[from:to])
		if err != nil {
			return "", err
		}
		if len(all) > 0 {
			at += all[0].At
		}
	}
	return code.Symbol(ctx, text, at)
}
