// Package corpustest writes small judged corpora for tests.
package corpustest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/bench/random"
)

// Write makes a corpus folder from the contents of its files.
func Write(t testing.TB, corpus, queries, qrels string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny")
	if err := os.MkdirAll(filepath.Join(dir, "qrels"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"corpus.jsonl": corpus, "queries.jsonl": queries, "qrels/test.tsv": qrels} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Folder writes a judged corpus. All corpora that it writes have the same ids.
func Folder(t testing.TB, name string, texts ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Join(dir, "qrels"), 0o755); err != nil {
		t.Fatal(err)
	}
	var corpus, queries, qrels strings.Builder
	qrels.WriteString("query-id\tcorpus-id\tscore\n")
	for i, text := range texts {
		id := string(rune('a' + i))
		corpus.WriteString(`{"_id":"` + id + `","text":"` + text + `"}` + "\n")
		queries.WriteString(`{"_id":"q` + id + `","text":"about ` + text + `"}` + "\n")
		qrels.WriteString("q" + id + "\t" + id + "\t1\n")
	}
	for file, s := range map[string]string{"corpus.jsonl": corpus.String(), "queries.jsonl": queries.String(), filepath.Join("qrels", "test.tsv"): qrels.String()} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Town is a corpus of n made passages, two of them with the same text,
// and a question for every third.
func Town(t testing.TB, n int) string {
	rng := random.New(9, "towns")
	var nouns []string
	for range 60 {
		word := ""
		for range 2 + rng.IntN(3) {
			word += string("bdfgklmnprstvz"[rng.IntN(14)]) + string("aeiou"[rng.IntN(5)])
		}
		nouns = append(nouns, word)
	}
	noun := func() string { return nouns[rng.IntN(len(nouns))] }
	var corpus, queries, qrels strings.Builder
	qrels.WriteString("query-id\tcorpus-id\tscore\n")
	for i := range n {
		a, b, c := noun(), noun(), noun()
		title := fmt.Sprintf("The %s of %s", a, b)
		text := fmt.Sprintf("is known for its %s, where every %s was sold near the old %s before the %s came.", c, noun(), noun(), noun())
		fmt.Fprintf(&corpus, "{\"_id\":\"p%03d\",\"title\":%q,\"text\":%q}\n", i, title, text)
		if i == 0 {
			fmt.Fprintf(&corpus, "{\"_id\":\"p%03d\",\"title\":%q,\"text\":%q}\n", n, title, text)
			fmt.Fprintf(&qrels, "q0\tp%03d\t1\n", n)
		}
		if i%3 == 0 {
			fmt.Fprintf(&queries, "{\"_id\":\"q%d\",\"text\":\"what is the %s of %s known for?\"}\n", i, a, b)
			fmt.Fprintf(&qrels, "q%d\tp%03d\t1\n", i, i)
		}
	}
	return Write(t, corpus.String(), queries.String(), qrels.String())
}
