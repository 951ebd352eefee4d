package columns

import (
	"context"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/value"
)

// Kind and Version are the values in the header of a file that Save writes into.
const (
	Kind    = "columns"
	Version = 1
)

// head is the section "head", with one number per field.
type head struct {
	paths, terms, rows, segments int
	carried                      int // see Columns
	seed                         seed
}

// The sections of a snapshot. Numbers are u32 unless stated. head, segments, ords, pathFrom, termFrom are checked at
// opening, the others when read. A path or term without rows is saved as 0, without text, and is in no hash
// table; the others keep their numbers.
//
//	head: u64 each: paths, terms, rows, segments, rows whose terms may be left over, two hash seeds
//	segments: for each: least ordinal u64, rows, values. A segment ends after 1,024 rows, or with
//	the row that brings its values to 262,144
//	ords: each row's ordinal less its segment's
//	ends: end of each row within its segment's values
//	posts: values: the term numbers of each row, ascending
//	pathTags: for each path the number of the path above; path 0 is the root
//	termTags: for each term: path · 8 + kind (0 null, 1 false, 2 true, 3 number, 4 string, 5 empty
//	list or object)
//	pathEnds, termEnds: end of each key, or value, in the text of its block of 1,024
//	pathFrom, termFrom: u64 each: start of each block in the text, and the end
//	pathText, termText: keys, and values: strings as they are, numbers as in JSON
//	pathFind, termFind: hash table; the hash as a fraction of 2⁶⁴ is the place

// Save writes the live documents as the sections listed above, which Open uses without copying. Texts that
// only dead documents had are left out, but keep their numbers. Errors: those of w, ErrCorrupt. Cost: one
// pass over all.
func (c *Columns) Save(w *snapshot.Writer) (err error) {
	defer named(&err)
	defer snapshot.Guard(&err)()
	var segments []segment // without their lists
	terms, paths := newMarks(c.terms.len()), newMarks(c.paths.len())
	rows, posts := 0, 0
	err = c.live(func(ord uint64, list []uint32) error {
		if rows == 0 || full(rows, posts, segments[len(segments)-1].base, ord) {
			segments = append(segments, segment{base: ord})
			rows, posts = 0, 0
		}
		rows, posts = rows+1, posts+len(list)
		s := &segments[len(segments)-1]
		s.ords, s.ends = append(s.ords, uint32(ord-s.base)), append(s.ends, uint32(posts))
		for _, t := range list {
			if terms.set(t) {
				tag, _, err := c.terms.at(t)
				if err != nil {
					return err
				}
				if err := c.markPath(paths, pathOf(tag)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	h := head{c.paths.len(), c.terms.len(), c.Len(), len(segments), c.dead.Len() + c.carried, newSeed()}
	w.Begin("head")
	for _, v := range []int{h.paths, h.terms, h.rows, h.segments, h.carried} {
		w.U64(uint64(v))
	}
	w.Uint64s(h.seed[:])
	w.Begin("segments")
	for _, s := range segments {
		w.U64(s.base)
		w.U32(uint32(len(s.ords)))
		w.U32(s.ends[len(s.ends)-1])
	}
	w.Begin("ords")
	for _, s := range segments {
		w.Uint32s(s.ords)
	}
	w.Begin("ends")
	for _, s := range segments {
		w.Uint32s(s.ends)
	}
	w.Begin("posts")
	if err := c.live(func(_ uint64, list []uint32) error { w.Uint32s(list); return nil }); err != nil {
		return err
	}
	if err := c.paths.save(w, "path", h.seed, paths); err != nil {
		return err
	}
	return c.terms.save(w, "term", h.seed, terms)
}

func (c *Columns) live(do func(ord uint64, terms []uint32) error) error {
	return c.each(context.Background(), 0, do)
}

// markPath marks a path and its parents.
func (c *Columns) markPath(m marks, path uint32) error {
	for path != rootPath && m.set(path) {
		above, _, err := c.paths.at(path)
		if err != nil {
			return err
		}
		path = above
	}
	return nil
}

// marks holds one bit per number.
type marks []uint64

func newMarks(n int) marks { return make(marks, n>>6+1) }

func (m marks) has(i uint32) bool { return m[i>>6]>>(i&63)&1 == 1 }

// set marks i and reports whether it was not marked before.
func (m marks) set(i uint32) bool {
	was := m.has(i)
	m[i>>6] |= 1 << (i & 63)
	return !was
}

// save writes the kept texts, and empty texts in place of the others.
func (p *pool) save(w *snapshot.Writer, name string, seed seed, keep marks) error {
	each := func(do func(n uint32, b *block, i int)) error {
		for k := range p.blocks() {
			b := p.block(k)
			if err := b.stored.ready(); err != nil {
				return err
			}
			for i := range b.tags {
				do(uint32(k*blockLen+i), b, i)
			}
		}
		return nil
	}
	w.Begin(name + "Tags")
	kept := 0
	err := each(func(n uint32, b *block, i int) {
		tag := uint32(0)
		if keep.has(n) {
			kept++
			tag = b.tags[i]
		}
		w.U32(tag)
	})
	if err != nil {
		return err
	}
	w.Begin(name + "Ends") // in the text of their block
	end := uint32(0)
	starts := make([]uint64, 1, p.blocks()+1)
	err = each(func(n uint32, b *block, i int) {
		if keep.has(n) {
			end += uint32(len(b.at(i)))
		}
		w.U32(end)
		if i == len(b.tags)-1 {
			starts = append(starts, starts[len(starts)-1]+uint64(end))
			end = 0
		}
	})
	if err != nil {
		return err
	}
	w.Begin(name + "From") // of each block in the texts, and their end
	w.Uint64s(starts)
	w.Begin(name + "Text")
	table := make([]uint32, kept/5*8+8) // at most five eighths are taken
	err = each(func(n uint32, b *block, i int) {
		if keep.has(n) {
			w.Write(b.at(i))
			insert(table, seed.hash(b.tags[i], b.at(i)), n+1)
		}
	})
	if err != nil {
		return err
	}
	w.Begin(name + "Find")
	w.Uint32s(table)
	return nil
}

// Open returns the Columns that Save wrote. They read from the file until it is closed; each block is checked
// at its first read. Errors: snapshot.ErrForeign, ErrCorrupt. Cost: the ordinals, 4 bytes a document.
func Open(f *snapshot.File) (_ *Columns, err error) {
	defer named(&err)
	defer snapshot.Guard(&err)()
	if err := f.Expect(Kind, Version); err != nil {
		return nil, err
	}
	var h head
	s, err := f.Section("head")
	if err != nil {
		return nil, corrupt(err)
	}
	r := s.Reader()
	for _, p := range []struct {
		to   *int
		most uint64
	}{{&h.paths, maxPaths}, {&h.terms, maxTerms}, {&h.rows, maxRows}, {&h.segments, maxRows}, {&h.carried, math.MaxInt32}} {
		v := r.U64()
		if v > p.most {
			r.Fail("a count of %d", v)
			v = 0
		}
		*p.to = int(v)
	}
	h.seed = seed{r.U64(), r.U64()}
	if err := r.Done(); err != nil {
		return nil, corrupt(err)
	}
	fam := &family{}
	if fam.paths, err = openDictionary(f, "path", h.seed, h.paths, maxPaths, checkPaths); err != nil {
		return nil, err
	}
	if h.paths == 0 {
		return nil, corruptf("no root")
	}
	if fam.terms, err = openDictionary(f, "term", h.seed, h.terms, maxTerms, checkTerms(h.paths)); err != nil {
		return nil, err
	}
	c := &Columns{paths: fam.paths.pool, terms: fam.terms.pool, carried: h.carried, family: fam, tables: fam.tables()}
	if c.rows, err = openRows(f, h); err != nil {
		return nil, err
	}
	c.line = &lineage{rows: c.rows.len()}
	return c, nil
}

// Verify checks all that lies in a file. Errors: ErrCorrupt, that of ctx. Cost: one
// read of it.
func (c *Columns) Verify(ctx context.Context) (err error) {
	defer named(&err)
	defer snapshot.Guard(&err)()
	if err := c.each(ctx, 0, func(uint64, []uint32) error { return nil }); err != nil {
		return err
	}
	for _, p := range []struct {
		texts *pool
		table *snapshot.Section // never changes
	}{{&c.paths, c.family.paths.file}, {&c.terms, c.family.terms.file}} {
		for i := range p.texts.blocks() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := p.texts.block(i).stored.ready(); err != nil {
				return err
			}
		}
		if p.table != nil {
			if err := p.table.Verify(ctx); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return corrupt(err)
			}
		}
	}
	return nil
}

// section returns a section of n bytes; a negative n allows any length.
func section(f *snapshot.File, tag string, n int) (*snapshot.Section, error) {
	s, err := f.Section(tag)
	if err != nil {
		return nil, corrupt(err)
	}
	if n >= 0 && s.Len() != n {
		return nil, corruptf("section %q has %d bytes, not %d", tag, s.Len(), n)
	}
	return s, nil
}

// openDictionary reads the output of pool.save. check tests a block with ascending ends; its second argument
// is the number of the block's first text.
func openDictionary(f *snapshot.File, name string, seed seed, n, most int, check func(b *block, first int) error) (dictionary, error) {
	d := newDictionary(seed, most)
	blocks := (n + blockLen - 1) / blockLen
	tags, err := section(f, name+"Tags", 4*n)
	if err != nil {
		return d, err
	}
	ends, err := section(f, name+"Ends", 4*n)
	if err != nil {
		return d, err
	}
	from, err := section(f, name+"From", 8*(blocks+1))
	if err != nil {
		return d, err
	}
	text, err := section(f, name+"Text", -1)
	if err != nil {
		return d, err
	}
	if d.file, err = section(f, name+"Find", -1); err != nil {
		return d, err
	}
	d.table, d.first = snapshot.Uint32s(d.file.Raw()), n
	b, err := from.All()
	if err != nil {
		return d, corrupt(err)
	}
	starts := snapshot.Uint64s(b)
	if !slices.IsSorted(starts) || starts[0] != 0 || starts[blocks] != uint64(text.Len()) {
		return d, corruptf("section %q", name+"From")
	}
	allTags, allEnds := snapshot.Uint32s(tags.Raw()), snapshot.Uint32s(ends.Raw())
	for k := range blocks {
		lo, hi := k*blockLen, min((k+1)*blockLen, n)
		a, z := int(starts[k]), int(starts[k+1])
		b := block{tags: allTags[lo:hi:hi], ends: allEnds[lo:hi:hi], text: text.Raw()[a:z:z]}
		b.stored = &stored{check: func() error {
			for s, part := range map[*snapshot.Section][2]int{tags: {4 * lo, 4 * (hi - lo)}, ends: {4 * lo, 4 * (hi - lo)}, text: {a, z - a}} {
				if err := s.Check(part[0], part[1]); err != nil {
					return err
				}
			}
			if !slices.IsSorted(b.ends) || int(b.ends[len(b.ends)-1]) != len(b.text) {
				return corruptf("texts %d to %d of %q", lo, hi, name)
			}
			return check(&b, lo)
		}}
		if hi-lo == blockLen {
			d.full = append(d.full, b)
			continue
		}
		if err := b.stored.ready(); err != nil {
			return d, err
		}
		d.tail = block{tags: slices.Clone(b.tags), ends: slices.Clone(b.ends), text: slices.Clone(b.text)}
	}
	return d, nil
}

// checkPaths checks that every path is below an earlier one.
func checkPaths(b *block, first int) error {
	for i, above := range b.tags {
		if n := first + i; int64(above) >= int64(n) && (n != rootPath || above != 0) {
			return corruptf("path %d is below %d", n, above)
		}
	}
	return nil
}

// checkTerms checks that every term has a path and a kind, and that number terms are numbers.
func checkTerms(paths int) func(b *block, first int) error {
	return func(b *block, first int) error {
		for i, tag := range b.tags {
			kind := kindOf(tag)
			if int64(pathOf(tag)) >= int64(paths) || kind > value.Empty || kind == value.Number && !value.ValidNumber(string(b.at(i))) {
				return corruptf("term %d", first+i)
			}
		}
		return nil
	}
}

// openRows reads the segments and the ordinals; the lists stay in the file.
func openRows(f *snapshot.File, h head) (rows, error) {
	var r rows
	table, err := section(f, "segments", 16*h.segments)
	if err != nil {
		return r, err
	}
	ords, err := section(f, "ords", 4*h.rows)
	if err != nil {
		return r, err
	}
	ends, err := section(f, "ends", 4*h.rows)
	if err != nil {
		return r, err
	}
	posts, err := section(f, "posts", -1)
	if err != nil {
		return r, err
	}
	b, err := ords.All()
	if err != nil {
		return r, corrupt(err)
	}
	allOrds := bytes32(snapshot.Uint32s(b))
	allEnds, allPosts := snapshot.Uint32s(ends.Raw()), snapshot.Uint32s(posts.Raw())
	in := table.Reader()
	next, post := uint64(0), 0 // least ordinal, first post of the next segment
	for range h.segments {
		s := segment{first: r.tail.first, base: in.U64()}
		n, m := int(in.U32()), int(in.U32())
		if err := in.Err(); err != nil {
			return r, corrupt(err)
		}
		if n == 0 || n > h.rows-s.first || m > len(allPosts)-post || s.base < next || s.base >= MaxOrd {
			return r, corruptf("segment from row %d", s.first)
		}
		lo, hi := s.first, s.first+n
		s.ords, s.ends, s.posts = allOrds[lo:hi:hi], allEnds[lo:hi:hi], allPosts[post:post+m:post+m]
		for i, o := range s.ords {
			if i == 0 && o != 0 || i > 0 && o <= s.ords[i-1] {
				return r, corruptf("ordinals of rows %d to %d", lo, hi)
			}
		}
		next = s.base + uint64(s.ords[n-1]) + 1
		if next > MaxOrd {
			return r, corruptf("ordinals of rows %d to %d", lo, hi)
		}
		from, list := post, s
		s.stored = &stored{check: func() error {
			if err := ends.Check(4*lo, 4*n); err != nil {
				return err
			}
			if err := posts.Check(4*from, 4*m); err != nil {
				return err
			}
			return list.check(h.terms)
		}}
		r.full = append(r.full, s)
		r.tail.first, post = hi, post+m
	}
	if r.tail.first != h.rows || 4*post != posts.Len() {
		return r, corruptf("segments of %d rows and %d values", r.tail.first, post)
	}
	return r, nil
}

// check checks that the lists of a segment are ascending term numbers.
func (s *segment) check(terms int) error {
	if !slices.IsSorted(s.ends) || int(s.ends[len(s.ends)-1]) != len(s.posts) {
		return corruptf("lists from row %d", s.first)
	}
	for i := range s.ords {
		list := s.of(i)
		for j, t := range list {
			if int64(t) >= int64(terms) || j > 0 && t <= list[j-1] {
				return corruptf("list of row %d", s.first+i)
			}
		}
	}
	return nil
}
