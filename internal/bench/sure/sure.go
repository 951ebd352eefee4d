// Package sure runs the protocol of SURE (Kong et al., "SURE or Not?"): does a retriever keep texts of one
// meaning together, and does it rank the more precise text first? Passages and rewritten versions of them are
// ranked together, and only the ranks of a query's own versions count. Start with [Run];
// [Correlate] compares reports.
//
// There are three testbeds: semantic precision (key sentences, passage, key sentences with noise), semantic
// abstraction (summary, passage, expansion) and semantic equivalence (passage, passage with the query's
// keywords replaced). Run returns an error for a folder without the files of the protocol.
package sure

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/bench"
)

// errData: a folder lacks what the protocol needs, or a reference does not fit the folder.
var errData = errors.New("not usable for SURE")

// originalText is the name of the original text among the versions.
const originalText = "passage"

// testbed is a set of versions that are ranked against each other.
type testbed struct {
	Name string
	// Versions are names of files in the folder variants, or Passage. If Ordered, they are in the
	// expected order.
	Versions []string
	Ordered  bool
}

// testbeds are those of the paper (Sec. 3.2). The order of the first follows from its construction.
// The order of the second is that of information density. The third has no order, since both texts say
// the same.
var testbeds = []testbed{
	{"precision", []string{"key-sentences", originalText, "key-sentences-with-noise"}, true},
	{"abstraction", []string{"summaries", originalText, "expansions"}, true},
	{"equivalence", []string{originalText, "passages-with-keywords-replaced"}, false},
}

// versions is a corpus with its versions: version → passage id → text.
type versions struct {
	*bench.Corpus
	Versions map[string]map[string]string
}

// read reads a folder in the BEIR layout with variants/VERSION.jsonl. The _id of a version is that of
// its passage. If a file names a passage twice, the first line counts.
func read(dir string, o bench.ReadOptions) (*versions, error) {
	c, err := bench.ReadCorpus(dir, o)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, p := range c.Passages {
		known[p.ID] = true
	}
	d := &versions{Corpus: c, Versions: map[string]map[string]string{}}
	for _, t := range testbeds {
		for _, v := range t.Versions {
			if v == originalText {
				continue
			}
			texts := map[string]string{}
			err := readFile(filepath.Join(dir, "variants", v+".jsonl"), func(r io.Reader, name string) error {
				return bench.EachPassage(r, name, o, func(p bench.Passage) error {
					if !known[p.ID] {
						return fmt.Errorf("%w: passage %q is not in corpus.jsonl; add it or drop the line", bench.ErrUnknownID, p.ID)
					}
					if _, twice := texts[p.ID]; !twice {
						texts[p.ID] = p.Text()
					}
					return nil
				})
			})
			if err != nil {
				return nil, err
			}
			d.Versions[v] = texts
		}
	}
	return d, nil
}

// sample keeps n judged queries, drawn by the seed, and the versions of their
// passages; all with n 0.
func (d *versions) sample(n int, seed uint64) error {
	if n == 0 {
		return nil
	}
	t, err := bench.MakeTask("query", bench.TaskInput{Corpus: d.Corpus, Seed: seed, Limit: n})
	if err != nil {
		return err
	}
	d.Queries = t.Queries
	asked := map[string]bool{}
	for _, q := range d.Queries {
		asked[d.Qrels.Best(q.ID)] = true
	}
	for _, texts := range d.Versions {
		maps.DeleteFunc(texts, func(id, _ string) bool { return !asked[id] })
	}
	return nil
}

func readFile(name string, read func(r io.Reader, name string) error) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%w: versions of passages stand in variants/VERSION.jsonl: %w", errData, err)
	}
	defer f.Close()
	return read(f, name)
}
