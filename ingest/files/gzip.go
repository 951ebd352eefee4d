package files

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
)

// maxRatio is the maximum ratio of a .gz file's text to its size, beyond expansion times MaxBytes. Texts become 3 to 20
// times longer.
const maxRatio = 100

// gunzip is a file that is read decompressed. It ends where the file is damaged or becomes too long.
type gunzip struct {
	s    *File
	z    *gzip.Reader
	left int64
	err  error // why it ended too early
}

// gunzip makes s read the decompressed content of a .gz file: from memory if it is short or the kind needs random
// access, else as a stream.
func (s *File) gunzip(seek bool) (*gunzip, error) {
	z, err := gzip.NewReader(&cancelled{s.ctx, s.r})
	switch {
	case s.ctx.Err() != nil:
		return nil, s.ctx.Err()
	case err == io.EOF:
		return nil, ErrNoText
	case err != nil:
		return nil, Errorf(ErrMalformed, "not a gzip file, or damaged: %w", err)
	}
	most := s.o.MaxBytes
	if seek {
		most *= expansion
	}
	g := &gunzip{s: s, z: z, left: max(expansion*s.o.MaxBytes, maxRatio*s.size)}
	head, err := io.ReadAll(io.LimitReader(g, most+1))
	if err != nil {
		return nil, err
	}
	s.name = s.name[:len(s.name)-len(".gz")]
	switch {
	case int64(len(head)) <= most:
		s.r, s.at, s.size = bytes.NewReader(head), bytes.NewReader(head), int64(len(head))
	case seek:
		return nil, Errorf(ErrTooLarge, "it expands to more than %s; decompress it", bytesText(most))
	default:
		s.r, s.at, s.size = io.MultiReader(bytes.NewReader(head), g), nil, 0
	}
	return g, nil
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.left <= 0 && g.err == nil {
		g.err = Errorf(ErrTooLarge, "it expands to more than %d times its size; decompress and split it", maxRatio)
	}
	if g.err != nil {
		return 0, io.EOF
	}
	n, err := g.z.Read(p[:min(int64(len(p)), g.left)])
	g.left -= int64(n)
	if err != nil && err != io.EOF && g.s.ctx.Err() == nil {
		g.err = Errorf(ErrMalformed, "the gzip file is damaged; compress the original again: %w", err)
		err = io.EOF
	}
	return n, err
}

// end reports what was cut. For a file of records this is an error, since earlier records may have been
// stored.
func (g *gunzip) end(err error) error {
	switch {
	case g.err == nil || g.s.ctx.Err() != nil:
		return err
	case err != nil || g.s.n > 0:
		return g.err
	}
	g.s.Warn(0, "the text before is stored: %v", g.err)
	return nil
}

// zipped reports whether a name is that of a .gz file that is read decompressed.
func zipped(name string) bool {
	return strings.HasSuffix(baseName(name), ".gz") && !strings.HasSuffix(baseName(name), ".gob.gz")
}
