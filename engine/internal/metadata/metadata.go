// Package metadata reads the metadata of documents.
package metadata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNoObject answers metadata that is no JSON object.
var ErrNoObject = errors.New("metadata is no JSON object")

// Parse reads metadata from JSON, numbers as json.Number; nil from nothing and
// from null. It fails with ErrNoObject on what no reader of it can read: not an
// object, or one that nests deeper than 10,000.
func Parse(raw []byte) (m map[string]any, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoObject, err)
	}
	return m, nil
}
