package command

import (
	"context"
	"runtime"
	"testing"
	"time"
)

var garbage []byte // in the heap

// TestFreeAtRest: behind work, garbage is collected and its memory returned once, and again only behind more work.
func TestFreeAtRest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	const after = 50 * time.Millisecond
	runtime.GC()
	garbage = make([]byte, 64<<20)
	for i := range garbage {
		garbage[i] = 1
	}
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	garbage = nil
	go func() { defer close(ended); freeAtRest(ctx, after) }()
	for start := time.Now(); ; time.Sleep(after) {
		if runtime.ReadMemStats(&now); now.HeapAlloc+32<<20 < before.HeapAlloc && now.HeapReleased >= before.HeapReleased+32<<20 {
			break
		}
		if time.Since(start) > 20*time.Second {
			t.Fatalf("%d bytes in use and %d returned, before %d and %d", now.HeapAlloc, now.HeapReleased, before.HeapAlloc, before.HeapReleased)
		}
	}
	n := collected()
	time.Sleep(10 * after)
	if m := collected(); m > n+1 { // another test may work
		t.Errorf("%d collections at rest", m-n)
	}
	cancel()
	<-ended
}
