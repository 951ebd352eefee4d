package encoder

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/pooling"
)

// Hash is an Encoder without a model, for tests: feature hashing. A word gets an id from the hash of
// its lower-cased letters, an id a pseudo-random direction, and a text the mean of its words. Texts
// with common words or parts of words are near each other. It knows nothing of meaning.
//
// Its vectors depend only on the text and the dimension.
type Hash struct {
	dim    int
	print  Fingerprint
	closed atomic.Bool
}

const (
	hashVocab     = 8192 // ids, special ones included
	hashMaxTokens = 512
	hashTrigrams  = 32 // most trigrams of a word that count
)

// Ids of the special tokens of Hash; the words share the rest.
const (
	hashPad = iota
	hashCLS
	hashSEP
	hashWords
)

// NewHash returns a Hash of dimension dim. Values below 1 mean 256.
func NewHash(dim int) *Hash {
	if dim < 1 {
		dim = 256
	}
	h := &Hash{dim: dim}
	h.print = Fingerprint{
		Model:     fmt.Sprintf("hash-%d", dim),
		Precision: "fp32",
		Tokenizer: fmt.Sprintf("hash words %d v1", hashVocab),
		Pooling:   string(pooling.Mean),
		MaxTokens: hashMaxTokens,
		Dim:       dim,
		VocabSize: hashVocab,
	}
	for i, text := range ProbeTexts {
		h.print.Probe[i] = h.encode(text, NeedDense).Dense
	}
	return h
}

// Encode implements Encoder; NeedLogits returns ErrNoLogits. Dense is the mean of the rows of Hidden,
// normalised. Cost: about 12·Dim additions a token.
func (h *Hash) Encode(ctx context.Context, _ Role, in []Input, need Need) ([]Output, error) {
	if h.closed.Load() {
		return nil, ErrClosed
	}
	if need&NeedLogits != 0 {
		return nil, ErrNoLogits
	}
	texts, err := TextsOf(in)
	if err != nil {
		return nil, err
	}
	out := make([]Output, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = h.encode(text, need)
	}
	return out, nil
}

func (h *Hash) encode(text string, need Need) Output {
	out := Output{Tokens: h.Tokenize(Passage, text)}
	if need&(NeedDense|NeedHidden) == 0 {
		return out
	}
	hidden := make([]float32, len(out.Tokens.IDs)*h.dim)
	last := int32(hashPad)
	for i, id := range out.Tokens.IDs {
		row := hidden[i*h.dim:][:h.dim]
		if id < hashWords {
			h.add(row, uint64(id), 0.05)
			continue
		}
		span := out.Tokens.Offsets[i]
		word := strings.ToLower(text[span.Start:span.End])
		// Long words say more than short ones: the poor man's idf.
		weight := float32(min(utf8.RuneCountInString(word), 8)) / 8
		h.add(row, uint64(id), weight)
		h.addTrigrams(row, word, 0.7*weight)
		// The order of words: a direction for each pair of neighbours.
		h.add(row, hashString(fnvOffset, word)^bits.RotateLeft64(uint64(last), 32), 0.2*weight)
		last = id
	}
	if need&NeedDense != 0 {
		out.Dense = make([]float32, h.dim)
		if !pooling.Mean.Pool(out.Dense, hidden) { // directions cancelled each other
			clear(out.Dense)
			h.add(out.Dense, hashCLS, 1)
		}
	}
	if need&NeedHidden != 0 {
		out.Hidden = hidden
	}
	return out
}

// add adds f times the unit direction of feature to v. All components of the direction are ±1/√d.
func (h *Hash) add(v []float32, feature uint64, f float32) {
	size := math.Float32bits(f / float32(math.Sqrt(float64(h.dim))))
	var signs uint64
	for j := range v {
		if j%64 == 0 {
			feature += 0x9E3779B97F4A7C15
			signs = mix(feature)
		}
		v[j] += math.Float32frombits(size ^ uint32(signs&1)<<31)
		signs >>= 1
	}
}

// addTrigrams adds the directions of the word's trigrams, its ends marked, so
// that their sum has a length of about f.
func (h *Hash) addTrigrams(v []float32, word string, f float32) {
	var grams []uint64
	a, b := uint64('^'), uint64(0)
	push := func(c uint64) {
		if b != 0 && len(grams) < hashTrigrams {
			grams = append(grams, mix(a<<42|b<<21|c))
		}
		if b != 0 {
			a = b
		}
		b = c
	}
	for _, r := range word {
		if len(grams) == hashTrigrams {
			break
		}
		push(uint64(r))
	}
	push('$')
	for _, g := range grams {
		h.add(v, g, f/float32(math.Sqrt(float64(len(grams)))))
	}
}

// Tokenize implements Encoder. Tokens are maximal runs of letters, digits and combining marks, and
// every other visible character by itself.
func (h *Hash) Tokenize(_ Role, text string) Tokens {
	t := Tokens{IDs: []int32{hashCLS}, Special: []bool{true}, Offsets: []Span{{}}}
	emit := func(start, end int) {
		if len(t.IDs) == hashMaxTokens-1 {
			t.Truncated++
			return
		}
		sum := mix(hashString(fnvOffset, strings.ToLower(text[start:end])))
		t.IDs = append(t.IDs, int32(hashWords+sum%(hashVocab-hashWords)))
		t.Special = append(t.Special, false)
		t.Offsets = append(t.Offsets, Span{int32(start), int32(end)})
	}
	start := -1
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		inWord := unicode.In(r, unicode.L, unicode.N, unicode.M)
		if inWord && start < 0 {
			start = i
		}
		if !inWord {
			if start >= 0 {
				emit(start, i)
				start = -1
			}
			if r != utf8.RuneError && unicode.IsGraphic(r) && !unicode.IsSpace(r) {
				emit(i, i+n)
			}
		}
		i += n
	}
	if start >= 0 {
		emit(start, len(text))
	}
	t.IDs, t.Special, t.Offsets = append(t.IDs, hashSEP), append(t.Special, true), append(t.Offsets, Span{})
	return t
}

// Dim implements Encoder.
func (h *Hash) Dim() int { return h.dim }

// VocabSize implements Encoder.
func (h *Hash) VocabSize() int { return hashVocab }

// Fingerprint implements Encoder.
func (h *Hash) Fingerprint() Fingerprint { return h.print }

// Close implements Encoder; a second call returns ErrClosed.
func (h *Hash) Close() error {
	if h.closed.Swap(true) {
		return ErrClosed
	}
	return nil
}

const fnvOffset = 14695981039346656037

// hashString is FNV-1a.
func hashString(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix is the finaliser of SplitMix64: every bit of x affects every bit of the result.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
