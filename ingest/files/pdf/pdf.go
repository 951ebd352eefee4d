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
	"github.com/klippa-app/go-pdfium/responses"

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
	ctx  context.Context
	doc  pdfium.Pdfium
	dead bool // was stopped in the middle of a step
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
	var at requests.PageByIndex
	var pages int
	err := p.step(func() error {
		doc, err := p.open(f)
		if err != nil {
			return err
		}
		n, err := p.doc.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
		if err != nil {
			return explain(err)
		}
		at.Document, pages = doc.Document, n.PageCount
		return nil
	})
	if err != nil {
		return err
	}
	var text strings.Builder
	before := 0       // the last page with a text
	var damaged error // the first page that cannot be read
	for i := range pages {
		var page string
		var bad error
		err := p.step(func() error {
			at.Index = i
			got, err := p.doc.GetPageText(&requests.GetPageText{Page: requests.Page{ByIndex: &at}})
			if bad = err; err == nil {
				page = got.Text
			}
			return nil
		})
		if err == nil {
			err = f.Err()
		}
		if err != nil {
			return err
		}
		if bad != nil {
			why := bad.Error()
			if strings.HasPrefix(why, "wasm error") { // the library gave up
				why = fmt.Sprintf("it is damaged, or takes more than %d MiB of memory", maxMemory>>20)
			}
			f.Warn(0, "page %d cannot be read and is left out: %s", i+1, why)
			if damaged == nil {
				damaged = files.Errorf(files.ErrMalformed, "page %d cannot be read: %s", i+1, why)
			}
		}
		if page = pageLines(page); strings.TrimSpace(page) == "" {
			continue
		}
		if text.Len() == 0 {
			text.WriteString(strings.Repeat(place.Part, i+1))
		} else {
			text.WriteString("\n\n" + strings.Repeat(place.Part, i-before))
			rec.Breaks = append(rec.Breaks, text.Len())
		}
		before = i
		text.WriteString(page)
		if int64(text.Len()) > f.MaxBytes() { // which One reports
			break
		}
	}
	if text.Len() == 0 && damaged != nil {
		return damaged
	}
	rec.Text = text.String()
	rec.Metadata = map[string]any{"pages": pages}
	return p.step(func() error { return p.describe(&at, rec) })
}

// open opens a file, even if it was cut off.
func (p *reader) open(f *files.File) (*responses.OpenDocument, error) {
	doc, err := p.doc.OpenDocument(&requests.OpenDocument{FileReader: io.NewSectionReader(f, 0, f.Size()), FileReaderSize: f.Size()})
	if err == nil {
		return doc, nil
	}
	why := explain(err)
	if !errors.Is(err, pdferrors.ErrFile) && !errors.Is(err, pdferrors.ErrFormat) {
		return nil, why
	}
	end, err := tail(f)
	if err != nil || end == "" {
		return nil, cmp.Or(err, why)
	}
	size := f.Size() + int64(len(end))
	if doc, err = p.doc.OpenDocument(&requests.OpenDocument{FileReader: io.NewSectionReader(longer{f, end}, 0, size), FileReaderSize: size}); err != nil {
		return nil, why
	}
	f.Warn(0, "the file is damaged, and what is left of it is stored; print it to a new PDF: %v", why)
	return doc, nil
}

// placeholders are titles and authors that programs write when none was given.
var placeholders = map[string]bool{"untitled": true, "(anonymous)": true, "anonymous": true, "(unspecified)": true, "unspecified": true, "unknown": true}

// describe reads the title and the other metadata of the file.
func (p *reader) describe(at *requests.PageByIndex, rec *files.Record) error {
	for tag, to := range map[string]string{"Title": "", "Author": "author", "Subject": "description"} {
		got, err := p.doc.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: at.Document, Tag: tag})
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
