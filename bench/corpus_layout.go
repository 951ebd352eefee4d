package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names of the files of a corpus folder, the first that exists is read: BEIR's, then those of MS MARCO
// and TREC.
var (
	corpusNames  = []string{"corpus.jsonl", "corpus.tsv", "collection.tsv"}
	queriesNames = []string{"queries.jsonl", "queries.tsv", "topics.txt", "topics.xml", "topics"}
)

// qrelsNames are the names of the judgements of a split, with %s for it.
var qrelsNames = []string{"qrels/%s.tsv", "qrels/%s.jsonl", "qrels/%s.qrels", "qrels/%s.txt", "qrels.%s.tsv"}

// first is the first of names in dir that exists, else the first name.
func first(dir string, names []string) string {
	for _, n := range names {
		if name := filepath.Join(dir, filepath.FromSlash(n)); !missing(name) {
			return name
		}
	}
	return filepath.Join(dir, names[0])
}

func (o ReadOptions) split() string {
	if o.Split == "" {
		return "test"
	}
	return o.Split
}

// qrelsFile is the file of the judgements that o asks for: "" where the default split has none.
func (o ReadOptions) qrelsFile(dir string) (string, error) {
	if !strings.ContainsAny(o.Split, `/\`) {
		for _, n := range qrelsNames {
			if name := filepath.Join(dir, filepath.FromSlash(fmt.Sprintf(n, o.split()))); !missing(name) {
				return name, nil
			}
		}
	}
	if o.Split == "" {
		return "", nil
	}
	if info, err := os.Stat(o.Split); err == nil && !info.IsDir() {
		return o.Split, nil
	}
	return "", fmt.Errorf("%w: no judgements %s: neither a split of %s nor a file%s", ErrNoData, o.Split, dir, splitsIn(dir))
}

// noQrels says which judgements of the default split are missing.
func (o ReadOptions) noQrels(dir string) string {
	return filepath.Join(dir, "qrels", "test.tsv") + " does not exist" + splitsIn(dir)
}

// splitsIn names the splits of a folder, for an error.
func splitsIn(dir string) string {
	var names []string
	for _, n := range qrelsNames {
		pattern := filepath.FromSlash(fmt.Sprintf(n, "*"))
		found, err := filepath.Glob(filepath.Join(escapeGlob(dir), pattern))
		if err != nil {
			continue // no pattern of qrelsNames is malformed
		}
		before, after, _ := strings.Cut(filepath.Base(pattern), "*")
		for _, f := range found {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), before), after))
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return "; name a file of judgements with --split FILE"
	}
	return "; there are judgements of " + strings.Join(names, ", ") + ": choose with --split " + names[0]
}

// escapeGlob is dir as a pattern that it alone matches.
func escapeGlob(dir string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(dir)
}

// checkParts refuses files of queries or judgements where several folders are read as one.
func (o ReadOptions) checkParts(parts []string) error {
	if len(parts) > 1 && o.Queries != "" {
		return fmt.Errorf("%w: a file of queries (%s) belongs to one corpus, not to %d", ErrOption, o.Queries, len(parts))
	}
	if len(parts) > 1 && strings.ContainsAny(o.Split, `/\`) {
		return fmt.Errorf("%w: a file of judgements (%s) belongs to one corpus, not to %d", ErrOption, o.Split, len(parts))
	}
	return nil
}

func missing(name string) bool {
	_, err := os.Stat(name)
	return errors.Is(err, os.ErrNotExist)
}
