package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// TestExportedRunsInOtherTools hands exported files, unchanged, to trec_eval (pytrec_eval),
// ir_measures and ranx, and holds their figures to those of the report. Systems with heavy ties are among them, and ids
// with white space.
func TestExportedRunsInOtherTools(t *testing.T) {
	python := cmp.Or(os.Getenv("LEXSEM_PYTHON"), "python3")
	if out, err := exec.Command(python, "-c", "import pytrec_eval, ir_measures, ranx").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: %s lacks pytrec_eval, ir_measures or ranx; LEXSEM_PYTHON names an interpreter with them: %s", python, bytes.TrimSpace(out))
	}
	var corpus, queries, qrels strings.Builder
	for i, words := range []string{"boats", "boats", "river", "boats river", "boats", "river", "heron", "boats"} {
		id := strings.Repeat("a ", i) + "a␣\u00a0x"
		corpus.WriteString(`{"_id":"` + id + `","text":"` + words + strings.Repeat("!", i) + `"}` + "\n")
		qrels.WriteString("q 1\t" + id + "\t" + string("0120"[i%4]) + "\nq2\t" + id + "\t" + string("1003"[i%4]) + "\n")
	}
	queries.WriteString(`{"_id":"q 1","text":"boats"}` + "\n" + `{"_id":"q2","text":"river boats"}` + "\n")
	runs := filepath.Join(t.TempDir(), "runs")
	rep, err := Run(context.Background(), encoder.NewHash(16), Options{
		Data: writeCorpus(t, corpus.String(), queries.String(), qrels.String()), Systems: []string{"dense", "bm25", "rrf"}, Tasks: []string{"query"}, RunsDir: runs,
		Metrics: []string{"ndcg@1", "ndcg@10", "recall@100", "map", "mrr", "mrr@10", "bpref", "rprec", "success@5", "precision@5", "judged@10"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		cmd := exec.Command(python, "testdata/score_runs.py", runs, "query", r.System)
		var failed bytes.Buffer
		cmd.Stderr = &failed
		raw, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, failed.String())
		}
		var theirs map[string]float64
		if err := json.Unmarshal(raw, &theirs); err != nil || len(theirs) != 19 {
			t.Fatalf("%s, %v", raw, err)
		}
		for name, v := range theirs {
			_, metric, _ := strings.Cut(name, " ")
			if math.Abs(v-r.Metrics[metric]) > 5e-5 {
				t.Errorf("%s: %s says %v, the report %v", r.System, name, v, r.Metrics[metric])
			}
		}
	}
}
