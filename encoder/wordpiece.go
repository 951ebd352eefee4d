package encoder

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder/internal/trie"
)

// ErrTokenizer is wrapped by every error about a tokenizer description that is
// damaged or asks for something other than BERT WordPiece.
var ErrTokenizer = errors.New("unusable tokenizer")

// maxVocabBytes bounds a vocabulary (and its JSON).
const maxVocabBytes = 1<<24 - 1

// WordPieceOptions tell how words reach the vocabulary. The zero value is the
// uncased BERT recipe.
type WordPieceOptions struct {
	// Cased keeps letters as they are instead of lower-casing them and
	// stripping their accents.
	Cased bool
	// MaxWordChars is the number of characters above which a word becomes
	// [UNK] unseen; 0 means 100.
	MaxWordChars int
}

// WordPiece is the tokenizer of the BERT family. It gives the ids and offsets
// of the reference implementation for every string (normalize_table.go names
// the version). It is immutable and safe for concurrent use.
type WordPiece struct {
	vocab         []string
	options       WordPieceOptions
	trie          *trie.Trie
	table         *normTable
	cls, sep, unk int32
	special       []bool      // by id: carries no lexical weight
	added         []addedWord // found in the raw text; longest first
	addedStart    [256]bool   // bytes that an added word begins with
	ascii         [256]byte   // class of an ASCII byte; asciiOther for the rest
	lower         [256]byte   // the byte in the trie for an ASCII byte in the text
	digest        string
	pair          PairFrame
	pairErr       error
	scratch       sync.Pool // of *scan
}

// addedWord is a vocabulary entry that is recognised as it stands in the raw
// text, before normalisation.
type addedWord struct {
	text    string
	id      int32
	special bool
}

// asciiOther marks bytes that the fast path leaves to class.
const asciiOther = 0xff

// NewWordPieceVocab returns the tokenizer of a plain vocabulary (the lines of
// a vocab.txt), in which an entry's index is its id and "##" marks entries
// that continue a word. It must hold "[UNK]", "[CLS]" and "[SEP]" and no entry
// twice, else the error wraps ErrTokenizer. Those three, "[PAD]" and "[MASK]"
// are recognised in texts too. Cost about 40 ms and 3 MB for 30,000 entries.
func NewWordPieceVocab(vocab []string, o WordPieceOptions) (*WordPiece, error) {
	var added []addedWord
	for id, w := range vocab {
		switch w {
		case "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]":
			added = append(added, addedWord{w, int32(id), true})
		}
	}
	return newWordPiece(slices.Clone(vocab), added, o)
}

func newWordPiece(vocab []string, added []addedWord, o WordPieceOptions) (*WordPiece, error) {
	if o.MaxWordChars == 0 {
		o.MaxWordChars = 100
	}
	if o.MaxWordChars < 0 {
		return nil, fmt.Errorf("%w: words of at most %d characters; use a number above 0", ErrTokenizer, o.MaxWordChars)
	}
	index, size := make(map[string]int32, len(vocab)), 0
	for i, w := range vocab {
		if j, dup := index[w]; dup {
			return nil, fmt.Errorf("%w: %q has the ids %d and %d; fetch the vocabulary again", ErrTokenizer, w, j, i)
		}
		index[w] = int32(i)
		size += len(w)
	}
	if size > maxVocabBytes {
		return nil, fmt.Errorf("%w: the vocabulary has %d bytes; at most %d are allowed", ErrTokenizer, size, maxVocabBytes)
	}
	t := &WordPiece{vocab: vocab, added: added, options: o, special: make([]bool, len(vocab))}
	for _, s := range []struct {
		text string
		id   *int32
	}{{"[UNK]", &t.unk}, {"[CLS]", &t.cls}, {"[SEP]", &t.sep}} {
		id, ok := index[s.text]
		if !ok {
			return nil, fmt.Errorf("%w: the vocabulary has no %s; use one of the BERT family", ErrTokenizer, s.text)
		}
		*s.id, t.special[id] = id, true
	}
	for _, a := range added {
		t.special[a.id] = t.special[a.id] || a.special
		t.addedStart[a.text[0]] = true
	}
	slices.SortFunc(t.added, func(a, b addedWord) int {
		return cmp.Or(len(b.text)-len(a.text), int(a.id-b.id))
	})
	t.table = uncasedTable()
	if o.Cased {
		t.table = casedTable()
	}
	t.setASCII()
	t.trie = newTrie(vocab)
	t.digest = t.sum()
	t.pair = bertPair(t.cls, t.sep)
	t.scratch.New = func() any { return &scan{t: t} }
	return t, nil
}

// Roots of the trie.
const (
	trieStart    = 0 // entries that begin a word
	trieContinue = 1 // entries that continue one, without their "##"
)

func newTrie(vocab []string) *trie.Trie {
	entries := make([]trie.Entry, 0, len(vocab))
	for id, w := range vocab {
		e := trie.Entry{Text: w, Root: trieStart, ID: int32(id)}
		if rest, ok := strings.CutPrefix(w, "##"); ok {
			e.Text, e.Root = rest, trieContinue
		}
		// A lone "#" is punctuation and hence a whole word: no word begins
		// with "##", and no piece is empty.
		if e.Text != "" {
			entries = append(entries, e)
		}
	}
	return trie.New(2, entries)
}

// setASCII takes what the table says about ASCII out of it, for the fast path.
func (t *WordPiece) setASCII() {
	for i := range t.ascii {
		t.ascii[i], t.lower[i] = asciiOther, byte(i)
		if i >= utf8.RuneSelf {
			continue
		}
		switch c := t.table.class(rune(i)); {
		case c <= classIsolate && c != classGone:
			t.ascii[i] = byte(c)
		case c >= classReplace: // a capital letter
			t.ascii[i], t.lower[i] = classKeep, t.table.replace[c-classReplace].text[0]
		}
	}
}

// VocabSize is the number of ids.
func (t *WordPiece) VocabSize() int { return len(t.vocab) }

// Token returns the vocabulary entry of id, "##" included, or "".
func (t *WordPiece) Token(id int32) string {
	if id < 0 || int(id) >= len(t.vocab) {
		return ""
	}
	return t.vocab[id]
}

// Digest identifies vocabulary, added words and normalisation, 32 hexadecimal
// digits. It does not depend on the form in which they came.
func (t *WordPiece) Digest() string { return t.digest }

func (t *WordPiece) sum() string {
	h := sha256.New()
	fmt.Fprintf(h, "wordpiece %s cased=%v chars=%d vocab=%d added=%d\n",
		normVersion, t.options.Cased, t.options.MaxWordChars, len(t.vocab), len(t.added))
	for _, w := range t.vocab {
		fmt.Fprintf(h, "%d %s\n", len(w), w)
	}
	for _, a := range t.added {
		fmt.Fprintf(h, "%d %v\n", a.id, t.special[a.id])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Tokenize implements Tokenizer: [CLS], the pieces of text, [SEP]. A max of 1
// counts as 2. A text beyond 2 GiB is cut there, which adds 1 to Truncated.
// Cost O(len(text)), 100 to 200 ns a token; three allocations, those of the result.
func (t *WordPiece) Tokenize(text string, max int) Tokens {
	s := t.scratch.Get().(*scan)
	s.reset(text, max)
	if len(text) > math.MaxInt32 {
		s.text, s.truncated = text[:math.MaxInt32], 1
	}
	s.document()
	out := Tokens{
		IDs:       make([]int32, len(s.ids)),
		Special:   make([]bool, len(s.ids)),
		Offsets:   make([]Span, len(s.ids)),
		Truncated: s.truncated,
	}
	copy(out.IDs, s.ids)
	copy(out.Offsets, s.spans)
	for i, id := range out.IDs {
		out.Special[i] = t.special[id]
	}
	s.text = ""
	if cap(s.ids)+cap(s.word)+cap(s.run) < 1<<16 { // leave what a huge text needed to the collector
		t.scratch.Put(s)
	}
	return out
}
