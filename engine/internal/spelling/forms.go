package spelling

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"
)

// endings returns the endings of the analyzer's language.
func (w *work) endings() []string { return endings[w.s.analyzer.Options().Language] }

// stem is the term of a word, "" for a function word.
func (w *work) stem(word string) string {
	for _, t := range w.s.analyzer.Terms(nil, word) {
		if !t.Beside {
			return t.Text
		}
	}
	return ""
}

// has reports whether enough documents contain a word.
func (w *work) has(word string) bool {
	n, ok := w.x.Find(w.stem(word))
	return ok && w.x.DF(n) >= leastDF(w.x.Len())
}

func (w *work) isEnding(s string) bool {
	_, ok := slices.BinarySearch(w.endings(), s)
	return ok
}

// mostTail is the maximum number of letters in a mistyped ending.
const mostTail = 6

// nearEnding reports whether letters differ from an ending by one edit.
func (w *work) nearEnding(typed []rune) bool {
	if len(typed) > mostTail {
		return false
	}
	for _, e := range w.endings() {
		if n := utf8.RuneCountInString(e); n > 1 && len(typed)-1 <= n && n <= len(typed)+1 && distance(typed, []rune(e), 1) <= 1 {
			return true
		}
	}
	return false
}

// madeOf reports whether a word is a known one with an ending, or two known ones without a blank. It is no typo then,
// unless the model knows a word one edit away: insur and acne make insuracne.
func (w *work) madeOf(typed, stem string) bool {
	n := utf8.RuneCountInString(typed)
	at := 0
	for i := range typed {
		if at++; at <= leastPart {
			continue
		}
		if !w.has(typed[:i]) || w.stem(typed[:i]) == stem {
			continue
		}
		if w.isEnding(typed[i:]) || n-at+1 >= leastPart && w.has(typed[i:]) {
			return true
		}
	}
	return false
}

// english reports whether stems change before endings as in English: try, tries; hope, hoping; run, running.
func (s *Speller) english() bool { return s.analyzer.Options().Language == "en" }

func vowel(r rune) bool { return strings.ContainsRune("aeiouy", r) }

// near calls add with the terms that at least least documents have and that may be the stem of the intended word. The edit is in the stem, with or without an
// ending after it; or in the ending; or it swaps the two letters where the ending begins.
func (w *work) near(typed, stem string, most, least int, add func(term int)) {
	letters := []rune(typed)
	w.table.near(w.x, []rune(stem), most, least, add)
	if stem != typed {
		w.table.near(w.x, letters, 1, least, add)
	}
	if w.endings() == nil {
		return
	}
	nearly := func(stem []rune) { w.table.near(w.x, stem, 1, least, add) }
	if n := len(letters) - 1; w.s.english() && letters[n] == 'y' {
		nearly(append(letters[:n:n], 'i'))
	}
	exactly := func(stem []rune) {
		if n, ok := w.x.Find(string(stem)); ok && w.x.DF(n) >= least {
			add(n)
		}
	}
	for n := len(letters) - 1; n >= minLetters; n-- {
		head, tail := letters[:n], string(letters[n:])
		exactly(head)
		if w.s.english() { // hope of hop(ing)
			long := append(head[:n:n], 'e')
			exactly(long)
			if w.isEnding(tail) && vowel(letters[n]) {
				nearly(long)
			}
		}
		if string(head) != stem && (w.isEnding(tail) || most > 1 && w.nearEnding(letters[n:])) {
			nearly(head)
		}
		swapped := slices.Clone(head)
		swapped[n-1] = letters[n]
		if w.isEnding(string(letters[n-1]) + string(letters[n+1:])) {
			exactly(swapped)
		}
	}
}

// form is a possible spelling of a term.
type form struct {
	word  string
	edits int
	known bool // the model knows it
	alike bool // its last letter is that of the typed word
}

// written returns the spelling of a term nearest to the typed word, at most most edits away.
func (w *work) written(typed []rune, stem, term string, most int) (best form, ok bool) {
	try := func(word string) {
		if f, near := w.formOf(typed, word, most); near && (!ok || f.better(best)) && w.stem(word) == term {
			best, ok = f, true
		}
	}
	// The ending of the typed word: the text after its stem, instead of the stem's other letters.
	t, n := string(typed), 0
	for n < len(t) && n < len(stem) && t[n] == stem[n] {
		n++
	}
	if head, ok := strings.CutSuffix(term, stem[n:]); ok {
		try(head + t[n:])
	}
	letters := utf8.RuneCountInString(term)
	for _, e := range w.endings() {
		if n := letters + utf8.RuneCountInString(e); len(typed)-most <= n && n <= len(typed)+most {
			try(term + e)
		}
	}
	if !w.s.english() {
		return best, ok
	}
	last, size := utf8.DecodeLastRuneInString(term)
	short := term[:len(term)-size]
	if last == 'i' {
		try(short + "y")
	}
	for _, e := range w.endings() {
		first, _ := utf8.DecodeRuneInString(e)
		if n := letters + utf8.RuneCountInString(e) - len(typed); !vowel(first) || n > most+1 || n < -most-1 {
			continue
		}
		if last == 'e' {
			try(short + e)
		} else if !vowel(last) {
			try(term + string(last) + e)
		}
	}
	return best, ok
}

// read is the form of a term, in some documents that have it, that is nearest to the typed word. If the documents have
// the intended word only with another ending, it is that form.
func (w *work) read(ctx context.Context, term int, typed []rune, stem string, most int) (best form, ok bool, err error) {
	words, err := w.known.Written(ctx, term)
	if err != nil {
		return best, false, err
	}
	name := w.x.Term(term)
	tail, bare := strings.CutPrefix(string(typed), stem)
	bare = bare && distance([]rune(stem), []rune(name), most) <= most
	for _, word := range words {
		f, near := w.formOf(typed, word, most)
		ending, begins := strings.CutPrefix(word, name)
		other := bare && begins && w.isEnding(ending) && (tail == "" || distance([]rune(tail), []rune(ending), 1) <= 1)
		if (near || other) && (!ok || f.better(best)) {
			best, ok = f, true
		}
	}
	return best, ok, nil
}

func (w *work) formOf(typed []rune, word string, most int) (f form, near bool) {
	d := distance(typed, []rune(word), most)
	end, _ := utf8.DecodeLastRuneInString(word)
	f = form{word: word, edits: d, alike: end == typed[len(typed)-1]}
	if d > most || !utf8.ValidString(word) {
		return f, false
	}
	f.known = w.known.Word != nil && w.known.Word(word)
	return f, true
}

func (f form) better(than form) bool {
	switch {
	case f.edits != than.edits:
		return f.edits < than.edits
	case f.known != than.known:
		return f.known
	}
	return f.alike && !than.alike
}

// function is the function word that is one edit away from a word, or with same differs only in apostrophes. The query
// must have other words.
func (w *work) function(typed []rune, same bool) (best candidate, ok bool) {
	if len(w.others) == 0 {
		return best, false
	}
	for _, letters := range w.s.functions {
		if distance(typed, letters, 1) > 1 || same && strings.ReplaceAll(string(letters), "'", "") != string(typed) {
			continue
		}
		c := candidate{term: -1, form: form{word: string(letters), edits: 1}}
		c.weight = c.likely(typed, 1+w.x.Len()/rare)
		if !ok || better(c, best) < 0 {
			best, ok = c, true
		}
	}
	return best, ok
}
