package files

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// gobReader reads the stream of package encoding/gob, a value at a time. That package
// makes maps as large as a file claims to be, and reads an export of a database as one
// value. Here only what the caller keeps stays in memory, and a length is trusted only as
// far as bytes follow.
type gobReader struct {
	r     *bufio.Reader
	types map[int]gobType
	max   int // of one text
}

// gobType is the description of a type in a stream: the fields of a struct, or the types
// of a map or list.
type gobType struct {
	fields    []gobField
	key, elem int
	isMap     bool
}

type gobField struct {
	name string
	kind int
}

// The types that are predefined in every stream.
const (
	gobBool, gobInt, gobUint, gobFloat, gobBytes, gobString = 1, 2, 3, 4, 5, 6
	gobFirst                                                = 64 // the first of a stream's own
)

var errGob = errors.New("not a complete stream of package gob")

// value reads the definitions before the next value, and returns that value's type.
func (g *gobReader) value() (kind int, err error) {
	for {
		if _, err := g.uint(); err != nil { // the length of the message
			return 0, err
		}
		id, err := g.int()
		switch {
		case err != nil:
			return 0, unended(err)
		case id >= gobFirst:
			if t := g.types[id]; !t.isMap && t.elem == 0 {
				return id, nil
			}
			return 0, errGob
		case id >= 0:
			return 0, errGob
		}
		if err := g.define(-id); err != nil {
			return 0, unended(err)
		}
	}
}

// define reads the definition of an array, slice, struct or map type.
func (g *gobReader) define(id int) error {
	if len(g.types) >= 100 {
		return errGob
	}
	var t gobType
	err := g.structure(func(field int) error {
		return g.structure(func(part int) error {
			switch {
			case part == 0: // what they have in common
				return g.structure(func(common int) (err error) {
					if common == 0 {
						_, err = g.string()
					} else {
						_, err = g.int()
					}
					return err
				})
			case field == 2 && part == 1:
				return g.list(func() error {
					var f gobField
					err := g.structure(func(i int) (err error) {
						if i == 0 {
							f.name, err = g.string()
						} else {
							f.kind, err = g.int()
						}
						return err
					})
					if len(t.fields) > 100 {
						return errGob
					}
					t.fields = append(t.fields, f)
					return err
				})
			}
			n, err := g.int()
			switch {
			case field == 3 && part == 1:
				t.key, t.isMap = n, true
			case field == 3 && part == 2, field == 1 && part == 1:
				t.elem = n
			default: // arrays, and types that write themselves
				return errGob
			}
			return err
		})
	})
	g.types[id] = t
	return err
}

// structure calls read for each field that is present, by its number.
func (g *gobReader) structure(read func(field int) error) error {
	for field := -1; ; {
		delta, err := g.uint()
		if err != nil {
			return unended(err)
		}
		if delta == 0 {
			return nil
		}
		if delta > 100 {
			return errGob
		}
		if field += int(delta); field > 100 {
			return errGob
		}
		if err := read(field); err != nil {
			return unended(err)
		}
	}
}

// fields reads a struct of type kind. read gets the name of a field and reports whether
// it has read the value; other fields are skipped.
func (g *gobReader) fields(kind, depth int, read func(name string, kind int) (bool, error)) error {
	t := g.types[kind]
	return g.structure(func(i int) error {
		if i >= len(t.fields) {
			return errGob
		}
		f := t.fields[i]
		done, err := read(f.name, f.kind)
		if err == nil && !done {
			err = g.skip(f.kind, depth+1)
		}
		return err
	})
}

// list calls read for each element of a list, or for each pair of a map.
func (g *gobReader) list(read func() error) error {
	n, err := g.uint()
	for ; err == nil && n > 0; n-- {
		err = read()
	}
	return unended(err)
}

// skip skips a value.
func (g *gobReader) skip(kind, depth int) error {
	if depth > 20 {
		return errGob
	}
	switch kind {
	case gobBool, gobInt, gobUint, gobFloat:
		_, err := g.uint()
		return err
	case gobBytes, gobString:
		n, err := g.uint()
		if err != nil || n > math.MaxInt32 {
			return errors.Join(err, errGob)
		}
		_, err = io.CopyN(io.Discard, g.r, int64(n))
		return unended(err)
	}
	t, known := g.types[kind]
	switch {
	case !known:
		return errGob
	case t.isMap:
		return g.list(func() error {
			return errors.Join(g.skip(t.key, depth+1), g.skip(t.elem, depth+1))
		})
	case t.elem != 0:
		return g.list(func() error { return g.skip(t.elem, depth+1) })
	}
	return g.fields(kind, depth, func(string, int) (bool, error) { return false, nil })
}

// uint reads a number: one byte if it is below 128, else the negated count of its bytes
// and the bytes.
func (g *gobReader) uint() (uint64, error) {
	b, err := g.r.ReadByte()
	if err != nil || b < 0x80 {
		return uint64(b), err
	}
	n := -int(int8(b))
	if n > 8 {
		return 0, errGob
	}
	var raw [8]byte
	if _, err := io.ReadFull(g.r, raw[8-n:]); err != nil {
		return 0, unended(err)
	}
	return binary.BigEndian.Uint64(raw[:]), nil
}

// int reads a number with the sign in its lowest bit.
func (g *gobReader) int() (int, error) {
	u, err := g.uint()
	n := int64(u >> 1)
	if u&1 != 0 {
		n = ^n
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, errors.Join(err, errGob)
	}
	return int(n), err
}

// float reads a number with reversed bytes.
func (g *gobReader) float() (float64, error) {
	u, err := g.uint()
	return math.Float64frombits(bits.ReverseBytes64(u)), err
}

func (g *gobReader) string() (string, error) {
	n, err := g.uint()
	if err != nil {
		return "", err
	}
	if n > uint64(g.max) {
		return "", Errorf(ErrTooLarge, "a text in it is longer than %s; split it", bytesText(int64(g.max)))
	}
	var raw []byte
	if n <= 64<<10 {
		raw = make([]byte, n)
		_, err = io.ReadFull(g.r, raw)
	} else if raw, err = io.ReadAll(io.LimitReader(g.r, int64(n))); err == nil && uint64(len(raw)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", fmt.Errorf("it ends in a text: %w", unended(err))
	}
	return string(raw), nil
}
