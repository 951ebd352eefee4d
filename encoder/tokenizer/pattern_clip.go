package tokenizer

// patternCLIP cuts CLIP's texts: contractions, words, single digits, and other signs; no
// match contains space.
const patternCLIP = `'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+`

// clip matches patternCLIP.
type clip struct{ *properties }

func (m clip) find(text []byte, at int) (lo, hi int) {
	for at < len(text) {
		if n := contraction(text[at:], false); n > 0 {
			return at, at + n
		}
		c, size := m.next(text[at:])
		switch {
		case c&isSpace != 0:
			at += size
			continue
		case c&isNumber != 0:
			return at, at + size
		}
		return at, m.run(text, at+size, c&isLetter)
	}
	return -1, -1
}
