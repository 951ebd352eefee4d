package folder_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/folder"
)

// TestSourceFirst: a folder that is mostly source code has no token states though its names begin with many documents; one that is
// mostly documents has.
func TestSourceFirst(t *testing.T) {
	for _, source := range []int{60, 20} {
		b := newBase(t)
		e, err := engine.Open(t.Context(), filepath.Join(t.TempDir(), "db"), encoder.NewHash(64), engine.Options{NoSync: true, MemoryMiB: 32, TokenStates: engine.TokenStatesAuto})
		b.ok(err)
		defer e.Close()
		all := map[string]string{}
		for i := range 40 {
			all[fmt.Sprintf("docs/%d.md", i)] = strings.Repeat(fmt.Sprintf("The walrus %d eats fish. ", i), 20)
		}
		for i := range 60 { // whose names say nothing, and which are no scripts
			all[fmt.Sprintf("data/%d", i)] = "figures"
		}
		for i := range source {
			all[fmt.Sprintf("src/%d.go", i)] = fmt.Sprintf("package src\n\n// F%d feeds a walrus.\nfunc F%d() {}\n", i, i)
		}
		b.write(all)
		f, err := folder.Open(t.Context(), e, b.dir, folder.Options{})
		b.ok(err)
		_, err = f.Sync(t.Context())
		b.ok(err)
		s, err := e.Stats(t.Context())
		b.ok(err)
		if want := map[bool]int{true: 0, false: s.Chunks}[source > 40]; s.Documents != len(all)-60 || s.TokenStates.Chunks != want {
			t.Errorf("%d files of source code: %d documents, %+v of %d chunks", source, s.Documents, s.TokenStates, s.Chunks)
		}
	}
}
