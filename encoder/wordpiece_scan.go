package encoder

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// scan is the state of one Tokenize call: the pieces found so far and the
// buffers of the word being read.
type scan struct {
	t         *WordPiece
	text      string
	limit     int // pieces that fit before [SEP]
	ids       []int32
	spans     []Span
	truncated int

	word []byte // the normalised word being read, if it is not plain ASCII
	from []Span // for each byte of word, the bytes of text it stands for
	run  []mark // combining marks being sorted
}

func (s *scan) reset(text string, max int) {
	s.text, s.truncated = text, 0
	s.ids, s.spans = s.ids[:0], s.spans[:0]
	s.limit = int(^uint(0) >> 1)
	if max > 0 {
		s.limit = max - 1
		if max < 2 {
			s.limit = 1
		}
	}
}

// document reads the whole text: added words as they stand, and the segments
// between them.
func (s *scan) document() {
	t, text := s.t, s.text
	s.emit(t.cls, Span{})
	start := 0
	for i := 0; i < len(text); {
		if !t.addedStart[text[i]] {
			i++
			continue
		}
		k := slices.IndexFunc(t.added, func(a addedWord) bool { return strings.HasPrefix(text[i:], a.text) })
		if k < 0 {
			i++
			continue
		}
		s.segment(start, i)
		start = i + len(t.added[k].text)
		s.emit(t.added[k].id, Span{int32(i), int32(start)})
		i = start
	}
	s.segment(start, len(text))
	s.ids, s.spans = append(s.ids, t.sep), append(s.spans, Span{})
}

// segment reads text[lo:hi], which holds no added word. Words of ASCII are cut
// in place, others go through class by class.
func (s *scan) segment(lo, hi int) {
	t, text := s.t, s.text
	for i := lo; i < hi; {
		switch t.ascii[text[i]] {
		case classSpace:
			i++
			continue
		case classIsolate:
			pieces(s, text[i:i+1], i, nil)
			i++
			continue
		}
		j := i
		for j < hi && t.ascii[text[j]] == classKeep {
			j++
		}
		if j < hi && t.ascii[text[j]] == asciiOther {
			i = s.general(i, lo, hi)
			continue
		}
		pieces(s, text[i:j], i, nil)
		i = j
	}
}

// general reads from text[i:hi] up to the end of a word or of one isolated
// character, and returns the position behind it. lo is the start of the
// segment.
func (s *scan) general(i, lo, hi int) int {
	s.word, s.from = s.word[:0], s.from[:0]
	for i < hi {
		r, n := utf8.DecodeRuneInString(s.text[i:hi])
		src := Span{int32(i), int32(i + n)}
		switch class := s.t.table.class(r); class {
		case classKeep:
			s.put(s.text[i:i+n], src)
		case classGone, classSkip, classMark:
		case classSpace:
			s.flush()
			return i + n
		case classIsolate:
			s.flush()
			s.put(s.text[i:i+n], src)
			s.flush()
			return i + n
		case classTail:
			i = s.reorder(i, lo, hi)
			continue
		case classHangul:
			s.putHangul(r-0xAC00, src)
		default:
			rep := s.t.table.replace[class-classReplace]
			switch {
			case rep.isolate:
				s.flush()
				s.put(rep.text, src)
				s.flush()
				return i + n
			case rep.tail > 0:
				i = s.reorder(i, lo, hi)
				continue
			}
			s.put(rep.text, src)
		}
		i += n
	}
	s.flush()
	return hi
}

func (s *scan) put(normal string, src Span) {
	s.word = append(s.word, normal...)
	for range len(normal) {
		s.from = append(s.from, src)
	}
}

// putHangul puts the two or three letters of the x-th Hangul syllable.
func (s *scan) putHangul(x rune, src Span) {
	var b [9]byte
	w := utf8.AppendRune(b[:0], 0x1100+x/588)
	w = utf8.AppendRune(w, 0x1161+x%588/28)
	if x%28 != 0 {
		w = utf8.AppendRune(w, 0x11A7+x%28)
	}
	s.word = append(s.word, w...)
	for range w {
		s.from = append(s.from, src)
	}
}

// flush emits the pieces of the word that was put, if any.
func (s *scan) flush() {
	if len(s.word) > 0 {
		pieces(s, s.word, 0, s.from)
		s.word, s.from = s.word[:0], s.from[:0]
	}
}

func (s *scan) emit(id int32, src Span) {
	if len(s.ids) >= s.limit {
		s.truncated++
		return
	}
	s.ids = append(s.ids, id)
	s.spans = append(s.spans, src)
}

// pieces emits the longest entries that w, a non-empty word, is made of from
// left to right, or [UNK] where that fails or the word is too long. Byte i of w
// stands for text byte base+i, or for from[i] if from is not nil.
func pieces[T string | []byte](s *scan, w T, base int, from []Span) {
	t := s.t
	src := func(i, j int) Span {
		if from != nil {
			return Span{from[i].Start, from[j-1].End}
		}
		return Span{int32(base + i), int32(base + j)}
	}
	if len(w) > t.options.MaxWordChars && runes(w) > t.options.MaxWordChars {
		s.emit(t.unk, src(0, len(w)))
		return
	}
	found, cut := len(s.ids), s.truncated
	node := uint32(trieStart)
	for i := 0; i < len(w); {
		id, end := int32(-1), i
		for j := i; j < len(w); j++ {
			child, ok := t.trie.Step(node, t.lower[w[j]])
			if !ok {
				break
			}
			node = child
			if k := t.trie.ID[node]; k >= 0 {
				id, end = k, j+1
			}
		}
		if id < 0 {
			s.ids, s.spans, s.truncated = s.ids[:found], s.spans[:found], cut
			s.emit(t.unk, src(0, len(w)))
			return
		}
		s.emit(id, src(i, end))
		i, node = end, trieContinue
	}
}

// runes counts the code points of w, which is valid UTF-8.
func runes[T string | []byte](w T) (n int) {
	for i := range len(w) {
		if utf8.RuneStart(w[i]) {
			n++
		}
	}
	return n
}
