package files

import (
	"path"
	"strings"

	"github.com/lexsem/lexsem/engine"
)

// readImage reads an image: one document whose title is the words of the file's name without its
// extension.
func readImage(s *File) error {
	s.o.MaxBytes = min(s.o.MaxBytes, engine.MaxImageBytes)
	raw, err := s.upTo(s)
	switch {
	case err != nil:
		return err
	case int64(len(raw)) > s.o.MaxBytes:
		return Errorf(ErrTooLarge, "larger than %s; make it smaller", bytesText(s.o.MaxBytes))
	}
	if len(raw) == 0 {
		return Errorf(ErrNoText, "the file is empty")
	}
	name := path.Base(strings.ReplaceAll(s.name, `\`, "/"))
	title := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return ' '
		}
		return r
	}, strings.TrimSuffix(name, path.Ext(name)))
	r := Record{Document: engine.Document{Title: title, Data: raw}}
	return s.One(r)
}
