package load

import (
	"encoding/json"
	"errors"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/engine"
)

// TestSoak: a short soak finds nothing wrong, and its JSON form has its names.
func TestSoak(t *testing.T) {
	r, err := Soak(t.Context(), SoakOptions{Docs: 400, Dim: 16, For: 800 * time.Millisecond, Samples: 8, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Wrong != 0 || r.FirstWrong != "" {
		t.Errorf("%d wrong answers: %s", r.Wrong, r.FirstWrong)
	}
	total := float64(r.Reads + r.Writes + r.Deletes)
	if reads, writes := float64(r.Reads)/total, float64(r.Writes)/total; total < 50 || math.Abs(reads-.7) > .2 || math.Abs(writes-.2) > .15 {
		t.Errorf("%d reads, %d writes, %d deletes", r.Reads, r.Writes, r.Deletes)
	}
	operations := 0
	for _, s := range r.Samples {
		operations += s.Operations
		if s.Documents < 350 || s.Documents > 400 || s.Disk <= 0 || s.Files < 3 || s.Goroutines < 2 {
			t.Errorf("sample %+v", s)
		}
	}
	if last := r.Samples[len(r.Samples)-1]; len(r.Samples) != 8 || operations > int(total) || operations < int(total)/2 || last.Seconds < .8 {
		t.Errorf("%d samples with %d operations of %v", len(r.Samples), operations, total)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{`"docs":400`, `"dim":16`, `"workers":2`, `"reads":`, `"writes":`, `"deletes":`, `"wrong":0`, `"growth":{`, `"memory_limit_mb":`, `"samples":[{"seconds":`, `"rss_mb":`, `"p99_ms":`} {
		if !strings.Contains(string(raw), name) {
			t.Errorf("the report lacks %s", name)
		}
	}
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil || !strings.Contains(table.String(), "wrong answers") || !strings.Contains(table.String(), "median") {
		t.Errorf("%v\n%s", err, &table)
	}
}

// TestSoakFinds: answers that are not what was stored are counted, and what is missing
// at the end is an error.
func TestSoakFinds(t *testing.T) {
	s := &soak{o: SoakOptions{Docs: 40, Dim: 16}, seed: maphash.MakeSeed(), dir: t.TempDir(), enc: newLifeEncoder(16), r: &SoakReport{}}
	if err := s.o.fill(); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.e, err = engine.Open(t.Context(), s.dir, s.enc, engine.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := s.fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	x := s.workers[0]
	n := x.all[3]
	steps := []struct {
		what string
		do   func() error
	}{
		{"a text that is another", func() error { x.texts[n]++; return x.get(t.Context(), n) }},
		{"a document that should be gone", func() error { delete(x.texts, n); return x.get(t.Context(), n) }},
		{"a delete of what should be gone", func() error { return x.remove(t.Context(), n) }},
		{"hits that should be gone", func() error {
			kept := x.texts
			x.texts = map[int]uint64{}
			defer func() { x.texts = kept }()
			x.queries = slices.DeleteFunc(x.queries, func(q engine.Query) bool { return q.Vector == nil })
			for range 20 {
				if err := x.search(t.Context()); err != nil {
					return err
				}
			}
			return nil
		}},
	}
	for _, step := range steps {
		before := x.wrong
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if x.wrong == before || x.first == "" {
			t.Errorf("%s was not found", step.what)
		}
	}
	if err := s.e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.prove(t.Context()); err != nil { // the model knows of the delete
		t.Error(err)
	}
	x.texts[n] = 7
	if err := s.prove(t.Context()); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a missing document: %v", err)
	}
	delete(x.texts, x.all[5])
	if err := s.prove(t.Context()); err == nil || !strings.Contains(err.Error(), "should be") {
		t.Errorf("a document too many: %v", err)
	}
}

func TestSoakOptions(t *testing.T) {
	for _, o := range []SoakOptions{{Docs: 5}, {Workers: -1}, {Dim: 1}, {Samples: 3}, {For: time.Millisecond}} {
		if _, err := Soak(t.Context(), o); !errors.Is(err, bench.ErrOption) {
			t.Errorf("%+v: %v, want ErrOption", o, err)
		}
	}
}

// TestSoakGrowth compares the last quarter with the second.
func TestSoakGrowth(t *testing.T) {
	s := &soak{r: &SoakReport{Growth: map[string]float64{}}}
	for i := range 8 {
		s.r.Samples = append(s.r.Samples, SoakSample{RSS: 100 + 10*float64(i/2), Files: 7})
	}
	s.growth()
	if got := s.r.Growth["rss_mb"]; math.Abs(got-20./110) > 1e-12 {
		t.Errorf("growth of memory %v", got)
	}
	if got, ok := s.r.Growth["files"]; !ok || got != 0 {
		t.Errorf("growth of files %v, %v", got, ok)
	}
	if _, ok := s.r.Growth["p50_ms"]; ok {
		t.Error("growth of what is 0")
	}
}
