package filter

import (
	"slices"
	"testing"
)

func TestPaths(t *testing.T) {
	f, err := Parse(`b.c = 1 and (a ^= "x" or not b.c exists) and d in [1, 2]`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Paths(), []string{"a", "b.c", "d"}; !slices.Equal(got, want) {
		t.Errorf("paths %q, want %q", got, want)
	}
	if got := (Filter{}).Paths(); len(got) != 0 {
		t.Errorf("the zero filter has the paths %q", got)
	}
	if got := Eq("", 1).Paths(); len(got) != 0 {
		t.Errorf("an invalid filter has the paths %q", got)
	}
}
