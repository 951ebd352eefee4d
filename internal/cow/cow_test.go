package cow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every version of an array stays what it was, whatever is made of it.
func TestArrayAgainstSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var a Array[int]
	var model []int
	type version struct {
		a     Array[int]
		model []int
	}
	var kept []version
	for step := range 400 {
		e := a.Edit()
		model = slices.Clone(model)
		for range r.IntN(40) {
			switch {
			case len(model) == 0 || r.IntN(3) == 0:
				v := r.Int()
				e.Resize(len(model) + 1)
				e.Set(len(model), v)
				model = append(model, v)
			case r.IntN(40) == 0:
				n := r.IntN(3 * 4096)
				e.Resize(n)
				for len(model) < n {
					model = append(model, 0)
				}
				model = model[:n:n]
			default:
				i := r.IntN(len(model))
				e.Set(i, step)
				model[i] = step
			}
		}
		a = e.Done()
		kept = append(kept, version{a, model})
	}
	for i, v := range kept {
		if v.a.Len() != len(v.model) {
			t.Fatalf("version %d has %d elements, want %d", i, v.a.Len(), len(v.model))
		}
		seen := make([]int, len(v.model))
		for j, x := range v.a.All {
			seen[j] = x
		}
		for j, want := range v.model {
			if got := v.a.At(j); got != want || seen[j] != want {
				t.Fatalf("version %d: element %d is %d, by All %d, want %d", i, j, got, seen[j], want)
			}
		}
		if v.a.At(-1) != 0 || v.a.At(len(v.model)) != 0 {
			t.Fatalf("version %d has elements beyond its ends", i)
		}
	}
}

// What one edit cuts off and grows again is zero, and may be edited.
func TestCutAndGrown(t *testing.T) {
	for _, to := range []int{0, 10, 64, 4096} {
		e := Array[int]{}.Edit()
		e.Resize(10_000)
		for _, i := range []int{5, 100, 5000, 9999} {
			e.Set(i, i)
		}
		e.Resize(to)
		e.Resize(10_000)
		for _, i := range []int{5, 100, 5000, 9999} {
			want := i
			if i >= to {
				want = 0
			}
			if got := e.At(i); got != want {
				t.Fatalf("cut to %d: element %d is %d, want %d", to, i, got, want)
			}
			e.Set(i, -i)
		}
		for i, got := range e.Done().All {
			if got != 0 && got != -i {
				t.Fatalf("cut to %d: element %d is %d", to, i, got)
			}
		}
	}
}

func TestSetAgainstMap(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var s Set
	model := map[uint64]bool{}
	for range 200 {
		before, n := s, s.Len()
		e := s.Edit()
		for range r.IntN(100) {
			x := uint64(r.IntN(20_000))
			if r.IntN(2) == 0 {
				if e.Add(x) == model[x] {
					t.Fatalf("Add(%d) is wrong", x)
				}
				model[x] = true
			} else {
				if e.Remove(x) != model[x] {
					t.Fatalf("Remove(%d) is wrong", x)
				}
				delete(model, x)
			}
		}
		s = e.Done()
		if before.Len() != n {
			t.Fatal("an older version has changed")
		}
	}
	var got []uint64
	for x := range s.All {
		got = append(got, x)
		if !model[x] || !s.Has(x) {
			t.Fatalf("%d should not be there", x)
		}
	}
	if len(got) != len(model) || s.Len() != len(model) || !slices.IsSorted(got) {
		t.Fatalf("%d numbers, Len %d, want %d", len(got), s.Len(), len(model))
	}
	if s.Has(1 << 40) {
		t.Error("a number beyond all is there")
	}
}

// An edit costs what it changes: one element of a million copies some pages.
func TestEditIsSmall(t *testing.T) {
	e := Array[uint64]{}.Edit()
	e.Resize(1 << 20)
	for i := range 1 << 20 {
		e.Set(i, 1)
	}
	a := e.Done()
	bytes := testing.Benchmark(func(b *testing.B) {
		for range b.N {
			e := a.Edit()
			e.Set(500_000, 2)
			e.Done()
		}
	}).AllocedBytesPerOp()
	if bytes > 16<<10 {
		t.Errorf("an edit of one element allocates %d bytes", bytes)
	}
}

// BenchmarkEdit measures edits of some elements of a million, by elements.
func BenchmarkEdit(b *testing.B) {
	e := Array[uint64]{}.Edit()
	e.Resize(1 << 20)
	for i := range 1 << 20 {
		e.Set(i, 1)
	}
	a := e.Done()
	for _, n := range []int{1, 100, 1000, 100_000} {
		r := rand.New(rand.NewPCG(5, 6))
		at := make([]int, n)
		for i := range at {
			at[i] = r.IntN(a.Len())
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e := a.Edit()
				for _, i := range at {
					*e.Ptr(i)++
				}
				e.Done()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/element")
		})
	}
}
