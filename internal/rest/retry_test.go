package rest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "", 0},
		{"Retry-After", "3", 3 * time.Second},
		{"Retry-After", " 0.25 ", 250 * time.Millisecond},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "Fri, 02 Jan 2026 03:04:25 GMT", 20 * time.Second},
		{"Retry-After", "Fri, 02 Jan 2026 03:04:00 GMT", 0},
		{"Retry-After-Ms", "40", 40 * time.Millisecond},
		{"Retry-After-Ms", "x", 0},
	} {
		h := http.Header{}
		h.Set(c.name, c.value)
		if got := RetryAfter(h, now); got != c.want {
			t.Errorf("%s: %q: %s, want %s", c.name, c.value, got, c.want)
		}
	}
}

// Waits double up to their most, and are spread.
func TestWait(t *testing.T) {
	for try, most := range map[int]time.Duration{0: slow.first, 1: 2 * slow.first, 4: 16 * slow.first, 9: slow.longest, 500: slow.longest} {
		seen := map[time.Duration]bool{}
		for range 50 {
			w := slow.after(try)
			if w < most/2 || w >= most {
				t.Fatalf("try %d waits %s, at most %s", try, w, most)
			}
			seen[w] = true
		}
		if len(seen) < 10 {
			t.Errorf("try %d has %d waits of 50", try, len(seen))
		}
	}
}

// When time is up, the error still has what failed.
func TestDeadlineTellsTheCause(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := waits{first: time.Hour, longest: time.Hour}.retry(ctx, func(int, time.Duration) bool { return false }, func(try int) (bool, time.Duration, error) {
		cancel()
		return true, 0, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "last try") {
		t.Errorf("during the first: %v", err)
	}
	for _, tries := range []int{1, 2} { // it ends while somebody waits, or while a try is under way
		ctx, cancel := context.WithCancel(t.Context())
		err := waits{first: 2, longest: 2}.retry(ctx, func(int, time.Duration) bool { return false }, func(try int) (bool, time.Duration, error) {
			if try == tries {
				cancel()
				return true, 0, ctx.Err()
			}
			return true, 0, errors.New("status 503: overloaded")
		})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the last try: status 503: overloaded") {
			t.Errorf("after %d tries: %v", tries, err)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"a\nb\t\x1b[2Jc\u202ed": "a b [2Jc d",
		"bad \xff end":          "bad \ufffd end",
		"ééééééé":               "éééééé…",
	} {
		if got := Printable(in, 13); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
