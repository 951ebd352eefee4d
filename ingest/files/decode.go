package files

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	utf "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// sampleBytes is the size of the sample from which the encoding of a text is guessed. The sample of a stream is its
// first bytes. The sample of a file is made of its parts that are not ASCII.
const sampleBytes = 64 << 10

// least is the minimum share of text in a file.
const least = 0.97

// mostASCII is the longest run of printable ASCII bytes that is accepted in UTF-16. In Chinese text about one character
// in four has two such bytes, so a run of twelve characters occurs once in ten million. A long file may have one, but
// then it also has many NUL bytes.
const mostASCII = 24

// sure is the confidence, from 0 to 100, from which a legacy encoding needs no warning; below likely it is rejected.
const sure, likely = 60, 10

var (
	utf16le = utf.UTF16(utf.LittleEndian, utf.IgnoreBOM)
	utf16be = utf.UTF16(utf.BigEndian, utf.IgnoreBOM)
	utf32le = utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	utf32be = utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
)

// marks are the byte order marks. The mark of UTF-32 begins with that of UTF-16.
var marks = []struct {
	mark string
	enc  encoding.Encoding // nil for UTF-8
}{{"\ufeff", nil}, {"\xff\xfe\x00\x00", utf32le}, {"\x00\x00\xfe\xff", utf32be}, {"\xff\xfe", utf16le}, {"\xfe\xff", utf16be}}

// decoded is the file in UTF-8, without a byte order mark and NUL bytes. Bytes that no encoding explains become U+FFFD.
// It returns ErrBinary if less than 97 % of the examined bytes are text. Replaced bytes give a warning at the end.
func (s *File) decoded() (io.Reader, error) {
	if s.at == nil {
		return s.decodedFrom(s, nil, 0)
	}
	return s.decodedFrom(s, contextReaderAt{s}, s.size)
}

// decodedFrom is decoded for the content of r. It examines all of it if at is not nil, else the first bytes that r
// returns, without waiting for more.
func (s *File) decodedFrom(r io.Reader, at io.ReaderAt, size int64) (io.Reader, error) {
	br := bufio.NewReaderSize(r, sampleBytes)
	wait := sampleBytes
	if at == nil {
		wait = len(marks[1].mark)
	}
	head, atEnd := br.Peek(wait)
	if n := br.Buffered(); atEnd == nil && n > len(head) {
		head, atEnd = br.Peek(n)
	}
	if atEnd != nil && atEnd != io.EOF && len(head) == 0 {
		return nil, atEnd
	}
	for _, m := range marks {
		if bytes.HasPrefix(head, []byte(m.mark)) {
			if _, err := br.Discard(len(m.mark)); err != nil {
				return nil, err
			}
			s.repeatable(at, int64(len(m.mark)), size, m.enc)
			return s.mended(br, m.enc), nil
		}
	}
	var c census
	all := io.NewSectionReader(at, 0, size)
	whole := at == nil || atEnd == io.EOF
	if whole {
		all = io.NewSectionReader(bytes.NewReader(head), 0, int64(len(head)))
	}
	plain, err := plainUTF8(all)
	switch {
	case err != nil:
		return nil, err
	case !plain && whole:
		if c.add(head); atEnd == nil { // more follows
			c.rest = nil
		}
	case !plain:
		if _, err := all.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		if err := c.all(all); err != nil {
			return nil, err
		}
	}
	enc, name, err := c.encoding(head)
	if err != nil {
		return nil, err
	}
	if name != "" {
		s.Warn(0, "not UTF-8: it was read as %s, which is a guess; convert the file to UTF-8", name)
	}
	s.repeatable(at, 0, size, enc)
	return s.mended(br, enc), nil
}

// mislabelled reports that a text is UTF-8 although it says that it is of another encoding, as texts that were converted often do.
// A text of one byte a character is hardly ever valid UTF-8, but three letters of Thai may be. Of the other encodings, one character in
// five is, so eight are enough.
func mislabelled(raw []byte, label string) bool {
	if !utf8.Valid(raw) {
		return false
	}
	e, _ := htmlindex.Get(label) // nil for one that is not known
	_, single := e.(*charmap.Charmap)
	wide, thai := 0, e == charmap.Windows874 // all letters are Thai by the label, and none as UTF-8
	for _, r := range string(raw) {
		if r >= utf8.RuneSelf {
			wide++
			thai = thai && !unicode.In(r, unicode.Latin, unicode.Thai)
		}
	}
	for _, b := range raw {
		thai = thai && (b < utf8.RuneSelf || unicode.Is(unicode.Thai, charmap.Windows874.DecodeByte(b)))
	}
	return wide >= 8 || single && wide > 0 && !thai
}

// repeatable sets File.again from what is known about a file.
func (s *File) repeatable(at io.ReaderAt, from, size int64, enc encoding.Encoding) {
	if at == nil {
		return
	}
	s.again = func() io.Reader {
		r := s.mended(io.NewSectionReader(at, from, size-from), enc)
		r.told = true
		return r
	}
}

// plainUTF8 reports whether r is UTF-8 without NUL bytes, as most files are. It is much faster than a
// census.
func plainUTF8(r io.Reader) (bool, error) {
	buf := make([]byte, sampleBytes)
	rest := 0 // bytes of a character that the last part ended in the middle of
	for {
		n, err := io.ReadFull(r, buf[rest:])
		part := buf[:rest+n]
		end := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !end {
			return false, err
		}
		cut := len(part)
		if !end {
			cut = wholeRunes(part)
		}
		if !utf8.Valid(part[:cut]) || bytes.IndexByte(part, 0) >= 0 {
			return false, nil
		}
		if end {
			return true, nil
		}
		rest = copy(buf, part[cut:])
	}
}

// wholeRunes is the length of p without an incomplete character at its end.
func wholeRunes(p []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if at := len(p) - back; utf8.RuneStart(p[at]) {
			if !utf8.FullRune(p[at:]) {
				return at
			}
			break
		}
	}
	return len(p)
}

// contextReaderAt reads a file until its context ends.
type contextReaderAt struct{ s *File }

func (c contextReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if err := c.s.ctx.Err(); err != nil {
		return 0, err
	}
	return c.s.at.ReadAt(p, off)
}

// census counts the evidence for encodings.
type census struct {
	bytes, control, multi, bad int    // all; control characters; characters of several bytes; bytes that are not UTF-8
	nul                        [4]int // NUL bytes, by their place modulo 4
	run, longest               int    // bytes of printable ASCII in a row, at the end and at most
	rest                       []byte // of a character that the last part ended in the middle of
	sample                     []byte // parts that are not ASCII
}

// all counts the bytes of r.
func (c *census) all(r io.Reader) error {
	buf := make([]byte, sampleBytes)
	for {
		n, err := io.ReadFull(r, buf)
		c.add(buf[:n])
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add counts one part. An incomplete character at its end is counted with the next part.
func (c *census) add(part []byte) {
	p := append(c.rest, part...)
	c.rest = nil
	ascii := true
	for i := 0; i < len(p); {
		b := p[i]
		if b < ' ' || b > '~' {
			c.run = 0
		} else if c.run++; c.run > c.longest {
			c.longest = c.run
		}
		if b < utf8.RuneSelf {
			if b == 0 {
				c.nul[(c.bytes+i)%4]++
			} else if b < ' ' && !strings.ContainsRune("\t\n\v\f\r\b\x1b", rune(b)) || b == 0x7f {
				c.control++
			}
			i++
			continue
		}
		ascii = false
		if !utf8.FullRune(p[i:]) {
			c.rest, p = slices.Clone(p[i:]), p[:i]
			break
		}
		r, size := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && size == 1 {
			c.bad++
		} else {
			c.multi++
		}
		i += size
	}
	c.bytes += len(p)
	if room := sampleBytes - len(c.sample); room > 0 && (!ascii || len(c.sample) == 0) {
		c.sample = append(c.sample, p[:min(len(p), room)]...)
	}
}

// encoding returns the encoding of the file: nil for UTF-8, or ErrBinary. name is the
// name of a guessed encoding.
func (c *census) encoding(head []byte) (enc encoding.Encoding, name string, err error) {
	if n := len(c.rest); n > 0 { // no character follows
		c.bad, c.bytes, c.sample = c.bad+n, c.bytes+n, append(c.sample, c.rest...)
	}
	even, odd := c.nul[0]+c.nul[2], c.nul[1]+c.nul[3]
	quads, nuls := c.bytes/4, even+odd
	if e := c.wide(quads, even, odd); e != nil && textShare(e, head[:len(head)&^3]) >= least {
		return e, "", nil
	}
	words := c.bytes - nuls
	replaced := float64(c.bad+c.control) <= (1-least)*float64(words) // is what remains to be done
	switch {
	case c.bad == 0 && (nuls == 0 || replaced):
		return nil, "", nil
	case c.bad == 0:
		return nil, "", ErrBinary
	case c.multi > c.bad && replaced: // UTF-8, some of which was damaged
		return nil, "", nil
	}
	if enc, name, ok := legacy(bytes.ReplaceAll(c.sample, []byte{0}, nil)); ok {
		return enc, name, nil
	}
	if replaced {
		return nil, "", nil
	}
	return nil, "", ErrBinary
}

// wide returns the encoding of two or four bytes per character that the places of the NUL bytes suggest, or
// nil.
func (c *census) wide(quads, even, odd int) encoding.Encoding {
	nuls := even + odd
	switch {
	case nuls == 0 || quads < 2:
		return nil
	case c.nul[3] >= quads && 10*c.nul[2] >= 9*quads && 10*c.nul[0] < quads:
		return utf32le
	case c.nul[0] >= quads && 10*c.nul[1] >= 9*quads && 10*c.nul[3] < quads:
		return utf32be
	case 3*nuls < c.bytes && 20*(c.bad+c.control) < c.bytes, nuls < 16 && c.longest > mostASCII: // of a log, perhaps, or of a damaged file
		return nil
	case 20*odd >= 19*nuls:
		return utf16le
	case 20*even >= 19*nuls:
		return utf16be
	}
	return nil
}

// asian are the encodings of East Asia, in which two bytes or more are a character.
var asian = map[string]bool{"Big5": true, "EUC-JP": true, "EUC-KR": true, "GB18030": true, "Shift_JIS": true}

// joined reports whether a sample can be text in one of asian. There characters stand next to each other, and most have
// two bytes beyond ASCII. A European language that is read so has characters of an accented letter and the ASCII letter
// after it, with ASCII between them. Words of Russian or Greek have most bytes in one range of 32, that of their small
// letters; the bytes of East Asian characters are spread. A few bytes in a long text may be damage, or accents of a name.
func joined(e encoding.Encoding, sample []byte) bool {
	out, err := e.NewDecoder().Bytes(sample)
	if err != nil {
		return false
	}
	all, beside, run := 0, 0, 0
	for _, r := range string(out) + " " {
		if r >= utf8.RuneSelf {
			run++
			continue
		}
		if all += run; run > 1 {
			beside += run
		}
		run = 0
	}
	high, ranges := 0, [3]int{} // of iso-8859-7, windows-1251 and -1253; iso-8859-5; koi8-r
	for _, b := range sample {
		if b >= utf8.RuneSelf {
			high++
		}
		for i, from := range []byte{0xe0, 0xd0, 0xc0} {
			if b >= from && b-from < 32 {
				ranges[i]++
			}
		}
	}
	few := high < 16 && 10*high < len(sample)
	return !few && 2*beside >= all && 4*high >= 5*all && 4*slices.Max(ranges[:]) < 3*high
}

// legacy recognises an encoding from before Unicode. name is set if it is a guess.
func legacy(sample []byte) (enc encoding.Encoding, name string, ok bool) {
	found, err := chardet.NewTextDetector().DetectAll(sample)
	if err != nil {
		found = nil // none is known, and the default follows
	}
	slices.SortFunc(found, func(a, b chardet.Result) int { // the library's order of equals is that of its goroutines
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.Charset, b.Charset))
	})
	for _, f := range found {
		e, err := htmlindex.Get(strings.Replace(f.Charset, "GB-", "gb", 1))
		if err != nil || f.Confidence < likely || strings.HasPrefix(f.Charset, "UTF-") || textShare(e, sample) < 1 || asian[f.Charset] && !joined(e, sample) {
			continue
		}
		if f.Confidence >= sure {
			return e, "", true
		}
		return e, f.Charset, true
	}
	if e := charmap.Windows1252; textShare(e, sample) >= least { // what a browser would take
		return e, "windows-1252", true
	}
	return nil, "", false
}

// textShare is the share of the characters of a sample that texts contain, in [0, 1].
func textShare(e encoding.Encoding, sample []byte) float64 {
	out, err := e.NewDecoder().Bytes(sample)
	if err != nil || len(out) == 0 {
		return 0
	}
	all, good := 0, 0
	for i := 0; i < len(out); {
		r, size := utf8.DecodeRune(out[i:])
		if i += size; i == len(out) && r == utf8.RuneError { // the sample may end within a character
			break
		}
		all++
		if r != utf8.RuneError && (unicode.IsPrint(r) || unicode.IsSpace(r) && r != 0x85 || unicode.Is(unicode.Cf, r) || r == 0x1b) {
			good++
		}
	}
	if all == 0 {
		return 0
	}
	return float64(good) / float64(all)
}

// mended decodes r, replaces bytes that are not UTF-8, and writes a space for each run of NUL
// bytes.
func (s *File) mended(r io.Reader, enc encoding.Encoding) *mender {
	if enc != nil {
		r = enc.NewDecoder().Reader(r)
	}
	return &mender{s: s, r: r, decoded: enc != nil, line: 1}
}

// mender is the reader that mended returns.
type mender struct {
	s       *File
	r       io.Reader
	decoded bool // by a decoder, which writes U+FFFD for what it cannot read

	in, out  []byte // read and not looked at; looked at and not handed over
	err      error  // of r
	line     int
	after    bool // a NUL byte was the last
	bad, nul int  // bytes that were replaced
	firstBad int  // line
	told     bool
}

func (m *mender) Read(p []byte) (int, error) {
	for len(m.out) == 0 {
		if m.err != nil {
			m.tell()
			return 0, m.err
		}
		if cap(m.in) < sampleBytes {
			m.in = append(make([]byte, 0, sampleBytes), m.in...)
		}
		n, err := m.r.Read(m.in[len(m.in):cap(m.in)])
		m.in, m.err = m.in[:len(m.in)+n], err
		m.out = m.mend()
	}
	n := copy(p, m.out)
	m.out = m.out[n:]
	return n, nil
}

// mend processes in up to its last complete character.
func (m *mender) mend() []byte {
	end := len(m.in)
	if m.err == nil {
		end = wholeRunes(m.in)
	}
	part := m.in[:end]
	rest := append([]byte(nil), m.in[end:]...)
	defer func() { m.in = append(m.in[:0:0], rest...) }()
	clean := utf8.Valid(part) && bytes.IndexByte(part, 0) < 0 && (!m.decoded || !bytes.Contains(part, []byte("\ufffd")))
	if clean {
		m.after = m.after && len(part) == 0
		m.line += bytes.Count(part, []byte("\n"))
		return part
	}
	out := make([]byte, 0, len(part)+len(part)/8)
	for i := 0; i < len(part); {
		r, size := utf8.DecodeRune(part[i:])
		switch {
		case r == 0:
			m.nul++
			if !m.after {
				out = append(out, ' ')
			}
		case r == utf8.RuneError && (size == 1 || m.decoded):
			if m.bad++; m.firstBad == 0 {
				m.firstBad = m.line
			}
			out = append(out, "\ufffd"...)
		default:
			if r == '\n' {
				m.line++
			}
			out = append(out, part[i:i+size]...)
		}
		m.after = r == 0
		i += size
	}
	return out
}

// tell warns about replaced bytes, once, at the end of the file.
func (m *mender) tell() {
	if m.told || m.err != io.EOF {
		return
	}
	m.told = true
	if m.bad > 0 {
		m.s.Warn(m.firstBad, "what is not in the encoding of the rest was replaced by U+FFFD (%d times); correct it, or convert the file to UTF-8", m.bad)
	}
	if m.nul > 0 {
		m.s.Warn(0, "NUL bytes were left out (%d)", m.nul)
	}
}
