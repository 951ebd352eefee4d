package files

import (
	"bufio"
	"errors"
	"io"
	"math"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/unpacked"
)

// readChromem reads the files of chromem-go, one document each, or its exports, all
// collections in one file, zipped or not. A file that only names a collection gives no
// document.
func readChromem(s *File) error {
	in := &errorKeeper{r: s}
	c := &chromemReader{s: s, g: gobReader{r: bufio.NewReader(unpacked.Reader(in, s.name)), types: map[int]gobType{}, max: int(min(s.o.MaxBytes, math.MaxInt32))}}
	err := c.file()
	switch {
	case err == nil, errors.Is(err, errStopped), s.ctx.Err() != nil, errors.Is(err, ErrTooLarge):
		return err
	case in.err != nil:
		return in.err
	}
	return Errorf(ErrMalformed, "not a file of chromem-go, encrypted, or damaged: %w", err)
}

// errorKeeper keeps the error of the file, since others wrap it.
type errorKeeper struct {
	r   io.Reader
	err error
}

func (k *errorKeeper) Read(p []byte) (int, error) {
	n, err := k.r.Read(p)
	if err != nil && err != io.EOF {
		k.err = err
	}
	return n, err
}

type chromemReader struct {
	s *File
	g gobReader
}

// file reads the single value of a file: a document, the name of a collection, or an
// export.
func (c *chromemReader) file() error {
	kind, err := c.g.value()
	if err != nil {
		return unended(err)
	}
	for _, f := range c.g.types[kind].fields {
		if f.name == "Collections" {
			return c.export(kind)
		}
	}
	d, err := c.document(kind)
	if err != nil || d.ID == "" && d.Text == "" { // of a collection
		return err
	}
	return c.give(d, "")
}

func (c *chromemReader) export(kind int) error {
	return c.g.fields(kind, 0, func(name string, kind int) (bool, error) {
		t := c.g.types[kind]
		if name != "Collections" || !t.isMap || t.key != gobString {
			return false, nil
		}
		return true, c.g.list(func() error {
			collection, err := c.g.string()
			if err != nil {
				return err
			}
			return c.g.fields(t.elem, 0, func(name string, kind int) (bool, error) {
				t := c.g.types[kind]
				if name != "Documents" || !t.isMap || t.key != gobString {
					return false, nil
				}
				return true, c.g.list(func() error {
					if _, err := c.g.string(); err != nil { // the id, which the document has, too
						return err
					}
					d, err := c.document(t.elem)
					if err != nil {
						return err
					}
					return c.give(d, collection)
				})
			})
		})
	})
}

// document reads one document. In total it may have at most MaxBytes.
func (c *chromemReader) document(kind int) (rec Record, err error) {
	size := 0
	grow := func(n int) error { size += n; return c.s.tooLong(size) }
	err = c.g.fields(kind, 0, func(name string, kind int) (_ bool, err error) {
		t := c.g.types[kind]
		switch {
		case name == "ID" && kind == gobString:
			rec.ID, err = c.g.string()
			return true, err
		case name == "Content" && kind == gobString:
			rec.Text, err = c.g.string()
			return true, errors.Join(err, grow(len(rec.Text)))
		case name == "Metadata" && t.isMap && t.key == gobString && t.elem == gobString:
			rec.Metadata = map[string]any{}
			return true, c.g.list(func() error {
				k, err := c.g.string()
				if err != nil {
					return err
				}
				v, err := c.g.string()
				rec.Metadata[k] = v
				return errors.Join(err, grow(len(k)+len(v)+1))
			})
		case name == "Embedding" && !t.isMap && t.elem == gobFloat:
			return true, c.g.list(func() error {
				x, err := c.g.float()
				rec.Vector = append(rec.Vector, float32(x))
				return errors.Join(err, grow(4))
			})
		}
		return false, nil
	})
	return rec, err
}

// give yields a document. Its collection, if the file names it, becomes metadata.
func (c *chromemReader) give(rec Record, collection string) error {
	c.s.n++
	if collection != "" {
		if rec.Metadata == nil {
			rec.Metadata = map[string]any{}
		}
		if _, taken := rec.Metadata["collection"]; !taken {
			rec.Metadata["collection"] = collection
		}
	}
	var err error
	for k, v := range rec.Metadata {
		if text, _ := v.(string); !utf8.ValidString(k) || !utf8.ValidString(text) {
			err = ErrBinary
		}
	}
	if !utf8.ValidString(rec.Text) {
		err = ErrBinary
	}
	for _, x := range rec.Vector {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			err = Errorf(ErrMalformed, "its vector contains %v; use finite numbers", f)
		}
	}
	if len(rec.Metadata) == 0 {
		rec.Metadata = nil
	}
	return c.s.record(rec, err)
}
