package answer

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine"
)

// notText begins the cursor for an id that JSON cannot represent.
const notText = "\x00"

// Cursor returns the text for continuing a list after the document with this id: the id itself or, if
// that is not UTF-8, a zero byte and the id in hexadecimal.
func Cursor(id string) string {
	if utf8.ValidString(id) && !strings.HasPrefix(id, notText) {
		return id
	}
	return notText + hex.EncodeToString([]byte(id))
}

// After returns the id of a cursor. Errors: engine.ErrInvalid.
func After(cursor string) (id string, err error) {
	digits, encoded := strings.CutPrefix(cursor, notText)
	if !encoded {
		return cursor, nil
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return "", fmt.Errorf("%w: after is %.80q, which is neither an id nor a next_after; send the next_after of the page before", engine.ErrInvalid, cursor)
	}
	return string(raw), nil
}
