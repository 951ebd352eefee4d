package rcu

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"weak"
)

func TestRetireInOrder(t *testing.T) {
	var c Cell[int]
	if c.Acquire() != nil {
		t.Fatal("an empty cell has a version")
	}
	var gone []int
	put := func(v int) { c.Publish(v, func() { gone = append(gone, v-1) }) }
	put(1) // retires nothing but says so
	a := c.Acquire()
	put(2)
	b := c.Acquire()
	put(3)
	b.Release()
	if !slices.Equal(gone, []int{0}) {
		t.Fatalf("retired %v while version 1 is in use", gone)
	}
	a.Release()
	if !slices.Equal(gone, []int{0, 1, 2}) {
		t.Fatalf("retired %v, want 0, 1, 2", gone)
	}
	last := c.Acquire()
	c.Clear(func() { gone = append(gone, 3) })
	if c.Acquire() != nil || len(gone) != 3 {
		t.Fatalf("after Clear: %v", gone)
	}
	last.Release()
	if !slices.Equal(gone, []int{0, 1, 2, 3}) {
		t.Fatalf("retired %v at the end", gone)
	}
}

// No version is retired while somebody uses it or an older one.
func TestConcurrent(t *testing.T) {
	type version struct{ dead atomic.Bool }
	var c Cell[*version]
	c.Publish(&version{}, nil)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r := c.Acquire()
				if r.Value.dead.Load() {
					t.Error("a version in use is retired")
				}
				r.Release()
			}
		})
	}
	for range 5000 {
		old := c.Acquire()
		v := old.Value
		old.Release()
		c.Publish(&version{}, func() { v.dead.Store(true) })
	}
	close(stop)
	wg.Wait()
}

// TestOldReaderKeepsOneVersion: who holds an old version holds that alone, however
// many have come since.
func TestOldReaderKeepsOneVersion(t *testing.T) {
	var c Cell[*[1 << 10]byte]
	c.Publish(new([1 << 10]byte), nil)
	old := c.Acquire()
	defer old.Release()
	retired := 0
	var between []weak.Pointer[[1 << 10]byte]
	for range 3 {
		v := new([1 << 10]byte)
		between = append(between, weak.Make(v))
		c.Publish(v, func() { retired++ })
	}
	c.Publish(new([1 << 10]byte), func() { retired++ })
	runtime.GC()
	for i, w := range between {
		if w.Value() != nil {
			t.Errorf("version %d is still in memory", i+1)
		}
	}
	if old.Value == nil || retired != 0 {
		t.Errorf("%d versions are retired while an older one is in use", retired)
	}
}
