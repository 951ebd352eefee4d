package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/lexsem/lexsem/ingest/files"
)

// A PDF names its first object at its end. If a file was cut off, PDFium finds its other objects, but not the first
// one.

// Bounds for searching a damaged file.
const (
	maxSalvage = 64 << 20
	maxKids    = 100_000
)

var (
	objectHead  = regexp.MustCompile(`(\d{1,9})[ \r\n\t]+(\d{1,5})[ \r\n\t]+obj\b`)
	catalogType = regexp.MustCompile(`/Type[ \r\n\t]*/Catalog\b`)
	pageType    = regexp.MustCompile(`/Type[ \r\n\t]*/Page\b`)
)

// tail is an ending that makes a damaged file readable: a trailer that names its catalog or, if the catalog is lost, a
// catalog of all its pages. It is "" if there are no pages.
func tail(f *files.File) (string, error) {
	raw, err := io.ReadAll(io.NewSectionReader(f, 0, min(f.Size(), maxSalvage)))
	if err != nil {
		return "", err
	}
	var root string
	var kids bytes.Buffer
	pages, last := 0, 0
	heads := objectHead.FindAllSubmatchIndex(raw, -1)
	for i, h := range heads {
		end := len(raw)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		body := raw[h[1]:end]
		if at := bytes.Index(body, []byte("stream")); at >= 0 {
			body = body[:at]
		}
		n, err := strconv.Atoi(string(raw[h[2]:h[3]]))
		if err != nil {
			continue
		}
		last = max(last, n)
		name := fmt.Sprintf("%d %s R ", n, raw[h[4]:h[5]])
		switch {
		case catalogType.Match(body):
			root = name
		case pageType.Match(body) && pages < maxKids:
			kids.WriteString(name)
			pages++
		}
	}
	if pages == 0 {
		return "", nil
	}
	out := "\n>)>>\nendstream\nendobj\n" // ends what is open: a string, a list of names, a stream
	if root == "" {
		root = fmt.Sprintf("%d 0 R", last+1)
		out += fmt.Sprintf("%d 0 obj\n<< /Type /Catalog /Pages %d 0 R >>\nendobj\n%d 0 obj\n<< /Type /Pages /Count %d /Kids [ %s] >>\nendobj\n", last+1, last+2, last+2, pages, kids.String())
	}
	return out + fmt.Sprintf("trailer\n<< /Size %d /Root %s >>\nstartxref\n0\n%%%%EOF\n", last+3, root), nil
}

// longer is a file with bytes appended.
type longer struct {
	f    *files.File
	tail string
}

func (l longer) ReadAt(p []byte, off int64) (n int, err error) {
	if off < l.f.Size() {
		if n, err = l.f.ReadAt(p[:min(int64(len(p)), l.f.Size()-off)], off); err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if off+int64(n) < l.f.Size() {
			return n, io.ErrUnexpectedEOF
		}
		off += int64(n)
	}
	if at := off - l.f.Size(); at < int64(len(l.tail)) {
		n += copy(p[n:], l.tail[at:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
