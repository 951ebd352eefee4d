package inverted

import "testing"

// No call that adds a set moves more than a small part of all elements, whose number is in the millions.
func TestFoldsGrowInParts(t *testing.T) {
	f := NewFolds(.8)
	all := 0
	for n := range uint64(500) {
		set := make([]uint64, 100)
		for i := range set {
			set[i] = n<<32 | uint64(i)
		}
		f.Add(set)
		all += len(set)
	}
	used := 0
	for i := range f.elements {
		e := &f.elements[i]
		if used += e.used; e.used > all/32 {
			t.Errorf("a table has %d of %d elements", e.used, all)
		}
	}
	if used != all {
		t.Errorf("%d elements of %d", used, all)
	}
}
