package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"math"
	"slices"
	"strings"
)

// buckets is the number of parts into which ids are divided for the comparison of two
// sides.
const buckets = 4096

// census describes the content of one side: for each bucket the number of documents and
// the sum of their digests, which does not depend on their order.
type census struct {
	documents, passages int
	count               [buckets]int
	sum                 [buckets][4]uint64
}

func (m *migration) digests(ctx context.Context, docs func(context.Context) iter.Seq2[migrated, error]) (*census, error) {
	c := new(census)
	for d, err := range docs(ctx) {
		if err != nil {
			return nil, err
		}
		h := d.digest()
		n := bucketOf(d.id())
		c.documents++
		c.passages += len(d.passages)
		c.count[n]++
		for i := range c.sum[n] {
			c.sum[n][i] += binary.LittleEndian.Uint64(h[8*i:])
		}
		if c.documents%1000 == 0 {
			m.report("verify", c.documents)
		}
	}
	return c, ctx.Err()
}

func (c *census) differ(o *census) map[int]bool {
	differ := map[int]bool{}
	for i := range c.count {
		if c.count[i] != o.count[i] || c.sum[i] != o.sum[i] {
			differ[i] = true
		}
	}
	return differ
}

// digest is one digest over all documents.
func (c *census) digest() string {
	h := sha256.New()
	for i := range c.count {
		_ = binary.Write(h, binary.LittleEndian, c.sum[i]) // a hash takes all
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func bucketOf(id string) int { return int(ordinalOf(id) % buckets) }

// digest covers everything that must be kept of a document.
func (d migrated) digest() (sum [32]byte) {
	var b bytes.Buffer
	number := func(n int) { b.Write(binary.AppendVarint(nil, int64(n))) }
	text := func(s string) { number(len(s)); b.WriteString(s) }
	first := d.passages[0]
	whole := first.Text
	if first.Chunks > 1 {
		whole = first.Whole
	}
	text(first.ID)
	text(first.Title)
	text(whole)
	text(first.Metadata)
	number(first.Truncated)
	number(first.Chunks)
	for _, p := range d.passages {
		number(p.Chunk)
		number(p.Start)
		number(len(p.Text))
		terms := strings.Fields(p.Terms) // earlier versions wrote them in another order
		slices.Sort(terms)
		text(strings.Join(terms, " "))
		number(len(p.Tokens))
		for _, t := range p.Tokens {
			number(int(t))
		}
		for _, x := range p.Vector {
			b.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
		}
	}
	return sha256.Sum256(b.Bytes())
}

// mend copies or removes the documents that differ in some buckets.
func (m *migration) mend(ctx context.Context, differ map[int]bool, source, target func(context.Context) iter.Seq2[migrated, error],
	put func(context.Context, []migrated) error, remove func(context.Context, []string) (int, error)) error {
	there := map[string][32]byte{}
	for d, err := range target(ctx) {
		if err != nil {
			return err
		}
		if differ[bucketOf(d.id())] {
			there[strings.Clone(d.id())] = d.digest()
		}
	}
	wrong := func(yield func(migrated, error) bool) {
		for d, err := range source(ctx) {
			if err == nil {
				if !differ[bucketOf(d.id())] {
					continue
				}
				h, ok := there[d.id()]
				delete(there, d.id())
				if ok && h == d.digest() {
					continue
				}
				m.r.Mended++
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
	if err := m.copy(ctx, wrong, put, func(migrated) error { return nil }); err != nil {
		return err
	}
	var extra []string
	for id := range there {
		extra = append(extra, id)
	}
	if len(extra) == 0 {
		return nil
	}
	n, err := remove(ctx, extra)
	m.r.Removed += n
	return err
}
