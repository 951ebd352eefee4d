package files

import (
	"context"
	"errors"
	"io"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/engine"
)

// DefaultMaxBytes is the most that one text may have, unless Options say otherwise.
const DefaultMaxBytes = 16 << 20

// Options say how a file is read. The zero value is right for most files.
type Options struct {
	// Kind is one of Kinds; "" takes the kind from the file name.
	Kind string
	// ID is the id of a file that is one document; "" means the file name. In a file with several records,
	// a record without an id gets ID + "#" + n, where n is its number from 1. If ID is "", such a record
	// is refused; in a file of vectors its id is then n.
	ID string
	// Columns names the columns of the file.
	Columns Columns
	// IDs holds the ids for a file of vectors (npy, fbin, fvecs), one per line; nil numbers the vectors.
	// By convention the ids of NAME are in the file NAME.ids.
	IDs io.Reader
	// DropVectors drops the vector of each record that has a text, so that the text is encoded. Vectors of
	// another model cannot be mixed with those of the database.
	DropVectors bool
	// MaxBytes limits one text, and one whole record; 0 means DefaultMaxBytes.
	MaxBytes int64
}

// Columns names the columns of a table, or the fields of JSON objects, that are not metadata. An empty
// name selects the usual names in any case: _id or id; title or name; text, body, content, document or
// page_content; vector or embedding. In JSON objects only title is a title, because name is often the
// name of a person. A column that is named here must exist in a table.
type Columns struct {
	ID, Title, Text, Vector string
}

// Record is one document and its place in the file.
type Record struct {
	engine.Document
	// From and To are the first and last line of the document in the file, from 1; 0 if the kind has no
	// lines.
	From, To int
	// Verbatim says that line i of Text, from 1, is line From+i-1 of the file.
	Verbatim bool
}

// kind is how files of one kind are read.
type kind struct {
	name string
	read func(*source) error
	seek bool // needs an io.ReaderAt
	ext  []string
}

// KindImage is the kind of images. Only databases with an encoder of images accept them.
const KindImage = "image"

var kinds = []kind{
	{"markdown", readMarkdown, false, []string{"md", "markdown", "mdown", "mkd"}},
	{"text", readText, false, []string{"txt", "text", "rst", "adoc", "asciidoc", "org", "tex", "log"}},
	{"jsonl", readJSONL, false, []string{"jsonl", "ndjson"}},
	{"code", readCode, false, codeExtensions()},
	{"html", readHTML, false, []string{"html", "htm", "xhtml"}},
	{"json", readJSON, false, []string{"json"}},
	{"parquet", readParquet, true, []string{"parquet"}},
	{"pdf", readPDF, true, []string{"pdf"}},
	{"npy", readNPY, false, []string{"npy"}},
	{"fbin", readFBin, false, []string{"fbin"}},
	{"fvecs", readFVecs, false, []string{"fvecs"}},
	{"chromem", readChromem, false, []string{"gob", "gob.gz"}},
	{KindImage, readImage, false, []string{"png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff"}},
	{"csv", readCSV, false, []string{"csv"}},
	{"tsv", readTSV, false, []string{"tsv", "tab"}},
}

// plainNames are texts by their whole name.
var plainNames = []string{"readme", "license", "licence", "copying", "notice", "authors", "contributors", "changelog", "changes", "news", "todo", "install"}

var byName, byExt = func() (map[string]*kind, map[string]string) {
	names, exts := map[string]*kind{}, map[string]string{}
	for i := range kinds {
		names[kinds[i].name] = &kinds[i]
		for _, e := range kinds[i].ext {
			exts[e] = kinds[i].name
		}
	}
	return names, exts
}()

// Kinds returns the sorted names of all kinds.
func Kinds() []string {
	out := make([]string, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, k.name)
	}
	slices.Sort(out)
	return out
}

// KindOf returns the kind of a file by its name, with or without folders, or "" if such files are not
// read. The file may still turn out to be no text (ErrBinary) or to hold no document (ErrNoText).
func KindOf(name string) string {
	base := baseName(name)
	ext := path.Ext(base)
	if ext == "" {
		if slices.Contains(plainNames, base) {
			return "text"
		}
		if slices.Contains(codeNames, base) {
			return "code"
		}
		return ""
	}
	if ext == ".gz" { // read where it belongs to the kind, as with chromem-go
		ext = path.Ext(strings.TrimSuffix(base, ext)) + ext
	}
	return byExt[strings.TrimPrefix(ext, ".")]
}

// baseName is a name in lower case without its folders, whatever stands between them.
func baseName(name string) string {
	return strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
}

// Read yields the documents of a file of size bytes in their order. An error of type *RecordError
// concerns one record, and the loop may continue. Any other error is the last: ErrKind, ErrNoText,
// ErrBinary, ErrTooLarge, ErrMalformed, the error of ctx, or that of r. Errors do not name the file.
//
// Records share no memory. Read may be called concurrently if r may be read concurrently.
func Read(ctx context.Context, r io.ReaderAt, size int64, name string, o Options) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		(&source{ctx: ctx, r: &cancelled{ctx, io.NewSectionReader(r, 0, size)}, at: r, size: size, name: name, o: o, yield: yield}).run()
	}
}

// ReadStream is Read for input that can be read only once, such as standard input. Kinds that need
// random access (Parquet, PDF) return ErrKind.
func ReadStream(ctx context.Context, r io.Reader, name string, o Options) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		(&source{ctx: ctx, r: &cancelled{ctx, r}, name: name, o: o, yield: yield}).run()
	}
}

// source is one file while it is read.
type source struct {
	ctx   context.Context
	r     io.Reader   // from the start, obeys ctx
	at    io.ReaderAt // nil for a stream
	size  int64
	name  string
	o     Options
	yield func(Record, error) bool
	n     int  // records met so far, bad ones too
	given bool // the loop has a record and is not back: a panic now is its own
}

// errStopped ends reading when the loop over the records has ended.
var errStopped = errors.New("stopped")

func (s *source) run() {
	if s.o.MaxBytes <= 0 {
		s.o.MaxBytes = DefaultMaxBytes
	}
	if err := s.read(); err != nil && !errors.Is(err, errStopped) {
		s.yield(Record{}, err)
	}
}

func (s *source) read() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	name := s.o.Kind
	if name == "" {
		name = KindOf(s.name)
	}
	k := byName[name]
	switch {
	case k == nil && name == "":
		return fail(ErrKind, "files of this kind are not read; the kinds are %s", strings.Join(Kinds(), ", "))
	case k == nil:
		return fail(ErrKind, "there is no kind %q; the kinds are %s", name, strings.Join(Kinds(), ", "))
	case k.seek && s.at == nil:
		return fail(ErrKind, "%s is not read from a stream; write it to a file", name)
	}
	return k.read(s)
}

// one yields the one document of a file.
func (s *source) one(r Record) error {
	if r.ID = s.o.ID; r.ID == "" {
		r.ID = s.name
	}
	if blank(r.Title) && blank(r.Text) && len(r.Data) == 0 {
		return ErrNoText
	}
	return s.give(r)
}

// record yields one of several records, or the error that stands for it.
// Its number is s.n.
func (s *source) record(r Record, err error) error {
	if err == nil && r.ID == "" {
		if s.o.ID == "" {
			err = errNoID
		}
		r.ID = numbered(s.o.ID, s.n)
	}
	if err == nil && blank(r.Title) && blank(r.Text) && r.Vector == nil {
		err = ErrNoText
	}
	if err != nil {
		return s.bad(r.From, r.ID, err)
	}
	if s.o.DropVectors && !(blank(r.Title) && blank(r.Text)) {
		r.Vector = nil
	}
	return s.give(r)
}

func (s *source) give(r Record) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.hand(r, nil)
}

// bad yields the error of one record.
func (s *source) bad(line int, id string, err error) error {
	if cerr := s.ctx.Err(); cerr != nil {
		return cerr
	}
	return s.hand(Record{}, &RecordError{Line: line, ID: id, Err: err})
}

// hand gives the loop a record, or the error of one.
func (s *source) hand(r Record, err error) error {
	s.given = true
	more := s.yield(r, err)
	s.given = false
	if !more {
		return errStopped
	}
	return nil
}

// cancelled ends reading with ctx.
type cancelled struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
