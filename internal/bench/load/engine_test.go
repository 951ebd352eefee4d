package load

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
)

// smallLife is a run of seconds. The graph is left out: it takes 50,000
// documents to be built.
func smallLife(t *testing.T) Options {
	return Options{
		Docs: 150, Dim: 16, Rounds: 1, Readers: 2, Dir: t.TempDir(),
		Parts: []string{"open", "search", "backup", "upsert", "add", "delete", "fit", "repartition", "snapshot", "deadlines", "close", "collapse"},
		sizes: engineSizes{
			bulk: 50, changes: 100, add: 300, fit: 50, closeFit: 200, alike: 50, queries: 16,
			stream: 50 * time.Millisecond, linger: 20 * time.Millisecond, moment: 20 * time.Millisecond,
		},
	}
}

// TestEngineReport holds the names of the JSON form, and that every figure was
// measured and can be true.
func TestEngineReport(t *testing.T) {
	o := smallLife(t)
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for path, most := range map[string]float64{
		"docs": 150, "dim": 16, "docs_per_second": 1e6, "open_seconds": 60, "first_search_ms": 1e4, "search_p50_ms": 1e3, "search_p99_ms": 1e4,
		"control_max_ms": 1e4, "search_after_upsert_ms/1": 1e4, "search_after_upsert_ms/10": 1e4, "search_after_upsert_ms/1000": 1e4,
		"stall_ms/add_1": 1e4, "stall_ms/add_10": 1e4, "stall_ms/add_5000": 1e4, "stall_ms/delete_5000": 1e4, "stall_ms/fit": 1e5,
		"stall_ms/repartition": 1e4, "deadline_overrun_ms": 1e5, "close_seconds/idle": 60, "close_seconds/during_add": 60,
		"close_seconds/during_fit": 60, "rss_mb": 1e4, "bytes_per_vector": 1e7, "disk_bytes": 1e9, "collapse_seconds": 60,
		"open_behind_seconds": 60, "rss_peak_mb": 1e4, "product_ms": 100, "memory_per_document/codes": 1e5, "json_per_document": 1e4,
	} {
		if runtime.GOOS != "linux" && (strings.HasPrefix(path, "rss") || path == "bytes_per_vector") {
			continue
		}
		v := any(got)
		for _, name := range strings.Split(path, "/") {
			v = v.(map[string]any)[name]
		}
		x, ok := v.(float64)
		if !ok || math.IsNaN(x) || x > most || x < 0 && path != "bytes_per_vector" {
			t.Errorf("%s is %v, want a number up to %v", path, v, most)
		}
	}
	// Whether a save falls into the round is the engine's choice; whether a graph
	// is built is not.
	for _, name := range []string{"snapshot", "graph"} {
		if _, there := got["stall_ms"].(map[string]any)[name]; !there {
			t.Errorf("no stall %s", name)
		}
	}
	if *r.P50 > *r.P99 || *r.DocsPerSecond <= 0 || *r.OpenSeconds <= 0 || *r.DiskBytes < 150*16*4 || len(r.Overruns) < 20 {
		t.Errorf("report %s", raw)
	}
	for name, s := range r.Stalls {
		if s.Searches == 0 || s.Seconds <= 0 || s.Longest <= 0 || s.Control <= 0 || math.Abs(s.Stall-max(0, s.Longest-s.Control)) > .0025 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for _, name := range []string{"dense", "hybrid", "vector", "lexical"} {
		if m := r.Modes[name]; m == nil || m.P50 <= 0 || m.AfterUpsert["10"] == nil {
			t.Errorf("mode %s: %+v", name, m)
		}
	}
	// In a process that has run before, memory may have been given back meanwhile.
	if runtime.GOOS == "linux" && (r.RSSIngest == nil || r.RSSIngestOwn == nil) {
		t.Errorf("resident after adding: %v, in no file %v", r.RSSIngest, r.RSSIngestOwn)
	}
	if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestEngineOptionsAreRefused(t *testing.T) {
	for _, o := range []Options{{Parts: []string{"magic"}}, {Docs: 3}, {Rounds: -1}, {Readers: -1}, {Dim: 1}, {Words: 3}, {Texts: "corpus"}, {Encoder: newLifeEncoder(8)}} {
		if _, err := Run(t.Context(), o); !errors.Is(err, bench.ErrUnknownName) && !errors.Is(err, bench.ErrOption) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// A run that is ended reports what it had measured.
func TestEngineReportsWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := smallLife(t)
	o.Parts, o.Progress = []string{"search"}, func(p bench.Progress) {
		if p.Stage == "measure search" {
			cancel()
		}
	}
	r, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || r.DocsPerSecond == nil || r.P50 != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestLongestCountsWhatOverlaps: a search that began before the work and ended
// in it counts.
func TestLongestCountsWhatOverlaps(t *testing.T) {
	t0 := time.Now()
	at := func(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }
	log := []oneSearch{{at(0), 5 * time.Millisecond}, {at(8), 4 * time.Millisecond}, {at(15), time.Millisecond}, {at(21), 90 * time.Millisecond}}
	if took := (span{at(10), at(20)}).during(log); longest(took) != 4*time.Millisecond || len(took) != 2 {
		t.Errorf("%v", took)
	}
}

// TestLifeCorpusIsLikeText: words and tokens are as many as in real texts.
func TestLifeCorpusIsLikeText(t *testing.T) {
	c, enc := newLifeCorpus(2000, 8, 1), newLifeEncoder(8)
	tokens, seen, words := 0, map[int32]int{}, 0
	const n = 2000
	for _, d := range c.fresh(n) {
		words += len(strings.Fields(d.Text))
		lexical := enc.Tokenize(encoder.Passage, d.Text).Lexical(nil)
		tokens += len(lexical)
		for _, id := range lexical {
			seen[id]++
		}
	}
	most := 0
	for _, f := range seen {
		most = max(most, f)
	}
	if mean := words / n; mean < 100 || mean > 140 {
		t.Errorf("%d words a text", mean)
	}
	if mean := tokens / n; mean < 60 || mean > 130 {
		t.Errorf("%d distinct tokens a text", mean)
	}
	if len(seen) < 10_000 || most < n*9/10 {
		t.Errorf("%d tokens are seen, the commonest in %d of %d texts", len(seen), most, n)
	}
	other := newLifeCorpus(2000, 8, 1).fresh(1)[0]
	if again := newLifeCorpus(2000, 8, 1).fresh(1)[0]; again.Text != other.Text || again.Vector[3] != other.Vector[3] {
		t.Error("one seed gave two corpora")
	}
}

// TestEngineOfPhrases: a run over the phrases of a corpus has its words and pairs of words, the encoder makes the
// vectors, and the figures that the growth needs are there.
func TestEngineOfPhrases(t *testing.T) {
	o := smallLife(t)
	o.Texts = filepath.Join(t.TempDir(), "corpus.jsonl")
	const corpus = `{"_id":"1","title":"","text":"the red fox runs"}
{"_id":"2","title":"","text":"the blue fox sleeps"}`
	if err := os.WriteFile(o.Texts, []byte(corpus), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Encoder, o.Words, o.Parts = encoder.NewHash(24), 10, []string{"open", "search", "backup", "add"}
	if err := o.fill(); err != nil {
		t.Fatal(err)
	}
	c, enc, err := o.corpus(t.Context(), 1)
	if err != nil || enc != o.Encoder {
		t.Fatalf("%v, %v", enc, err)
	}
	pairs := map[[2]string]int{}
	for _, d := range c.fresh(200) {
		words := strings.Fields(d.Text)
		if d.Vector != nil || len(words) < 5 || len(words) > 15 || words[0] != "the" {
			t.Fatalf("%+v", d)
		}
		for i := range words[1:] {
			pairs[[2]string{words[i], words[i+1]}]++
		}
	}
	for pair := range pairs {
		switch pair {
		case [2]string{"the", "red"}, [2]string{"the", "blue"}, [2]string{"red", "fox"}, [2]string{"blue", "fox"}, [2]string{"fox", "runs"}, [2]string{"fox", "sleeps"},
			[2]string{"runs", "the"}, [2]string{"sleeps", "the"}:
		default:
			t.Errorf("%q are not beside each other in the corpus", pair)
		}
	}
	if len(pairs) != 8 {
		t.Errorf("pairs %v", pairs)
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Dim != 24 || r.BackupSeconds == nil || *r.BackupBytes < 150*24*4 || r.P50Beside == nil || *r.P50Beside <= 0 || *r.P50Beside > *r.P99Beside ||
		*r.SettledPerSecond > *r.DocsPerSecond || *r.SettledPerCPUSecond <= 0 || r.OpenCPU == nil || *r.OpenBehindCPU <= 0 || *r.BackupCPU <= 0 {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(o.Texts, []byte(`{"_id":"1","text":" "}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); !errors.Is(err, bench.ErrNoData) {
		t.Errorf("a corpus without words: %v", err)
	}
}

func TestLifeWordsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for r := range lifeWords {
		seen[lifeWord(r)] = true
		if got, known := lifeRank(lifeWord(r)); got != r || !known {
			t.Fatalf("word %d, %q, has rank %d, known %v", r, lifeWord(r), got, known)
		}
	}
	if len(seen) != lifeWords {
		t.Errorf("%d words of %d", len(seen), lifeWords)
	}
	for _, word := range []string{"", "b", "ba", "bab", "baba ", "bababa", "babx", "xaba", "Baba", lifeWord(lifeWords), "zuzuzuzuzuzuzuzuzuzuzuzuzu"} {
		if rank, known := lifeRank(word); known {
			t.Errorf("%q has rank %d", word, rank)
		}
	}
}

func TestLifeEncoder(t *testing.T) {
	encodertest.Run(t, func(*testing.T) encoder.Encoder { return newLifeEncoder(32) })
}
