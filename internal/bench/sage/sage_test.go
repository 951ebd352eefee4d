package sage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

const sampleText = "The harbour was built in 1892. It is not deep, but boats can't miss its three lights! Who keeps them? Nobody has asked since the keeper left for the isles."

func TestTokensAreTheText(t *testing.T) {
	for _, s := range []string{sampleText, "", " ", "  two  blanks ", "a\n\nb", "x12345y", " 漁船 ok—fine…", "tail ", "\t tab"} {
		if got := strings.Join(tokenSpans(s), ""); got != s {
			t.Errorf("the tokens of %q join to %q", s, got)
		}
	}
	if got := strings.Join(tokenSpans("It's 12345, a  test."), "|"); got != "It|'|s| |123|45|,| a| | test|." {
		t.Errorf("tokens are %s", got)
	}
}

func TestChanges(t *testing.T) {
	rng := func() *rand.Rand { return newRand(1, "test") }
	if got := deleteCharacters(nil, "abcdefghijklmnopqrs tuvw"); got != "abcdefghiklmnopqrs tuvw" {
		t.Errorf("deletion: %q", got)
	}
	if got := numerize(nil, "A boat idles"); got != "4 b04t 1dl3s" {
		t.Errorf("numerization: %q", got)
	}
	capitals := randomCapitals(rng(), strings.Repeat("abcde ", 4000))
	n := 0
	for _, r := range capitals {
		if unicode.IsUpper(r) {
			n++
		}
	}
	if share := float64(n) / 20_000; math.Abs(share-.25) > .02 || !strings.EqualFold(capitals, strings.Repeat("abcde ", 4000)) {
		t.Errorf("%.3f of the letters were made capital", share)
	}
	for s, want := range map[string]string{
		"It is deep.":           "It is not deep.",
		"It is not deep.":       "It is deep.",
		"They can't swim":       "They ca swim",
		"I cannot say":          "I can say",
		"Boats float":           "It is not true that Boats float",
		"He has and she WAS so": "He has not and she WAS not so",
	} {
		if got := negate(nil, s); got != want {
			t.Errorf("the negation of %q is %q, want %q", s, got, want)
		}
	}
	if got := sentences(sampleText); len(got) != 4 || got[0] != "The harbour was built in 1892." {
		t.Errorf("sentences: %q", got)
	}
	for name, apply := range map[string]func(*rand.Rand, string) string{"sentences": shuffleSentences, "words": shuffleWords} {
		got := apply(rng(), sampleText)
		a, b := strings.Fields(got), strings.Fields(sampleText)
		slices.Sort(a)
		slices.Sort(b)
		if got == sampleText || !slices.Equal(a, b) {
			t.Errorf("shuffled %s: %q", name, got)
		}
		if again := apply(rng(), sampleText); again != got {
			t.Errorf("one seed shuffles %s in two ways", name)
		}
	}
}

// TestAmounts holds insertions and removals to the share they promise.
func TestAmounts(t *testing.T) {
	s := strings.TrimSpace(strings.Repeat("boats lie by the quay, ", 40))
	tokens := float64(len(tokenSpans(s)))
	for _, p := range []float64{.15, .5, .9, 1} {
		for _, place := range places {
			longer := insert(newRand(2, "amount"), s, p, place)
			if got := (float64(len(tokenSpans(longer))) - tokens) / tokens; math.Abs(got-p) > .05 {
				t.Errorf("inserting %v at %v adds %v", p, place, got)
			}
			at := strings.Index(longer, "Lorem ipsum dolor sit amet")
			if at < 0 || place == 0 && at != 0 || place == 1 && at < len(s) {
				t.Errorf("inserted at byte %d for place %v", at, place)
			}
			if p == 1 {
				continue
			}
			if got := 1 - float64(len(tokenSpans(remove(s, p, place))))/tokens; math.Abs(got-p) > .05 {
				t.Errorf("removing %v at %v takes %v", p, place, got)
			}
		}
	}
	if !strings.HasPrefix(s, remove(s, .5, 1)) || !strings.HasSuffix(s, remove(s, .5, 0)) {
		t.Error("removal at the end leaves the start, and at the start the end")
	}
}

// TestMeasureLaws: a text is most like itself, and no measure but the cosines
// leaves [0, 1].
func TestMeasureLaws(t *testing.T) {
	texts := []string{sampleText, numerize(nil, sampleText), "Grain is sold elsewhere by weight.", shuffleWords(newRand(1, "x"), sampleText)}
	for _, m := range similarities {
		s, err := m.Prepare(context.Background(), env{Encoder: encoder.NewHash(64), Report: func(bench.Progress) {}}, texts)
		if err != nil {
			t.Fatal(err)
		}
		for q := range texts {
			scores := make([]float64, len(texts))
			s.Against(span(0, len(texts)))(scores, q)
			if m.Doc == "" || slices.Max(scores) > scores[q]+1e-6 || math.Abs(scores[q]-1) > 1e-5 {
				t.Errorf("%s: text %d scores %v", m.Name, q, scores)
			}
			for _, v := range scores {
				if m.Name != "dense" && m.Name != "rlr" && !(v >= 0 && v <= 1+1e-9) {
					t.Errorf("%s gives %v", m.Name, v)
				}
			}
		}
	}
}

// folder writes data for all five tasks.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "made")
	files := map[string]string{}
	add := func(name, format string, args ...any) { files[name] += fmt.Sprintf(format+"\n", args...) }
	topics := []string{"boats nets tide quay harbour fishing lamp gull", "grain mill flour oven bread wheat barley baker"}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 24 {
		words := strings.Fields(topics[i%2])
		rng.Shuffle(len(words), func(a, b int) { words[a], words[b] = words[b], words[a] })
		text := fmt.Sprintf("The %s was near the %s of place%d. It is known for %s and %s. There %s were sold with %s.", words[0], words[1], i, words[2], words[3], words[4], words[5])
		add("corpus.jsonl", `{"_id":"d%d","text":%q}`, i, text)
		add("variants/summaries.jsonl", `{"_id":"d%d","text":"The %s of place%d is known for %s."}`, i, words[1], i, words[2])
		add("labels.tsv", "d%d\t%s", i, []string{"sea", "land"}[i%2])
		add("queries.jsonl", `{"_id":"q%d","text":"%s and %s of place%d"}`, i, words[1], words[2], i)
		add("qrels/test.tsv", "q%d\td%d\t1", i, i)
		add("pairs.jsonl", `{"_id":"p%d","split":"%s","text1":%q,"text2":%q,"score":%d}`, i, []string{"train", "test"}[i%2], text, strings.Join(strings.Fields(text)[:3+i/2], " "), i)
	}
	trial.Files(t, dir, files)
	return dir
}

func TestRun(t *testing.T) {
	dir := folder(t)
	run := func() *Report {
		rep, err := Run(context.Background(), encoder.NewHash(256), Options{Data: []string{t.TempDir(), dir}, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	rep := run()
	if len(rep.Results) != len(tasks)*len(similarities) {
		t.Fatalf("%d results", len(rep.Results))
	}
	got := map[string]result{}
	for _, r := range rep.Results {
		got[r.Task+" "+r.Similarity] = r
		if !(r.Score >= 0 && r.Score <= 1) || r.Items == 0 || r.Data != "made" || len(r.Parts) == 0 {
			t.Errorf("%+v", r)
		}
	}
	// The file has the pairs in rising order: choices would have no positive without a draw.
	p := got["preference levenshtein"]
	if p.Items != 12 || p.Parts["spearman"] < .9 || p.Parts["precision"] < .8 || p.Parts["recall"] < .8 {
		t.Errorf("longer beginnings are rated higher and more alike: %+v", p)
	}
	choices := (p.Parts["accuracy"] + p.Parts["precision"] + p.Parts["recall"] + p.Parts["f1"]) / 4
	if want := ((p.Parts["pearson"]+1)/2 + choices) / 2; math.Abs(p.Score-want) > 1e-12 || p.Parts["correlation"] != (p.Parts["pearson"]+1)/2 {
		t.Errorf("the score of preference is %v, want %v of %+v", p.Score, want, p.Parts)
	}
	for _, m := range similarities {
		sum := 0.0
		for _, task := range tasks {
			sum += got[task.name+" "+m.Name].Score
		}
		if math.Abs(rep.Overall[m.Name]-sum/5) > 1e-12 {
			t.Errorf("%s has %v over all, want %v", m.Name, rep.Overall[m.Name], sum/5)
		}
	}
	// Toggling a "not" changes few characters: this is what SAGE finds of the
	// edit distance, one condition of three.
	if r := got["robustness levenshtein"]; math.Abs(r.Score-1./3) > .02 || r.Parts["superficial_over_summary"] < .95 {
		t.Errorf("robustness: %+v", r)
	}
	if s := got["sensitivity jaccard"]; s.Parts["insertion"] < .85 {
		t.Errorf("sensitivity: %+v", s)
	}
	if c := got["clustering jaccard"]; c.Score < .5 {
		t.Errorf("two topics without a word in common: %+v", c)
	}
	if r := got["retrieval bm25"]; r.Items != 24 || !(r.Parts["all"] <= r.Score) || r.Parts["ndcg@10"] < .9 {
		t.Errorf("retrieval: %+v", r)
	}
	if moved, plain := got["retrieval rlr"], got["retrieval dense"]; moved.Parts["all"] <= plain.Parts["all"] {
		t.Errorf("queries of the documents' words, modulated: %+v, plain: %+v", moved, plain)
	}
	again := run()
	for i, r := range again.Results {
		if r.Score != rep.Results[i].Score {
			t.Errorf("%s of %s: %v, then %v", r.Task, r.Similarity, rep.Results[i].Score, r.Score)
		}
	}
	few, err := Run(context.Background(), encoder.NewHash(16), Options{Data: []string{dir}, Seed: 1, Limit: 10, Similarities: []string{"jaccard"}, Tasks: []string{"clustering"}})
	if err != nil || len(few.Results) != 1 || few.Results[0].Items != 10 || few.Overall != nil {
		t.Errorf("limited: %+v, %v", few, err)
	}
}

// TestTogether has three documents: of the first all conditions hold, in the
// second a change of meaning is nearer than the summary, in the third the summary
// is nearer than a surface change.
func TestTogether(t *testing.T) {
	near := [][]float64{{1, .9, .8, .9, .1, .2, .1, .5}, {1, .9, .9, .9, .1, .6, .1, .5}, {1, .9, .9, .4, .1, .2, .1, .5}}
	in := input{
		ctx: context.Background(), dir: folder(t), limit: 3, seed: 1, report: func(bench.Progress) {},
		measure: []similarity{{Name: "given", Prepare: func(context.Context, env, []string) (scorer, error) {
			return pairwise(func(a, b int) float64 { return near[a/8][b%8] }), nil
		}}},
	}
	got, err := runRobustness(in)
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string]float64{"summary_over_semantic": 2. / 3, "superficial_over_summary": 2. / 3, "superficial_over_semantic": 1, "together": 1. / 3} {
		if math.Abs(got[0].Parts[part]-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", part, got[0].Parts[part], want)
		}
	}
	if math.Abs(got[0].Score-7./9) > 1e-12 {
		t.Errorf("the score is %v", got[0].Score)
	}
}

// TestCut has texts of which an encoder of 512 tokens reads all versions, all but
// those of twice the length, and none.
func TestCut(t *testing.T) {
	dir := t.TempDir()
	write := func(lengths ...int) {
		var b strings.Builder
		for i, n := range lengths {
			fmt.Fprintf(&b, "{\"_id\":\"d%d\",\"text\":%q}\n", i, strings.TrimSpace(strings.Repeat("tide ", n)))
		}
		if err := os.WriteFile(filepath.Join(dir, "corpus.jsonl"), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(uncut bool) (*Report, error) {
		return Run(context.Background(), encoder.NewHash(16), Options{Data: []string{dir}, Seed: 1, Tasks: []string{"sensitivity"}, Similarities: []string{"jaccard"}, Uncut: uncut})
	}
	write(20, 320, 600)
	for uncut, want := range map[bool]struct {
		items int
		cut   map[string]float64
	}{
		false: {3, map[string]float64{"as-is": 1. / 3, "0.15": 1. / 3, "0.5": 1. / 3, "1": 2. / 3, "any": 2. / 3}},
		true:  {1, map[string]float64{"as-is": 0, "0.15": 0, "0.5": 0, "1": 0, "any": 0}},
	} {
		rep, err := run(uncut)
		if err != nil {
			t.Fatal(err)
		}
		r := rep.Results[0]
		if r.Items != want.items || len(r.Cut) != len(want.cut) {
			t.Errorf("uncut %v: %+v", uncut, r)
		}
		for version, share := range want.cut {
			if math.Abs(r.Cut[version]-share) > 1e-12 {
				t.Errorf("uncut %v: %s is %v, want %v", uncut, version, r.Cut[version], share)
			}
		}
	}
	write(600)
	if _, err := run(true); !errors.Is(err, errData) {
		t.Errorf("every text is cut: %v", err)
	}
}

func TestBadInput(t *testing.T) {
	dir := folder(t)
	run := func(o Options) error {
		o.Data = []string{dir}
		_, err := Run(context.Background(), encoder.NewHash(16), o)
		return err
	}
	if err := run(Options{Tasks: []string{"poetry"}}); !errors.Is(err, bench.ErrUnknownName) {
		t.Errorf("an unknown task: %v", err)
	}
	if err := run(Options{Similarities: []string{"taste"}}); !errors.Is(err, bench.ErrUnknownName) {
		t.Errorf("an unknown similarity: %v", err)
	}
	var line *bench.LineError
	for name, c := range map[string]struct{ file, text, task string }{
		"pair":   {"pairs.jsonl", `{"text1":"a"}`, "preference"},
		"labels": {"labels.tsv", "d0", "clustering"},
		"twice":  {"labels.tsv", "d0\tx\nd0\ty", "clustering"},
	} {
		file := filepath.Join(dir, c.file)
		kept, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := run(Options{Tasks: []string{c.task}, Similarities: []string{"jaccard"}}); !errors.As(err, &line) || line.File != file {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.WriteFile(file, kept, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "labels.tsv"), []byte("d0\tx"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(Options{Tasks: []string{"clustering"}}); !errors.Is(err, errData) {
		t.Errorf("texts without labels: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "pairs.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := run(Options{Tasks: []string{"preference"}}); !errors.Is(err, errData) {
		t.Errorf("no pairs: %v", err)
	}
}
