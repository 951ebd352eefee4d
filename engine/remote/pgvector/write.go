package pgvector

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
)

// write runs a transaction, and repeats it if the connection is lost. It returns once the server has the
// transaction on disk.
func (b *Backend) write(ctx context.Context, do func(ctx context.Context, t transaction) error) error {
	d, err := b.here(ctx)
	if err != nil {
		return err
	}
	return b.retry(ctx, oneWrite, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT set_config('jit', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true),
				CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END`); err != nil {
				return err
			}
			return do(ctx, transaction{tx, d})
		})
	})
}

// transaction is a running transaction, in the dialect of the schema.
type transaction struct {
	pgx.Tx
	d *dialect
}

func (t transaction) exec(ctx context.Context, text string, values ...any) error {
	_, err := t.Exec(ctx, t.d.replace.Replace(text), values...)
	return err
}

// stored is a document in the tables.
type stored struct {
	N      int64
	Key    pgtype.UUID
	Put    pgtype.UUID
	Chunks int
}

// lock finds documents, and prevents changes to them until the transaction ends.
func (t transaction) lock(ctx context.Context, keys []pgtype.UUID) ([]stored, error) {
	rows, err := t.Query(ctx, t.d.replace.Replace(`SELECT n, key, put, chunks FROM {s}.documents WHERE key = ANY($1) ORDER BY key FOR UPDATE`), keys)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[stored])
}

// remove deletes documents, and returns the decrease of the counts.
func (t transaction) remove(ctx context.Context, docs []stored) (lost counts, err error) {
	if len(docs) == 0 {
		return lost, nil
	}
	lost.documents = len(docs)
	ns := make([]int64, len(docs))
	for i, d := range docs {
		ns[i] = d.N
	}
	rows, err := t.Query(ctx, t.d.replace.Replace(`SELECT document, chunk, length, text, terms, exact FROM {s}.passages WHERE document = ANY($1)`), ns)
	if err != nil {
		return lost, err
	}
	var p struct {
		n           int64
		chunk       int32
		length      int
		text, terms string
		exact       []byte
	}
	var words [][]byte
	var numbers []int64
	var chunks []int32
	_, err = pgx.ForEachRow(rows, []any{&p.n, &p.chunk, &p.length, &p.text, &p.terms, &p.exact}, func() error {
		lost.passages++
		lost.terms += p.length
		if err := restore(p.exact, &p.text, &p.terms); err != nil {
			return err
		}
		for term := range termsOf(p.terms) {
			words, numbers, chunks = append(words, termKey(term)), append(numbers, p.n), append(chunks, p.chunk)
		}
		return nil
	})
	if err != nil {
		return lost, err
	}
	if err := t.exec(ctx, `DELETE FROM {s}.postings t USING unnest($1::bytea[], $2::bigint[], $3::int[]) AS o(term, document, chunk)
		WHERE t.term = o.term AND t.document = o.document AND t.chunk = o.chunk`, words, numbers, chunks); err != nil {
		return lost, err
	}
	return lost, t.exec(ctx, `DELETE FROM {s}.documents WHERE n = ANY($1)`, ns) // passages and facts go with them
}

// termsOf returns the terms of a Passage.Terms text with their frequencies.
func termsOf(spelled string) map[string]int32 {
	n := map[string]int32{}
	for t := range strings.FieldsSeq(spelled) {
		n[t]++
	}
	return n
}

// counts are the changes of a write to the total counts.
type counts struct{ documents, passages, terms, writes int }

// count changes the counts. It comes last, since other writes wait for it until the end of the
// transaction.
func (t transaction) count(ctx context.Context, c counts) error {
	return t.exec(ctx, `UPDATE {s}.lexsem SET documents = documents + $1, passages = passages + $2, terms = terms + $3, writes = writes + $4`, c.documents, c.passages, c.terms, c.writes)
}

// Put implements remote.Backend. It stores all documents or, on an error, none.
func (b *Backend) Put(ctx context.Context, docs [][]remote.Passage, fresh bool) error {
	if len(docs) == 0 {
		return ctx.Err()
	}
	in, err := b.prepare(docs)
	if err != nil {
		return err
	}
	return b.write(ctx, func(ctx context.Context, t transaction) error {
		before, err := t.lock(ctx, in.keys)
		if err != nil {
			return err
		}
		if len(before) == len(docs) && !slices.ContainsFunc(before, func(d stored) bool { return d.Put != in.put }) {
			return nil // an earlier try of this call, whose end was not heard of
		}
		if fresh && len(before) > 0 {
			return fmt.Errorf("document %q: %w", in.ids[before[0].Key.Bytes], engine.ErrExists)
		}
		lost, err := t.remove(ctx, before)
		if err != nil {
			return err
		}
		if err := in.store(ctx, t); err != nil {
			return err
		}
		more := 0 // chunks that a document has no more
		for _, d := range before {
			more += max(0, d.Chunks-in.chunks[d.Key.Bytes])
		}
		return t.count(ctx, counts{len(docs) - lost.documents, len(in.passages) - lost.passages, in.terms - lost.terms, len(in.passages) + more})
	})
}

// incoming are documents in the form of the tables.
type incoming struct {
	put       pgtype.UUID // of the call
	keys      []pgtype.UUID
	ids       map[[16]byte]string
	chunks    map[[16]byte]int
	documents struct {
		chunks                     []int32
		id, title, whole, metadata []string
		exact                      [][]byte
	}
	passages []passageRow
	facts    []factRow
	terms    int // of all together (Passage.Length)
}

type passageRow struct {
	of     int // the document
	values []any
	length int
	chunk  int
	terms  map[string]int32
}

type factRow struct {
	of   int
	fact []byte
}

func (b *Backend) prepare(docs [][]remote.Passage) (*incoming, error) {
	in := &incoming{ids: map[[16]byte]string{}, chunks: map[[16]byte]int{}}
	in.put.Valid = true
	if _, err := rand.Read(in.put.Bytes[:]); err != nil {
		return nil, err
	}
	for i, ps := range docs {
		first := ps[0]
		key := keyOf(first.ID)
		if _, twice := in.ids[key.Bytes]; twice {
			return nil, fmt.Errorf("%w: document %q stands twice in one call; leave one out", engine.ErrInvalid, first.ID)
		}
		in.keys, in.ids[key.Bytes], in.chunks[key.Bytes] = append(in.keys, key), first.ID, len(ps)
		exact, err := readable(&first.ID, &first.Title, &first.Whole, &first.Metadata)
		if err != nil {
			return nil, err
		}
		d := &in.documents
		d.chunks, d.id, d.title = append(d.chunks, int32(len(ps))), append(d.id, first.ID), append(d.title, first.Title)
		d.whole, d.metadata, d.exact = append(d.whole, first.Whole), append(d.metadata, first.Metadata), append(d.exact, exact)
		var facts [][]byte
		for _, f := range first.Facts {
			facts = append(facts, factKey(f))
		}
		slices.SortFunc(facts, bytes.Compare)
		for _, f := range slices.CompactFunc(facts, bytes.Equal) {
			in.facts = append(in.facts, factRow{i, f})
		}
		for _, p := range ps {
			terms := termsOf(p.Terms)
			exact, err := readable(&p.Text, &p.Terms)
			if err != nil {
				return nil, err
			}
			in.terms += p.Length
			in.passages = append(in.passages, passageRow{i, []any{p.Chunk, p.Start, p.Line, p.Length, p.Truncated, p.Text, p.Terms, exact, p.Tokens, p.Vector}, p.Length, p.Chunk, terms})
		}
	}
	return in, nil
}

// store writes all rows.
func (in *incoming) store(ctx context.Context, t transaction) error {
	d := &in.documents
	rows, err := t.Query(ctx, t.d.replace.Replace(`INSERT INTO {s}.documents (key, put, chunks, id, title, whole, metadata, exact)
		SELECT key, $2, chunks, id, title, whole, metadata, exact FROM unnest($1::uuid[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[])
			AS a(key, chunks, id, title, whole, metadata, exact) RETURNING n, key, put, chunks`),
		in.keys, in.put, d.chunks, d.id, d.title, d.whole, d.metadata, d.exact)
	if err != nil {
		return err
	}
	made, err := pgx.CollectRows(rows, pgx.RowToStructByName[stored])
	if err != nil {
		return err
	}
	numbers := make(map[[16]byte]int64, len(made))
	for _, m := range made {
		numbers[m.Key.Bytes] = m.N
	}
	number := func(of int) int64 { return numbers[in.keys[of].Bytes] }
	text := t.d.replace.Replace(`INSERT INTO {s}.passages (document, chunk, start, line, length, truncated, text, terms, exact, tokens, vector)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::real[]::{v}.vector)`)
	var batch pgx.Batch
	for _, p := range in.passages {
		batch.Queue(text, append([]any{number(p.of)}, p.values...)...)
	}
	if err := t.SendBatch(ctx, &batch).Close(); err != nil {
		return err
	}
	var postings, facts [][]any
	for _, p := range in.passages {
		for term, n := range p.terms {
			postings = append(postings, []any{number(p.of), int32(p.chunk), int32(p.length), n, termKey(term)})
		}
	}
	for _, f := range in.facts {
		facts = append(facts, []any{number(f.of), f.fact})
	}
	// The index takes rows in its order fastest.
	slices.SortFunc(postings, func(a, b []any) int { return bytes.Compare(a[4].([]byte), b[4].([]byte)) })
	schema := t.d.schema
	if _, err := t.CopyFrom(ctx, pgx.Identifier{schema, "postings"}, []string{"document", "chunk", "length", "count", "term"}, pgx.CopyFromRows(postings)); err != nil {
		return err
	}
	_, err = t.CopyFrom(ctx, pgx.Identifier{schema, "facts"}, []string{"document", "fact"}, pgx.CopyFromRows(facts))
	return err
}

// Delete implements remote.Backend. It removes all documents or, on an error, none.
func (b *Backend) Delete(ctx context.Context, ids []string) (n int, err error) {
	keys := keysOf(ids)
	if len(ids) == 0 {
		return 0, ctx.Err()
	}
	err = b.write(ctx, func(ctx context.Context, t transaction) error {
		there, err := t.lock(ctx, keys)
		if err != nil {
			return err
		}
		n = max(n, len(there)) // an earlier try may have deleted them, without an answer
		if len(there) == 0 {
			return nil
		}
		lost, err := t.remove(ctx, there)
		if err != nil {
			return err
		}
		return t.count(ctx, counts{-lost.documents, -lost.passages, -lost.terms, lost.passages})
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
