package engine_test

import (
	"reflect"
	"testing"

	"github.com/lexsem/lexsem/engine"
)

// TestAddResultAdd: every field is a sum, but for Seq, which is the later one.
func TestAddResultAdd(t *testing.T) {
	var one, two, sum engine.AddResult
	fields := reflect.TypeFor[engine.AddResult]().NumField()
	for i := range fields {
		for r, by := range map[*engine.AddResult]int64{&one: 100, &two: 1, &sum: 101} {
			if f := reflect.ValueOf(r).Elem().Field(i); f.CanInt() {
				f.SetInt(by * int64(i+1))
			}
		}
	}
	for _, seqs := range [][2]uint64{{4, 7}, {7, 4}} {
		got, other := one, two
		got.Seq, other.Seq, sum.Seq = seqs[0], seqs[1], 7
		if got.Add(other); got != sum {
			t.Errorf("%+v and %+v: %+v, want %+v", one, two, got, sum)
		}
	}
}
