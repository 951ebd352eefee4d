package rest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// waits are the times between tries. They double from first to longest.
type waits struct{ first, longest time.Duration }

var (
	slow  = waits{500 * time.Millisecond, 30 * time.Second}
	quick = waits{50 * time.Millisecond, 2 * time.Second} // for who is patient, and a server that comes back soon
)

// Retry calls do with the number of the try, from 0, until it succeeds, reports that no other try can
// succeed, or patience has passed. It waits between calls. If ctx ends, it returns the error of ctx.
func Retry(ctx context.Context, patience time.Duration, do func(try int) (again bool, err error)) error {
	return quick.retry(ctx, enough(patience, 0), func(try int) (bool, time.Duration, error) {
		again, err := do(try)
		return again, 0, err
	})
}

// enough decides when to stop: after patience or, if that is 0, after the number of retries.
func enough(patience time.Duration, retries int) func(try int, took time.Duration) bool {
	return func(try int, took time.Duration) bool {
		if patience > 0 {
			return took > patience
		}
		return try >= retries
	}
}

// retry calls do until it succeeds, reports that another try is useless, or enough says so. Before the next try
// it waits as long as do says, or for its own time if that is 0.
func (w waits) retry(ctx context.Context, enough func(int, time.Duration) bool, do func(try int) (again bool, after time.Duration, err error)) error {
	began := time.Now()
	var last error // of the try before
	ended := func() error {
		if last == nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w; the last try: %v", ctx.Err(), last)
	}
	for try := 0; ; try++ {
		again, after, err := do(try)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ended()
		case !again:
			return err
		case enough(try, time.Since(began)):
			return fmt.Errorf("%w; gave up after %d tries in %s", err, try+1, time.Since(began).Round(time.Second))
		}
		last = err
		t := time.NewTimer(cmp.Or(after, w.after(try)))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ended()
		}
	}
}

// after is the time between a try and the next. It is drawn from the upper half of an interval, so that
// callers that failed together do not retry together.
func (w waits) after(try int) time.Duration {
	most := min(w.first<<min(try, 10), w.longest)
	return most/2 + rand.N(most/2)
}

// RetryAfter reads how long a server asks to wait: milliseconds in the headers of some servers, seconds, or a
// date. It returns 0 if the headers say nothing readable.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	s := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(s, 64); err == nil && seconds > 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(s); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// Printable is at most n bytes of s on one line, without terminal control characters.
func Printable(s string, n int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }), " ")
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
