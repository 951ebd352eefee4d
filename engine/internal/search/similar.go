package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/limit"
	"github.com/lexsem/lexsem/store"
)

const (
	// maxExamples is how many documents a query may name as examples.
	maxExamples = 64
	// away is how far the query vector moves away from the negative examples, as a share of the distance between
	// their mean and that of the positive ones.
	away = 0.5
)

// Example is a chunk of a document that a query names as an example.
type Example struct {
	Line   int // of the document's text, from 1, where the chunk begins
	Text   string
	Vector []float32 // [Dim]
}

// ByExamples makes the vector of a query with examples, and excludes the examples from its hits. read returns the
// chunks of the document with an id, or none if the document does not exist.
//
// The vector is p + away·(p − n): p is the mean of the positive examples, n that of the negative ones (Rocchio). An
// example is the mean of its chunks, or the chunk at its line.
func ByExamples(q Query, read func(id string) ([]Example, error)) (Query, error) {
	names := slices.Concat(q.Like, q.Unlike)
	switch {
	case len(names) == 0:
		return q, nil
	case len(q.Like) == 0:
		return q, fmt.Errorf("%w: unlike without like; name a document that the hits are to resemble", fault.ErrInvalid)
	case q.Vector != nil || q.Image != nil:
		return q, fmt.Errorf("%w: a query with like and a vector or an image; give one of them", fault.ErrInvalid)
	case len(names) > maxExamples:
		return q, fmt.Errorf("%w: like and unlike name %d documents; name at most %d", fault.ErrInvalid, len(names), maxExamples)
	}
	ids := make([]any, len(names))
	var mean [2][]float32 // of q.Like and q.Unlike
	for i, name := range names {
		id, vector, err := example(name, read)
		if err != nil {
			return q, err
		}
		ids[i] = id
		kind, n := 0, len(q.Like)
		if i >= len(q.Like) {
			kind, n = 1, len(q.Unlike)
		}
		if mean[kind] == nil {
			mean[kind] = make([]float32, len(vector))
		}
		for j, x := range vector {
			mean[kind][j] += x / float32(n)
		}
	}
	q.Vector = mean[0]
	for j, n := range mean[1] {
		q.Vector[j] += away * (q.Vector[j] - n)
	}
	if !slices.ContainsFunc(q.Vector, func(x float32) bool { return x != 0 }) {
		return q, fmt.Errorf("%w: the vectors of like and unlike cancel out; name other documents", fault.ErrInvalid)
	}
	q.Filter = filter.And(q.Filter, filter.Not(filter.In("id", ids...)))
	return q, nil
}

// example is the id and the vector of an example: ID, or ID:LINE if no document has the name itself as its id.
func example(name string, read func(id string) ([]Example, error)) (id string, vector []float32, err error) {
	var chunks []Example
	if 0 < len(name) && len(name) <= limit.IDBytes {
		if chunks, err = read(name); err != nil {
			return "", nil, err
		}
	}
	if len(chunks) > 0 {
		return name, meanOf(chunks), nil
	}
	unknown := fmt.Errorf("like, unlike: document %q: %w; name a document by its id, or one of its lines by ID:LINE", fault.Clip(name), store.ErrNotFound)
	colon := strings.LastIndexByte(name, ':')
	line, err := strconv.Atoi(name[colon+1:])
	if colon <= 0 || colon > limit.IDBytes || err != nil {
		return "", nil, unknown
	}
	id = name[:colon]
	if chunks, err = read(id); err != nil {
		return "", nil, err
	}
	if len(chunks) == 0 {
		return "", nil, unknown
	}
	for _, c := range chunks {
		if last := c.Line + strings.Count(c.Text, "\n"); line >= c.Line && line <= last {
			return id, c.Vector, nil
		}
	}
	return "", nil, fmt.Errorf("%w: like, unlike: document %q has no text on line %d", fault.ErrInvalid, fault.Clip(id), line)
}

func meanOf(chunks []Example) []float32 {
	mean := slices.Clone(chunks[0].Vector)
	for _, c := range chunks[1:] {
		for i, x := range c.Vector {
			mean[i] += x
		}
	}
	for i := range mean {
		mean[i] /= float32(len(chunks))
	}
	return mean
}
