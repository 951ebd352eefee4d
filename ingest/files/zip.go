package files

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// Office files and books are zip archives of XML. These bounds apply to each of them.
const (
	maxDirectory = 8 << 20 // bytes of the archive's list of parts
	maxNamed     = 100_000 // parts, styles or sheets that a list names
	maxNesting   = 1000    // elements of XML, one in the other
	expansion    = 4       // times MaxBytes: what all parts that are read may expand to
)

// archive is an open zip archive.
type archive struct {
	s      *File
	parts  map[string]part // by name; of two with one name the first
	left   int64           // bytes that parts may still expand to
	folded map[string]part // by name in lower case; nil until one was not found
	heads  map[string]part // as parts, of those that stand in the file; nil until they were looked for
}

// part is a file in an archive.
type part struct {
	open      func() (io.ReadCloser, error)
	encrypted bool
}

// directory limits how much of an archive is read before its parts.
type directory struct {
	s    *File
	left int
}

var errDirectory = Errorf(ErrMalformed, "the archive lists too many parts; save the file again")

func (d *directory) ReadAt(p []byte, off int64) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errDirectory
	}
	return d.s.ReadAt(p, off)
}

// archive opens the file as a zip archive.
func (s *File) archive() (*archive, error) {
	r := &directory{s, maxDirectory}
	z, err := zip.NewReader(r, s.size)
	switch {
	case s.err != nil:
		return nil, s.err
	case r.left < 0:
		return nil, errDirectory
	}
	r.left = math.MaxInt // parts are bounded below
	a := &archive{s: s, parts: map[string]part{}, left: expansion * s.o.MaxBytes}
	if err != nil {
		return a, a.salvage(err)
	}
	for _, f := range z.File {
		add(a.parts, f.Name, part{f.Open, f.Flags&1 != 0})
	}
	return a, nil
}

func add(to map[string]part, name string, p part) {
	name = strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/")
	if _, twice := to[name]; !twice {
		to[name] = p
	}
}

// find returns the part of a name, or else one whose name differs in case alone, as programs on Windows find it.
func (a *archive) find(name string) part {
	if p, ok := a.parts[name]; ok {
		return p
	}
	if a.folded == nil {
		a.folded = map[string]part{}
		for _, n := range slices.Sorted(maps.Keys(a.parts)) {
			add(a.folded, strings.ToLower(n), a.parts[n])
		}
	}
	return a.folded[strings.ToLower(name)]
}

func (a *archive) has(name string) bool { return a.find(name).open != nil }

// part opens a part.
func (a *archive) part(name string) (io.ReadCloser, error) {
	r, err := a.open(name, a.find(name))
	if err != nil && !a.find(name).encrypted && a.heads == nil {
		if e := a.scan(); e != nil {
			return nil, e
		}
	}
	if f := a.heads[name]; err != nil && f.open != nil {
		if again, e := a.open(name, f); e == nil {
			a.s.Warn(0, "the archive's list of parts does not lead to %s, which was found without it; open the file in its program and save it again", clip(name, 80))
			r, err = again, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return &expanding{r, a}, nil
}

func (a *archive) open(name string, f part) (io.ReadCloser, error) {
	if f.open == nil {
		return nil, Errorf(ErrMalformed, "the archive lacks its part %s; open the file in its program and save it again", clip(name, 80))
	}
	if f.encrypted {
		return nil, Errorf(ErrMalformed, "encrypted; save it without a password")
	}
	r, err := f.open()
	if err != nil {
		return nil, Errorf(ErrMalformed, "its part %s: %w", clip(name, 80), err)
	}
	return r, nil
}

// expanding reads a part within the limit of its archive.
type expanding struct {
	io.ReadCloser
	a *archive
}

func (e *expanding) Read(p []byte) (int, error) {
	if err := e.a.s.ctx.Err(); err != nil {
		return 0, err
	}
	if e.a.left <= 0 {
		return 0, Errorf(ErrTooLarge, "it expands to more than %s; split it", bytesText(expansion*e.a.s.o.MaxBytes))
	}
	n, err := e.ReadCloser.Read(p[:min(int64(len(p)), e.a.left)])
	e.a.left -= int64(n)
	return n, err
}

// walk calls visit with the XML tokens of a part: start and end elements, and texts.
func (a *archive) walk(name string, visit func(xml.Token) error) error {
	r, err := a.part(name)
	if err != nil {
		return err
	}
	defer r.Close()
	m := &xmlMender{r: bufio.NewReader(r)}
	defer func() {
		if m.bad > 0 {
			a.s.Warn(0, "its part %s has characters that no text has; they were replaced by U+FFFD (%d times)", clip(name, 80), m.bad)
		}
	}()
	d := xml.NewDecoder(m)
	d.Strict = false
	d.CharsetReader = charset.NewReaderLabel
	d.Entity = xml.HTMLEntity
	for depth := 0; ; {
		t, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			if m.err != nil && m.err != io.EOF {
				err = m.err
			}
			return a.damaged(name, err)
		}
		switch t.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
		if depth > maxNesting {
			return Errorf(ErrMalformed, "its part %s nests deeper than %d", clip(name, 80), maxNesting)
		}
		if err := visit(t); err != nil {
			return err
		}
	}
}

// xmlMender reads XML so that damage affects only itself: it replaces characters that XML forbids by U+FFFD. If the
// part ends within a text, it opens a tag, since package xml would drop the text.
type xmlMender struct {
	r     *bufio.Reader
	asIs  bool // it says that it is of another encoding
	begun bool
	last  rune
	bad   int // characters that were replaced
	err   error
}

func (m *xmlMender) Read(p []byte) (n int, err error) {
	if !m.begun {
		m.begun = true
		head, _ := m.r.Peek(200) // an error comes again
		label := declared.FindSubmatch(head)
		m.asIs = bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) || label != nil && !strings.EqualFold(string(label[1]), "utf-8")
	}
	if m.asIs {
		return m.r.Read(p)
	}
	for m.err == nil && n+utf8.UTFMax <= len(p) && (n == 0 || m.r.Buffered() >= utf8.UTFMax) {
		r, size, err := m.r.ReadRune()
		if err != nil {
			if m.err = err; m.last != '>' && !unicode.IsSpace(m.last) {
				p[n] = '<'
				n++
			}
			break
		}
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff' {
			m.bad++
			r = utf8.RuneError
		}
		m.last = r
		n += utf8.EncodeRune(p[n:], r)
	}
	if n > 0 {
		return n, nil
	}
	return 0, m.err
}

// declared finds the encoding that an XML declaration names.
var declared = regexp.MustCompile(`^\s*<\?xml[^>]*encoding=["']([^"']+)["']`)

// damaged returns the error for a part that cannot be read.
func (a *archive) damaged(name string, err error) error {
	if a.s.ctx.Err() != nil || a.s.err != nil || errors.Is(err, ErrTooLarge) {
		return err
	}
	return Errorf(ErrMalformed, "its part %s is damaged: %w", clip(name, 80), err)
}

// tooMany returns the error for a list of more than maxNamed names, or nil.
func tooMany(n int) error {
	if n > maxNamed {
		return Errorf(ErrTooLarge, "it has more than %d parts, styles or sheets; split it", maxNamed)
	}
	return nil
}

// attr returns the value of an attribute of e, "" if e lacks it. name has no namespace.
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// describe reads the Dublin Core metadata of a part. If the file has no such part, it
// does nothing.
func (a *archive) describe(name string, rec *Record) {
	if !a.has(name) {
		return
	}
	var in string
	var text strings.Builder
	var authors []string
	err := a.walk(name, func(t xml.Token) error {
		switch t := t.(type) {
		case xml.StartElement:
			in = t.Name.Local
			text.Reset()
		case xml.CharData:
			if text.Len() < 1<<16 {
				text.Write(t)
			}
		case xml.EndElement:
			if t.Name.Local != in {
				return nil
			}
			v := text.String()
			switch in {
			case "title":
				if rec.Title == "" {
					rec.Title = property(v)
				}
			case "creator", "initial-creator":
				if p := property(v); p != "" && !slices.Contains(authors, p) && len(authors) < 100 {
					authors = append(authors, p)
				}
			case "description", "language":
				rec.say(in, v)
			case "created", "creation-date":
				a.s.sayDate(rec, "created", v)
			case "date":
				if strings.HasSuffix(name, ".opf") { // elsewhere that of the last change
					a.s.sayDate(rec, "published", v)
				}
			}
			in = ""
		}
		return nil
	})
	rec.say("author", strings.Join(authors, ", "))
	if err != nil && a.s.ctx.Err() == nil {
		a.s.Warn(0, "its title and author cannot be read: %v", err)
	}
}

// relations are the targets named by a part of an OOXML file, by id and by type.
type relations struct {
	byID, byType map[string]string
	margins      []string // headers and footers
}

func (a *archive) relations(of string) (relations, error) {
	out := relations{byID: map[string]string{}, byType: map[string]string{}}
	name := path.Join(path.Dir(of), "_rels", path.Base(of)+".rels")
	if of == "" { // of the file as a whole
		name = "_rels/.rels"
	}
	if !a.has(name) {
		return out, nil
	}
	err := a.walk(name, func(t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "Relationship" && attr(e, "TargetMode") != "External" {
			to := attr(e, "Target")
			if !strings.HasPrefix(to, "/") {
				to = path.Join(path.Dir(of), to)
			}
			to = strings.TrimPrefix(path.Clean(to), "/")
			out.byID[attr(e, "Id")] = to
			kind := path.Base(attr(e, "Type"))
			out.byType[kind] = to
			if kind == "header" || kind == "footer" {
				out.margins = append(out.margins, to)
			}
		}
		return tooMany(len(out.byID) + len(out.byType) + len(out.margins))
	})
	return out, err
}

// ooxml opens an OOXML file: it returns its main part, the relations of that part, and the
// metadata of the file.
func (s *File) ooxml(usual string, rec *Record) (a *archive, main string, rels relations, err error) {
	if a, err = s.archive(); err != nil {
		return
	}
	root, err := a.relations("")
	if main = root.byType["officeDocument"]; err != nil || !a.has(main) {
		main = usual
	}
	about := root.byType["core-properties"]
	about = cmp.Or(about, "docProps/core.xml")
	a.describe(about, rec)
	if rels, err = a.relations(main); err != nil {
		s.Warn(0, "its list of parts cannot be read: %v", err)
	}
	return a, main, rels, s.ctx.Err()
}

// count adds a number of things to the metadata.
func (r *Record) count(name string, n int) {
	if r.Metadata == nil {
		r.Metadata = map[string]any{}
	}
	r.Metadata[name] = n
}
