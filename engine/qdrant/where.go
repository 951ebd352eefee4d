package qdrant

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// where is a filter of the server's: conditions of which all, one or none must be met.
type where struct {
	clause clause
	of     []object
}

type clause string

const (
	all   clause = "must"
	one   clause = "should"
	none  clause = "must_not"
	never clause = "never" // of no conditions: met by no point
)

var (
	always = where{clause: all}
	nobody = where{clause: never}
	// first is met by the first passage of each document.
	first = is(object{"key": "chunk", "match": object{"value": 0}})
)

// is is met where a condition is.
func is(c object) where { return where{all, []object{c}} }

func (w where) always() bool { return w.clause == all && len(w.of) == 0 }

func (w where) never() bool { return w.clause == never }

// in adds w to a request, unless it is met by all; nobody must not come here.
func (w where) in(request object) object {
	if !w.always() {
		request["filter"] = object{string(w.clause): w.of}
	}
	return request
}

// under are the conditions of w as those of a clause.
func (w where) under(c clause) []object {
	if w.clause == c || len(w.of) == 1 && w.clause != none {
		return w.of
	}
	return []object{{string(w.clause): w.of}}
}

// deepest is how deep objects and arrays of a filter nest: the server reads JSON up to a depth of 128.
const deepest = 100

// condition is what a filter asks of a passage.
func condition(f engine.Filter) (where, error) {
	if f.IsZero() {
		return always, nil
	}
	w, err := filter.Answer(f, algebra{})
	if err == nil && 2+depth(w.of) > deepest {
		err = fmt.Errorf("%w: a filter that nests too deep for this engine; make it simpler", engine.ErrInvalid)
	}
	return w, err
}

// depth is how deep a value of JSON nests.
func depth(v any) (d int) {
	switch v := v.(type) {
	case object:
		for _, x := range v {
			d = max(d, 1+depth(x))
		}
	case []object:
		for _, x := range v {
			d = max(d, 1+depth(x))
		}
	case []string:
		return 1
	}
	return d
}

// algebra makes a filter of the server's.
type algebra struct{}

func (algebra) All(yes bool) (where, error) {
	if yes {
		return always, nil
	}
	return nobody, nil
}

func (algebra) Not(a where) (where, error) {
	switch {
	case a.always():
		return nobody, nil
	case a.never():
		return always, nil
	case a.clause == none:
		return where{one, a.of}, nil
	}
	return where{none, a.under(one)}, nil
}

func (algebra) And(a, b where) (where, error) {
	switch {
	case a.never() || b.never():
		return nobody, nil
	case a.always():
		return b, nil
	case b.always():
		return a, nil
	}
	return where{all, slices.Concat(a.under(all), b.under(all))}, nil
}

func (algebra) Or(a, b where) (where, error) {
	switch {
	case a.always() || b.always():
		return always, nil
	case a.never():
		return b, nil
	case b.never():
		return a, nil
	}
	return where{one, slices.Concat(a.under(one), b.under(one))}, nil
}

func (algebra) Where(c *filter.Condition) (where, error) {
	rs, err := c.Facts()
	if err != nil {
		return nobody, err
	}
	var equal []string
	var any []object
	for _, r := range rs {
		if r.From == r.To && !r.FromOpen && !r.ToOpen {
			equal = append(equal, digest(r.From))
			continue
		}
		some, err := between(r)
		if err != nil {
			return nobody, fmt.Errorf("%w: filter on %q: %v", engine.ErrInvalid, c.Path(), err)
		}
		any = append(any, some...)
	}
	slices.Sort(equal)
	if equal = slices.Compact(equal); len(equal) > 0 {
		any = append(any, object{"key": "facts", "match": object{"any": equal}})
	}
	switch len(any) {
	case 0:
		return nobody, nil
	case 1:
		return is(any[0]), nil
	}
	return where{one, any}, nil
}

// digest stands for a text of any length and any bytes.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// The server has ranges of numbers alone, whose bounds it takes as float64, exact up to 53 bits. So the text of a fact
// becomes words of three bytes, each a number in the order of texts, below 27 bits that stand for all that is in
// front of it. Each word is kept twice, with other such bits: so what is not meant is met once in 2^54 times.
const (
	wordBytes = 3
	valueBits = 8*wordBytes + 2 // of a word, and how many bytes it has
	frontBits = 27
	// mostWords is how many words of a fact are kept. Texts that are equal so far have no order.
	mostWords = 80
	// longestBound is how long the bound of a range is at most: its last word is kept.
	longestBound = mostWords*wordBytes - 1
	// greatest is above no word.
	greatest = 1<<valueBits - 1
)

// word is one of a fact, as the server keeps it: what stands for all in front of it, in two ways, and the word.
type word struct{ one, other int64 }

// wordAt is the i-th word of a value as a number: three bytes, 0 behind the end, and how many there are. So the word
// with less than three is the last.
func wordAt(value string, i int) (w int64, last bool) {
	part := value[min(i*wordBytes, len(value)):min((i+1)*wordBytes, len(value))]
	for j := range wordBytes {
		w <<= 8
		if j < len(part) {
			w |= int64(part[j])
		}
	}
	return w<<2 | int64(len(part)), len(part) < wordBytes
}

// cut cuts a fact into what is in front of its value, path and kind, and the value.
func cut(fact string) (front, value string, ok bool) {
	i := strings.IndexByte(fact, 0)
	if i < 0 || i+2 > len(fact) {
		return "", "", false
	}
	return fact[:i+2], fact[i+2:], true
}

// behind is the least word behind the first i of a value.
func behind(front, value string, i int) word {
	sum := sha256.Sum256([]byte(front + value[:i*wordBytes]))
	bits := func(from int) int64 {
		return int64(binary.BigEndian.Uint32(sum[from:])>>(32-frontBits)) << valueBits
	}
	return word{bits(0), bits(4)}
}

func (w word) plus(v int64) word { return word{w.one + v, w.other + v} }

// wordsOf are the words of those facts whose values have an order, each once.
func wordsOf(facts []string) (words []word) {
	seen := map[word]bool{}
	for _, f := range facts {
		front, value, ok := cut(f)
		if !ok || value == "" && !strings.HasSuffix(front, "s") {
			continue // null, true, false, and that a path is there
		}
		for i := range mostWords {
			v, last := wordAt(value, i)
			if w := behind(front, value, i).plus(v); !seen[w] {
				seen[w] = true
				words = append(words, w)
			}
			if last {
				break
			}
		}
	}
	return words
}

// between are conditions of which one is met where a fact lies in a range: its words are those of a bound up to
// some word, and that one lies above, or below, the bound's.
func between(r filter.FactRange) (cs []object, err error) {
	front, from, ok := cut(r.From)
	toFront, to, tok := cut(r.To)
	last := len(front) - 1 // the kind
	if !ok || !tok || toFront != front && !(to == "" && r.ToOpen && toFront == front[:last]+string(rune(front[last]+1))) {
		return nil, fmt.Errorf("a range of facts from %q to %q, which is none of values at one path", r.From, r.To)
	}
	bounded := toFront == front // or all behind from
	if bounded && from > to {
		return nil, nil
	}
	for _, b := range []string{from, to} {
		if len(b) > longestBound {
			return nil, fmt.Errorf("an order by, or a beginning with, a value of %d bytes, where this engine keeps the order of %d; use a shorter one", len(b), longestBound)
		}
	}
	add := func(value string, i int, least, most int64) {
		if least > most {
			return
		}
		w := behind(front, value, i)
		from, to := w.plus(least), w.plus(most)
		cs = append(cs, object{"must": []object{
			{"key": "order", "range": object{"gte": from.one, "lte": to.one}}, {"key": "order2", "range": object{"gte": from.other, "lte": to.other}},
		}})
	}
	// lower and upper are the least and the most that the i-th word may be where all before are a bound's.
	lower := func(i int) (least int64, last bool) {
		least, last = wordAt(from, i)
		if !last || r.FromOpen {
			least++
		}
		return least, last
	}
	upper := func(i int) (most int64, last bool) {
		most, last = wordAt(to, i)
		if !last || r.ToOpen {
			most--
		}
		return most, last
	}
	i := 0 // the first word in which the bounds differ
	if bounded {
		for ; ; i++ {
			a, alast := wordAt(from, i)
			if b, _ := wordAt(to, i); a != b {
				break
			}
			if alast {
				return nil, nil // the bounds are equal, and one of them is left out
			}
		}
	}
	least, fromLast := lower(i)
	most, toLast := int64(greatest), true
	if bounded {
		most, toLast = upper(i)
	}
	add(from, i, least, most)
	for j := i + 1; !fromLast; j++ {
		least, fromLast = lower(j)
		add(from, j, least, greatest)
	}
	for j := i + 1; !toLast; j++ {
		most, toLast = upper(j)
		add(to, j, 0, most)
	}
	return cs, nil
}
