package engine

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine/archive"
)

// TestReuseOfOtherMedia: a vector that was made of something other than the text is not
// taken over for the text.
func TestReuseOfOtherMedia(t *testing.T) {
	t.Parallel()
	e := opened(t, t.TempDir(), Options{}, autoHNSW)
	defer closed(t, e)
	put(t, e, madeDocs(rand.New(rand.NewPCG(1, 1)), 1, 3)...)
	all := recordsOf(t, e)
	d := all[0]
	d.Rows = slices.Clone(d.Rows)
	d.ID, d.Media, d.Rows[0].Vector = "of", "image/png", all[1].Rows[0].Vector
	head := strings.SplitAfter(exportOf(t, e, archive.ExportOptions{Vectors: true}), "\n")[0]
	line, err := json.Marshal(exported(&d, nil, true))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := imported(t, e, head+string(line)+"\n"); err != nil || r.Added != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	doc := made(rand.New(rand.NewPCG(1, 1)), 1)
	doc.ID = "of"
	if r, err := e.Upsert(t.Context(), []Document{doc}); err != nil || r.Replaced != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	now := recordsOf(t, e)
	if got := now[len(now)-1]; got.Media != "" || !slices.Equal(got.Rows[0].Vector, all[0].Rows[0].Vector) || slices.Equal(got.Rows[0].Vector, d.Rows[0].Vector) {
		t.Errorf("%+v", got)
	}
	if r, err := e.Upsert(t.Context(), []Document{doc}); err != nil || r.Unchanged != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
}
