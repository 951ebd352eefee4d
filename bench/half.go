package bench

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Half is a fixed half of the queries of every task: what is chosen on one is
// reported on the other. A query belongs to the dev half where the first byte
// of the SHA-256 of its id is even, to the test half where it is odd, whatever
// the seed, the limit and the other queries are. In a union of folders the
// folder's name in front of the id does not count, so a query is in the same
// half alone and in every union. A query made from a passage has the id of the
// passage: all probes of a passage are in one half.
type Half string

// The halves. The zero value of Half is AllQueries, too.
const (
	AllQueries Half = "all"
	DevHalf    Half = "dev"
	TestHalf   Half = "test"
)

// ParseHalf finds the half called name; another name is ErrUnknownName.
func ParseHalf(name string) (Half, error) {
	switch h := Half(name); h {
	case DevHalf, TestHalf:
		return h, nil
	case AllQueries, "":
		return AllQueries, nil
	}
	return "", fmt.Errorf("%w: half %q; known are dev, test and all", ErrUnknownName, name)
}

// Has tells whether the query called id belongs to h.
func (h Half) Has(id string) bool {
	if h != DevHalf && h != TestHalf {
		return true
	}
	sum := sha256.Sum256([]byte(id))
	return (sum[0]%2 == 0) == (h == DevHalf)
}

// Label is how a report names h: "dev half", or "" for all queries.
func (h Half) Label() string {
	if h != DevHalf && h != TestHalf {
		return ""
	}
	return string(h) + " half"
}

// Asks tells whether a task made from in asks the query called id: whether it
// belongs to in.Half.
func (in TaskInput) Asks(id string) bool {
	for _, part := range in.Corpus.Parts {
		if own, ok := strings.CutPrefix(id, part+":"); ok {
			return in.Half.Has(own)
		}
	}
	return in.Half.Has(id)
}
