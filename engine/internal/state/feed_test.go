package state

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestFeed: every reader gets all chunks in the same pieces, whether they were there before
// or come while it reads, and the diff that a feed of all of them has.
func TestFeed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		var df diff
		var documents [][]Version
		for ord := range uint64(n) {
			var vs []Version
			for c := range uint64(1 + r.IntN(3)) {
				vs = append(vs, Version{ID: ord<<8 + c})
			}
			documents = append(documents, vs)
			df.live, df.added = append(df.live, ord), append(df.added, vs...)
		}
		var growing feed
		for _, size := range []int{1, 2, 7, 64} {
			read := func(f *feed) (got [][]uint64) {
				if err := f.each(t.Context(), size, func(vs []Version) error { got = append(got, idsOf(vs)); return nil }); err != nil {
					t.Error(err)
				}
				return got
			}
			want := read(fed(df))
			growing = feed{}
			readers := make(chan [][]uint64, 3)
			for range cap(readers) {
				go func() { readers <- read(&growing) }()
			}
			for ord, vs := range documents {
				growing.add(uint64(ord), vs)
				if ord%5 == 0 {
					time.Sleep(10 * time.Microsecond)
				}
			}
			growing.end(nil)
			growing.end(errLeft) // the first counts
			for range cap(readers) {
				if got := <-readers; !slices.EqualFunc(got, want, slices.Equal) {
					t.Fatalf("%d documents in pieces of %d: %v, want %v", n, size, got, want)
				}
			}
		}
		if got := growing.diff(); fmt.Sprint(got) != fmt.Sprint(df) {
			t.Fatalf("%v, want %v", got, df)
		}
		if all, err := growing.whole(t.Context()); err != nil || fmt.Sprint(all) != fmt.Sprint(df.added) {
			t.Fatalf("%v, %v, want %v", all, err, df.added)
		}
	}
}

// TestFeedEnds: a reader that waits ends with the error of the feed, and with its context.
func TestFeedEnds(t *testing.T) {
	failed := errors.New("failed")
	var f feed
	ended := make(chan error)
	pieces := func(ctx context.Context) error {
		return f.each(ctx, 2, func([]Version) error { return nil })
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- pieces(ctx) }()
	f.add(1, make([]Version, 5))
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	go func() { ended <- pieces(t.Context()) }()
	go func() { _, err := f.whole(t.Context()); ended <- err }()
	f.end(failed)
	for range 2 {
		if err := <-ended; err != failed {
			t.Error(err)
		}
	}
	if err := f.each(t.Context(), 2, func([]Version) error { return failed }); err != failed {
		t.Error(err)
	}
}
