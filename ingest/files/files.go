package files

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/code"
)

// DefaultMaxBytes is the maximum size of one text, unless Options say otherwise.
const DefaultMaxBytes = 16 << 20

// Options control how a file is read. The zero value is right for most files.
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
	// Rows yields each row of a table as metadata only: no column is an id, a title, a text or a vector, and no
	// text is needed.
	Rows bool
	// KeepRepeated keeps all records of a file that have the same id: the second becomes ID~2, with a warning.
	// It takes about 40 bytes of memory a record. Otherwise the caller gets the same id again.
	KeepRepeated bool
	// Warn, if not nil, hears of everything besides the text that cannot be read. The goroutine of the loop calls it,
	// before it gets the record or after the last one.
	Warn func(Warning)
}

// Warning describes a part of a file, other than its text, that cannot be read. The text
// itself is in a record.
type Warning struct {
	Line int    // of the file, from 1; 0 where it concerns the whole file
	Text string // what is wrong, and what became of it
}

// Columns names the columns of a table, or the fields of JSON objects, that are not metadata. An empty
// name selects the usual names in any case: _id or id; title or name; text, body, content, contents,
// document, passage or page_content; vector or embedding. In JSON objects only title is a title, because name is often the
// name of a person. In a table, a column named here must exist.
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

// Kind defines how files of one kind are read.
type Kind struct {
	Name       string
	Extensions []string // of file names, in lower case and without the dot
	// Seek says that Read needs File.ReadAt, so that streams are refused.
	Seek bool
	// Read yields the documents of a file by File.One or File.Table.
	Read func(*File) error
}

// KindImage is the kind of images. Only databases with an encoder of images accept them.
const KindImage = "image"

var kinds = []Kind{
	{"markdown", []string{"md", "markdown", "mdown", "mkd", "mdx", "qmd", "rmd"}, false, readMarkdown},
	{"text", []string{"txt", "text", "rst", "adoc", "asciidoc", "org", "tex", "log", "srt", "vtt"}, false, readText},
	{"jsonl", []string{"jsonl", "ndjson"}, false, readJSONL},
	{"code", code.Extensions(), false, readCode},
	{"html", []string{"html", "htm", "xhtml"}, false, readHTML},
	{"json", []string{"json"}, false, readJSON},
	{"npy", []string{"npy"}, false, readNPY},
	{"fbin", []string{"fbin"}, false, readFBin},
	{"fvecs", []string{"fvecs"}, false, readFVecs},
	{"chromem", []string{"gob", "gob.gz"}, false, readChromem},
	{KindImage, []string{"png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff"}, false, readImage},
	{"csv", []string{"csv"}, false, readCSV},
	{"tsv", []string{"tsv", "tab"}, false, readTSV},
	{"docx", []string{"docx", "docm", "dotx"}, true, readDOCX},
	{"pptx", []string{"pptx", "pptm", "ppsx", "potx"}, true, readPPTX},
	{"xlsx", []string{"xlsx", "xlsm", "xltx"}, true, readXLSX},
	{"odt", []string{"odt", "ott", "fodt"}, true, readODF},
	{"ods", []string{"ods", "ots", "fods"}, true, readODF},
	{"odp", []string{"odp", "otp", "fodp"}, true, readODF},
	{"epub", []string{"epub"}, true, readEPUB},
	{"rtf", []string{"rtf", "doc"}, false, readRTF},
	{"ipynb", []string{"ipynb"}, false, readNotebook},
	{"eml", []string{"eml", "mht", "mhtml"}, false, readEML},
	{"mbox", []string{"mbox"}, false, readMbox},
}

// separate are the kinds with their own packages, since their libraries are large. Each has one extension, its
// name.
var separate = []string{"parquet", "pdf"}

// Register adds a kind. Call it only while packages are initialised; it is not safe for concurrent use. It panics if
// a name or extension is already taken.
func Register(k Kind) {
	for _, o := range kinds {
		for _, e := range k.Extensions {
			if slices.Contains(o.Extensions, e) {
				panic("files: the extension " + e + " of kind " + k.Name + " belongs to kind " + o.Name)
			}
		}
		if o.Name == k.Name {
			panic("files: kind " + k.Name + " registered twice")
		}
	}
	kinds = append(kinds, k)
}

// plainNames are whole file names of texts.
var plainNames = []string{"readme", "license", "licence", "copyright", "copying", "notice", "authors", "contributors", "changelog", "changes", "news", "todo", "install"}

// Kinds returns the sorted names of all registered kinds.
func Kinds() []string {
	out := make([]string, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, k.Name)
	}
	slices.Sort(out)
	return out
}

// KindOf returns the kind of a file by its name, with or without folders, or "" if such files are not read. The
// kind may be one whose package the program does not import: reading the file then returns ErrKind, which names the
// package. The file may turn out to be binary (ErrBinary) or to have no document (ErrNoText). A name without an extension, or with
// a number for one, may be that of a script: its kind is code, and Read returns ErrKind if it is none.
func KindOf(name string) string {
	gz := zipped(name)
	if gz {
		if name = name[:len(name)-len(".gz")]; zipped(name) {
			return ""
		}
	}
	base := baseName(name)
	ext := path.Ext(base)
	language, whole := code.Language(name)
	if whole || language != "" && kindOfExtension(ext) == "" || !gz && code.Untold(name) && !slices.Contains(plainNames, base) {
		return "code"
	}
	if stem := strings.TrimSuffix(base, ext); ext == "" || ext == ".debian" || stem == "readme" && kindOfExtension(ext) == "" {
		base, ext = stem, ""
	}
	if ext == "" {
		if slices.Contains(plainNames, base) {
			return "text"
		}
		return ""
	}
	if ext == ".gz" { // read where it belongs to the kind, as with chromem-go
		ext = ".gob.gz"
	}
	return kindOfExtension(ext)
}

func kindOfExtension(ext string) string {
	ext = strings.TrimPrefix(ext, ".")
	for _, k := range kinds {
		if slices.Contains(k.Extensions, ext) {
			return k.Name
		}
	}
	if slices.Contains(separate, ext) {
		return ext
	}
	return ""
}

// baseName is a name in lower case without its folders, with either separator.
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
		(&File{ctx: ctx, r: io.NewSectionReader(r, 0, size), at: r, size: size, name: name, named: name, o: o, yield: yield}).run()
	}
}

// ReadStream is Read for input that can be read only once, such as standard input. Kinds that need
// random access (Parquet, PDF) return ErrKind.
func ReadStream(ctx context.Context, r io.Reader, name string, o Options) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		(&File{ctx: ctx, r: r, name: name, named: name, o: o, yield: yield}).run()
	}
}

// File is one file while its kind reads it. It must not be used after Kind.Read has returned.
type File struct {
	ctx    context.Context
	r      io.Reader   // from the start
	at     io.ReaderAt // nil for a stream
	size   int64
	name   string // without .gz while such a file is read
	named  string // as Read was told
	o      Options
	yield  func(Record, error) bool
	n      int              // records met so far, bad ones too
	line   int              // of the record that is being read
	heard  int              // warnings so far
	there  map[uint64]int   // how often an id was there, by its hash, with KeepRepeated
	again  func() io.Reader // reads the decoded file once more from its start; nil for a stream
	broken bool             // its text was cut within a line
	given  bool             // the loop has a record and is not back: a panic now is its own
	warned bool             // of what records lose whose texts are nested
	err    error            // of Read and ReadAt
}

// errStopped ends reading after the loop over the records has ended.
var errStopped = errors.New("stopped")

func (s *File) run() {
	if s.o.MaxBytes <= 0 {
		s.o.MaxBytes = DefaultMaxBytes
	}
	err := s.read()
	if more := s.heard - maxWarnings; more > 0 && s.o.Warn != nil {
		s.o.Warn(Warning{Text: fmt.Sprintf("%d more warnings of this file are not listed", more)})
	}
	if err != nil && !errors.Is(err, errStopped) {
		s.yield(Record{}, err)
	}
}

// maxWarnings is the maximum number of warnings for one file that are reported one by
// one.
const maxWarnings = 20

// Warn reports a part of the file, other than its text, that cannot be read, on a line from 1, or 0 for
// the whole file.
func (s *File) Warn(line int, format string, args ...any) {
	if s.heard++; s.o.Warn != nil && s.heard <= maxWarnings {
		s.o.Warn(Warning{line, fmt.Sprintf(format, args...)})
	}
}

func (s *File) read() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	name := s.o.Kind
	if name == "" {
		name = KindOf(s.name)
	}
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	switch {
	case i < 0 && name == "":
		return Errorf(ErrKind, "files of this kind are not read; the kinds are %s", strings.Join(Kinds(), ", "))
	case i < 0 && slices.Contains(separate, name):
		return Errorf(ErrKind, "%s is read by a program that imports github.com/lexsem/lexsem/ingest/files/%s; import it", name, name)
	case i < 0:
		return Errorf(ErrKind, "there is no kind %q; the kinds are %s", name, strings.Join(Kinds(), ", "))
	case kinds[i].Seek && s.at == nil:
		return Errorf(ErrKind, "%s is not read from a stream; write it to a file", name)
	}
	if s.at != nil && s.size == 0 { // as file managers make new ones
		return ErrNoText
	}
	if s.isPointer() {
		s.Warn(0, "the file is kept by Git LFS, and only a pointer to it is here; `git lfs pull` brings it")
		return ErrNoText
	}
	if !zipped(s.name) {
		return kinds[i].Read(s)
	}
	g, err := s.gunzip(kinds[i].Seek)
	if err != nil {
		return err
	}
	return g.end(kinds[i].Read(s))
}

// isPointer reports whether a file is what Git LFS puts in the place of one that was not fetched. It has at most 1,024
// bytes, and begins with this line.
func (s *File) isPointer() bool {
	const head = "version https://git-lfs.github.com/spec/"
	if s.at == nil || s.size > 1024 || s.size < int64(len(head)) {
		return false
	}
	b := make([]byte, len(head))
	_, err := s.at.ReadAt(b, 0) // the reader of the kind meets the error, too
	return err == nil && string(b) == head
}

// Context returns the context of Read.
func (s *File) Context() context.Context { return s.ctx }

// Size is the length of the file in bytes.
func (s *File) Size() int64 { return s.size }

// MaxBytes is Options.MaxBytes or its default.
func (s *File) MaxBytes() int64 { return s.o.MaxBytes }

// Read reads the file from its start. It returns the error of the context after that has ended.
func (s *File) Read(p []byte) (int, error) {
	n, err := (&cancelled{s.ctx, s.r}).Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// ReadAt is io.ReaderAt.ReadAt of a kind with Seek. It returns the error of the context after that has ended.
func (s *File) ReadAt(p []byte, off int64) (int, error) {
	if err := s.ctx.Err(); err != nil {
		s.err = err
		return 0, err
	}
	if off < 0 || off > s.size {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := s.at.ReadAt(p, off)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// Err is the last error of Read and ReadAt that is about the file or the context, not about the
// content.
func (s *File) Err() error { return s.err }

// InLoop reports whether the body of the loop over the records is running. A panic then belongs to the
// loop, and must not be recovered.
func (s *File) InLoop() bool { return s.given }

// tooLong returns ErrTooLarge if a record of n bytes is longer than MaxBytes.
func (s *File) tooLong(n int) error {
	if int64(n) > s.o.MaxBytes {
		return Errorf(ErrTooLarge, "the record is longer than %s; split its text", bytesText(s.o.MaxBytes))
	}
	return nil
}

// One yields the one document of a file and sets its id. It returns ErrNoText if there is nothing in it. A text that is longer
// than MaxBytes is cut with a warning.
func (s *File) One(r Record) error {
	if int64(len(r.Text)) > s.o.MaxBytes {
		r.Text = r.Text[:s.cut([]byte(r.Text))]
		r.Breaks = slices.DeleteFunc(r.Breaks, func(b int) bool { return b >= len(r.Text) })
		if r.Verbatim {
			r.To = lastLine(r.From, r.Text)
		}
	}
	r.Verbatim = r.Verbatim && !s.broken
	if r.ID = s.o.ID; r.ID == "" {
		r.ID = s.named
	}
	if blank(r.Title) && blank(r.Text) && len(r.Data) == 0 {
		return ErrNoText
	}
	return s.give(r)
}

// record yields one of several records, or its error. Its number is s.n.
func (s *File) record(r Record, err error) error {
	if err == nil && s.o.Rows {
		return s.give(r)
	}
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
	if s.o.KeepRepeated {
		s.repeated(&r)
	}
	return s.give(r)
}

// repeated changes the id of a record if an earlier one has the same.
func (s *File) repeated(r *Record) {
	if s.there == nil {
		s.there = map[uint64]int{}
	}
	id, h := r.ID, hashOf(r.ID)
	n := s.there[h]
	if s.there[h]++; n == 0 {
		return
	}
	for ; s.there[hashOf(r.ID)] > 0; n++ {
		r.ID = id + "~" + strconv.Itoa(n+1)
	}
	s.there[h], s.there[hashOf(r.ID)] = n, 1
	s.Warn(r.From, "the id %q was there before in this file; this record is stored as %q", clip(id, 80), clip(r.ID, 80))
}

func hashOf(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64()
}

func (s *File) give(r Record) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.hand(r, nil)
}

// bad yields the error of one record.
func (s *File) bad(line int, id string, err error) error {
	if cerr := s.ctx.Err(); cerr != nil {
		return cerr
	}
	return s.hand(Record{}, &RecordError{Line: line, ID: id, Err: err})
}

// hand passes a record, or its error, to the loop.
func (s *File) hand(r Record, err error) error {
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
