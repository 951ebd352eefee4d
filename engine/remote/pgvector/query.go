package pgvector

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
)

// Breadths of a graph search, in candidates: pgvector allows at most 1,000 and can continue from there.
const (
	leastBreadth = 400
	mostBreadth  = 1000
)

// candidate reads the columns id, exact, chunk, terms, exact, cosine.
func candidate(row pgx.CollectableRow) (c remote.Candidate, err error) {
	var document, passage []byte
	if err := row.Scan(&c.ID, &document, &c.Chunk, &c.Terms, &passage, &c.Cosine); err != nil {
		return c, err
	}
	var title, whole, metadata, text string
	if document != nil {
		document, err = nil, restore(document, &c.ID, &title, &whole, &metadata)
	}
	if err == nil {
		err = restore(passage, &text, &c.Terms)
	}
	c.Cosine = max(-1, min(c.Cosine, 1))
	return c, err
}

// Nearest implements remote.Backend. If the graph names fewer than k passages, as a filter can cause, all matching
// passages are compared.
func (b *Backend) Nearest(ctx context.Context, vector []float32, k int, f engine.Filter) ([]remote.Candidate, error) {
	values := []any{vector, k}
	w, err := condition(f, "p.document", &values)
	if err != nil {
		return nil, err
	}
	var named []remote.Candidate
	for _, order := range []string{"{near}", "({near}) + 0"} { // no index is in the second order
		q := query{text: fmt.Sprintf(`SELECT d.id, d.exact, p.chunk, p.terms, p.exact, 1 - (p.vector OPERATOR({v}.<=>) $1::real[]::{v}.vector)
			FROM (SELECT p.document, p.chunk, p.terms, p.exact, p.vector FROM {s}.passages p WHERE %s ORDER BY %s LIMIT $2) p
			JOIN {s}.documents d ON d.n = p.document`, w, order), values: values, breadth: 2 * k}
		if named, err = ask(ctx, b, q, candidate); err != nil {
			return nil, err
		}
		if len(named) >= k {
			break
		}
	}
	slices.SortFunc(named, func(a, b remote.Candidate) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Chunk, b.Chunk))
	})
	return named, nil
}

const (
	k1, lengths = 1.2, .75 // of BM25
	// mostPostings is the maximum number of term entries that one search reads, apart from those of its
	// rarest term.
	mostPostings = 500_000
)

// Matching implements remote.Backend. The server computes BM25 exactly. A query whose terms have more than half a
// million entries ignores its most frequent terms.
func (b *Backend) Matching(ctx context.Context, terms []remote.WeightedTerm, k int, f engine.Filter) ([]remote.Candidate, error) {
	keys, weights, norm, err := b.weigh(ctx, terms)
	if err != nil {
		return nil, err
	}
	values := []any{keys, weights, k1 * (1 - lengths), k1 * lengths * norm, k}
	w, err := condition(f, "t.document", &values)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return ask(ctx, b, query{text: fmt.Sprintf(`SELECT d.id, d.exact, s.chunk, p.terms, p.exact, 0::float8
		FROM (SELECT t.document, t.chunk, sum(a.weight * t.count / (t.count + $3::float8 + $4::float8 * t.length)) AS score
			FROM unnest($1::bytea[], $2::float8[]) AS a(term, weight) JOIN {s}.postings t ON t.term = a.term
			WHERE %s GROUP BY t.document, t.chunk ORDER BY score DESC, t.document, t.chunk LIMIT $5) s
		JOIN {s}.passages p ON p.document = s.document AND p.chunk = s.chunk JOIN {s}.documents d ON d.n = s.document
		ORDER BY s.score DESC, s.document, s.chunk`, w), values: values}, candidate)
}

// weigh computes the BM25 weights of terms that passages have; norm times a length is 1 on average.
func (b *Backend) weigh(ctx context.Context, terms []remote.WeightedTerm) (keys [][]byte, weights []float64, norm float64, err error) {
	if len(terms) == 0 {
		return nil, nil, 0, ctx.Err()
	}
	words := make([]string, len(terms))
	for i, t := range terms {
		words[i] = t.Term
	}
	having, err := b.Having(ctx, words)
	if err != nil {
		return nil, nil, 0, err
	}
	s, err := b.Status(ctx)
	if err != nil || s.Terms == 0 {
		return nil, nil, 0, err
	}
	order := make([]int, 0, len(terms))
	for i := range terms {
		if having[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(having[i], having[j]) })
	entries := 0
	for at, i := range order {
		if entries += having[i]; at > 0 && entries > mostPostings {
			break
		}
		n, has := float64(s.Passages), float64(having[i])
		keys = append(keys, termKey(terms[i].Term))
		weights = append(weights, terms[i].Weight*math.Log(1+max(0, n-has+.5)/(has+.5)))
	}
	return keys, weights, float64(s.Passages) / float64(s.Terms), nil
}

// Having implements remote.Backend.
func (b *Backend) Having(ctx context.Context, terms []string) ([]int, error) {
	keys := make([][]byte, len(terms))
	for i, t := range terms {
		keys[i] = termKey(t)
	}
	counts := make([]int, len(terms))
	if len(terms) == 0 {
		return counts, ctx.Err()
	}
	type count struct {
		At, N int
	}
	rows, err := ask(ctx, b, query{text: `SELECT a.at - 1 AS at, count(*) AS n FROM unnest($1::bytea[]) WITH ORDINALITY AS a(term, at)
		JOIN {s}.postings t ON t.term = a.term GROUP BY a.at`, values: []any{keys}}, pgx.RowToStructByName[count])
	for _, r := range rows {
		counts[r.At] = r.N
	}
	return counts, err
}

// Cosines implements remote.Backend.
func (b *Backend) Cosines(ctx context.Context, vector []float32, ids []remote.PassageID) ([]float64, error) {
	cosines := make([]float64, len(ids))
	for i := range cosines {
		cosines[i] = math.NaN()
	}
	if len(ids) == 0 {
		return cosines, ctx.Err()
	}
	documents, chunks := split(ids)
	type cosine struct {
		At     int
		Cosine float64
	}
	rows, err := ask(ctx, b, query{text: `SELECT a.at - 1 AS at, 1 - (p.vector OPERATOR({v}.<=>) $1::real[]::{v}.vector) AS cosine ` + named(2),
		values: []any{vector, documents, chunks}}, pgx.RowToStructByName[cosine])
	for _, r := range rows {
		cosines[r.At] = max(-1, min(r.Cosine, 1))
	}
	return cosines, err
}

// Status implements remote.Backend.
func (b *Backend) Status(ctx context.Context) (remote.Status, error) {
	rows, err := ask(ctx, b, query{text: `SELECT documents, passages, terms, writes FROM {s}.lexsem`}, pgx.RowToStructByName[remote.Status])
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("%s: %w: %d rows of counts", b.name, engine.ErrCorrupt, len(rows))
	}
	if err != nil {
		return remote.Status{}, err
	}
	return rows[0], nil
}

// Count implements remote.Backend.
func (b *Backend) Count(ctx context.Context, f engine.Filter) (int, error) {
	if f.IsZero() {
		s, err := b.Status(ctx)
		return s.Documents, err
	}
	var values []any
	w, err := condition(f, "d.n", &values)
	if err != nil {
		return 0, err
	}
	rows, err := ask(ctx, b, query{text: `SELECT count(*) FROM {s}.documents d WHERE ` + string(w), values: values}, pgx.RowTo[int])
	if err != nil {
		return 0, err
	}
	return rows[0], nil
}
