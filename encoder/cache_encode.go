package encoder

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/lexsem/lexsem/internal/vec"
)

// Encode implements Encoder. Texts that are not in the files are encoded in one call of the inner
// encoder, each text once. A write error does not fail the call: the cache stops writing, and Close
// returns the reason.
func (c *Cache) Encode(ctx context.Context, role Role, in []Input, need Need) ([]Output, error) {
	if need&NeedImpacts != 0 && need != NeedImpacts { // which are not cached
		out, err := c.Encode(ctx, role, in, need&^NeedImpacts)
		if err != nil {
			return nil, err
		}
		more, err := c.inner.Encode(ctx, role, in, NeedImpacts)
		for i, o := range more {
			out[i].Impacts = o.Impacts
		}
		return out, err
	}
	texts, err := TextsOf(in)
	states := need&NeedHidden != 0
	if need&^NeedHidden != NeedDense && need != NeedHidden || states && (role != Passage || c.max < 0) || err != nil {
		if c.isClosed() {
			return nil, ErrClosed
		}
		return c.inner.Encode(ctx, role, in, need)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !c.isProved() {
		select {
		case c.turn <- struct{}{}:
			defer func() { <-c.turn }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !c.isProved() {
			return c.first(ctx, role, texts, need)
		}
	}
	return c.encode(ctx, role, texts, need)
}

// first is encode for an encoder whose probe vectors are not known yet.
func (c *Cache) first(ctx context.Context, role Role, texts []string, need Need) ([]Output, error) {
	if role != Passage || need != NeedDense {
		probes, err := c.inner.Encode(ctx, Passage, Texts(ProbeTexts[:]...), need|NeedDense) // who has no states says so at once
		if err == nil {
			_, err = c.prove(ctx, probes)
		}
		if err != nil {
			return nil, err
		}
		return c.encode(ctx, role, texts, need)
	}
	n := len(texts)
	out, err := c.encode(ctx, role, append(slices.Clip(texts), ProbeTexts[:]...), need) // in one call: another costs its time
	if err != nil {
		return nil, err
	}
	same, err := c.prove(ctx, out[n:])
	if err != nil {
		return nil, err
	}
	if !same {
		return c.encode(ctx, role, texts, need)
	}
	var fresh records
	for i, text := range texts {
		if out[i].Tokens.Truncated <= c.inner.Tokenize(role, text).Truncated { // else a server cut it: see encode
			fresh.add(keyOf(role, text), c.vectorRecord(keyOf(role, text), out[i].Dense))
		}
	}
	return out[:n], c.keep(ctx, c.vectors, fresh)
}

// prove compares the probe vectors with those of the file of vectors, and empties the file if they
// differ. same reports whether vectors returned before remain valid.
func (c *Cache) prove(ctx context.Context, probes []Output) (same bool, err error) {
	if len(probes) != len(ProbeTexts) {
		return false, fmt.Errorf("%w: %d outputs for %d texts", ErrContract, len(probes), len(ProbeTexts))
	}
	if err := c.startWriting(ctx); err != nil {
		return false, err
	}
	defer c.endWriting()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false, ErrClosed
	}
	for i, o := range probes {
		if err := c.checkLength(o.Dense); err != nil {
			return false, err
		}
		c.print.Probe[i] = slices.Clone(o.Dense)
	}
	c.proved = true
	same = len(c.vectors.index) == 0
	if old := c.vectors.print; old.Probed() && Check("cache", old, c.print) == nil {
		return true, nil
	}
	if !same { // what was found is not given away
		c.stats.Hits, c.stats.Misses = 0, 0
	}
	if c.lock != nil {
		c.vectors.broken = c.vectors.begin(c.print)
	} else {
		clear(c.vectors.index)
	}
	return same, nil
}

// encode is Encode for the requests that the cache answers. Positions in its errors count texts.
func (c *Cache) encode(ctx context.Context, role Role, texts []string, need Need) ([]Output, error) {
	out := make([]Output, len(texts))
	keys := make([]cacheKey, len(texts))
	for i, text := range texts {
		keys[i] = keyOf(role, text)
		out[i].Tokens = c.inner.Tokenize(role, text)
	}
	if need&NeedHidden != 0 {
		if err := c.openStates(ctx); err != nil {
			return nil, err
		}
	}
	missing, err := c.lookUp(ctx, out, keys, need)
	if err != nil {
		return nil, err
	}
	var ask []string
	var from []int // position of each in texts
	at := map[cacheKey]int{}
	for _, i := range missing {
		if _, ok := at[keys[i]]; !ok {
			at[keys[i]] = len(ask)
			ask = append(ask, texts[i])
			from = append(from, i)
		}
	}
	if len(ask) == 0 {
		c.count(ctx, len(keys), nil, need)
		return out, nil
	}
	got, err := c.inner.Encode(ctx, role, Texts(ask...), need|NeedDense) // the vector costs little beside the states
	var one *TextError
	if errors.As(err, &one) && one.Text >= 0 && one.Text < len(from) {
		return nil, &TextError{Text: from[one.Text], Err: one.Err}
	}
	if err != nil {
		return nil, err
	}
	if len(got) != len(ask) {
		return nil, fmt.Errorf("%w: %d outputs for %d texts", ErrContract, len(got), len(ask))
	}
	var vectors, states records
	for k, i := range from {
		if err := c.checkLength(got[k].Dense); err != nil {
			return nil, err
		}
		if got[k].Tokens.Truncated > out[i].Tokens.Truncated { // cut by a server: kept, it would no longer be counted
			continue
		}
		vectors.add(keys[i], c.vectorRecord(keys[i], got[k].Dense))
		if need&NeedHidden != 0 {
			var record []byte
			record, got[k].Hidden = c.stateRecord(keys[i], got[k].Hidden, out[i].Tokens)
			states.add(keys[i], record)
		}
	}
	if c.isProved() {
		if err := c.keep(ctx, c.vectors, vectors); err != nil {
			return nil, err
		}
	}
	if need&NeedHidden != 0 { // it is proved then
		if err := c.keep(ctx, c.states, states); err != nil {
			return nil, err
		}
	}
	var encoded []cacheKey
	for _, i := range missing {
		encoded = append(encoded, keys[i])
	}
	c.count(ctx, len(keys)-len(missing), encoded, need)
	for _, i := range missing {
		k := at[keys[i]]
		if need&NeedDense != 0 && out[i].Dense == nil {
			out[i].Dense = slices.Clone(got[k].Dense)
		}
		out[i].Hidden = slices.Clone(got[k].Hidden)
		out[i].Tokens.Truncated = max(out[i].Tokens.Truncated, got[k].Tokens.Truncated)
	}
	return out, nil
}

// lookUp fills in the stored outputs and returns the positions of the texts for which something is
// missing.
func (c *Cache) lookUp(ctx context.Context, out []Output, keys []cacheKey, need Need) (missing []int, err error) {
	states := need&NeedHidden != 0
	for i, key := range keys {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c.asked[key] {
			missing = append(missing, i)
			continue
		}
		o := &out[i]
		if need&NeedDense != 0 {
			if o.Dense, err = c.find(c.vectors, key); err != nil {
				return nil, err
			}
		}
		if states {
			if o.Hidden, err = c.find(c.states, key); err != nil {
				return nil, err
			}
		}
		if need&NeedDense != 0 && o.Dense == nil || states && (o.Hidden == nil || !c.isWhole(o.Hidden, o.Tokens)) {
			missing = append(missing, i)
		}
	}
	return missing, nil
}

// find returns the numbers stored under a key; nil if there are none or they are damaged.
func (c *Cache) find(v *cacheFile, key cacheKey) ([]float32, error) {
	for {
		c.mu.Lock()
		closed, f, end := c.closed, v.f, v.end
		at, ok := v.index[key]
		c.mu.Unlock()
		if closed {
			return nil, ErrClosed
		}
		if !ok {
			return nil, nil
		}
		record, err := v.recordAt(f, at, end)
		if errors.Is(err, os.ErrClosed) { // another file has taken its place
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read vector cache: %w; delete %s", err, v.path)
		}
		if x := v.read(key, record); x != nil {
			return x, nil
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if now, ok := v.index[key]; ok && now == at && v.f == f {
			c.stats.Damaged++
			delete(v.index, key)
		}
		return nil, nil
	}
}

// count counts hits and encoded texts, except those of Unrelated.
func (c *Cache) count(ctx context.Context, hits int, encoded []cacheKey, need Need) {
	if ctx.Value(measuring{}) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Hits += int64(hits)
	for _, key := range encoded {
		if !c.asked[key] {
			c.stats.Misses++
		}
	}
	if need&NeedHidden != 0 {
		c.stats.StateHits += int64(hits)
	}
}

// records holds the records of keys; nil for a key without one.
type records struct {
	keys []cacheKey
	data [][]byte
}

func (r *records) add(key cacheKey, data []byte) {
	if data != nil {
		r.keys, r.data = append(r.keys, key), append(r.data, data)
	}
}

// vectorRecord is the record of a vector, nil if the vector is invalid or must not be stored.
func (c *Cache) vectorRecord(key cacheKey, v []float32) []byte {
	if c.asked[key] || CheckDense(v, len(v)) != nil {
		return nil
	}
	return c.vectors.record(key, v)
}

// stateRecord returns the record of states, and the states as they will be read from it. If states
// do not belong to the tokens of t, it returns no record, and the caller refuses them.
func (c *Cache) stateRecord(key cacheKey, states []float32, t Tokens) ([]byte, []float32) {
	if !c.isWhole(states, t) || !vec.Finite(states) {
		return nil, states
	}
	record := c.states.record(key, states)
	kept := c.states.read(key, record)
	switch {
	case !vec.Finite(kept): // they were at the end of what a float32 holds
		return nil, states
	case c.asked[key]:
		return nil, kept
	}
	return record, kept
}

// isWhole reports whether there is a state for each token, if t has tokens.
func (c *Cache) isWhole(states []float32, t Tokens) bool {
	dim := c.inner.Dim()
	return len(states)%dim == 0 && (len(t.IDs) == 0 || len(states) == len(t.IDs)*dim)
}

func (c *Cache) checkLength(v []float32) error {
	if len(v) != c.print.Dim {
		return fmt.Errorf("%w: %s gave a vector of length %d, not %d", ErrContract, c.print.Model, len(v), c.print.Dim)
	}
	return nil
}

func keyOf(role Role, text string) cacheKey {
	h := sha256.New()
	h.Write([]byte{byte(role)})
	h.Write([]byte(text))
	return cacheKey(h.Sum(nil))
}
