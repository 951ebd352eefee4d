package intake

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/limit"
	"github.com/lexsem/lexsem/internal/metadata"
)

// Reasons why a document is not new.
var (
	ErrTwice  = fmt.Errorf("%w: it stands twice in this call; give each its own id or use Upsert", fault.ErrExists)
	ErrStored = fmt.Errorf("%w; use Upsert to replace it", fault.ErrExists)
)

// Document has the same fields as engine.Document, which documents them.
type Document struct {
	ID, Title, Text string
	Metadata        map[string]any
	Vector          []float32
	Media           string
	Data            []byte
	Breaks          []int
	WordsFirst      bool
}

// Document checks a document, and returns its metadata and its own vector, if any, in stored
// form. image says that Data is an image, so the text may be empty; the image itself is not
// checked.
func (s Space) Document(ctx context.Context, d Document, image bool) (raw []byte, vector []float32, err error) {
	if err := CheckID(d.ID); err != nil {
		return nil, nil, err
	}
	if err := checkBreaks(d.Text, d.Breaks); err != nil {
		return nil, nil, err
	}
	if len(d.Metadata) > 0 {
		if raw, err = metadata.Storable(ctx, d.Metadata); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case d.Vector != nil:
		vector, err = s.Metric.Vector(d.Vector, s.Dim)
	case Blank(d.Title) && Blank(d.Text) && !image:
		err = fmt.Errorf("%w: no text; give a title, a text or a vector", fault.ErrInvalid)
	case s.VectorsOnly:
		err = fmt.Errorf("%w: no vector, and this database has no encoder; give Vector with %d numbers", fault.ErrInvalid, s.Dim)
	case s.Encoder == nil:
		err = fault.ErrNoEncoder
	}
	return raw, vector, err
}

// CheckID returns the reason why no document can have an id, or nil.
func CheckID(id string) error {
	if id == "" || len(id) > limit.IDBytes {
		return fmt.Errorf("%w: an id has 1 to %d bytes, this one %d", fault.ErrInvalid, limit.IDBytes, len(id))
	}
	return nil
}

// checkBreaks returns the reason why a text cannot be cut at breaks, or nil.
func checkBreaks(text string, breaks []int) error {
	for i, b := range breaks {
		switch {
		case b < 0 || b > len(text):
			return fmt.Errorf("%w: break %d is byte %d of a text of %d; use offsets in the text", fault.ErrInvalid, i, b, len(text))
		case b < len(text) && !utf8.RuneStart(text[b]):
			return fmt.Errorf("%w: break %d, byte %d of the text, stands inside a character; use the offset of its first byte", fault.ErrInvalid, i, b)
		case i > 0 && b < breaks[i-1]:
			return fmt.Errorf("%w: break %d, byte %d of the text, lies before the one before it; sort them", fault.ErrInvalid, i, b)
		}
	}
	return nil
}

// Blank reports whether a text is empty or only white space.
func Blank(s string) bool { return strings.TrimSpace(s) == "" }
