package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/train"
)

// The samples are the queries that a fit of the same options is taught by, and
// chooses its epoch by, with their passages.
func TestSamples(t *testing.T) {
	o := Options{Data: townCorpus(t, 60), Seed: 3, QueriesPerPassage: 4, MaxFitQueries: 150, Clean: true, PassagesLimit: 50}
	var buf bytes.Buffer
	n, err := o.WriteSamples(context.Background(), &buf)
	if err != nil {
		t.Fatal(err)
	}
	corpus, err := ReadCorpora(o.Data, o.Read)
	if err != nil {
		t.Fatal(err)
	}
	targets := NewTargets(corpus.Sample(o.PassagesLimit, o.Seed).Passages)
	s, err := NewSetting(context.Background(), encoder.NewHash(16), targets, SettingOptions{Seed: 3, QueriesPerPassage: 4, MaxFitQueries: 150, Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	taught, chosen, err := train.Draw(context.Background(), settingCorpus{s}, s.fitOptions())
	if err != nil {
		t.Fatal(err)
	}
	all := append(taught, chosen...)
	if n != len(all) || len(taught) != 150 || len(chosen) == 0 {
		t.Fatalf("%d samples of %d taught and %d chosen", n, len(taught), len(chosen))
	}
	lines := json.NewDecoder(&buf)
	for i, d := range all {
		var got sampleLine
		if err := lines.Decode(&got); err != nil {
			t.Fatal(err)
		}
		split := "train"
		if i >= len(taught) {
			split = "dev"
		}
		want := sampleLine{Query: d.Query, Passage: targets.Texts[d.Passage], ID: targets.ID(d.Passage), Split: split}
		if got != want {
			t.Fatalf("sample %d is %+v, want %+v", i, got, want)
		}
		if from, to := train.Reserved(want.Passage); split == "train" && to > 0 && strings.Contains(want.Passage[from:to], got.Query) && strings.Contains(got.Query, " ") {
			t.Errorf("%q is of the reserved part of %q", got.Query, want.Passage)
		}
	}
	if lines.More() {
		t.Error("more samples than were counted")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := o.WriteSamples(ctx, &buf); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}
