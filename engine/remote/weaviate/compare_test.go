package weaviate_test

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/servers"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestComparison: three nodes, three shards of two copies, answer the judged queries of sets in
// LEXSEM_DATA as the embedded database does, within .3 of nDCG@10. It runs in the long form.
func TestComparison(t *testing.T) {
	p := program(t)
	data := os.Getenv("LEXSEM_DATA")
	if data == "" || !trial.Long() {
		t.Skip("it takes minutes; LEXSEM_LONG=1 and LEXSEM_DATA, a folder of judged sets, run it")
	}
	nodes, err := servers.Weaviate(t.Context(), p, t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	defer nodes.Kill()
	for _, n := range nodes {
		hosts = append(hosts, strings.TrimPrefix(n.URL, "http://"))
	}
	bin := filepath.Join(t.TempDir(), "lexsem")
	if out, err := exec.Command("go", "build", "-o", bin, "../../../cmd/lexsem").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, set := range []string{"scifact", "capret-en", "sure-nq"} {
		if _, err := os.Stat(filepath.Join(data, set)); err != nil {
			t.Logf("%s is not there", set)
			continue
		}
		cmd := exec.Command(bin, "bench", "--data", filepath.Join(data, set), "--tasks", "query", "--metrics", "ndcg@10", "--json", "-", "--quiet",
			"--systems", "engine,over,engine:dense,over:dense", "--elsewhere", "weaviate://"+strings.Join(hosts, ",")+"?shards=3&replicas=2")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", set, err)
		}
		var r struct {
			Results []struct {
				System  string
				Metrics map[string]float64
			}
		}
		if err := json.Unmarshal(out, &r); err != nil || len(r.Results) != 4 {
			t.Fatalf("%s: %v: %s", set, err, out)
		}
		got := map[string]float64{}
		for _, s := range r.Results {
			got[s.System] = 100 * s.Metrics["ndcg@10"]
		}
		t.Logf("%s: %v", set, got)
		for _, mode := range []string{"", ":dense"} {
			if d := math.Abs(got["over"+mode] - got["engine"+mode]); !(d <= .3) || got["engine"+mode] == 0 {
				t.Errorf("%s: over%s differs by %.2f", set, mode, d)
			}
		}
	}
}
