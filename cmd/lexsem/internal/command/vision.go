package command

import (
	"fmt"
	"io"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/regular"
)

// readImage reads the file of an image.
func readImage(a *app, name string) ([]byte, error) {
	if name != "-" {
		return regular.ReadFile(name, engine.MaxImageBytes)
	}
	b, err := io.ReadAll(io.LimitReader(a.Stdin, engine.MaxImageBytes+1))
	if err == nil && len(b) > engine.MaxImageBytes {
		err = fmt.Errorf("standard input: %w: more than %d bytes", regular.ErrTooLarge, engine.MaxImageBytes)
	}
	return b, err
}
