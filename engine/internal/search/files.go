package search

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strings"

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
	definesName  // the passage defines the name that is the query
	fileSignals
)

// fileWeights are the weights of the signals. They were chosen on 118 judged queries in axum, fastapi, gin, gson, rack
// and zod: nDCG@10 is .858 with them, .850 without the last one and .755 without any. The last one has the same weight in
// each repository that uses what was chosen on the other five. There are no vendored folders among them, which weigh as
// examples do.
var fileWeights = [fileSignals]struct {
	name   string
	weight float64
}{
	isDocumentation: {"documentation", -0.6},
	isTest:          {"test", -0.6},
	isExample:       {"example", -0.3},
	isVendored:      {"vendored", -0.3},
	nameShare:       {"file name", 0.4},
	definedShare:    {"definitions", 0.2},
	passageShare:    {"passages", 0.3},
	definesName:     {"definition", 0.6},
}

// filePresence is the weight of the term recall in source code, where names are words. On the same queries nDCG@10 is .860 with
// it and .849 with that of other texts (.854 if each repository uses the weight chosen on the other five among .25, .35, .5, .75
// and 1); with static vectors .865 and .863, without vectors .856 and .847.
const filePresence = 0.5

const (
	firstPassages = 100     // that passageShare counts
	rankConstant  = 10      // of passageShare: one at rank r counts 1/(rankConstant + r)
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
	definitions   []definition // of names, ascending
}

// definition is where a name is defined.
type definition struct {
	name  uint32 // the hash of its last part
	chunk uint32 // of the document
}

// words is the size of x in Files, in words.
func (x *sourceFile) words() int {
	const each = 32 // that an entry without names takes
	return len(x.name) + len(x.defined) + 2*len(x.definitions) + each
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
	for _, t := range r.Analyse(code.Spaced(code.Name(d.ID))) {
		if !t.Beside {
			x.name = append(x.name, hashed(t.Text))
		}
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
			x.definitions = append(x.definitions, definition{hashed(code.Last(one.Name)), uint32(row)})
		}
		slices.SortFunc(x.definitions, byName)
		x.definitions = slices.Clip(slices.Compact(x.definitions))
		for _, t := range r.Analyse(names.String()) {
			x.defined = append(x.defined, hashed(t.Text))
		}
	}
	for _, list := range []*[]uint32{&x.name, &x.defined} {
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

// askedWord is a word of the query.
type askedWord struct {
	hash  uint32
	share float64 // of the idf of all
}

// ranksFiles reports whether the plan ranks by files.
func (r *Run) ranksFiles() bool {
	return r.Files != nil && r.Plan.Fusion.Kind == fusion.Calibrated
}

// defining returns the chunks that define the name which is the query, in the files of the candidates, without those that
// are candidates already: other chunks may have the name more often.
func (r *Run) defining(ctx context.Context, known []fusion.Candidate) (cs []fusion.Candidate, err error) {
	name := code.Wanted(r.Q.Text)
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
	asked, off := r.askedOfFiles()
	name := hashed(code.Wanted(r.Q.Text))
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
			f = measured{x, x.signals(asked, off)}
			f.signals[passageShare] = r.passages[ord]
			files[ord] = f
		}
		s := f.signals
		if _, ok := slices.BinarySearchFunc(f.file.definitions, definition{name, uint32(chunk.Number(cs[i].Ord))}, byName); ok {
			s[definesName] = 1
		}
		r.signals[cs[i].Ord] = s
		for n, w := range fileWeights {
			cs[i].Score += w.weight * s[n]
		}
	}
	fusion.Sort(cs, func(c fusion.Candidate) float64 { return c.Score })
	r.step("files")
	return nil
}

// askedOfFiles returns the distinct words of the query, and the roles that it names, for which files lose no
// score.
func (r *Run) askedOfFiles() (asked []askedWord, off map[string]bool) {
	seen, all := map[string]bool{}, 0.0
	for _, t := range r.Terms {
		if seen[t.Text] {
			continue
		}
		seen[t.Text] = true
		w := float64(t.Weight)
		w = cmp.Or(w, 1)
		w *= r.S.Words.IDF(t.Text)
		asked = append(asked, askedWord{hashed(t.Text), w})
		all += w
	}
	for i := range asked {
		if all > 0 {
			asked[i].share /= all
		}
	}
	off = map[string]bool{}
	for _, w := range text.Words(nil, code.Spaced(r.typed)) {
		for _, role := range []string{code.Test, code.Example, code.Documentation, code.Vendored} {
			off[role] = off[role] || code.Asked(role, w.Lower)
		}
	}
	return asked, off
}

var roleSignals = map[string]int{code.Documentation: isDocumentation, code.Test: isTest, code.Example: isExample, code.Vendored: isVendored}

// signals measures a file for a query.
func (x *sourceFile) signals(asked []askedWord, off map[string]bool) (s [fileSignals]float64) {
	if x.role != code.Source && !off[x.role] {
		s[roleSignals[x.role]] = 1
	}
	found := 0
	for _, w := range asked {
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
	return s
}

func byName(a, b definition) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.chunk, b.chunk))
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

// Place says where in its file a span of a text lies, or where there is none, the bytes from to to.
func Place(m map[string]any, title, text string, from, to int, span [2]int) string {
	kind, path := kindAndPath(m)
	if span[1] > 0 {
		from, to = span[0], span[1]
	}
	return place.Of(place.In(kind, path), title, text, from, to)
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
