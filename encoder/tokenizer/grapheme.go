package tokenizer

// Kinds of Hangul letters (Unicode Standard Annex 29, table 2).
const (
	notHangul = iota
	hangulL
	hangulV
	hangulT
	hangulLV
	hangulLVT
)

func hangulKind(r rune) int {
	switch {
	case r < 0x1100:
	case r < 0x1160, 0xA960 <= r && r < 0xA97D:
		return hangulL
	case r < 0x11A8, 0xD7B0 <= r && r < 0xD7C7:
		return hangulV
	case r < 0x1200, 0xD7CB <= r && r < 0xD7FC:
		return hangulT
	case hangulBase <= r && r < hangulEnd:
		if (r-hangulBase)%tails == 0 {
			return hangulLV
		}
		return hangulLVT
	}
	return notHangul
}

func regional(r rune) bool { return 0x1F1E6 <= r && r <= 0x1F1FF }

// grapheme is the number of bytes of the extended grapheme cluster that text,
// which is not empty, begins with (Unicode Standard Annex 29). Text begins at a
// boundary.
func (p *properties) grapheme(text []byte) int {
	last, size := decode(text)
	if size == len(text) {
		return size
	}
	if last == '\r' && text[size] == '\n' {
		return 2
	}
	class := p.of(last)
	if next, _ := p.next(text[size:]); class&isBreaks != 0 || next&isExtend == 0 && class&isPrepend == 0 && class&next&isPaired == 0 {
		return size
	}
	emoji := class&isPictograph != 0   // a pictograph and marks
	joined := false                    // and a joiner
	conjunct := class&isConsonant != 0 // a consonant with its marks
	linked := false                    // one of which links
	flag := regional(last)             // half of a flag
	for size < len(text) {
		r, n := decode(text[size:])
		c := p.of(r)
		a, b := hangulKind(last), hangulKind(r)
		switch {
		case c&isBreaks != 0:
			return size
		case c&isExtend != 0:
			emoji = emoji && !joined // one joiner, after the marks
			joined = emoji && r == 0x200D
			switch {
			case conjunct && c&isLinker != 0:
				linked = true
			case c&isIncbExtend == 0:
				conjunct, linked = false, false
			}
			flag = false
		case class&isPrepend != 0,
			a == hangulL && (b == hangulL || b == hangulV || b == hangulLV || b == hangulLVT),
			(a == hangulLV || a == hangulV) && (b == hangulV || b == hangulT),
			(a == hangulLVT || a == hangulT) && b == hangulT,
			joined && c&isPictograph != 0,
			linked && c&isConsonant != 0,
			flag && regional(r):
			flag = !flag && regional(r)
			emoji, joined = c&isPictograph != 0, false
			conjunct, linked = c&isConsonant != 0, false
		default:
			return size
		}
		last, class = r, c
		size += n
	}
	return size
}
