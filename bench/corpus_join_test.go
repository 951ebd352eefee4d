package bench

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestUnionOfCorpora(t *testing.T) {
	one, two := corpusFolder(t, "one", "red fox", "grey owl"), corpusFolder(t, "two", "red fox", "green frog", "blue whale")
	c, err := ReadCorpora(one+", "+two, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "one+two" || len(c.Passages) != 5 || len(c.Queries) != 5 || len(c.Qrels) != 5 {
		t.Fatalf("union %q of %d passages, %d queries, %d judged", c.Name, len(c.Passages), len(c.Queries), len(c.Qrels))
	}
	if c.Passages[2].ID != "two:a" || c.Qrels["two:qb"]["two:b"] != 1 {
		t.Fatalf("ids %q, judgements %v", c.Passages[2].ID, c.Qrels["two:qb"])
	}
	targets := NewTargets(c.Passages)
	if targets.Len() != 4 {
		t.Fatalf("%d targets; the text that both hold is one", targets.Len())
	}
	in := TaskInput{Corpus: c, Targets: targets, Seed: 1}
	for name, want := range map[string]int{"query": 5, "query:one": 2, "query:two": 3} {
		task, err := MakeTask(name, in)
		if err != nil || len(task.Queries) != want || task.Name != name {
			t.Fatalf("%s: %v, %+v", name, err, task)
		}
	}
	if _, err := MakeTask("query:three", in); !errors.Is(err, ErrUnknownName) {
		t.Fatalf("queries of a part that is not there: %v", err)
	}
	if _, err := ReadCorpora(one+","+one, ReadOptions{}); !errors.Is(err, ErrDuplicateID) {
		t.Fatalf("the same folder twice: %v", err)
	}
	if _, err := ReadCorpora(one+","+filepath.Join(two, "none"), ReadOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a missing folder: %v", err)
	}
	comma := corpusFolder(t, "a,b", "red fox")
	if c, err := ReadCorpora(comma, ReadOptions{}); err != nil || c.Name != "a,b" {
		t.Fatalf("a folder with a comma: %v", err)
	}
}
