package bench

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Half is a fixed half of the queries of every task. Choices are made on one half and reported on the
// other.
//
// A query is in the dev half if the first byte of the SHA-256 of its id is even, else in the test
// half. This does not depend on the seed, the limit or other queries. In a union of folders, the id is
// that without the folder's prefix. A query made from a passage has the passage's id, so all such
// queries of a passage are in the same half.
type Half string

// The halves. The zero value of Half also means AllQueries.
const (
	AllQueries Half = "all"
	DevHalf    Half = "dev"
	TestHalf   Half = "test"
)

// ParseHalf returns the half called name, which is "dev", "test", "all" or "". The error is
// ErrUnknownName.
func ParseHalf(name string) (Half, error) {
	switch h := Half(name); h {
	case DevHalf, TestHalf:
		return h, nil
	case AllQueries, "":
		return AllQueries, nil
	}
	return "", fmt.Errorf("%w: half %q; known are dev, test and all", ErrUnknownName, name)
}

// Has reports whether the query called id belongs to h.
func (h Half) Has(id string) bool {
	if h != DevHalf && h != TestHalf {
		return true
	}
	sum := sha256.Sum256([]byte(id))
	return (sum[0]%2 == 0) == (h == DevHalf)
}

// Label returns the name of h in reports, such as "dev half", or "" for all queries.
func (h Half) Label() string {
	if h != DevHalf && h != TestHalf {
		return ""
	}
	return string(h) + " half"
}

// Asks reports whether in.Half contains the query called id.
func (in TaskInput) Asks(id string) bool {
	for _, part := range in.Corpus.Parts {
		if own, ok := strings.CutPrefix(id, part+":"); ok {
			return in.Half.Has(own)
		}
	}
	return in.Half.Has(id)
}
