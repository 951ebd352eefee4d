package value

import (
	"cmp"
	"fmt"
	"net/mail"
	"strings"
	"time"
)

// Instant is a point in time: seconds since 1970 in UTC, and nanoseconds.
type Instant struct {
	seconds int64
	nanos   int
}

// isoLayouts are the forms of ISO 8601 that are timestamps. Go accepts a fraction of a second after any of
// them.
var isoLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02T15:04:05Z07"}

// ToInstant reads a timestamp: RFC 3339, also with a blank instead of the T, without seconds, or without
// an offset, which means UTC; a date alone, which means its midnight in UTC; or a date of mail (RFC 5322).
func ToInstant(text string) (Instant, bool) {
	if len(text) < len(time.DateOnly) || len(text) > 64 {
		return Instant{}, false
	}
	if text[4] == '-' && text[7] == '-' {
		return isoInstant(text)
	}
	if text[3] != ',' && (text[0] < '0' || text[0] > '9' || text[1] != ' ' && text[2] != ' ') {
		return Instant{}, false
	}
	t, err := mail.ParseDate(text)
	return instantOf(t), err == nil
}

func isoInstant(text string) (Instant, bool) {
	if len(text) == len(time.DateOnly) {
		t, err := time.Parse(time.DateOnly, text)
		return instantOf(t), err == nil
	}
	if c := text[10]; c == ' ' || c == 't' {
		text = text[:10] + "T" + text[11:]
	}
	if before, ok := strings.CutSuffix(text, "z"); ok {
		text = before + "Z"
	}
	for _, layout := range isoLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return instantOf(t), true
		}
	}
	return Instant{}, false
}

func instantOf(t time.Time) Instant { return Instant{t.Unix(), t.Nanosecond()} }

func (i Instant) Compare(o Instant) int {
	return cmp.Or(cmp.Compare(i.seconds, o.seconds), cmp.Compare(i.nanos, o.nanos))
}

// Sortable writes an Instant so that texts are ordered like instants.
func (i Instant) Sortable() string {
	return fmt.Sprintf("%016x%08x", uint64(i.seconds)^1<<63, i.nanos)
}
