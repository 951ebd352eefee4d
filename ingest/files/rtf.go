package files

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// readRTF reads a text in RTF; of its markup it knows paragraphs, headings and tables. A file named .doc may also be a page, a message
// or a file of a newer Word.
func readRTF(s *File) error {
	if strings.HasSuffix(baseName(s.name), ".doc") {
		if other, err := s.inDoc(); err != nil {
			return err
		} else if other != nil {
			return other(s)
		}
	}
	r := &rtf{o: &outline{s: s}, in: bufio.NewReader(s), fonts: map[int]string{}, styles: map[int]int{}, page: "windows-1252"}
	r.now.unicode = 1
	head, err := r.in.Peek(5)
	if err != nil && err != io.EOF {
		return err
	}
	if len(head) == 0 {
		return ErrNoText
	}
	if string(head) != `{\rtf` {
		return Errorf(ErrMalformed, "not RTF; name the file by what it is")
	}
	err = r.read()
	r.flush()
	r.endPara()
	r.o.endRow()
	margins := &outline{s: s}
	margins.para(r.margins.String())
	r.o.margins(margins)
	if r.foreign > 0 {
		s.Warn(0, "it has control characters (%d), as no program writes them; the file may be damaged: open it in its program and save it again", r.foreign)
	}
	return r.o.finish(r.rec, err)
}

// inDoc returns what reads a file named .doc, or nil if it is RTF.
func (s *File) inDoc() (func(*File) error, error) {
	in := bufio.NewReader(s.r)
	s.r = in
	head, err := in.Peek(512)
	if err != nil && err != io.EOF {
		return nil, err
	}
	begin := bytes.TrimLeft(head, "\ufeff\xff\xfe \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte(`{\rtf`)):
		return nil, nil
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")):
		return nil, Errorf(ErrBinary, "a file of Word before 2007; save it as .docx")
	case bytes.HasPrefix(head, []byte("PK\x03\x04")) && s.at != nil:
		return readDOCX, nil
	case bytes.HasPrefix(bytes.ToLower(begin), []byte("mime-version:")):
		return readEML, nil
	case bytes.HasPrefix(begin, []byte("<")):
		return readHTML, nil
	}
	return readText, nil
}

// skipped are the groups without text of the document.
var skipped = setOf("colortbl pict object objdata generator listtable " +
	"listoverridetable rsidtbl themedata colorschememapping latentstyles datastore xmlnstbl filetbl revtbl fldinst nonshppict " +
	"background template pntext listtext private1 ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn")

// rtfSigns are the control words that stand for a character.
var rtfSigns = map[string]string{"tab": "\t", "line": "\n", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“",
	"rdblquote": "”", "bullet": "•", "emspace": " ", "enspace": " ", "qmspace": " ", "~": "\u00a0", "_": "-", "{": "{", "}": "}", `\`: `\`}

// rtfPages are the code pages of fonts, by \fcharset.
var rtfPages = map[int]string{128: "shift_jis", 129: "euc-kr", 134: "gbk", 136: "big5", 161: "windows-1253", 162: "windows-1254", 163: "windows-1258",
	177: "windows-1255", 178: "windows-1256", 186: "windows-1257", 204: "windows-1251", 222: "windows-874", 238: "windows-1250"}

// rtfGroup is the state that ends with a group.
type rtfGroup struct {
	skip, hidden bool
	note         bool // within a footnote
	margin       bool // within a header or footer
	font         int
	unicode      int    // characters after \u that stand for it
	to           string // what its text is: "" of the document, else of the file
}

type rtf struct {
	o       *outline
	in      *bufio.Reader
	rec     Record
	now     rtfGroup
	outer   []rtfGroup
	fonts   map[int]string // code pages
	styles  map[int]int    // levels of headings
	page    string         // the code page where the font has none
	text    strings.Builder
	notes   strings.Builder // of the paragraph
	margins strings.Builder // headers and footers
	level   int
	style   int    // that the table of styles describes
	bytes   []byte // of a code page, not yet decoded
	high    rune   // the first half of a pair of UTF-16
	ignore  int    // characters that stand for the one before
	date    [5]int
	aside   strings.Builder // a text that is not the document's
	foreign int             // control characters, which RTF does not have
}

// read reads to the end of the first group.
func (r *rtf) read() error {
	star := false
	for {
		if r.o.full {
			return errEnough
		}
		c, err := r.in.ReadByte()
		if err == io.EOF {
			return Errorf(ErrMalformed, "the file ends too early; save it again")
		}
		if err != nil {
			return err
		}
		switch c {
		case '{':
			r.flush()
			if len(r.outer) >= maxNesting {
				return Errorf(ErrMalformed, "its groups nest deeper than %d", maxNesting)
			}
			r.outer = append(r.outer, r.now)
			r.ignore, star = 0, false
		case '}':
			r.flush()
			r.endGroup()
			n := len(r.outer)
			if n == 0 {
				return nil
			}
			r.now, r.outer, r.ignore, star = r.outer[n-1], r.outer[:n-1], 0, false
			if n == 1 {
				return r.rest()
			}
		case '\\':
			if err := r.control(&star); err != nil && err != io.EOF {
				return err
			}
		case '\r', '\n':
		default:
			if c < ' ' && c != '\t' {
				r.foreign++
			}
			if c != 0 {
				r.byte(c)
			}
		}
	}
}

// rest checks whether anything follows the end of the document.
func (r *rtf) rest() error {
	for {
		c, err := r.in.ReadByte()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case c > ' ' && c != '}':
			return Errorf(ErrMalformed, "a brace closes the document before the end of the file; open it in its program and save it again")
		}
	}
}

// control reads the characters after a backslash.
func (r *rtf) control(star *bool) error {
	c, err := r.in.ReadByte()
	if err != nil {
		return err
	}
	switch {
	case c == '\'':
		var hex [2]byte
		for i := range hex {
			if hex[i], err = r.in.ReadByte(); err != nil {
				return err
			}
		}
		if b, err := strconv.ParseUint(string(hex[:]), 16, 8); err == nil {
			r.byte(byte(b))
		}
		return nil
	case c == '*':
		*star = true
		return nil
	case c == '\r' || c == '\n':
		r.word("par", 1, false)
		return nil
	case c|0x20 < 'a' || c|0x20 > 'z':
		r.word(string(rune(c)), 1, false)
		return nil
	}
	name := []byte{c}
	var digits []byte
	for {
		if c, err = r.in.ReadByte(); err != nil {
			break
		}
		switch {
		case len(digits) == 0 && 'a' <= c|0x20 && c|0x20 <= 'z' && len(name) < 64:
			name = append(name, c)
			continue
		case (c == '-' && len(digits) == 0 || '0' <= c && c <= '9') && len(digits) < 12:
			digits = append(digits, c)
			continue
		case c != ' ':
			err = r.in.UnreadByte()
		}
		break
	}
	n, nerr := strconv.Atoi(string(digits))
	if nerr != nil {
		n = 1
	}
	w := string(name)
	if w == "bin" {
		if len(digits) > 0 && n > 0 {
			_, err = r.in.Discard(n)
		}
		return err
	}
	known := r.word(w, n, len(digits) > 0)
	if *star && !known {
		r.now.skip = true
	}
	*star = false
	return err
}

// byte takes one byte of text.
func (r *rtf) byte(c byte) {
	switch {
	case r.ignore > 0:
		r.ignore--
	case r.now.skip || r.now.hidden:
	default:
		if r.high = 0; len(r.bytes) > 1<<16 {
			r.flush()
		}
		r.bytes = append(r.bytes, c)
	}
}

// flush decodes the bytes of text since the last word.
func (r *rtf) flush() {
	if len(r.bytes) == 0 {
		return
	}
	page := r.fonts[r.now.font]
	if page == "" || r.now.to != "" {
		page = r.page
	}
	e, _ := charset.Lookup(page)
	if e == nil {
		e = encoding.Replacement
	}
	out, err := e.NewDecoder().Bytes(r.bytes)
	if err != nil { // decoders replace what they do not know
		out = r.bytes
	}
	r.bytes = r.bytes[:0]
	r.put(string(out))
}

func (r *rtf) put(s string) {
	switch {
	case r.now.skip || r.now.hidden:
	case r.now.to != "":
		if r.aside.Len() < 1<<16 {
			r.aside.WriteString(s)
		}
	case int64(r.text.Len()+r.notes.Len()) > r.o.s.o.MaxBytes: // a paragraph that does not end
		r.endPara()
	case r.now.margin:
		if int64(r.margins.Len()) < r.o.s.o.MaxBytes {
			r.margins.WriteString(s)
		}
	case r.now.note:
		r.notes.WriteString(s)
	default:
		r.text.WriteString(s)
	}
}

// word processes a control word, and reports whether it is known.
func (r *rtf) word(w string, n int, numbered bool) bool {
	r.flush()
	if s, ok := rtfSigns[w]; ok {
		if r.ignore > 0 {
			r.ignore--
		} else {
			r.put(s)
		}
		return true
	}
	on := !numbered || n != 0
	inText := r.now.to == "" && !r.now.skip && !r.now.note && !r.now.margin
	switch w {
	case "u":
		r.unicode(rune(n))
	case "uc":
		r.now.unicode = min(max(n, 0), 100)
	case "ansicpg":
		r.page = codePage(n)
	case "mac":
		r.page = "macintosh"
	case "v", "deleted":
		r.now.hidden = on
	case "plain":
		r.now.hidden = false
	case "f":
		r.now.font = n
	case "fcharset":
		if r.now.to == "fonttbl" && len(r.fonts) < 10_000 {
			r.fonts[r.now.font] = rtfPages[n]
		}
	case "fonttbl", "stylesheet", "info", "title", "author", "subject", "creatim":
		r.now.to = w
		r.aside.Reset()
	case "operator", "keywords", "comment", "doccomm", "company", "category", "manager", "revtim", "printim", "buptim":
		r.now.skip = true
	case "yr", "mo", "dy", "hr", "min":
		for i, part := range []string{"yr", "mo", "dy", "hr", "min"} {
			if w == part && r.now.to == "creatim" {
				r.date[i] = n
			}
		}
	case "s":
		if r.now.to == "stylesheet" {
			r.style = n
		} else if inText {
			r.level = r.styles[n]
		}
	case "outlinelevel":
		if inText && n >= 0 && n < 9 {
			r.level = n + 1
		}
	case "par", "sect", "page":
		if inText {
			r.endPara()
		} else if r.now.note || r.now.margin {
			r.put("\n")
		}
	case "pard":
		if inText {
			r.level = 0
		}
	case "trowd":
		if inText && r.o.rows == 0 {
			r.o.beginRow()
		}
	case "cell", "nestcell":
		if inText {
			r.endPara()
			r.o.endCell()
		} else if r.now.margin {
			r.put("\t")
		}
	case "row":
		if inText {
			r.o.endRow()
		} else if r.now.margin {
			r.put("\n")
		}
	case "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf":
		r.now.margin = true
		r.put("\n")
	case "footnote":
		r.now.note = true
		r.put("\n")
	case "shpinst", "shptxt", "fldrslt", "field", "shp":
	default:
		if skipped[w] {
			r.now.skip = true
		}
		return false
	}
	return true
}

// unicode adds a character by its number, which may be half a surrogate pair.
func (r *rtf) unicode(c rune) {
	if c < 0 {
		c += 1 << 16
	}
	r.ignore = r.now.unicode
	switch {
	case utf16.IsSurrogate(c) && c < 0xdc00:
		r.high = c
		return
	case utf16.IsSurrogate(c):
		c = utf16.DecodeRune(r.high, c)
	}
	r.high = 0
	r.put(string(c))
}

func codePage(n int) string {
	switch n {
	case 932:
		return "shift_jis"
	case 936:
		return "gbk"
	case 949:
		return "euc-kr"
	case 950:
		return "big5"
	case 10000:
		return "macintosh"
	case 65001:
		return "utf-8"
	}
	if name := "windows-" + strconv.Itoa(n); n >= 874 && n <= 1258 {
		if e, _ := charset.Lookup(name); e != nil {
			return name
		}
	}
	return "windows-1252"
}

func (r *rtf) endPara() {
	text := r.text.String()
	r.text.Reset()
	if r.level > 0 {
		r.o.heading(r.level, text)
	} else {
		r.o.para(text)
	}
	r.o.para(r.notes.String())
	r.notes.Reset()
}

// endGroup uses the group's metadata of the file.
func (r *rtf) endGroup() {
	switch v := r.aside.String(); r.now.to {
	case "stylesheet":
		if l := headingLevel(strings.TrimSuffix(strings.TrimSpace(v), ";")); l > 0 && len(r.styles) < 10_000 {
			r.styles[r.style] = l
		}
		r.aside.Reset()
	case "title":
		r.rec.Title = property(v)
	case "author":
		r.rec.say("author", v)
	case "subject":
		r.rec.say("description", v)
	case "creatim":
		if d := r.date; d[0] > 0 {
			r.o.s.sayDate(&r.rec, "created", fmt.Sprintf("%04d-%02d-%02dT%02d:%02d", d[0], max(d[1], 1), max(d[2], 1), d[3], d[4]))
		}
	}
}
