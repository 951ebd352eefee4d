package files

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html/charset"
)

// Office files and books are zip archives of XML. These bounds hold for each of them.
const (
	maxDirectory = 8 << 20 // bytes of the archive's list of parts
	maxNamed     = 100_000 // parts, styles or sheets that a list names
	maxNesting   = 1000    // elements of XML, one in the other
	expansion    = 4       // times MaxBytes: what all parts that are read may expand to
)

// archive is an open zip archive.
type archive struct {
	s     *File
	parts map[string]part // by name; of two with one name the first
	left  int64           // bytes that parts may still expand to
}

// part is a file in an archive.
type part struct {
	open      func() (io.ReadCloser, error)
	encrypted bool
}

// directory bounds what is read of an archive before its parts.
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
		a.add(f.Name, part{f.Open, f.Flags&1 != 0})
	}
	return a, nil
}

func (a *archive) add(name string, p part) {
	name = strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/")
	if _, twice := a.parts[name]; !twice {
		a.parts[name] = p
	}
}

func (a *archive) has(name string) bool { return a.parts[name].open != nil }

// part opens a part.
func (a *archive) part(name string) (io.ReadCloser, error) {
	f := a.parts[name]
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
	return &expanding{r, a}, nil
}

// expanding reads a part within the bound of its archive.
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

// walk gives visit the tokens of a part in XML: of start and end elements, and texts.
func (a *archive) walk(name string, visit func(xml.Token) error) error {
	r, err := a.part(name)
	if err != nil {
		return err
	}
	defer r.Close()
	d := xml.NewDecoder(r)
	d.Strict = false
	d.CharsetReader = charset.NewReaderLabel
	d.Entity = xml.HTMLEntity
	for depth := 0; ; {
		t, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
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

// damaged is the error of a part that cannot be read.
func (a *archive) damaged(name string, err error) error {
	if a.s.ctx.Err() != nil || a.s.err != nil || errors.Is(err, ErrTooLarge) {
		return err
	}
	return Errorf(ErrMalformed, "its part %s is damaged: %w", clip(name, 80), err)
}

// tooMany is the error of a list that names more than maxNamed, or nil.
func tooMany(n int) error {
	if n > maxNamed {
		return Errorf(ErrTooLarge, "it has more than %d parts, styles or sheets; split it", maxNamed)
	}
	return nil
}

// attr is an attribute by its name without a namespace.
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// describe takes from a part what Dublin Core has words for. Files without it have none.
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

// relations are the targets that a part of an OOXML file names, by their ids and their types.
type relations struct{ byID, byType map[string]string }

func (a *archive) relations(of string) (relations, error) {
	out := relations{map[string]string{}, map[string]string{}}
	name := path.Join(path.Dir(of), "_rels", path.Base(of)+".rels")
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
			out.byType[path.Base(attr(e, "Type"))] = to
		}
		return tooMany(len(out.byID) + len(out.byType))
	})
	return out, err
}

// ooxml opens an OOXML file: its main part, what that names, and what the file says of itself.
func (s *File) ooxml(usual string, rec *Record) (a *archive, main string, rels relations, err error) {
	if a, err = s.archive(); err != nil {
		return
	}
	root, err := a.relations("")
	if main = root.byType["officeDocument"]; err != nil || !a.has(main) {
		main = usual
	}
	if !a.has(main) {
		return a, main, rels, Errorf(ErrMalformed, "the archive lacks its part %s; open the file in its program and save it again", usual)
	}
	about := root.byType["core-properties"]
	if about == "" {
		about = "docProps/core.xml"
	}
	a.describe(about, rec)
	if rels, err = a.relations(main); err != nil {
		s.Warn(0, "its list of parts cannot be read: %v", err)
	}
	return a, main, rels, s.ctx.Err()
}

// count writes a number of things for metadata.
func (r *Record) count(name string, n int) {
	if r.Metadata == nil {
		r.Metadata = map[string]any{}
	}
	r.Metadata[name] = n
}
