package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

func TestAnswerable(t *testing.T) {
	dir := writeCorpus(t,
		`{"_id":"a","text":"boats on the river"}`+"\n"+`{"_id":"b","text":"a heron"}`+"\n",
		`{"_id":"q1","text":"boats river"}`+"\n"+`{"_id":"q2","text":"heron"}`+"\n",
		"query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tb\t1\n")
	run := func(without string, half Half) (*Report, error) {
		if err := os.WriteFile(filepath.Join(dir, "queries-without-positives.jsonl"), []byte(without), 0o644); err != nil {
			t.Fatal(err)
		}
		return Run(context.Background(), encoder.NewHash(64), Options{Data: dir, Systems: []string{"dense", "bm25"}, Tasks: []string{"query"}, Answerable: true, Half: half})
	}
	// By words the first finds nothing; the second is the same text as q2, a tie with it and below q1.
	rep, err := run(`{"_id":"w1","text":"volcano"}`+"\n"+`{"_id":"w2","text":"heron"}`+"\n", AllQueries)
	if err != nil || len(rep.Answerable) != 2 || rep.Answerable[1] != (Answerable{System: "bm25", AUC: 3.5 / 4, With: 2, Without: 2}) {
		t.Fatalf("%+v, %v", rep.Answerable, err)
	}
	if d := rep.Answerable[0]; d.System != "dense" || d.AUC < .5 || d.AUC > 1 {
		t.Errorf("dense is %+v", d)
	}
	for _, half := range []Half{DevHalf, TestHalf} {
		rep, err := run(`{"_id":"w1","text":"volcano"}`+"\n"+`{"_id":"w2","text":"heron"}`+"\n"+`{"_id":"w3","text":"x"}`+"\n"+`{"_id":"w4","text":"y"}`+"\n", half)
		want := 0
		for _, id := range []string{"w1", "w2", "w3", "w4"} {
			if half.Has(id) {
				want++
			}
		}
		if errors.Is(err, ErrNoQueries) {
			continue // the judged ones are all in the other half
		}
		if err != nil || want == 0 || want == 4 || rep.Answerable[0].Without != want {
			t.Errorf("%s half: %d of the queries are in it: %+v, %v", half, want, rep.Answerable, err)
		}
	}
	if _, err := run("no JSON\n", AllQueries); !errors.Is(err, ErrBrokenLine) {
		t.Errorf("a broken file: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "queries-without-positives.jsonl")); err != nil {
		t.Fatal(err)
	}
	rep, err = Run(context.Background(), encoder.NewHash(64), Options{Data: dir, Systems: []string{"dense"}, Tasks: []string{"query"}, Answerable: true})
	if err != nil || rep.Answerable != nil {
		t.Errorf("without the file: %+v, %v", rep.Answerable, err)
	}
}
