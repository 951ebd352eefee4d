package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/fusion"
)

// codeFile is a file as package folder stores it.
func codeFile(path, text string) engine.Document {
	return engine.Document{ID: path, Title: path, Text: text, Metadata: map[string]any{"language": "go", "_file": map[string]any{"kind": "code", "path": path, "root": "/src"}}}
}

// TestFieldsOfRecords: a record whose own fields have the names of a source file's is none.
func TestFieldsOfRecords(t *testing.T) {
	own := map[string]any{"kind": "code", "language": "go", "path": "a.go", "_file": map[string]any{"kind": "csv", "path": "a.csv", "root": "/src"}}
	e := kindly(t, "", engine.Document{ID: "1", Text: "func Walrus() {\n}\n", Metadata: own}, engine.Document{ID: "3", Text: "func Seal() {\n}\n", Metadata: own}, engine.Document{ID: "2", Text: "func Walrus() {\n}\n", Metadata: map[string]any{"kind": "pdf", "path": "a.pdf", "_file": own["_file"]}})
	r := search(t, e, engine.Query{Text: "walrus", K: 2, Spans: true})
	if r.Trace.Kind == engine.KindCode || len(r.Hits) != 2 || r.Hits[0].Symbol+r.Hits[1].Symbol != "" {
		t.Errorf("of kind %s, hits %+v", r.Trace.Kind, r.Hits)
	}
}

// TestWordsOfSource: an encoder gets the words of source code and the whole text of everything else, in each way in.
func TestWordsOfSource(t *testing.T) {
	const text = "func (w *Walrus) Feed() {\n\treturn w.fish[0] != nil\n}\n"
	var mu sync.Mutex
	seen := map[string]bool{}
	enc := counted{hash(t), func(in []encoder.Input) error {
		mu.Lock()
		defer mu.Unlock()
		for _, one := range in {
			seen[strings.Join(strings.Fields(one.Text), " ")] = true
		}
		return nil
	}}
	dir := t.TempDir()
	e := openWith(t, dir, enc, engine.Options{TokenStates: engine.TokenStatesOff})
	check := func(way string, names ...string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		for _, n := range names {
			words, whole := n+" go func w Walrus Feed return w fish 0 nil", n+".go "+strings.Join(strings.Fields(text), " ")
			if strings.HasSuffix(n, "md") {
				words, whole = n+" "+strings.Join(strings.Fields(text), " "), n+" go func w Walrus Feed return w fish 0 nil"
			}
			if !seen[words] || seen[whole] {
				t.Errorf("%s: %s was encoded as other text: %q", way, n, slices.Collect(maps.Keys(seen)))
			}
		}
		clear(seen)
	}
	prose := engine.Document{ID: "md", Title: "md", Text: text}
	add(t, e, []engine.Document{codeFile("a.go", text), prose})
	check("Add", "a", "md")
	if _, err := e.Upsert(t.Context(), []engine.Document{codeFile("b.go", text)}); err != nil {
		t.Fatal(err)
	}
	check("Upsert", "b")
	later := codeFile("c.go", text)
	later.WordsFirst = true
	add(t, e, []engine.Document{later})
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("WordsFirst", "c")
	closeIt(t, e)
	e = openWith(t, dir, enc, engine.Options{TokenStates: engine.TokenStatesOn})
	if _, err := e.KeepTokenStates(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("KeepTokenStates", "a", "b", "c", "md")
	closeIt(t, e)
	enc.Encoder = encoder.NewHash(2 * dim)
	if _, err := engine.Reembed(t.Context(), dir, enc, sparing(engine.Options{})); err != nil {
		t.Fatal(err)
	}
	check("Reembed", "a", "b", "c", "md")
}

// repository are files that all speak of the same words; only what they are called, define and are for tells them apart.
func repository() []engine.Document {
	const says = "walrus feeding plan\n"
	return []engine.Document{
		codeFile("zoo/other.go", "package zoo\n\n// "+says),
		codeFile("zoo/walrus.go", "package zoo\n\n// "+says),
		codeFile("zoo/keeper.go", "package zoo\n\n// "+says+"func WalrusFeeding() {\n}\n"),
		codeFile("zoo/other_test.go", "package zoo\n\n// "+says),
		codeFile("examples/other.go", "package zoo\n\n// "+says),
		{ID: "zoo/README.md", Title: "zoo", Text: "package zoo\n\n// " + says + "func WalrusFeeding() {\n}\n"},
	}
}

// TestNamesInRows: a file whose name the query says word for word is first, and a name is looked for in the type or package
// before it.
func TestNamesInRows(t *testing.T) {
	const body = "\n// seal plan feeding record\nfunc Trim(s string) {\n}\n"
	e := kindly(t, "", codeFile("zoo/feeding_record.go", "package zoo\n"+body), codeFile("zoo/record_feeding.go", "package zoo\n"+body), codeFile("strings/a.go", "package strings\n"+body),
		codeFile("bytes/b.go", "package bytes\n"+body), codeFile("c.py", "class Plan:\n    def Trim(s):\n        seal()\n"))
	for query, want := range map[string]string{"seal feeding record": "zoo/feeding_record.go", "seal record of feeding": "zoo/record_feeding.go", "strings.Trim": "strings/a.go", "bytes.Trim()": "bytes/b.go",
		"func bytes.Trim": "bytes/b.go", "zoo.feeding_record.Trim": "zoo/feeding_record.go", "Plan.Trim": "c.py"} {
		if r := search(t, e, engine.Query{Text: query, K: 5}); len(r.Hits) == 0 || r.Hits[0].ID != want {
			t.Errorf("%s: %+v, want %s first", query, r.Hits, want)
		}
	}
	for query, want := range map[string]float64{"feeding record": 1, "record feeding": 0} {
		x, err := e.Explain(t.Context(), engine.Query{Text: query, K: 5}, "zoo/feeding_record.go")
		if err != nil {
			t.Fatal(err)
		}
		got := 0.0
		for _, term := range x.Terms {
			if term.Name == "file name in a row" {
				got = term.Weight * term.Value
			}
		}
		if got != 0.6*want {
			t.Errorf("%s: %v", query, got)
		}
	}
}

func kindly(t *testing.T, kind string, docs ...engine.Document) *engine.Engine {
	t.Helper()
	e := open(t, t.TempDir(), engine.Options{Kind: kind})
	add(t, e, docs)
	return e
}

func ranks(r engine.Result) map[string]int {
	at := map[string]int{}
	for _, h := range r.Hits {
		at[h.ID] = h.Rank
	}
	return at
}

func TestFilesOfSourceCode(t *testing.T) {
	e := kindly(t, "", repository()...)
	for _, c := range []struct{ query, order string }{
		{"walrus feeding plan", "zoo/walrus.go zoo/other.go|zoo/keeper.go zoo/other.go|zoo/other.go examples/other.go|examples/other.go zoo/other_test.go|examples/other.go zoo/README.md"},
		{"walrus feeding tests", "zoo/other_test.go examples/other.go"},
		{"WalrusTest feeding plan", "zoo/other_test.go examples/other.go"},
		{"walrus feeding plan docs", "zoo/README.md zoo/other_test.go|examples/other.go zoo/other_test.go"},
		{"walrus feeding plan in examples/", "examples/other.go zoo/other_test.go"},
	} {
		r := search(t, e, engine.Query{Text: c.query, K: 10})
		if r.Trace.Kind != engine.KindCode || len(r.Hits) != 6 {
			t.Fatalf("%s: %+v, %d hits", c.query, r.Trace, len(r.Hits))
		}
		at := ranks(r)
		for pair := range strings.SplitSeq(c.order, "|") {
			before, behind, _ := strings.Cut(pair, " ")
			if at[before] >= at[behind] {
				t.Errorf("%s: %s has rank %d, %s %d", c.query, before, at[before], behind, at[behind])
			}
		}
		for i, h := range r.Hits {
			if i > 0 && h.Score > r.Hits[i-1].Score {
				t.Errorf("%s: hit %d has a higher score than the one before", c.query, i+1)
			}
			x, err := e.Explain(t.Context(), engine.Query{Text: c.query, K: 10}, h.ID)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, term := range x.Terms {
				sum += term.Weight * term.Value
			}
			if x.Rank != h.Rank || x.Score != h.Score || math.Abs(sum-float64(h.Score)) > 1e-5 {
				t.Errorf("%s: %s: rank %d, score %v; explained rank %d, score %v, terms %v", c.query, h.ID, h.Rank, h.Score, x.Rank, x.Score, sum)
			}
		}
	}
	parts := func(query, id string) map[string]fusion.Term {
		t.Helper()
		x, err := e.Explain(t.Context(), engine.Query{Text: query, K: 10}, id)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]fusion.Term{}
		for _, term := range x.Terms {
			got[term.Name] = term
		}
		return got
	}
	for _, c := range []struct {
		query, id, term string
		weight, value   float64 // value 0: no such term
	}{
		{"walrus feeding plan", "zoo/walrus.go", "file name", 0.4, 1},
		{"walrus feeding plan", "zoo/other.go", "file name", 0.4, 0},
		{"walrus feeding plan", "zoo/other.go", "definitions", 0.2, 0},
		{"walrus feeding plan", "zoo/other_test.go", "test", -0.6, 1},
		{"WalrusTest feeding plan", "zoo/other_test.go", "test", -0.6, 0},
		{"walrus feeding plan", "examples/other.go", "example", -0.3, 1},
		{"walrus feeding plan", "zoo/README.md", "documentation", -0.4, 1},
		{"walrus feeding plan", "zoo/README.md", "definitions", 0.2, 0},
		{"plan of walrus feeding", "zoo/keeper.go", "definitions in a row", 0.4, 2. / 3},
		{"feeding a walrus", "zoo/keeper.go", "definitions in a row", 0.4, 0},
		{"walrus feeding plan", "zoo/README.md", "definitions in a row", 0.4, 0},
		{strings.Repeat("plan ", 64) + "walrus feeding", "zoo/keeper.go", "definitions in a row", 0.4, 0}, // of a text only the beginning
		{"walrus feeding plan", "zoo/walrus.go", "file name in a row", 0.6, 0},
		{"walrus feeding plan", "zoo/keeper.go", "amount", 0.2, 1. / 11},
		{"walrus feeding plan", "zoo/README.md", "amount", 0.2, 0},
		{"Keeper.WalrusFeeding", "zoo/keeper.go", "definition", 0.6, 0.5},
		{"keeper.WalrusFeeding", "zoo/keeper.go", "definition", 0.6, 1},
		{"func WalrusFeeding", "zoo/keeper.go", "definition", 0.6, 1},
		{"zoo.WalrusFeeding()", "zoo/keeper.go", "definition", 0.6, 1},
		{"walrusfeeding", "zoo/keeper.go", "definition", 0.6, 0},
		{"call WalrusFeeding", "zoo/keeper.go", "definition", 0.6, 0},
		{"WalrusFeeding", "zoo/README.md", "definition", 0.6, 0},
	} {
		if got := parts(c.query, c.id)[c.term]; math.Abs(got.Value-c.value) > 1e-9 || c.value > 0 && got.Weight != c.weight {
			t.Errorf("%s: %s: %s is %+v, want %v of %v", c.query, c.id, c.term, got, c.weight, c.value)
		}
	}
	// A word that all files have tells less than one that none has.
	if got := parts("walrus unheard", "zoo/keeper.go")["definitions"]; got.Weight != 0.2 || got.Value <= 0 || got.Value > 0.3 {
		t.Errorf("definitions: %+v", got)
	}
	if r := search(t, e, engine.Query{Text: "walrus feeding plan", K: 10}); r.Hits[0].Rank == 1 {
		if got := parts("walrus feeding plan", r.Hits[0].ID)["passages"]; got.Weight != 0.3 || got.Value < 1./16 || got.Value > 1./11 {
			t.Errorf("passages: %+v", got)
		}
	}
	// Other modes and kinds of fusion keep their scores.
	plain := kindly(t, engine.KindText, repository()...)
	presence := func(e *engine.Engine, f fusion.Options) float64 {
		t.Helper()
		x, err := e.Explain(t.Context(), engine.Query{Text: "walrus feeding plan", K: 10, Fusion: f}, "zoo/walrus.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, term := range x.Terms {
			if strings.HasPrefix(term.Name, "presence") {
				return term.Weight
			}
		}
		return 0
	}
	if code, text, given := presence(e, fusion.Options{}), presence(plain, fusion.Options{}), presence(e, fusion.Options{Presence: 0.25}); text == 0 || code != 2*text || given != text || presence(e, fusion.Options{Presence: -1}) != 0 {
		t.Errorf("term recall weighs %v, in texts %v, if told so %v; want twice as much, and what is told", code, text, given)
	}
	for _, q := range []engine.Query{{Mode: engine.ModeLexical}, {Mode: engine.ModeDense}, {Fusion: fusion.Options{Kind: fusion.RRF}}, {Fusion: fusion.Options{Kind: fusion.Convex}}, {Like: []string{"zoo/other_test.go"}}} {
		q.Text, q.K = "walrus feeding plan", 10
		same(t, search(t, plain, q), search(t, e, q))
	}
}

// same compares the order and the scores of hits.
func same(t *testing.T, want, got engine.Result) {
	t.Helper()
	told := func(r engine.Result) (s []string) {
		for _, h := range r.Hits {
			s = append(s, fmt.Sprint(h.ID, " ", h.Chunk, " ", math.Float32bits(h.Score)))
		}
		return s
	}
	if !slices.Equal(told(want), told(got)) || got.Trace.Kind != "" {
		t.Errorf("mode %s, fusion %q, kind %q: got\n%v\nwant\n%v", got.Trace.Mode, got.Trace.Fusion, got.Trace.Kind, told(got), told(want))
	}
}

func TestKindOfTexts(t *testing.T) {
	text := repository()
	for i := range text {
		text[i].Metadata = nil
	}
	q := engine.Query{Text: "walrus feeding plan", K: 10, PerChunk: true}
	plain := kindly(t, engine.KindText, text...)
	auto := kindly(t, "", text...)
	same(t, search(t, plain, q), search(t, auto, q))

	// A field of one's own that is called kind makes no text a file of source code.
	for i := range text {
		text[i].Metadata = map[string]any{"kind": "code"}
	}
	same(t, search(t, plain, q), search(t, kindly(t, engine.KindAuto, text...), q))

	half := repository()[:4]
	half[2].Metadata, half[3].Metadata = nil, nil
	if r := search(t, kindly(t, "", half...), q); r.Trace.Kind != "" {
		t.Error("half of the documents make a database one of source code")
	}
	if r := search(t, kindly(t, "", half[:3]...), q); r.Trace.Kind != engine.KindCode {
		t.Error("two thirds of the documents do not make a database one of source code")
	}
}

// TestDefinitionFirst: the hit of a query that is a name is the passage that defines it, though the same file has hundreds of
// passages that have its words more often.
func TestDefinitionFirst(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{ChunkTokens: 40})
	users := strings.Repeat("func FeedAll() {\n\tFeed(feed, feed)\n}\n\n// Feed feeds: all that feeds has to feed. Feed it.\n\n", 400)
	add(t, e, []engine.Document{codeFile("zoo/keeper.go", "package zoo\n\n"+users+
		"// It is one long line of words, none of which anybody would ever look for, so that the passage is poor in all else.\nfunc Feed() {\n\tall(them)\n}\n\n"+users)})
	for _, q := range []string{"func Feed", "Feed", "zoo.Feed"} {
		r := search(t, e, engine.Query{Text: q, K: 1, Spans: true})
		if h := r.Hits[0]; h.Symbol != "Feed" || !strings.Contains(h.Text, "func Feed()") {
			t.Errorf("%s: %s, %q", q, h.Symbol, h.Text)
		}
	}
}

func TestKindIsKept(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, engine.Options{})
	add(t, e, repository()[:2])
	check := func(e *engine.Engine, want string) {
		t.Helper()
		s, err := e.Stats(t.Context())
		if err != nil || s.Kind != want {
			t.Errorf("kind %q, %v; want %q", s.Kind, err, want)
		}
	}
	check(e, engine.KindCode)
	for _, c := range []struct{ kind, want string }{{engine.KindText, engine.KindText}, {"", engine.KindText}, {engine.KindAuto, engine.KindCode}, {"", engine.KindCode}} {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = open(t, dir, engine.Options{Kind: c.kind})
		check(e, c.want)
	}
	// What is stored decides anew after each commit.
	add(t, e, []engine.Document{{ID: "a", Text: "prose"}, {ID: "b", Text: "prose"}})
	check(e, engine.KindText)
	if _, err := e.Delete(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	check(e, engine.KindCode)
	// A table in a repository is one file, however many rows it has; a program beside a corpus is no repository.
	for i := range 5 {
		add(t, e, []engine.Document{{ID: fmt.Sprint("t.csv:", i), Text: "row", Metadata: map[string]any{"_file": map[string]any{"kind": "csv", "path": "t.csv", "root": "/src"}}}})
		check(e, map[bool]string{true: engine.KindCode, false: engine.KindText}[i < 4])
	}
	if err := (engine.Options{Kind: "poem"}).Validate(); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "auto, code or text") {
		t.Errorf("kind poem: %v", err)
	}
}

func TestSymbolOfHits(t *testing.T) {
	e := kindly(t, "", codeFile("a.go", "package a\n\ntype Pool struct {\n\tsize int\n}\n\n// Drain empties the walrus pool.\nfunc (p *Pool) Drain() {\n\tp.size = 0\n}\n"), engine.Document{ID: "b", Text: "func walrus() {\n\tsize\n}\n"})
	for _, c := range []struct {
		q    engine.Query
		want string
	}{
		{engine.Query{Text: "empties walrus", Spans: true}, "Pool.Drain"},
		{engine.Query{Text: "Pool struct size int", Spans: true}, "Pool"},
		{engine.Query{Text: "walrus"}, "Pool"},
		{engine.Query{Text: "walrus", Mode: engine.ModeLexical}, "Pool"},
	} {
		r := search(t, e, c.q)
		for _, h := range r.Hits {
			if want := map[string]string{"a.go": c.want}[h.ID]; h.Symbol != want {
				t.Errorf("%s: %s has the symbol %q, want %q", c.q.Text, h.ID, h.Symbol, want)
			}
		}
		x, err := e.Explain(t.Context(), c.q, "a.go")
		if err != nil || x.Symbol != c.want {
			t.Errorf("%s: explained %q, %v; want %q", c.q.Text, x.Symbol, err, c.want)
		}
		all, err := e.SearchBatch(t.Context(), []engine.Query{c.q})
		if err != nil || all[0].Hits[0].Symbol != r.Hits[0].Symbol {
			t.Errorf("%s: in a batch %v, %v", c.q.Text, all, err)
		}
	}
}
