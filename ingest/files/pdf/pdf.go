// Package pdf reads the texts of PDF files with PDFium. After an import, package files reads
// them:
//
//	import _ "github.com/lexsem/lexsem/ingest/files/pdf"
package pdf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/requests"

	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/files/internal/readable"
	"github.com/lexsem/lexsem/internal/place"
)

func init() {
	files.Register(files.Kind{Name: "pdf", Extensions: []string{"pdf"}, Seek: true, Read: read})
}

// maxPage is the longest time for one step of reading a PDF, such as a page: a hostile
// file may make a step take longer.
const maxPage = time.Minute

// A file may say that it has a million pages, and have none. After maxFile, or maxBad pages that cannot be read, the rest
// is left out.
const (
	maxFile = 10 * time.Minute
	maxBad  = 1000 // in a row
)

// read yields one document: the text of all pages, with breaks at their beginnings.
func read(f *files.File) (err error) {
	p, err := newReader(f.Context())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	var rec files.Record
	err = p.read(f, &rec)
	switch {
	case f.Context().Err() != nil:
		return f.Context().Err()
	case !p.dead && f.Err() != nil: // a step that was given up may still set it
		return f.Err()
	case err != nil:
		return err
	case strings.TrimSpace(rec.Text) == "":
		return files.Errorf(files.ErrNoText, "its pages hold no text; run OCR on a scan first")
	}
	return f.One(rec)
}

// reader reads one PDF in its own machine.
type reader struct {
	ctx    context.Context
	doc    pdfium.Pdfium
	dead   bool      // was stopped in the middle of a step
	again  *document // the file without its table of objects, once it was looked for; nil if it cannot be opened
	looked bool      // for again
}

// document is an open file.
type document struct {
	requests.PageByIndex // of its first page
	pages                int
}

func newReader(ctx context.Context) (*reader, error) {
	pool, err := machines(ctx)
	if err != nil {
		return nil, err
	}
	doc, err := pool.GetInstanceWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("the PDF reader does not start: %w", err)
	}
	return &reader{ctx: ctx, doc: doc}, nil
}

func (p *reader) close() error {
	if p.dead {
		return nil
	}
	return p.doc.Close()
}

var errSlowPage = files.Errorf(files.ErrMalformed, "one page takes longer than %v; print the file to a new PDF", maxPage)

// step runs one step, and stops the machine when the context ends or time is up.
func (p *reader) step(f func() error) error {
	ctx, cancel := context.WithTimeoutCause(p.ctx, maxPage, errSlowPage)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f() }() // ends with the machine
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		p.dead = true
		return errors.Join(context.Cause(ctx), p.doc.Kill())
	}
}

// read fills rec with the content of a file.
func (p *reader) read(f *files.File, rec *files.Record) error {
	var doc *document
	if err := p.step(func() (err error) { doc, err = p.open(f); return err }); err != nil {
		return err
	}
	var text strings.Builder
	before := 0       // the last page with a text
	found := 0        // pages that the table of objects does not lead to
	var damaged error // the first page that cannot be read
	var row badPages
	defer func() { row.warn(f) }()
	begin := time.Now()
	for i := range doc.pages {
		if row.n == maxBad {
			row.n = doc.pages - row.from
			break
		}
		if time.Since(begin) > maxFile {
			row.warn(f)
			row = badPages{i, doc.pages - i, fmt.Sprintf("the file takes longer than %v", maxFile)}
			break
		}
		page, err := p.page(doc, i)
		if err == nil && (page.bad != nil && !page.gaveUp() || page.empty) {
			if page, err = p.instead(f, page, i); page.found {
				found++
			}
		}
		if err == nil {
			err = f.Err()
		}
		if err != nil {
			return err
		}
		if page.bad == nil {
			row.warn(f)
			row = badPages{}
		} else {
			why := page.bad.Error()
			if page.gaveUp() {
				why = fmt.Sprintf("it is damaged, or takes more than %d MiB of memory", maxMemory>>20)
			}
			if row.n == 0 {
				row = badPages{from: i, why: why}
			}
			row.n++
			if damaged == nil {
				damaged = files.Errorf(files.ErrMalformed, "page %d cannot be read: %s", i+1, why)
			}
		}
		lines := pageLines(page.text)
		if strings.TrimSpace(lines) == "" {
			continue
		}
		if text.Len() == 0 {
			text.WriteString(strings.Repeat(place.Part, i+1))
		} else {
			text.WriteString("\n\n" + strings.Repeat(place.Part, i-before))
			rec.Breaks = append(rec.Breaks, text.Len())
		}
		before = i
		text.WriteString(lines)
		if int64(text.Len()) > f.MaxBytes() { // which One cuts
			break
		}
	}
	if found > 0 {
		f.Warn(0, "the table of its objects is damaged; %d of its pages were found without it; print it to a new PDF", found)
	}
	if text.Len() == 0 && damaged != nil {
		return damaged
	}
	rec.Text = text.String()
	rec.Metadata = map[string]any{"pages": doc.pages}
	return p.step(func() error { return p.describe(doc, rec) })
}

// badPages are n pages in a row that cannot be read.
type badPages struct {
	from, n int
	why     string // of the first
}

func (r badPages) warn(f *files.File) {
	switch r.n {
	case 0:
	case 1:
		f.Warn(0, "page %d cannot be read and is left out: %s", r.from+1, r.why)
	default:
		f.Warn(0, "pages %d to %d cannot be read and are left out: %s", r.from+1, r.from+r.n, r.why)
	}
}

// page is what one page has.
type page struct {
	text  string
	empty bool  // nothing is on it
	found bool  // it is not where the table of objects says
	bad   error // why it cannot be read
}

// gaveUp says whether the library stopped in the middle of the page.
func (p page) gaveUp() bool { return p.bad != nil && strings.HasPrefix(p.bad.Error(), "wasm error") }

// page reads one page. Its error ends the file.
func (p *reader) page(doc *document, i int) (got page, err error) {
	at := doc.PageByIndex
	at.Index = i
	one := requests.Page{ByIndex: &at}
	err = p.step(func() error {
		text, err := p.doc.GetPageText(&requests.GetPageText{Page: one})
		if err != nil {
			got.bad = err
			return nil
		}
		if got.text = text.Text; strings.TrimSpace(got.text) == "" {
			n, err := p.doc.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: one})
			got.empty = err == nil && n.Count == 0
		}
		return nil
	})
	return got, err
}

// instead reads a page that has failed, or is empty, without the table of objects. It returns was where that does not help.
func (p *reader) instead(f *files.File, was page, i int) (page, error) {
	if !p.looked && f.Size() <= maxSalvage {
		err := p.step(func() (err error) { p.again, err = p.search(f); return err })
		if err != nil {
			return was, err
		}
	}
	p.looked = true
	if p.again == nil || i >= p.again.pages {
		return was, nil
	}
	got, err := p.page(p.again, i)
	if got.bad != nil || got.empty || strings.TrimSpace(got.text) == "" {
		return was, err
	}
	got.found = true
	return got, err
}

// open opens a file, also one that was cut.
func (p *reader) open(f *files.File) (*document, error) {
	doc, err := p.opened(f, "")
	if err == nil && doc.pages > 0 {
		return doc, nil
	}
	why := explain(cmp.Or(err, errNoPages))
	if err != nil && !errors.Is(err, pdferrors.ErrFile) && !errors.Is(err, pdferrors.ErrFormat) {
		return nil, why
	}
	search := p.search
	if err != nil { // PDFium has searched
		search = p.completed
	}
	again, err := search(f)
	switch {
	case err != nil:
		return nil, err
	case again != nil:
		p.looked = true
		f.Warn(0, "the file is damaged, and what is left of it is stored; print it to a new PDF: %v", why)
		return again, nil
	case doc != nil: // a file of no pages
		return doc, nil
	}
	return nil, why
}

var errNoPages = errors.New("it has no pages")

// search opens a file whose table of objects cannot be trusted: PDFium searches for its objects. It is nil where no page is found.
func (p *reader) search(f *files.File) (*document, error) {
	if doc, err := p.opened(f, noTable); err == nil && doc.pages > 0 {
		return doc, nil
	}
	return p.completed(f)
}

// completed opens a file whose end is lost. It is nil where no page is found.
func (p *reader) completed(f *files.File) (*document, error) {
	end, err := tail(f)
	if err != nil || end == "" {
		return nil, err
	}
	if doc, err := p.opened(f, end); err == nil && doc.pages > 0 {
		return doc, nil
	}
	return nil, f.Err()
}

// opened opens a file as if end followed it.
func (p *reader) opened(f *files.File, end string) (*document, error) {
	size := f.Size() + int64(len(end))
	got, err := p.doc.OpenDocument(&requests.OpenDocument{FileReader: io.NewSectionReader(longer{f, end}, 0, size), FileReaderSize: size})
	if err != nil {
		return nil, err
	}
	n, err := p.doc.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: got.Document})
	if err != nil {
		return nil, err
	}
	return &document{requests.PageByIndex{Document: got.Document}, n.PageCount}, nil
}

// placeholders are titles and authors that programs write when none was given.
var placeholders = map[string]bool{"untitled": true, "(anonymous)": true, "anonymous": true, "(unspecified)": true, "unspecified": true, "unknown": true}

// describe takes the title and what else the file says of itself.
func (p *reader) describe(doc *document, rec *files.Record) error {
	for tag, to := range map[string]string{"Title": "", "Author": "author", "Subject": "description"} {
		got, err := p.doc.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: doc.Document, Tag: tag})
		if err != nil { // the file has no such information, or none at all
			continue
		}
		value := strings.Join(strings.Fields(readable.Text(got.Value)), " ")
		switch {
		case value == "", placeholders[strings.ToLower(value)]:
		case to == "":
			rec.Title = value
		default:
			rec.Metadata[to] = value
		}
	}
	return nil
}

// explain turns an error of the library into one of this package.
func explain(err error) error {
	if errors.Is(err, pdferrors.ErrPassword) || errors.Is(err, pdferrors.ErrSecurity) {
		return files.Errorf(files.ErrMalformed, "the PDF is encrypted; save it without a password: %w", err)
	}
	return files.Errorf(files.ErrMalformed, "not a PDF, or damaged: %w", err)
}

// pageLines returns the text of a page in lines that end in \n, with divided words
// joined.
func pageLines(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	for _, hyphen := range []string{"\x02", "\ufffe"} { // how the library writes a soft one
		s = strings.ReplaceAll(s, hyphen+"\n", "")
		s = strings.ReplaceAll(s, hyphen, "")
	}
	return strings.Trim(readable.Text(s), "\n")
}
