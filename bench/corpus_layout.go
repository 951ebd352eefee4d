package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Names of the files of a corpus folder, the first that exists is read: BEIR's, then those of MS MARCO,
// TREC and MTEB. Each may also end in .gz. %s is the split. A * names all parts of a table.
var (
	corpusNames  = []string{"corpus.jsonl", "corpus.tsv", "collection.tsv", "corpus.parquet", "corpus/%s-*.parquet", "corpus/*.parquet", "docs.jsonl", "docs.tsv"}
	queriesNames = []string{"queries.jsonl", "queries.tsv", "topics.txt", "topics.xml", "topics", "queries.%s.tsv", "queries.parquet", "queries/%s-*.parquet", "queries/*.parquet"}
	qrelsNames   = []string{"qrels/%s.tsv", "qrels/%s.jsonl", "qrels/%s.qrels", "qrels/%s.txt", "qrels.%s.tsv", "qrels/%s.parquet", "qrels/%s-*.parquet", "data/%s-*.parquet", "default/%s-*.parquet"}
	// oneQrels are the judgements of a folder that has no splits.
	oneQrels = []string{"qrels.tsv", "qrels.txt", "qrels.trec", "qrels", "qrels.jsonl", "qrels.parquet"}
)

// find gives the files of the first of names that exists in dir. Where MTEB has a corpus in several
// languages, dir is the folder and the language: DIR/de-corpus and DIR/de-queries belong to DIR/de.
func (o ReadOptions) find(dir string, names []string) []string {
	for _, n := range names {
		n = filepath.FromSlash(strings.ReplaceAll(n, "%s", escapeGlob(o.split())))
		for _, name := range []string{filepath.Join(escapeGlob(dir), n), escapeGlob(filepath.Clean(dir)) + "-" + n} {
			for _, end := range []string{"", ".gz"} {
				found, err := filepath.Glob(name + end)
				if err != nil { // no name is malformed
					continue
				}
				found = slices.DeleteFunc(found, func(name string) bool { info, err := os.Stat(name); return err != nil || info.IsDir() })
				if len(found) > 0 {
					return found
				}
			}
		}
	}
	return nil
}

func (o ReadOptions) split() string {
	if o.Split == "" {
		return "test"
	}
	return o.Split
}

// qrelsFiles lists the judgement files that o names. It is empty if the default split has no file.
func (o ReadOptions) qrelsFiles(dir string) ([]string, error) {
	if !strings.ContainsAny(o.Split, `/\`) {
		if found := o.find(dir, qrelsNames); len(found) > 0 {
			return found, nil
		}
	}
	if o.Split == "" {
		return o.find(dir, oneQrels), nil
	}
	if info, err := os.Stat(o.Split); err == nil && !info.IsDir() {
		return []string{o.Split}, nil
	}
	return nil, fmt.Errorf("%w: no judgements %s: neither a split of %s nor a file%s", ErrNoData, o.Split, dir, splitsIn(dir))
}

// noQrels says which judgements of the default split are missing.
func (o ReadOptions) noQrels(dir string) string {
	return filepath.Join(dir, "qrels", "test.tsv") + " does not exist" + splitsIn(dir)
}

// languagesIn names the corpora of several languages in a folder, for an error.
func languagesIn(dir string) string {
	found, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*-corpus"))
	if err != nil || len(found) == 0 {
		return "; docs/data.md says what a folder holds"
	}
	var names []string
	for _, f := range found {
		names = append(names, strings.TrimSuffix(f, "-corpus"))
	}
	return "; it has several: name one of " + strings.Join(names, ", ")
}

// splitsIn names the splits of a folder, for an error.
func splitsIn(dir string) string {
	var names []string
	for _, n := range qrelsNames {
		part := regexp.MustCompile("^" + strings.NewReplacer(`%s`, "(.+?)", `\*`, "[^-]+.*").Replace(regexp.QuoteMeta(n)) + "(\\.gz)?$")
		found, err := filepath.Glob(filepath.Join(escapeGlob(dir), filepath.FromSlash(strings.ReplaceAll(n, "%s", "*")+"*")))
		if err != nil {
			continue // no pattern of qrelsNames is malformed
		}
		for _, f := range found {
			if info, err := os.Stat(f); err != nil || info.IsDir() {
				continue
			}
			if f, err = filepath.Rel(dir, f); err != nil {
				continue
			}
			if m := part.FindStringSubmatch(filepath.ToSlash(f)); m != nil {
				names = append(names, m[1])
			}
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return "; name a file of judgements with --split FILE"
	}
	return "; there are judgements of " + strings.Join(names, ", ") + ": choose with --split " + names[0]
}

// escapeGlob returns dir as a pattern that matches only dir.
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
