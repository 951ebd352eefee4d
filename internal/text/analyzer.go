package text

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"unicode"
)

// analyzerVersion changes with everything that changes the terms of a text, including the stemming library:
// an index must be made by one version only.
const analyzerVersion = 5

// MaxTerm is the maximum length of a term in bytes. A longer term keeps its first bytes and ends with
// a digest of the whole, so that it stays distinct.
const MaxTerm = 64

// ErrLanguage: the language is not an ISO 639 code.
var ErrLanguage = errors.New("unknown language; use an ISO 639 code. Stems and function words are known of " + strings.Join(Languages(), ", ") + ` ("none" leaves words as they are)`)

// Options are the options of an Analyzer.
type Options struct {
	// Language is the ISO 639 code of the texts. "" means "en". With "none", Stem and Stop have no effect.
	Language string
	// Stem reduces words to their Snowball stems if the language is one of Languages. Words in Cyrillic and Arabic
	// script become Russian and Arabic stems in texts of languages that are not written in these scripts. A text in
	// another language of Latin script than Language has the stems of both.
	Stem bool
	// Stop removes the function words of the language, and those of Russian and Arabic if Stem stems these.
	Stop bool
}

// Defaults returns the options for English: stems, without function words.
func Defaults() Options { return Options{Language: "en", Stem: true, Stop: true} }

// Term is one term of a text. Terms with Beside false are the words of the text in order. A compound gives
// its words and also itself: ERR_CONN_RESET gives the words err, conn, reset, and err_conn_reset with Beside
// true. ReadAll gives the word readal (a stem), and read and all with Beside true.
type Term struct {
	Text       string  // lower-cased and stemmed; at most MaxTerm bytes
	Start, End int     // the term comes from the bytes [Start, End) of the text
	Beside     bool    // an additional term at the position of words
	Weight     float32 // weight in a query: 1, or 1/n for each of n parts of a compound; 0 counts as 1
	Title      bool    // in the title of a document (InTitle)
}

// InTitle marks the terms in the first end bytes of a document, which are its title, and returns the terms.
func InTitle(terms []Term, end int) []Term {
	for i := range terms {
		if terms[i].End > end {
			break
		}
		terms[i].Title = true
	}
	return terms
}

// Analyzer splits texts into terms. Equal options give equal terms in every process. It is safe for
// concurrent use.
type Analyzer struct {
	o      Options
	stop   map[string]struct{}
	stem   *stemmer          // nil: words stay as they are
	guests []*guest          // languages of words in other scripts
	elides bool              // an apostrophe ends a word: l'homme
	number map[string]uint16 // of the words in stop
	digest string
}

// For returns the analyzer of a language with Defaults; "" means English. The error is ErrLanguage.
func For(language string) (*Analyzer, error) {
	o := Defaults()
	o.Language = language
	return NewAnalyzer(o)
}

// NewAnalyzer returns an analyzer. The error is ErrLanguage.
func NewAnalyzer(o Options) (*Analyzer, error) {
	o.Language = cmp.Or(o.Language, "en")
	l, err := languageOf(o.Language)
	if err != nil {
		return nil, err
	}
	a := &Analyzer{o: o, elides: l.elides}
	guests := guestsOf(o.Language)
	if o.Stop {
		a.stop = maps.Clone(stopWords(o.Language))
		for _, g := range guests {
			if a.stop == nil {
				a.stop = map[string]struct{}{}
			}
			maps.Copy(a.stop, stopWords(g.code))
		}
		a.number = make(map[string]uint16, len(a.stop))
		for w := range a.stop {
			a.number[w] = uint16(len(a.number))
		}
	}
	if o.Stem {
		a.guests = guests
	}
	if o.Stem && l.stem != nil {
		a.stem = newStemmer(l.stem, a.stop)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "analyzer %d %s stem=%t stop=%t\n%s", analyzerVersion, o.Language, o.Stem, o.Stop, stopDigest(a.stop)))
	a.digest = hex.EncodeToString(sum[:8])
	return a, nil
}

// Options returns the analyzer's options, with the language filled in.
func (a *Analyzer) Options() Options { return a.o }

// Digest identifies the analysis: its version, the options and the stop list. Terms of equal digests
// are comparable.
func (a *Analyzer) Digest() string { return a.digest }

// FunctionWords returns the words that Terms leaves out, lower-cased, in no order.
func (a *Analyzer) FunctionWords() iter.Seq[string] { return maps.Keys(a.stop) }

// Terms appends the terms of s to dst:
//
//   - words are maximal runs of letters, digits and marks, lower-cased and in Unicode's form NFKC;
//     purely alphabetic ones are stemmed;
//   - 1,000 is 1000. A word of letters and numbers joined by a hyphen, and short words joined by hyphens, are also
//     written without it: GPT4, wifi;
//   - words joined by a sign (_ . - / \ : @ + & = #) are a compound, which gives the whole and its
//     parts, except that words of letters joined by hyphens are just words. A camelCase word is one
//     word with its pieces as additional terms;
//   - a word with accents has its form without them as an additional term;
//   - in a text whose language (LanguageOf) is another one of Latin script than the analyzer's, a word also has the stem
//     of the text's language as an additional term;
//   - scripts without spaces (Han, Kana, Hangul, Thai, Lao, Khmer, Myanmar) give overlapping pairs of
//     characters, or the single character if it stands alone. The characters are additional terms. For Thai, words
//     from a dictionary are no better: BM25 has nDCG@10 96.8 with them and 96.4 with pairs on the 1,190 questions of
//     XQuAD (difference between -0.2 and 1.2);
//   - function words give additional terms (Function), each word and each pair of neighbours once, and so does each
//     function word in capitals, such as US. They are for queries that have only function words;
//   - an emoji is a word. Soft hyphens and characters without width are not part of a word. Raised numbers
//     are numbers: CO₂ is co2.
//
// s may hold any bytes. Invalid UTF-8 separates words. Cost O(len(s)): about 200 ns for a recently
// seen word, 2 µs for a new one.
func (a *Analyzer) Terms(dst []Term, s string) []Term { return a.terms(scanner{a: a, s: s, dst: dst}) }

// Asked appends the terms of a query to dst: like Terms, but without the single characters of longer runs, and with
// function words only if there is no other term, or if they are in capitals among small letters. A Hangul particle at
// the end of a word is an additional term.
func (a *Analyzer) Asked(dst []Term, s string) []Term {
	n := len(dst)
	dst = a.terms(scanner{a: a, s: s, dst: dst, asked: true})
	if len(dst) == n && len(a.stop) > 0 {
		dst = a.terms(scanner{a: a, s: s, dst: dst, asked: true, functions: true})
	}
	return dst
}

func (a *Analyzer) terms(sc scanner) []Term {
	s := sc.s
	if a.o.Stem && a.o.Language != "none" {
		sc.own = ownOf(s, a.o.Language)
	}
	for i := 0; i < len(s); {
		r, n := decode(s[i:])
		switch classOf(r, n) {
		case classWord:
			i = sc.compound(i)
		case classDense:
			i = sc.dense(i)
		case classSign:
			sc.add(s[i:i+n], i, i+n, false, 1)
			i += n
			for i < len(s) { // what colours or joins it
				r, n := decode(s[i:])
				if !unicode.IsMark(r) && r != 0x200d && !unicode.Is(unicode.Sk, r) {
					break
				}
				i += n
			}
		default:
			i += n
		}
	}
	return sc.dst
}
