package text

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// analyzerVersion changes with everything that makes another term of the same
// text, the stemming library included: an index is made by one version only.
const analyzerVersion = 1

// MaxTerm is the greatest length of a term in bytes. A longer one keeps its
// first bytes and ends with a digest of the whole, so it is still told apart.
const MaxTerm = 64

// ErrLanguage: there is no analysis for the language.
var ErrLanguage = errors.New("unknown language; use one of " + strings.Join(Languages(), ", ") + ` ("none" for texts of several languages)`)

// Options choose how an Analyzer makes terms of a text.
type Options struct {
	// Language is the ISO 639-1 code of the texts, one of Languages; empty
	// means "en". With "none" Stem and Stop do nothing.
	Language string
	// Stem reduces words to their Snowball stems.
	Stem bool
	// Stop leaves out the language's function words.
	Stop bool
}

// Defaults are the options for English: stems, without function words.
func Defaults() Options { return Options{Language: "en", Stem: true, Stop: true} }

// Term is one term of a text. Those with Beside false are the words of the
// text in their order. A compound is there twice: ERR_CONN_RESET gives the
// words err, conn, reset, and beside them err_conn_reset; ReadAll gives the
// word readal (a stem), and beside it read and all.
type Term struct {
	Text       string  // lower-cased, stemmed; at most MaxTerm bytes
	Start, End int     // the bytes [Start, End) of the text that it was read from
	Beside     bool    // stands beside the words instead of among them
	Weight     float32 // as part of a query: 1; 1/n for each of n parts of a compound. 0 counts as 1
}

// Analyzer makes the terms of texts. The same options make the same terms in
// every process. It is safe for concurrent use.
type Analyzer struct {
	o      Options
	stop   map[string]struct{}
	stem   *stemmer // nil: words stay as they are
	elides bool     // an apostrophe ends a word: l'homme
	digest string
}

// For is the analyzer of a language, "" for English, with Defaults for the rest. It fails
// with ErrLanguage.
func For(language string) (*Analyzer, error) {
	o := Defaults()
	o.Language = language
	return NewAnalyzer(o)
}

// NewAnalyzer makes an analyzer. It fails with ErrLanguage.
func NewAnalyzer(o Options) (*Analyzer, error) {
	if o.Language == "" {
		o.Language = "en"
	}
	l, ok := languages[o.Language]
	if !ok {
		return nil, fmt.Errorf("language %q: %w", o.Language, ErrLanguage)
	}
	a := &Analyzer{o: o, elides: l.elides}
	if o.Stop {
		a.stop = stopWords(o.Language)
	}
	if o.Stem && l.stem != nil {
		a.stem = newStemmer(l.stem, a.stop)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "analyzer %d %s stem=%t stop=%t\n%s", analyzerVersion, o.Language, o.Stem, o.Stop, stopDigest(a.stop)))
	a.digest = hex.EncodeToString(sum[:8])
	return a, nil
}

// Options are those the analyzer was made with, the language filled in.
func (a *Analyzer) Options() Options { return a.o }

// Digest names what decides the terms of a text: the version of the analysis,
// the options and the stop list. Terms of equal digests can be compared.
func (a *Analyzer) Digest() string { return a.digest }

// Terms appends the terms of s to dst:
//
//   - words are maximal runs of letters, digits and marks, lower-cased and
//     brought to Unicode's form NFKC; purely alphabetic ones are stemmed;
//   - words joined by a sign (_ . - / \ : @ + & = #) are a compound: whole
//     and in parts, except that words of letters joined by hyphens are just
//     words. A camelCase word is one word with its pieces beside it;
//   - scripts written without spaces (Han, Kana, Hangul, Thai, Lao, Khmer,
//     Myanmar) give overlapping pairs of characters, or the single character
//     where it stands alone.
//
// Any bytes are welcome; invalid UTF-8 separates words. Cost O(len(s)),
// about 200 ns a word that has been met lately, 2 µs for a new one.
func (a *Analyzer) Terms(dst []Term, s string) []Term {
	sc := scanner{a: a, s: s, dst: dst}
	for i := 0; i < len(s); {
		r, n := decode(s[i:])
		switch classOf(r, n) {
		case classWord:
			i = sc.compound(i)
		case classDense:
			i = sc.dense(i)
		default:
			i += n
		}
	}
	return sc.dst
}
