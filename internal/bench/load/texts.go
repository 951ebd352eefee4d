package load

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/bench/vectors"
	"github.com/lexsem/lexsem/internal/pooling"
)

const (
	lifeWords  = 60_000 // words that texts are drawn from
	lifeVocab  = 30_522 // token ids, as BERT's
	lifeWhole  = 22_000 // the words of the lowest ranks that are one token; others are two
	lifeLength = 120    // words of a text
	lifeGroups = 100    // values of the metadata "group"
)

const consonants, vowels = "bdfgklmnprtvz", "aiou"

// lifeWord is the made word of a rank: two to four syllables, different for each rank.
func lifeWord(rank int) string {
	var b strings.Builder
	for n := 0; n < 2 || rank > 0; n++ {
		b.WriteByte(consonants[rank%len(consonants)])
		rank /= len(consonants)
		b.WriteByte(vowels[rank%len(vowels)])
		rank /= len(vowels)
	}
	return b.String()
}

// lifeRank is the rank of a made word; known is false for another. A table of all would take some megabytes.
func lifeRank(word string) (rank int, known bool) {
	for at := len(word) &^ 1; at > 0; at -= 2 {
		c, v := strings.IndexByte(consonants, word[at-2]), strings.IndexByte(vowels, word[at-1])
		rank = (rank*len(vowels)+v)*len(consonants) + c
		if c < 0 || v < 0 || at > 4 && rank == 0 || rank >= lifeWords {
			return 0, false
		}
	}
	return rank, len(word) >= 4 && len(word)%2 == 0
}

// lifeEncoder is an encoder without a model for made words: the share of words with two
// tokens is WordPiece's, and a vector is the mean of its tokens' directions. Documents
// and queries of the bench bring vectors of their own, so only a fit encodes.
type lifeEncoder struct {
	dim    int
	print  encoder.Fingerprint
	closed atomic.Bool
}

func newLifeEncoder(dim int) *lifeEncoder {
	e := &lifeEncoder{dim: dim}
	e.print = encoder.Fingerprint{
		Model: fmt.Sprintf("bench-%d", dim), Precision: "fp32", Tokenizer: "made words v1", Pooling: string(pooling.Mean),
		MaxTokens: 512, Dim: dim, VocabSize: lifeVocab,
	}
	for i, text := range encoder.ProbeTexts {
		e.print.Probe[i] = e.encode(text, encoder.NeedDense).Dense
	}
	return e
}

// Tokenize implements encoder.Encoder. Words are separated by blanks.
func (e *lifeEncoder) Tokenize(_ encoder.Role, text string) encoder.Tokens {
	t := encoder.Tokens{IDs: []int32{1}, Special: []bool{true}, Offsets: []encoder.Span{{}}}
	push := func(id, from, to int) {
		if len(t.IDs) == e.print.MaxTokens-1 {
			t.Truncated++
			return
		}
		t.IDs, t.Special = append(t.IDs, int32(id)), append(t.Special, false)
		t.Offsets = append(t.Offsets, encoder.Span{Start: int32(from), End: int32(to)})
	}
	const first, pieces = 3, lifeVocab - 3 - lifeWhole // ids before it are special
	for from := 0; from < len(text); {
		if text[from] == ' ' {
			from++
			continue
		}
		to := from + 1
		for to < len(text) && text[to] != ' ' {
			to++
		}
		switch rank, known := lifeRank(text[from:to]); {
		case !known:
			push(first+lifeWhole+(to-from)%pieces, from, to)
		case rank < lifeWhole:
			push(first+rank, from, to)
		default:
			half := (from + to) / 2
			push(first+lifeWhole+rank%pieces, from, half)
			push(first+lifeWhole+rank*7%pieces, half, to)
		}
		from = to
	}
	t.IDs, t.Special, t.Offsets = append(t.IDs, 2), append(t.Special, true), append(t.Offsets, encoder.Span{})
	return t
}

// Encode implements encoder.Encoder.
func (e *lifeEncoder) Encode(ctx context.Context, _ encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if e.closed.Load() {
		return nil, encoder.ErrClosed
	}
	if need&encoder.NeedLogits != 0 {
		return nil, encoder.ErrNoLogits
	}
	texts, err := encoder.TextsOf(in)
	if err != nil {
		return nil, err
	}
	out := make([]encoder.Output, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = e.encode(text, need)
	}
	return out, nil
}

func (e *lifeEncoder) encode(text string, need encoder.Need) encoder.Output {
	out := encoder.Output{Tokens: e.Tokenize(encoder.Passage, text)}
	if need&(encoder.NeedDense|encoder.NeedHidden) == 0 {
		return out
	}
	dense, size := make([]float32, e.dim), float32(1/math.Sqrt(float64(e.dim)))
	var hidden []float32
	for _, id := range out.Tokens.IDs {
		signs := rand.NewPCG(uint64(id), 0x6c696665)
		var word uint64
		for j := range dense {
			if j%64 == 0 {
				word = signs.Uint64()
			}
			x := size
			if word>>(j%64)&1 == 1 {
				x = -size
			}
			dense[j] += x
			if need&encoder.NeedHidden != 0 {
				hidden = append(hidden, x)
			}
		}
	}
	if !vectors.Normalize(dense) { // directions cancelled each other
		dense[0] = 1
	}
	if need&encoder.NeedDense != 0 {
		out.Dense = dense
	}
	out.Hidden = hidden
	return out
}

// Dim implements encoder.Encoder.
func (e *lifeEncoder) Dim() int { return e.dim }

// VocabSize implements encoder.Encoder.
func (e *lifeEncoder) VocabSize() int { return lifeVocab }

// Fingerprint implements encoder.Encoder.
func (e *lifeEncoder) Fingerprint() encoder.Fingerprint { return e.print }

// Close implements encoder.Encoder.
func (e *lifeEncoder) Close() error {
	if e.closed.Swap(true) {
		return encoder.ErrClosed
	}
	return nil
}

// lifeCorpus makes new documents and queries at each call. Vectors are those of
// vectors.TextLike. Words follow a Zipf law (exponent 1.1), so their number and
// frequencies are like those of real text. With phrases, texts are made of these, and the database encodes them.
// One goroutine uses it at a time.
type lifeCorpus struct {
	vectors *vectors.Collection // nil with phrases
	phrases *phrases
	words   int // of a document
	rng     *rand.Rand
	zipf    *rand.Zipf
	next    int // number of the next new document
}

func newLifeCorpus(docs, dim int, seed uint64) *lifeCorpus {
	return lifeCorpusOf(vectors.NewCollection(docs, dim, seed), seed)
}

func lifeCorpusOf(vectors *vectors.Collection, seed uint64) *lifeCorpus {
	rng := rand.New(rand.NewPCG(seed, 0x7465787473))
	return &lifeCorpus{vectors: vectors, words: lifeLength, rng: rng, zipf: rand.NewZipf(rng, 1.1, 2.7, lifeWords-1)}
}

// corpus makes the corpus of a run and its encoder.
func (o *Options) corpus(ctx context.Context, seed uint64) (*lifeCorpus, encoder.Encoder, error) {
	c := newLifeCorpus(o.Docs, o.Dim, seed)
	c.words = o.Words
	if o.Texts == "" {
		return c, newLifeEncoder(o.Dim), nil
	}
	p, err := readPhrases(ctx, o.Texts)
	c.vectors, c.phrases = nil, p
	return c, o.Encoder, err
}

// text returns a text of n words.
func (c *lifeCorpus) text(n int) string {
	if c.phrases != nil {
		return c.phrases.make(c.rng, n)
	}
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(lifeWord(int(c.zipf.Uint64())))
	}
	return b.String()
}

// fresh makes n new documents.
func (c *lifeCorpus) fresh(n int) []engine.Document {
	d := c.texts(n, c.words, c.next)
	c.next += n
	return d
}

// again makes new contents for n documents, numbers from and up.
func (c *lifeCorpus) again(from, n int) []engine.Document { return c.texts(n, c.words, from) }

func (c *lifeCorpus) texts(n, words, from int) []engine.Document {
	docs := make([]engine.Document, n)
	var vectors *vectors.Set
	if c.vectors != nil {
		vectors = c.vectors.Draw(n, 0.30)
	}
	for i := range docs {
		docs[i] = engine.Document{
			ID: lifeID(from + i), Text: c.text(words/2 + c.rng.IntN(words+1)),
			Metadata: map[string]any{"n": from + i, "group": fmt.Sprint("g", (from+i)%lifeGroups)},
		}
		if vectors != nil {
			docs[i].Vector = vectors.Row(i)
		}
	}
	return docs
}

func lifeID(n int) string { return fmt.Sprint("doc", n) }

func lifeIDs(docs []engine.Document) []string {
	ids := make([]string, len(docs))
	for i := range docs {
		ids[i] = docs[i].ID
	}
	return ids
}

// asked makes n queries of a run. Of phrases they have four to twelve words, and enc encodes them.
func (c *lifeCorpus) asked(ctx context.Context, enc encoder.Encoder, n int) ([]engine.Query, error) {
	if c.phrases == nil {
		return c.queries(n), nil
	}
	out, texts := make([]engine.Query, n), make([]string, n)
	for i := range out {
		texts[i] = c.text(4 + c.rng.IntN(9))
	}
	encoded, err := enc.Encode(ctx, encoder.Query, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i] = engine.Query{Text: texts[i], Vector: encoded[i].Dense}
	}
	return out, nil
}

// queries makes n queries of a vector and three to six words each, without the
// most frequent ones.
func (c *lifeCorpus) queries(n int) []engine.Query {
	vectors := c.vectors.Draw(n, 0.35)
	out := make([]engine.Query, n)
	for i := range out {
		var words []string
		for want := 3 + c.rng.IntN(4); len(words) < want; {
			if r := int(c.zipf.Uint64()); r >= 30 {
				words = append(words, lifeWord(r))
			}
		}
		out[i] = engine.Query{Text: strings.Join(words, " "), Vector: vectors.Row(i)}
	}
	return out
}
