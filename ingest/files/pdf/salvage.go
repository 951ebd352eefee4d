package pdf

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

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
	packedType  = regexp.MustCompile(`/ObjStm\b[^>]*?/First[ \r\n\t]+(\d{1,9})|/First[ \r\n\t]+(\d{1,9})[^>]*?/ObjStm\b`)
	pageType    = regexp.MustCompile(`/Type[ \r\n\t]*/Page\b`)
)

// noTable ends a file as if it had no table of objects.
const noTable = "\nstartxref\n0\n%%EOF\n"

// tail returns text that makes a damaged file readable if it is appended: a trailer that names the catalog, or a new
// catalog of all pages if the file has lost its own. It is "" if the file has neither catalog nor pages.
func tail(f *files.File) (string, error) {
	raw, err := io.ReadAll(io.NewSectionReader(f, 0, min(f.Size(), maxSalvage)))
	if err != nil {
		return "", err
	}
	var root string
	var kids bytes.Buffer
	pages, last := 0, 0
	found := func(n int, generation string, body []byte) {
		name := fmt.Sprintf("%d %s R ", n, generation)
		switch {
		case catalogType.Match(body):
			root = name
		case pageType.Match(body) && pages < maxKids:
			kids.WriteString(name)
			pages++
		}
		last = max(last, n)
	}
	heads := objectHead.FindAllSubmatchIndex(raw, -1)
	room := int64(maxSalvage) // for what is unpacked
	for i, h := range heads {
		if err := f.Context().Err(); err != nil {
			return "", err
		}
		end := len(raw)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		n, err := strconv.Atoi(string(raw[h[2]:h[3]]))
		if err != nil {
			continue
		}
		body, data, _ := bytes.Cut(raw[h[1]:end], []byte("stream"))
		if m := packedType.FindSubmatch(body); m != nil {
			room -= packed(data, cmp.Or(string(m[1]), string(m[2])), room, found)
		}
		found(n, string(raw[h[4]:h[5]]), body)
	}
	if pages == 0 {
		return "", nil
	}
	out := "\n>)>>\nendstream\nendobj\n" // ends what is open: a string, a list of names, a stream
	if root == "" {
		root = fmt.Sprintf("%d 0 R", last+1)
		out += fmt.Sprintf("%d 0 obj\n<< /Type /Catalog /Pages %d 0 R >>\nendobj\n%d 0 obj\n<< /Type /Pages /Count %d /Kids [ %s] >>\nendobj\n", last+1, last+2, last+2, pages, kids.String())
	}
	return out + fmt.Sprintf("trailer\n<< /Size %d /Root %s >>", last+3, root) + noTable, nil
}

// packed calls found for each object of a stream of objects, and returns how long the stream is. head is the length of what stands
// before the first object: numbers and places.
func packed(data []byte, head string, room int64, found func(int, string, []byte)) int64 {
	z, err := zlib.NewReader(bytes.NewReader(bytes.TrimLeft(data, "\r\n")))
	if err != nil { // it is not packed
		return 0
	}
	raw, _ := io.ReadAll(io.LimitReader(z, room)) // as far as it is whole
	first, err := strconv.Atoi(head)
	if err != nil || first > len(raw) {
		return int64(len(raw))
	}
	before := 0 // the end of the last object: they do not overlap
	for list := strings.Fields(string(raw[:first])); len(list) >= 2; list = list[2:] {
		n, err := strconv.Atoi(list[0])
		at, aerr := strconv.Atoi(list[1])
		end := len(raw) - first
		if len(list) >= 4 {
			end, _ = strconv.Atoi(list[3])
		}
		if err == nil && aerr == nil && before <= at && at < end && end <= len(raw)-first {
			found(n, "0", raw[first+at:first+end])
			before = end
		}
	}
	return int64(len(raw))
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
