package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// The arguments of a call that was cancelled are not read, and a call that is cancelled meanwhile is no fault of them.
func TestArgumentsObeyTheirContext(t *testing.T) {
	data := []byte(`{"query":"` + strings.Repeat("a ", 2<<20) + `"}`)
	ctx, cancel := context.WithCancel(t.Context())
	if in, err := arguments[searchArgs](ctx, searchTool(), data); err != nil || len(in.Query) != 4<<20 {
		t.Errorf("%d bytes, %v", len(in.Query), err)
	}
	cancel()
	for _, data := range [][]byte{data, []byte(`{"no JSON`), nil} {
		if _, err := arguments[searchArgs](ctx, searchTool(), data); !errors.Is(err, context.Canceled) {
			t.Errorf("%.20q: %v", data, err)
		}
	}
}
