package pgvector

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/lexsem/lexsem/engine"
)

// readable changes texts so that the server accepts them: they must be UTF-8 without zero bytes. exact has the
// original texts; nil if nothing was changed.
func readable(texts ...*string) (exact []byte, err error) {
	as := make([][]byte, len(texts))
	changed := false
	for i, t := range texts {
		as[i] = []byte(*t)
		if !utf8.ValidString(*t) || strings.IndexByte(*t, 0) >= 0 {
			changed = true
			*t = strings.ReplaceAll(strings.ToValidUTF8(*t, "\uFFFD"), "\x00", "\uFFFD")
		}
	}
	if !changed {
		return nil, nil
	}
	return json.Marshal(as)
}

// restore undoes readable.
func restore(exact []byte, texts ...*string) error {
	if exact == nil {
		return nil
	}
	var as [][]byte
	if err := json.Unmarshal(exact, &as); err != nil || len(as) != len(texts) {
		return fmt.Errorf("%w: the exact texts of document %q: %d of %d, %v", engine.ErrCorrupt, *texts[0], len(as), len(texts), err)
	}
	for i, t := range texts {
		*t = string(as[i])
	}
	return nil
}

// keyOf is the key of a document: it has a fixed length, and documents are ordered by it.
func keyOf(id string) pgtype.UUID {
	sum := sha256.Sum256([]byte(id))
	return pgtype.UUID{Bytes: [16]byte(sum[:16]), Valid: true}
}

func keysOf(ids []string) []pgtype.UUID {
	keys := make([]pgtype.UUID, len(ids))
	for i, id := range ids {
		keys[i] = keyOf(id)
	}
	return keys
}

const (
	// longestTerm and longestFact are how many bytes of a term, and of a fact, are kept: an
	// entry of the server's indexes has less than 2,704.
	longestTerm = 200
	longestFact = 2600
)

// bounded is a text as the server stores it: a longer one is cut and ends with a digest of the whole.
func bounded(s string, longest int) []byte {
	if len(s) <= longest {
		return []byte(s)
	}
	sum := sha256.Sum256([]byte(s))
	return append([]byte(s[:longest-len(sum)]), sum[:]...)
}

func termKey(term string) []byte { return bounded(term, longestTerm) }

func factKey(fact string) []byte { return bounded(fact, longestFact) }
