package bench

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// longCorpus writes texts of so many words, each with the answer to a question at its end.
func longCorpus(t *testing.T, words int) string {
	dir := t.TempDir()
	var corpus, queries strings.Builder
	qrels := "query-id\tcorpus-id\tscore\n"
	for i := range 40 {
		text := strings.Repeat(fmt.Sprintf("plain%d words. ", i%7), words/2) + strings.Repeat(fmt.Sprintf("harbour%d of granary%d. ", i, i), words/10)
		fmt.Fprintf(&corpus, `{"_id": "d%d", "title": "Text %d", "text": %q}`+"\n", i, i, text)
		fmt.Fprintf(&queries, `{"_id": "q%d", "text": "harbour%d granary%d"}`+"\n", i, i, i)
		qrels += fmt.Sprintf("q%d\td%d\t1\n", i, i)
	}
	trial.Files(t, dir, map[string]string{"corpus.jsonl": corpus.String(), "queries.jsonl": queries.String(), "qrels/test.tsv": qrels})
	return dir
}

// TestLongTextsAreCut: every kind of system finds what stands beyond the encoder's limit, unless texts are
// taken whole, and short texts are measured alike either way.
func TestLongTextsAreCut(t *testing.T) {
	systems := []string{"dense", "rlr", "rlr-local", "bm25", "rrf:rlr", "hybrid", "engine:hybrid/tokens", "engine:hybrid/rlr", "engine:hybrid/rerank"}
	run := func(words, chunk int) *Report {
		r, err := Run(t.Context(), encoder.NewHash(64), Options{
			Data: longCorpus(t, words), Systems: systems, Tasks: []string{"query"}, Metrics: []string{"ndcg@10", "recall@100"}, ChunkTokens: chunk, Reranker: keptOrder{},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	cut, whole := run(1200, 0), run(1200, -1)
	if cut.Chunks < 3*cut.Documents || cut.Truncated != 0 || whole.Chunks != 0 || whole.Truncated != whole.Documents {
		t.Errorf("cut: %d chunks, %d truncated; whole: %d chunks, %d truncated", cut.Chunks, cut.Truncated, whole.Chunks, whole.Truncated)
	}
	if notes := strings.Join(cut.Notes(), "\n"); !strings.Contains(notes, fmt.Sprintf("all into %d chunks", cut.Chunks)) {
		t.Errorf("the report says %q", notes)
	}
	for i, r := range cut.Results {
		if r.Metrics["ndcg@10"] < .99 {
			t.Errorf("%s: nDCG@10 %.3f", r.System, r.Metrics["ndcg@10"])
		}
		if w := whole.Results[i].Metrics["ndcg@10"]; r.System == "dense" && w > .5 {
			t.Errorf("of whole texts %s has %.3f", r.System, w)
		}
		if all := r.Metrics["recall@100"]; all < 1 && r.System != "bm25" { // 40 texts of which BM25 finds those with a word
			t.Errorf("%s finds %.3f of the answers among all texts", r.System, all)
		}
	}
	short, same := run(30, 0), run(30, -1)
	for i, r := range short.Results {
		if short.Chunks != 0 || !reflect.DeepEqual(r.PerQuery, same.Results[i].PerQuery) {
			t.Errorf("%s differs on short texts", r.System)
		}
	}
}

// keptOrder is a reranker that prefers what came first.
type keptOrder struct{}

func (keptOrder) Rerank(_ context.Context, _ string, texts []string) ([]float64, error) {
	scores := make([]float64, len(texts))
	for i := range scores {
		scores[i] = -float64(i)
	}
	return scores, nil
}

// TestStudyOfLongTexts: constants are tried on the chunks that Run measures.
func TestStudyOfLongTexts(t *testing.T) {
	for _, name := range []string{"hybrid", "engine:hybrid/tokens", "rlr"} {
		system, err := ParseSystem(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewStudy(Options{Data: longCorpus(t, 1200), Systems: []string{name}, Tasks: []string{"query", "keyword"}, Metrics: []string{"ndcg@10"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Encode(t.Context(), encoder.NewHash(64)); err != nil {
			t.Fatal(err)
		}
		scores, err := s.Scores(t.Context(), system)
		if err != nil {
			t.Fatal(err)
		}
		tried, err := s.Try(t.Context(), system, constants.Values{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(scores, tried) || slices.Max(scores[0]) == 0 {
			t.Errorf("%s: %v, tried: %v", name, scores, tried)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBestChunks: a text has the score and the place of its best chunk, and there are as many texts as asked for.
func TestBestChunks(t *testing.T) {
	r := wholeTexts{bestChunks{lined{}, []int{0, 0, 0, 0, 0, 0, 1, 2, 2}}}
	got, err := r.Retrieve(t.Context(), make([]Question, 2), 3)
	want := []Hit{{0, 9, 0}, {1, 3, 0}, {2, 2, 0}}
	if err != nil || !slices.Equal(got[0], want) || !slices.Equal(got[1], want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, o := range []Options{{ChunkTokens: 5}, {ChunkTokens: 64, Clean: true}} {
		o.Data = longCorpus(t, 10)
		if _, err := Run(t.Context(), encoder.NewHash(8), o); !errors.Is(err, ErrOption) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// lined finds nine chunks in their order.
type lined struct{}

func (lined) Retrieve(_ context.Context, questions []Question, k int) ([][]Hit, error) {
	out := make([][]Hit, len(questions))
	for i := range out {
		for j := range min(k, 9) {
			out[i] = append(out[i], Hit{Target: j, Score: float64(9 - j)})
		}
	}
	return out, nil
}
