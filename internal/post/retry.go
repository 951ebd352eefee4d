package post

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// wait is the time before the try behind number try: it doubles, and is drawn from
// its upper half, so that callers that failed together do not come back together.
func wait(try int) time.Duration {
	w := min(firstWait<<min(try, 10), longestWait)
	return w/2 + rand.N(w/2)
}

// pause sleeps, or returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retryAfter reads how long a server asks to wait: milliseconds as some say it,
// seconds, or a date. 0 where it says nothing that can be read.
func retryAfter(h http.Header, now time.Time) time.Duration {
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

// printable is at most n bytes of s on one line, without what a terminal would obey.
func printable(s string, n int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }), " ")
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
