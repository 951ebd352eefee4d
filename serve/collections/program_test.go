package collections_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/servers"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// op is one step of a program: one public operation on the collection In.
type op struct {
	Do     string         `json:"do"`
	In     string         `json:"in,omitempty"`
	Docs   []doc          `json:"docs,omitempty"`
	IDs    []string       `json:"ids,omitempty"`
	Patch  map[string]any `json:"patch,omitempty"`
	Filter string         `json:"filter,omitempty"`
	After  string         `json:"after,omitempty"`
	Query  string         `json:"query,omitempty"`
	Mode   string         `json:"mode,omitempty"`
	// Of a search: Variant with Exact, which says all that another search engine must do alike. It repairs no words, and
	// has no local bridges.
	Variant string `json:"variant,omitempty"`
}

type doc struct {
	ID       string         `json:"id"`
	Title    string         `json:"title,omitempty"`
	Text     string         `json:"text"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// reply is what an operation answers. Scores may differ by what rounding does.
type reply struct {
	text string
	hits []hit
}

type hit struct {
	id    string
	score float64
}

// like says that two replies are the same, but for a part of each score and for the order of hits.
func (r reply) like(o reply, part float64) bool {
	if r.text != o.text || len(r.hits) != len(o.hits) {
		return false
	}
	byID := func(h []hit) []hit {
		return slices.SortedFunc(slices.Values(h), func(a, b hit) int { return strings.Compare(a.id, b.id) })
	}
	mine, others := byID(r.hits), byID(o.hits)
	for i, h := range mine {
		if h.id != others[i].id || math.Abs(h.score-others[i].score) > part*(1+math.Abs(h.score)) {
			return false
		}
	}
	return true
}

// Vocabularies of programs. Some ids are what paths of URLs could take for something else.
var (
	programIDs   = []string{"d0", "d1", "d2", "d3", "d4", "d5", "a/b", "..", "a//b", "x y", "ü", "%2F", "d?x=1#y"}
	programNames = []string{"a", "b"}
	programModes = []string{"lexical", "dense", "hybrid"}
	programDates = []string{"2026-01-02", "2026-01-02T03:04:05Z", "2026-01-02T00:30:00+02:00", "2026-01-01T23:00:00.5Z"}
)

// program makes one of n operations.
func program(r *rand.Rand, n int) []op {
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	words := func(n int) string {
		w := make([]string, n)
		for i := range w {
			w[i] = fmt.Sprintf("word%c%c", 'a'+r.IntN(9), 'a'+r.IntN(5))
		}
		return strings.Join(w, " ")
	}
	fields := func() map[string]any {
		m := map[string]any{"n": r.IntN(6), "lang": pick([]string{"de", "en", "fr"}), "when": pick(programDates)}
		switch r.IntN(4) {
		case 0:
			m["tags"] = []any{pick([]string{"x", "y"}), r.IntN(3)}
		case 1:
			m["deep"] = map[string]any{"x": float64(r.IntN(4)) + .5, "on": r.IntN(2) == 0}
		}
		return m
	}
	docs := func() []doc {
		all := make([]doc, 1+r.IntN(6))
		for i := range all {
			all[i] = doc{ID: pick(programIDs), Text: words(1 + r.IntN(40)), Metadata: fields()}
			if r.IntN(3) == 0 {
				all[i].Title = words(2)
			}
			if r.IntN(12) == 0 {
				all[i].Text = words(600) // in several chunks
			}
		}
		return all
	}
	some := func() []string {
		ids := make([]string, 1+r.IntN(3))
		for i := range ids {
			ids[i] = pick(programIDs)
		}
		return ids
	}
	where := func() string {
		return pick([]string{"", fmt.Sprintf("n >= %d", r.IntN(6)), `lang = "de"`, `lang in ["de", "fr"] and not tags exists`, `tags = "x"`, "deep.x > 1",
			`deep.on = true or n = 2`, `when >= "2026-01-02T00:00:00Z"`, `when < now-7d`, `id ^= "d"`, `id = "a/b"`, "n = ", `lang != "en"`})
	}
	all := []op{{Do: "create", In: "a"}, {Do: "upsert", In: "a", Docs: docs()}, {Do: "create", In: "b"}, {Do: "upsert", In: "b", Docs: docs()}}
	for len(all) < n {
		o := op{In: pick(programNames)}
		switch k := r.IntN(100); {
		case k < 22:
			o.Do, o.Docs = "upsert", docs()
		case k < 27:
			o.Do, o.Docs = "add", docs()
		case k < 35:
			o.Do, o.IDs = "patch", some()[:1]
			o.Patch = map[string]any{pick([]string{"n", "lang", "deep"}): []any{nil, r.IntN(6), map[string]any{"x": 1, "y": nil}}[r.IntN(3)]}
		case k < 43:
			o.Do, o.IDs = "delete", some()
		case k < 46:
			o.Do, o.Filter = "delete where", where()
		case k < 52:
			o.Do, o.IDs = "get", some()[:1]
		case k < 58:
			o.Do, o.Filter, o.After = "list", where(), pick([]string{"", "d1", "a/b", "zz"})
		case k < 62:
			o.Do, o.Filter = "count", where()
		case k < 80:
			o.Do, o.Filter, o.Query, o.Mode = "search", where(), words(1+r.IntN(4)), pick(programModes)
			o.Variant = pick([]string{"", engine.VariantNone, "rlr"})
		case k < 84:
			o.Do = "export"
		case k < 85 && r.IntN(3) == 0: // which takes half a second
			o.Do = "compact"
		case k < 88:
			o.Do = "reopen"
		case k < 93:
			o.Do = "backup"
		case k < 96:
			o.Do = "restore"
		case k < 97:
			o.Do = "create"
		case k < 98 && r.IntN(2) == 0:
			o.Do = "drop"
		default:
			o.Do = "names"
		}
		all = append(all, o)
	}
	return all
}

// apart cuts off what two texts begin with alike, but for some bytes.
func apart(a, b string) (string, string) {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	n = max(0, n-40)
	return a[n:], b[n:]
}

// compare runs a program in all worlds. It returns how two of them differ, "" if all answer alike.
func compare(t *testing.T, program []op) string {
	t.Helper()
	var first []reply
	byStates := map[bool][]reply{}
	all := worlds(t)
	answers := make([][]reply, len(all))
	var running sync.WaitGroup
	for i, w := range all {
		running.Go(func() {
			for _, o := range program {
				answers[i] = append(answers[i], w.run(t, o))
			}
			w.end(t)
		})
	}
	running.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for i, w := range all {
		replies := answers[i]
		if first == nil {
			first = replies
		}
		if byStates[w.states] == nil {
			byStates[w.states] = replies
		}
		for i, o := range program {
			if w.far != nil && (o.Do == "search" && o.Variant == "" || o.After != "") { // the order of ids is the engine's own
				continue
			}
			want, part := first[i], 1e-4
			if o.Do == "search" && w.states { // these change scores, and codes follow the texts that were encoded together
				want, part = byStates[true][i], .05
				if w.o.MaxOpen == 1 { // and only those since the opening
					part = 1
				}
			}
			if got := replies[i]; !got.like(want, part) {
				line, _ := json.Marshal(o)
				mine, others := apart(fmt.Sprint(got.text, got.hits), fmt.Sprint(want.text, want.hits))
				return fmt.Sprintf("%s, step %d, %.300s: …%.300s\nothers: …%.300s", w.name, i, line, mine, others)
			}
		}
	}
	return ""
}

// shrink takes out of a program that fails what is not needed for that.
func shrink(t *testing.T, program []op) []op {
	t.Helper()
	until := time.Now().Add(time.Minute)
	for size := len(program) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(program) && time.Now().Before(until); {
			if less := slices.Delete(slices.Clone(program), i, i+size); compare(t, less) != "" {
				program = less
			} else {
				i += size
			}
		}
	}
	return program
}

var postgres string // URL of a PostgreSQL with pgvector, "" for none

// TestAlike runs programs of public operations, at random and those that failed once, on several configurations: kinds
// of index, with token states and without, in this process, by another one that has the collections open, over HTTP,
// with collections that are closed all the time, and in front of another search engine: a double in memory and, where
// LEXSEM_POSTGRES names its programs, PostgreSQL with pgvector. All must answer alike. A program that fails is shrunk and
// written to testdata/programs.
func TestAlike(t *testing.T) {
	if programs := os.Getenv("LEXSEM_POSTGRES"); programs != "" {
		dir, err := os.MkdirTemp("", "lexsem-postgres") // all of its parents are readable, as t.TempDir's are not
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		n, err := servers.Postgres(t.Context(), programs, dir)
		if err != nil {
			t.Fatal(err)
		}
		defer n.Kill()
		postgres = n.URL
	}
	kept, err := filepath.Glob("testdata/programs/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range kept {
		b, err := os.ReadFile(path)
		var p []op
		if err == nil {
			err = json.Unmarshal(b, &p)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if differs := compare(t, p); differs != "" {
			t.Errorf("%s: %s", path, differs)
		}
	}
	rounds, seed := trial.Rounds(t, 1, 200), trial.Seed(t)
	for i := range rounds {
		r := rand.New(rand.NewPCG(seed+uint64(i), 0))
		p := program(r, 40)
		differs := compare(t, p)
		if differs == "" {
			continue
		}
		p = shrink(t, p)
		b, err := json.MarshalIndent(p, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join("testdata", "programs"), 0o755); err != nil {
			t.Error(err)
		}
		path := filepath.Join("testdata", "programs", fmt.Sprintf("found-%d.json", seed+uint64(i)))
		if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
			t.Error(err)
		}
		t.Fatalf("%s: %s\nshrunk: %s", path, differs, compare(t, p))
	}
}
