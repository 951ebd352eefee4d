package bench

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/late"
	"github.com/lexsem/lexsem/internal/private"
)

// codesKind describes a kind of codes for token states.
type codesKind struct{ rank, bits, pool int }

// tokenCodes are the codes of the token states of all targets.
type tokenCodes struct {
	basis  *late.Basis
	coder  late.Coder
	codes  [][]byte // of each target
	states int      // tokens that were encoded
}

// bytes is the memory of the codes and their basis.
func (c *tokenCodes) bytes() int64 {
	n := int64(4 * (c.basis.Rank() + 1) * c.basis.Dim())
	for _, data := range c.codes {
		n += int64(len(data))
	}
	return n
}

const (
	basisSample   = 30_000 // tokens that a basis is fitted on, about
	basisPassages = 1_000  // passages that they are drawn from, at most
	codesVersion  = 3      // of the files below; to be raised where codes of the same states change
	codesBatch    = 64     // passages whose states are held at a time
)

// tokenCodes makes the codes of one kind at the first call, together with the other kinds that the run needs,
// since encoding is the main cost. With a cache folder the codes are kept for later runs on the same texts.
func (s *Setting) tokenCodes(ctx context.Context, kind codesKind) (*tokenCodes, error) {
	if c := s.codes[kind]; c != nil {
		return c, nil
	}
	if s.codes == nil {
		s.codes = map[codesKind]*tokenCodes{}
	}
	var missing []codesKind
	for _, k := range append([]codesKind{kind}, s.Codes...) {
		if s.codes[k] != nil {
			continue
		}
		c, err := s.readCodes(k)
		if err != nil {
			return nil, err
		}
		if c != nil {
			s.codes[k] = c
			continue
		}
		s.codes[k] = &tokenCodes{}
		missing = append(missing, k)
	}
	if len(missing) > 0 {
		if err := s.encodeTokens(ctx, missing); err != nil {
			for _, k := range missing {
				delete(s.codes, k)
			}
			return nil, err
		}
		for _, k := range missing {
			if err := s.keepCodes(k); err != nil {
				return nil, err
			}
		}
	}
	return s.codes[kind], nil
}

// encodeTokens fills the codes of some kinds.
func (s *Setting) encodeTokens(ctx context.Context, kinds []codesKind) error {
	sample, err := s.sampleStates(ctx)
	if err != nil {
		return err
	}
	bases := map[int]*late.Basis{}
	for _, k := range kinds {
		if bases[k.rank] == nil {
			if bases[k.rank], err = late.FitBasis(sample, s.Encoder.Dim(), k.rank); err != nil {
				return fmt.Errorf("fitting a basis of token states: %w", err)
			}
		}
		c := s.codes[k]
		c.basis = bases[k.rank]
		c.coder = late.Coder{Basis: c.basis, Bits: k.bits, Pool: k.pool}
		c.codes = make([][]byte, s.Targets.Len())
	}
	for at := 0; at < s.Targets.Len(); at += codesBatch {
		texts := s.Targets.Texts[at:min(at+codesBatch, s.Targets.Len())]
		out, err := s.Encoder.Encode(ctx, encoder.Passage, encoder.Texts(texts...), encoder.NeedHidden)
		if err != nil {
			return fmt.Errorf("encoding the tokens of passages: %w", err)
		}
		err = parallel.Each(ctx, len(out), func(i int) (err error) {
			for _, k := range kinds {
				c := s.codes[k]
				if c.codes[at+i], err = c.coder.Encode(nil, out[i].Hidden, late.Skip(texts[i], out[i].Tokens)); err != nil {
					return fmt.Errorf("tokens of passage %s: %w", s.Targets.ID(at+i), err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		s.Report(Progress{Stage: "encode tokens", Done: at + len(texts), Total: s.Targets.Len()})
	}
	for _, k := range kinds {
		if err := s.codes[k].count(); err != nil {
			return err
		}
	}
	return nil
}

// count sets the number of tokens.
func (c *tokenCodes) count() error {
	c.states = 0
	for i, data := range c.codes {
		codes, err := late.Parse(data)
		if err != nil {
			return fmt.Errorf("passage %d: %w", i, err)
		}
		c.states += codes.States()
	}
	return nil
}

// sampleStates are token states of some passages, without skipped tokens.
func (s *Setting) sampleStates(ctx context.Context) ([]float32, error) {
	d := s.Encoder.Dim()
	var sample []float32
	order := rand.New(rand.NewPCG(s.Seed, 71)).Perm(s.Targets.Len())
	order = order[:min(len(order), basisPassages)]
	for len(order) > 0 && len(sample) < basisSample*d {
		n := min(codesBatch, len(order))
		texts := make([]string, n)
		for i, t := range order[:n] {
			texts[i] = s.Targets.Texts[t]
		}
		order = order[n:]
		out, err := s.Encoder.Encode(ctx, encoder.Passage, encoder.Texts(texts...), encoder.NeedHidden)
		if err != nil {
			return nil, fmt.Errorf("encoding the tokens of passages: %w", err)
		}
		for j, o := range out {
			for i, skip := range late.Skip(texts[j], o.Tokens) {
				if !skip {
					sample = append(sample, o.Hidden[i*d:(i+1)*d]...)
				}
			}
		}
	}
	return sample, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// codesFile names everything that codes depend on; "" without a cache folder.
func (s *Setting) codesFile(k codesKind) string {
	if s.CacheDir == "" {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\x00%d\x00%d\x00%d\x00%d\x00%T\x00%s\x00", codesVersion, k.rank, k.bits, k.pool, s.Seed, s.Encoder, s.Encoder.Fingerprint().Digest())
	for _, text := range s.Targets.Texts {
		fmt.Fprintf(h, "%d\x00%s", len(text), text)
	}
	return filepath.Join(s.CacheDir, "tokens", hex.EncodeToString(h.Sum(nil)[:16])+".codes")
}

// keepCodes writes the file of a kind: for the basis and the codes of each target the length (4) and the bytes, then
// the CRC-32C of all before (4).
func (s *Setting) keepCodes(k codesKind) error {
	name := s.codesFile(k)
	if name == "" {
		return nil
	}
	c := s.codes[k]
	basis, err := c.basis.AppendBinary(nil)
	if err != nil {
		return err
	}
	var data []byte
	for _, part := range append([][]byte{basis}, c.codes...) {
		data = binary.LittleEndian.AppendUint32(data, uint32(len(part)))
		data = append(data, part...)
	}
	data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
	if err := private.MkdirAll(filepath.Dir(name)); err != nil {
		return fmt.Errorf("keeping the codes of tokens: %w", err)
	}
	temp := fmt.Sprintf("%s.%d", name, os.Getpid())
	err = os.WriteFile(temp, data, private.File)
	if err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		return fmt.Errorf("keeping the codes of tokens: %w", errors.Join(err, os.Remove(temp)))
	}
	return nil
}

// readCodes reads a file of keepCodes; it returns nil if the file does not exist or is damaged.
func (s *Setting) readCodes(k codesKind) (*tokenCodes, error) {
	name := s.codesFile(k)
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the codes of tokens: %w", err)
	}
	c, err := codesFrom(data, s.Targets.Len())
	if err != nil { // a damaged file is made anew
		s.Report(Progress{Stage: "encode tokens: their cached codes cannot be read"})
		return nil, nil
	}
	c.coder = late.Coder{Basis: c.basis, Bits: k.bits, Pool: k.pool}
	return c, nil
}

var errTorn = errors.New("codes of tokens are torn")

func codesFrom(data []byte, n int) (*tokenCodes, error) {
	if len(data) < 4 || crc32.Checksum(data[:len(data)-4], castagnoli) != binary.LittleEndian.Uint32(data[len(data)-4:]) {
		return nil, errTorn
	}
	data = data[:len(data)-4]
	next := func() ([]byte, error) {
		if len(data) < 4 || uint64(len(data)-4) < uint64(binary.LittleEndian.Uint32(data)) {
			return nil, errTorn
		}
		size := 4 + int(binary.LittleEndian.Uint32(data))
		part := data[4:size:size]
		data = data[size:]
		return part, nil
	}
	part, err := next()
	if err != nil {
		return nil, err
	}
	c := &tokenCodes{codes: make([][]byte, n)}
	if c.basis, err = late.ReadBasis(part); err != nil {
		return nil, err
	}
	for i := range c.codes {
		if c.codes[i], err = next(); err != nil {
			return nil, err
		}
	}
	if len(data) > 0 {
		return nil, errTorn
	}
	return c, c.count()
}
