package tokenizer

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxEntryBytes bounds the texts of the entries of a trie.
const maxEntryBytes = maxTrieBytes / 2

// readModel reads a model's vocabulary.
func (b *builder) readModel(kind string, m modelJSON) error {
	read := map[string]func(m modelJSON) error{"BPE": b.bpe, "Unigram": b.unigram, "WordPiece": b.wordPiece}[kind]
	if read == nil {
		return unsupported("model.type", kind)
	}
	if b.raw && kind != "BPE" {
		return unsupported("pre_tokenizer", "ByteLevel with "+kind)
	}
	if err := read(m); err != nil {
		return err
	}
	if b.entries == 0 {
		return refuse("model.vocab is empty; fetch the model again")
	}
	return nil
}

// modelJSON is a model without its long values, which package json would read several times, and these.
type modelJSON struct{ rest, vocab, merges json.RawMessage }

// lists takes the long values out of a valid model.
func lists(model json.RawMessage) modelJSON {
	m, s := modelJSON{rest: json.RawMessage{'{'}}, scanner{b: model}
	if s.object(func(key string) error {
		value := s.skip()
		switch key {
		case "vocab":
			m.vocab = value
		case "merges":
			m.merges = value
		default:
			name, err := json.Marshal(key)
			if err != nil {
				return err
			}
			if len(m.rest) > 1 {
				m.rest = append(m.rest, ',')
			}
			m.rest = append(append(append(m.rest, name...), ':'), value...)
		}
		return nil
	}) != nil {
		return modelJSON{rest: model}
	}
	m.rest = append(m.rest, '}')
	return m
}

// entry gives an id its entry; both must be new.
func (b *builder) entry(text string, id int32) error {
	if other, dup := b.ids[text]; dup {
		return refuse("model.vocab has %.200q with the ids %d and %d; fetch the model again", text, other, id)
	}
	if id >= 0 && int(id) < len(b.vocab) && b.vocab[id] != "" {
		return refuse("model.vocab has %.200q and %.200q with the id %d; fetch the model again", b.vocab[id], text, id)
	}
	b.ids[text] = id
	return b.name(text, id)
}

// vocabulary is {"text": id, …}.
func (b *builder) vocabulary(raw json.RawMessage) error {
	n := bytes.Count(raw, []byte{','}) // entries, about
	b.ids, b.vocab, b.special = make(map[string]int32, n), make([]string, 0, n), make([]bool, 0, n)
	s := scanner{b: raw}
	err := s.object(func(key string) error {
		n := s.number()
		id, err := strconv.ParseInt(n, 10, 32)
		if err != nil {
			return refuse("model.vocab: the id of %.200q is %.40s; fetch the model again", key, n)
		}
		return b.entry(key, int32(id))
	})
	b.entries = len(b.ids)
	return err
}

// fallback returns the ids of <0x00> to <0xFF>, -1 for missing ones.
func (b *builder) fallback() *[256]int32 {
	var ids [256]int32
	for i := range ids {
		id, ok := b.ids[fmt.Sprintf("<0x%02X>", i)]
		if !ok {
			id = -1
		}
		ids[i] = id
	}
	return &ids
}

func (b *builder) unigram(in modelJSON) error {
	var j struct {
		Type         string
		UnkID        *int32 `json:"unk_id"`
		ByteFallback bool   `json:"byte_fallback"`
	}
	if err := strict("model", in.rest, &j); err != nil {
		return err
	}
	var texts []string
	var scores []float64
	s := scanner{b: in.vocab}
	err := s.array(func() error {
		var text, number string
		n := 0
		if err := s.array(func() error {
			switch n++; n {
			case 1:
				text = s.string()
			case 2:
				number = s.number()
			default:
				return refuse("model.vocab: an entry has more than a text and a score")
			}
			return nil
		}); err != nil {
			return err
		}
		score, err := strconv.ParseFloat(number, 64)
		if n != 2 || err != nil {
			return refuse("model.vocab: the score of %.200q is %.40q; fetch the model again", text, number)
		}
		texts, scores = append(texts, text), append(scores, score)
		return nil
	})
	if err != nil {
		return err
	}
	unk := int32(-1)
	if j.UnkID != nil {
		unk = *j.UnkID
	}
	return b.scored(texts, scores, unk, j.ByteFallback)
}

// scored makes the Unigram model of entries with scores; their positions are their ids.
func (b *builder) scored(texts []string, scores []float64, unk int32, byteFallback bool) error {
	b.ids, b.vocab, b.special = make(map[string]int32, len(texts)), texts, make([]bool, len(texts))
	m := &unigram{scores: scores, unk: unk}
	lowest, size := math.Inf(1), 0
	for id, text := range texts {
		// Of entries that are there twice the last one counts, as in the reference.
		b.ids[text] = int32(id)
		lowest = min(lowest, scores[id])
		size += len(text)
	}
	if size > maxEntryBytes {
		return refuse("model.vocab has %d bytes; at most %d are allowed", size, maxEntryBytes)
	}
	b.entries = len(texts)
	if unk < 0 || int(unk) >= b.entries {
		return refuse("model.unk_id is missing or no id of the vocabulary; use another model")
	}
	b.unk = unk
	m.unkScore = lowest - 10 // the penalty of SentencePiece for an unknown character
	entries := make([]trieEntry, 0, len(b.ids))
	for text, id := range b.ids {
		if text != "" {
			entries = append(entries, trieEntry{text: text, id: id})
		}
	}
	m.trie = newTrie(1, entries)
	if byteFallback {
		m.fallback = b.fallback()
	}
	b.model = m
	return nil
}

func (b *builder) wordPiece(in modelJSON) error {
	var j struct {
		Type     string
		UnkToken string `json:"unk_token"`
		Prefix   string `json:"continuing_subword_prefix"`
		Longest  int    `json:"max_input_chars_per_word"`
	}
	if err := strict("model", in.rest, &j); err != nil {
		return err
	}
	if err := b.vocabulary(in.vocab); err != nil {
		return err
	}
	unk, ok := b.ids[j.UnkToken]
	if !ok {
		return refuse("model.unk_token %q is not in the vocabulary; fetch the model again", j.UnkToken)
	}
	if j.Longest < 0 {
		return unsupported("model.max_input_chars_per_word", j.Longest)
	}
	entries := make([]trieEntry, 0, 2*len(b.vocab))
	size := 0
	for id, text := range b.vocab {
		if text != "" {
			entries = append(entries, trieEntry{text: text, root: wordStart, id: int32(id)})
		}
		if rest, ok := strings.CutPrefix(text, j.Prefix); ok && rest != "" {
			entries = append(entries, trieEntry{text: rest, root: wordRest, id: int32(id)})
		}
		size += len(text)
	}
	if size > maxEntryBytes {
		return refuse("model.vocab has %d bytes; at most %d are allowed", size, maxEntryBytes)
	}
	b.unk = unk
	b.model = &wordPiece{trie: newTrie(2, entries), unk: unk, longest: j.Longest, bert: j.UnkToken == "[UNK]" && j.Prefix == "##" && j.Longest > 0}
	return nil
}

// bytesOf decodes a text in the alphabet of byte-level vocabularies: printable bytes of
// Latin-1 stand for themselves; U+0100 and the following letters stand for the other
// bytes, in order.
func bytesOf(text string) ([]byte, bool) {
	b := make([]byte, 0, len(text))
	for _, r := range text {
		c, ok := byteOf[r]
		if !ok {
			return nil, false
		}
		b = append(b, c)
	}
	return b, true
}

var byteOf = func() map[rune]byte {
	m, next := map[rune]byte{}, rune(256)
	for c := range rune(256) {
		if '!' <= c && c <= '~' || 0xA1 <= c && c <= 0xAC || 0xAE <= c && c <= 0xFF {
			m[c] = byte(c)
		} else {
			m[next] = byte(c)
			next++
		}
	}
	return m
}()

func (b *builder) bpe(in modelJSON) error {
	var j struct {
		Type         string
		Dropout      *float64
		UnkToken     *string `json:"unk_token"`
		Prefix       *string `json:"continuing_subword_prefix"`
		Suffix       *string `json:"end_of_word_suffix"`
		FuseUnk      bool    `json:"fuse_unk"`
		ByteFallback bool    `json:"byte_fallback"`
		IgnoreMerges bool    `json:"ignore_merges"`
	}
	if err := strict("model", in.rest, &j); err != nil {
		return err
	}
	if j.Dropout != nil && *j.Dropout != 0 {
		return unsupported("model.dropout", *j.Dropout)
	}
	if err := b.vocabulary(in.vocab); err != nil {
		return err
	}
	prefix, suffix := "", ""
	if j.Prefix != nil {
		prefix = *j.Prefix
	}
	if j.Suffix != nil {
		suffix = *j.Suffix
	}
	m := &bpe{raw: b.raw, unk: -1, fuse: j.FuseUnk, ignoreMerges: j.IgnoreMerges}
	if j.ByteFallback {
		if b.raw || prefix != "" || suffix != "" {
			return unsupported("model.byte_fallback", "true with ByteLevel, continuing_subword_prefix or end_of_word_suffix")
		}
		m.fallback = b.fallback()
	}
	m.setSymbols(b.ids, prefix, suffix)
	if j.UnkToken != nil {
		id, ok := b.ids[*j.UnkToken]
		if ok {
			m.unk, b.unk = id, id
		} else if !(m.raw && !slices.Contains(m.small[1][1][:], -1) && !slices.Contains(m.small[0][0][:], -1) &&
			!slices.Contains(m.small[0][1][:], -1) && !slices.Contains(m.small[1][0][:], -1)) {
			return refuse("model.unk_token %q is not in the vocabulary; fetch the model again", *j.UnkToken)
		}
	}
	if m.ignoreMerges {
		m.whole = make(map[string]int32, len(b.ids))
		for text, id := range b.ids {
			if m.raw {
				raw, ok := bytesOf(text)
				if !ok {
					continue
				}
				text = string(raw)
			}
			m.whole[text] = id
			m.longest = max(m.longest, len(text))
		}
	}
	if err := b.merges(m, in.merges, prefix); err != nil {
		return err
	}
	const mark = "▁"
	_, marked := b.ids[mark]
	m.cutBefore = marked && !m.raw && prefix == "" && suffix == "" && (m.unk >= 0 || m.fallback != nil && !slices.Contains(m.fallback[:], -1))
	m.mark = []byte(mark)
	b.model = m
	return nil
}

// setSymbols finds the entries of single symbols.
func (m *bpe) setSymbols(ids map[string]int32, prefix, suffix string) {
	for behind := range 2 {
		for last := range 2 {
			before, after := "", ""
			if behind == 1 {
				before = prefix
			}
			if last == 1 {
				after = suffix
			}
			if last == 1 && after == "" {
				m.small[behind][1], m.large[behind][1] = m.small[behind][0], m.large[behind][0]
				continue
			}
			if behind == 1 && before == "" {
				m.small[1][last], m.large[1][last] = m.small[0][last], m.large[0][last]
				continue
			}
			small, large := new([256]int32), map[rune]int32{}
			for i := range small {
				small[i] = -1
			}
			for text, id := range ids {
				if len(text) > len(before)+len(after)+utf8.UTFMax || len(text) <= len(before)+len(after) ||
					!strings.HasPrefix(text, before) || !strings.HasSuffix(text, after) {
					continue
				}
				s := text[len(before) : len(text)-len(after)]
				r, n := utf8.DecodeRuneInString(s)
				if n != len(s) {
					continue
				}
				if m.raw {
					if c, ok := byteOf[r]; ok {
						small[c] = id
					}
				} else if r < utf8.RuneSelf {
					small[r] = id
				} else {
					large[r] = id
				}
			}
			m.small[behind][last], m.large[behind][last] = small, large
		}
	}
}

// merges reads ["a b", …] or [["a", "b"], …].
func (b *builder) merges(m *bpe, raw json.RawMessage, prefix string) error {
	type merge struct {
		a, b, id int32
	}
	var list []merge
	var joined []byte
	s := scanner{b: raw}
	err := s.array(func() error {
		var left, right string
		if s.peek() == '"' {
			line := s.string()
			if strings.HasPrefix(line, "#version") {
				return nil
			}
			var ok bool
			if left, right, ok = strings.Cut(line, " "); !ok || strings.Contains(right, " ") {
				return refuse("model.merges has %.200q, which is not two entries; fetch the model again", line)
			}
		} else {
			n := 0
			if err := s.array(func() error {
				switch n++; n {
				case 1:
					left = s.string()
				case 2:
					right = s.string()
				default:
					return refuse("model.merges: an entry has more than two parts")
				}
				return nil
			}); err != nil {
				return err
			}
			if n != 2 {
				return refuse("model.merges: an entry has fewer than two parts")
			}
		}
		if len(right) < len(prefix) {
			return refuse("model.merges has %.200q, which is shorter than the prefix; fetch the model again", right)
		}
		joined = append(append(joined[:0], left...), right[len(prefix):]...)
		x, okX := b.ids[left]
		y, okY := b.ids[right]
		id, ok := b.ids[string(joined)]
		if !okX || !okY || !ok || left == "" || len(right) == len(prefix) {
			return refuse("model.merges has %.200q and %.200q, which are not in the vocabulary or do not make an entry of it; fetch the model again", left, right)
		}
		list = append(list, merge{x, y, id})
		last := rune(-1)
		for _, r := range string(joined) {
			if r == '▁' && last >= 0 {
				m.crossing.add(last, last)
			}
			last = r
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.merges = newPairs(len(list))
	for rank, x := range list {
		m.merges.set(x.a, x.b, rank, x.id)
	}
	return nil
}

// modelSum is a digest of the model without its vocabulary.
func (t *Tokenizer) modelSum() string {
	h := sha256.New()
	switch m := t.model.(type) {
	case *unigram:
		fmt.Fprintf(h, "unigram unk=%d fallback=%v\n", m.unk, m.fallback != nil)
		for _, s := range m.scores {
			number(h, math.Float64bits(s))
		}
	case *wordPiece:
		fmt.Fprintf(h, "wordpiece unk=%d longest=%d nodes=%v\n", m.unk, m.longest, m.trie.id)
	case *bpe:
		fmt.Fprintf(h, "bpe raw=%v ignore=%v unk=%d fuse=%v fallback=%v symbols=%v %v\n", m.raw, m.ignoreMerges, m.unk, m.fuse, m.fallback != nil, m.small[1][1], m.small[0][0])
		m.merges.each(func(key, value uint64) {
			number(h, key)
			number(h, value)
		})
	}
	return hex.EncodeToString(h.Sum(nil))
}

func number(h hash.Hash, v uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, v)) }

// each calls f for all pairs, by rank.
func (p *pairs) each(f func(key, value uint64)) {
	var order []int
	for i, k := range p.keys {
		if k != 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		if p.values[a] < p.values[b] {
			return -1
		}
		return 1
	})
	for _, i := range order {
		f(p.keys[i], p.values[i])
	}
}
