package files

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
)

// maxSalvaged is the maximum number of parts that are searched for in a damaged archive.
const maxSalvaged = 10_000

var partHead = []byte("PK\x03\x04")

// salvage finds the parts of an archive with an unreadable directory, such as a cut file, by the header of each part.
// why is the error of the directory.
func (a *archive) salvage(why error) error {
	s := a.s
	head := make([]byte, 8)
	if n, _ := s.ReadAt(head, 0); bytes.HasPrefix(head[:n], []byte("\xd0\xcf\x11\xe0")) {
		return Errorf(ErrMalformed, "encrypted, or of the format before 2007; save it without a password in the present format: %w", why)
	}
	if err := a.scan(); err != nil {
		return err
	}
	if a.parts = a.heads; len(a.parts) == 0 {
		return Errorf(ErrMalformed, "damaged, or not of this kind; open it in its program and save it again: %w", why)
	}
	s.Warn(0, "the file is damaged, and what is left of it is stored; open it in its program and save it again: %v", why)
	return nil
}

// scan finds the parts in the file.
func (a *archive) scan() error {
	s := a.s
	a.heads = map[string]part{}
	found := 0
	buf := make([]byte, 256<<10)
	for at := int64(0); at < s.size && found < maxSalvaged; {
		n, err := s.ReadAt(buf, at)
		if s.err != nil {
			return s.err
		}
		for i := 0; found < maxSalvaged; {
			next := bytes.Index(buf[i:n], partHead)
			if next < 0 {
				break
			}
			i += next
			if a.salvagePart(at + int64(i)) {
				found++
			}
			i += len(partHead)
		}
		if err == io.EOF || n <= len(partHead) {
			break
		}
		at += int64(n - len(partHead) + 1)
	}
	return s.err
}

// salvagePart adds the part whose header is at an offset of the file.
func (a *archive) salvagePart(at int64) bool {
	head := make([]byte, 30)
	if n, _ := a.s.ReadAt(head, at); n < len(head) {
		return false
	}
	flags, method := binary.LittleEndian.Uint16(head[6:]), binary.LittleEndian.Uint16(head[8:])
	size := int64(binary.LittleEndian.Uint32(head[18:]))
	name := make([]byte, binary.LittleEndian.Uint16(head[26:]))
	if n, _ := a.s.ReadAt(name, at+30); n < len(name) || len(name) == 0 || len(name) > 1000 {
		return false
	}
	begin := at + 30 + int64(len(name)) + int64(binary.LittleEndian.Uint16(head[28:]))
	if begin >= a.s.size || method != 0 && method != 8 {
		return false
	}
	add(a.heads, string(name), part{func() (io.ReadCloser, error) {
		if method == 8 {
			return flate.NewReader(io.NewSectionReader(a.s, begin, a.s.size-begin)), nil
		}
		return io.NopCloser(io.NewSectionReader(a.s, begin, min(size, a.s.size-begin))), nil
	}, flags&1 != 0})
	return true
}
