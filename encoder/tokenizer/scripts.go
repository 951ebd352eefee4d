package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
)

// A vocabulary made from texts in one language has letters of other scripts, but no words. It cuts texts in those
// scripts into letters, which say as little as the token for unknown text. Some thousand Chinese characters count as
// words.
const (
	leastWords   = 256  // entries of two letters and more that a script has which the vocabulary writes
	leastHan     = 1024 // entries of Chinese characters
	leastEntries = 4096 // of a vocabulary that tells anything
)

// unwritten finds the entries of scripts in which the vocabulary has no words. Entries must be plain text, since
// entries of bytes show no script.
func (t *Tokenizer) unwritten() {
	scripts, known := make([]*unicode.RangeTable, len(t.vocab)), map[rune]*unicode.RangeTable{}
	entries, words := 0, map[*unicode.RangeTable]int{}
	for id, entry := range t.vocab {
		if t.special[id] {
			continue
		}
		script, letters := scriptOf(strings.TrimPrefix(strings.TrimPrefix(entry, "##"), "▁"), known)
		if script == nil {
			continue
		}
		scripts[id] = script
		if entries++; letters > 1 || script == unicode.Han {
			words[script]++
		}
	}
	if entries < leastEntries {
		return
	}
	foreign := make([]bool, len(t.vocab))
	for id, script := range scripts {
		least := leastWords
		if script == unicode.Han {
			least = leastHan
		}
		if script != nil && words[script] < least {
			foreign[id] = true
			t.foreign = foreign
		}
	}
}

// unwrittenIn returns the number of bytes in words that are spelled letter by letter, in scripts without words in the
// vocabulary. A single letter, such as α, counts as a sign.
func (t *Tokenizer) unwrittenIn(text string, ids []int32, spans []encoder.Span, special []bool) (bytes int) {
	before := false // the token before goes on in this one
	for i, id := range ids {
		if !t.foreign[id] {
			before = false
			continue
		}
		goesOn := i+1 < len(ids) && t.foreign[ids[i+1]] && joined(text, spans[i].End, spans[i+1].Start)
		if !special[i] && (before || goesOn) {
			bytes += int(spans[i].End - spans[i].Start)
		}
		before = goesOn
	}
	return bytes
}

// joined reports whether only marks, which normalisation removes, lie between two positions of a text. Letters that
// come from one code point have the same position.
func joined(text string, from, to int32) bool {
	return from > to || strings.IndexFunc(text[from:to], func(r rune) bool { return !unicode.IsMark(r) }) < 0
}

// scriptOf returns the script of the letters and vowel signs of an entry, and their number. The script is nil if there
// are no letters or several scripts. known caches the scripts of letters.
func scriptOf(entry string, known map[rune]*unicode.RangeTable) (script *unicode.RangeTable, letters int) {
	for _, r := range entry {
		if r < utf8.RuneSelf {
			if 'a' <= r|0x20 && r|0x20 <= 'z' {
				letters++
				if script == nil {
					script = unicode.Latin
				} else if script != unicode.Latin {
					return nil, 0
				}
			}
			continue
		}
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			continue
		}
		letters++
		if script != nil && unicode.Is(script, r) {
			continue
		}
		of, ok := known[r]
		if !ok {
			for _, s := range unicode.Scripts {
				if unicode.Is(s, r) {
					of = s
					break
				}
			}
			known[r] = of
		}
		if of == nil || script != nil || of == unicode.Common || of == unicode.Inherited {
			return nil, 0
		}
		script = of
	}
	return script, letters
}
