package files

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// maxDim is the greatest dimension that is accepted.
const maxDim = 1 << 20

// NewVectorWriter writes the header of a file of n vectors of dimension dim and of kind "npy" or
// "fbin", and returns a function that writes one vector. It returns ErrTooLarge if the kind cannot hold
// n vectors, and ErrKind for other kinds. The function returns ErrMalformed for a vector of another
// dimension.
func NewVectorWriter(w io.Writer, kind string, n, dim int) (func(vector []float32) error, error) {
	var head []byte
	switch kind {
	case "npy":
		head = npyHeader(n, dim)
	case "fbin":
		if int64(n) > math.MaxUint32 {
			return nil, Errorf(ErrTooLarge, "fbin holds at most %d vectors, not %d; use npy", int64(math.MaxUint32), n)
		}
		head = binary.LittleEndian.AppendUint32(head, uint32(n))
		head = binary.LittleEndian.AppendUint32(head, uint32(dim))
	default:
		return nil, Errorf(ErrKind, "vectors are written as npy or fbin, not as %q", kind)
	}
	if _, err := w.Write(head); err != nil {
		return nil, err
	}
	row := make([]byte, 0, 4*dim)
	return func(vector []float32) error {
		if len(vector) != dim {
			return Errorf(ErrMalformed, "a vector of dimension %d in a file of dimension %d", len(vector), dim)
		}
		row = row[:0]
		for _, x := range vector {
			row = binary.LittleEndian.AppendUint32(row, math.Float32bits(x))
		}
		_, err := w.Write(row)
		return err
	}, nil
}

// npyHeader is the header of NumPy's format 1.0 for a C-ordered n × dim array of
// little-endian float32: magic, version, length, and a dictionary padded so that the data
// starts at a multiple of 64 bytes.
func npyHeader(n, dim int) []byte {
	dict := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", n, dim)
	const fixed = 10
	pad := 64 - (fixed+len(dict)+1)%64
	dict += strings.Repeat(" ", pad%64) + "\n"
	head := append([]byte(npyMagic), 1, 0)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(dict)))
	return append(head, dict...)
}

const npyMagic = "\x93NUMPY"

var npyDict = regexp.MustCompile(`^\{\s*'descr':\s*'([^']*)',\s*'fortran_order':\s*(True|False),\s*'shape':\s*\(([0-9 ,L]*)\),?\s*\}\s*$`)

// readNPY reads a two-dimensional array of NumPy: each row is a document with only a
// vector.
func readNPY(s *File) error {
	r := bufio.NewReaderSize(s, 64<<10)
	head := make([]byte, 12)
	if err := readPart(r, head[:8], "not an array of NumPy"); err != nil {
		return err
	}
	if string(head[:6]) != npyMagic {
		return Errorf(ErrMalformed, "not an array of NumPy: wrong first bytes")
	}
	size := 0
	switch head[6] {
	case 1:
		if err := readPart(r, head[8:10], "the header"); err != nil {
			return err
		}
		size = int(binary.LittleEndian.Uint16(head[8:]))
	case 2, 3:
		if err := readPart(r, head[8:12], "the header"); err != nil {
			return err
		}
		size = int(min(binary.LittleEndian.Uint32(head[8:]), 1<<20))
	default:
		return Errorf(ErrMalformed, "unknown version %d of NumPy's format; save the array with numpy.save", head[6])
	}
	dict := make([]byte, size)
	if err := readPart(r, dict, "the header"); err != nil {
		return err
	}
	m := npyDict.FindSubmatch(dict)
	if m == nil {
		return Errorf(ErrMalformed, "the header %q is not that of an array; save the array with numpy.save", clip(string(dict[:min(len(dict), 200)]), 100))
	}
	width := 0
	switch string(m[1]) {
	case "<f4":
		width = 4
	case "<f8":
		width = 8
	default:
		return Errorf(ErrMalformed, "its numbers are %q; save it as float32 (<f4) or float64 (<f8)", m[1])
	}
	var shape []int
	for part := range strings.FieldsFuncSeq(string(m[3]), func(r rune) bool { return r == ' ' || r == ',' || r == 'L' }) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return Errorf(ErrMalformed, "the shape (%s): %w", m[3], err)
		}
		shape = append(shape, n)
	}
	if len(shape) != 2 || string(m[2]) == "True" && shape[0] > 1 && shape[1] > 1 {
		return Errorf(ErrMalformed, "its shape is (%s), Fortran order %s; save a two-dimensional array in C order, one vector per row", m[3], m[2])
	}
	return s.vectors(r, shape[0], shape[1], width)
}

// readFBin reads n and d as uint32, and n rows of d float32.
func readFBin(s *File) error {
	r := bufio.NewReaderSize(s, 64<<10)
	var head [8]byte
	if err := readPart(r, head[:], "the header of an fbin file"); err != nil {
		return err
	}
	return s.vectors(r, int(binary.LittleEndian.Uint32(head[:4])), int(binary.LittleEndian.Uint32(head[4:])), 4)
}

// readFVecs reads rows that begin with their dimension as int32.
func readFVecs(s *File) error {
	r := bufio.NewReaderSize(s, 64<<10)
	next := s.ids()
	var head [4]byte
	dim := 0
	for {
		if _, err := io.ReadFull(r, head[:1]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := readPart(r, head[1:], "a row"); err != nil {
			return err
		}
		d := int(binary.LittleEndian.Uint32(head[:]))
		dim = cmp.Or(dim, d)
		if d != dim {
			return Errorf(ErrMalformed, "row %d has the dimension %d, the first %d; is it an fvecs file?", s.n+1, d, dim)
		}
		if err := s.vector(r, dim, 4, next); err != nil {
			return err
		}
	}
}

// vectors yields n rows of dim numbers of width bytes each.
func (s *File) vectors(r io.Reader, n, dim, width int) error {
	next := s.ids()
	for range n {
		if err := s.vector(r, dim, width, next); err != nil {
			return err
		}
	}
	var more [1]byte
	switch _, err := io.ReadFull(r, more[:]); err {
	case io.EOF:
		return nil
	case nil:
		return Errorf(ErrMalformed, "more data after the %d vectors of the header", n)
	default:
		return err
	}
}

// vector yields one row.
func (s *File) vector(r io.Reader, dim, width int, next func() (string, error)) error {
	if dim < 1 || dim > maxDim || int64(dim)*int64(width) > s.o.MaxBytes {
		return Errorf(ErrMalformed, "%d is not a valid dimension", dim)
	}
	raw := make([]byte, dim*width)
	if err := readPart(r, raw, fmt.Sprintf("vector %d", s.n+1)); err != nil {
		return err
	}
	s.n++
	var rec Record
	rec.Vector = make([]float32, dim)
	var err error
	for i := range rec.Vector {
		var x float64
		if width == 4 {
			x = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
		} else {
			x = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
		}
		rec.Vector[i] = float32(x)
		if y := float64(rec.Vector[i]); math.IsNaN(y) || math.IsInf(y, 0) {
			err = Errorf(ErrMalformed, "vector %d: number %d is %v", s.n, i+1, x)
		}
	}
	id, iderr := next()
	if iderr != nil {
		return iderr
	}
	if rec.ID = id; err != nil {
		return s.bad(0, id, err)
	}
	return s.record(rec, nil)
}

// ids returns the ids of Options.IDs, one a call, or else numbers from 1.
func (s *File) ids() func() (string, error) {
	if s.o.IDs == nil {
		return func() (string, error) {
			if s.o.ID == "" {
				return strconv.Itoa(s.n), nil
			}
			return numbered(s.o.ID, s.n), nil
		}
	}
	r := bufio.NewReaderSize(&cancelled{s.ctx, s.o.IDs}, 64<<10)
	var line []byte
	return func() (string, error) {
		var over bool
		var err error
		line, over, err = nextLine(r, line[:0], 1<<10)
		id := strings.TrimRight(string(line), "\r\n")
		switch {
		case err != nil && err != io.EOF:
			return "", err
		case over:
			return "", Errorf(ErrTooLarge, "line %d of the ids is longer than 1,024 bytes", s.n)
		case id == "":
			return "", Errorf(ErrMalformed, "line %d of the ids is empty, or there are fewer ids than vectors; write one id per line", s.n)
		}
		return id, nil
	}
}

// readPart fills to; if there are too few bytes, the error names what is missing.
func readPart(r io.Reader, to []byte, what string) error {
	_, err := io.ReadFull(r, to)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return Errorf(ErrMalformed, "the file ends within %s; it may be incomplete", what)
	}
	return err
}
