package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// The halves are a contract: what was chosen on one must not move to the other.
func TestHalvesStandStill(t *testing.T) {
	for id, want := range map[string]Half{"1": TestHalf, "2": DevHalf, "q1": TestHalf, "q2": DevHalf, "PLAIN-2": DevHalf} {
		for _, h := range []Half{DevHalf, TestHalf, AllQueries, ""} {
			if h.Has(id) != (h == want || h == AllQueries || h == "") {
				t.Errorf("%s has %q: %v", h, id, h.Has(id))
			}
		}
	}
	for name, want := range map[string]Half{"dev": DevHalf, "test": TestHalf, "all": AllQueries, "": AllQueries} {
		if h, err := ParseHalf(name); err != nil || h != want {
			t.Errorf("%q is %q, %v", name, h, err)
		}
	}
	for _, bad := range []string{"Dev", "train", "dev half"} {
		if _, err := ParseHalf(bad); !errors.Is(err, ErrUnknownName) {
			t.Errorf("%q gives %v", bad, err)
		}
	}
	dev := 0
	for i := range 10_000 {
		if DevHalf.Has(fmt.Sprint("query-", i)) {
			dev++
		}
	}
	if dev < 4_800 || dev > 5_200 { // 4 standard deviations
		t.Errorf("%d of 10,000 queries are in the dev half", dev)
	}
}

// The halves of each task have no query in common and are all of it together,
// left-out ones, too; limits and seeds do not move a query, nor does a union.
func TestHalvesOfTasks(t *testing.T) {
	dir := townCorpus(t, 60)
	other := corpusFolder(t, "other", "red fox here on the old long hill", "grey owl there on the old long hill", "blue whale under the old long hill")
	ids := func(t *Task) (out []string) {
		for _, q := range t.Queries {
			out = append(out, q.ID)
		}
		return out
	}
	for data, prefix := range map[string]string{dir: "", dir + "," + other: "tiny:"} {
		c, err := ReadCorpora(data, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"query", "keyword", "keyword-rake", "part:20"} {
			in := TaskInput{Corpus: c, Targets: NewTargets(c.Passages), Seed: 1}
			make := func(h Half, limit int) *Task {
				in.Half, in.Limit = h, limit
				task, err := MakeTask(name, in)
				if err != nil {
					t.Fatalf("%s, %s: %v", name, h, err)
				}
				return task
			}
			all, dev, test := make(AllQueries, 0), make(DevHalf, 0), make(TestHalf, 0)
			if both := append(ids(dev), ids(test)...); len(both) != len(all.Queries) || dev.LeftOut+test.LeftOut != all.LeftOut || len(dev.Qrels) != len(dev.Queries) {
				t.Errorf("%s: %d and %d queries (%d and %d left out) of %d (%d)", name, len(dev.Queries), len(test.Queries), dev.LeftOut, test.LeftOut, len(all.Queries), all.LeftOut)
			}
			for _, h := range []*Task{dev, test} {
				for _, q := range h.Queries {
					if !slices.Contains(all.Queries, q) {
						t.Errorf("%s: %+v is no query of the whole", name, q)
					}
					if own, ok := strings.CutPrefix(q.ID, prefix); ok && DevHalf.Has(own) != (h == dev) {
						t.Errorf("%s: %s is in the wrong half", name, q.ID)
					}
				}
			}
			if few := make(DevHalf, 3); len(few.Queries) != 3 || few.LeftOut != dev.LeftOut || !slices.Contains(dev.Queries, few.Queries[2]) {
				t.Errorf("%s: limited to 3 it is %v", name, few.Queries)
			}
		}
	}
	c := &Corpus{Name: "one", Passages: []Passage{{"1", "", "one two three"}}}
	_, err := MakeTask("part:2", TaskInput{Corpus: c, Targets: NewTargets(c.Passages), Half: DevHalf})
	if !errors.Is(err, ErrNoQueries) || !strings.Contains(err.Error(), "dev half") {
		t.Errorf("a half without queries: %v", err)
	}
}

// A union of a sample, too, knows which part of an id is a folder's name.
func TestRunOnAHalf(t *testing.T) {
	dir, other := townCorpus(t, 60), corpusFolder(t, "other", "red fox here", "grey owl there")
	reports := map[Half]*Report{}
	for _, h := range []Half{"", DevHalf, TestHalf} {
		rep, err := Run(context.Background(), encoder.NewHash(64), Options{Data: dir + "," + other, Systems: []string{"dense"}, Tasks: []string{"query"}, Half: h, PassagesLimit: 55})
		if err != nil {
			t.Fatal(err)
		}
		var table, js bytes.Buffer
		if err := errors.Join(rep.WriteTable(&table, nil), rep.WriteJSON(&js)); err != nil {
			t.Fatal(err)
		}
		want := h
		if h == "" {
			want = AllQueries
		}
		if strings.Contains(table.String(), "dev half") != (h == DevHalf) || strings.Contains(table.String(), "test half") != (h == TestHalf) || !strings.Contains(js.String(), fmt.Sprintf("\"half\": %q", want)) {
			t.Errorf("%q: the report does not name its half:\n%s", h, table.String())
		}
		for _, q := range rep.Tasks[0].Queries {
			own := q[strings.Index(q, ":")+1:]
			if !h.Has(own) {
				t.Errorf("%q asks %s", h, q)
			}
		}
		reports[h] = rep
	}
	if all, dev, test := reports[""].Results[0].Queries, reports[DevHalf].Results[0].Queries, reports[TestHalf].Results[0].Queries; dev+test != all || dev == 0 || test == 0 {
		t.Errorf("%d and %d of %d queries", dev, test, all)
	}
	if _, err := Run(context.Background(), encoder.NewHash(64), Options{Data: dir, Half: "half"}); !errors.Is(err, ErrUnknownName) {
		t.Errorf("an unknown half gives %v", err)
	}
}
