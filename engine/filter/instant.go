package filter

import (
	"cmp"
	"fmt"
	"net/mail"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// instant is a point in time: seconds since 1970 in UTC, and nanoseconds.
type instant struct {
	seconds int64
	nanos   int
}

// isoLayouts are the forms of ISO 8601 that are timestamps. Go accepts a fraction of a second after any of
// them.
var isoLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02T15:04:05Z07"}

// toInstant reads a timestamp: RFC 3339, also with a blank instead of the T, without seconds, or without
// an offset, which means UTC; a date alone, which means its midnight in UTC; or a date of mail (RFC 5322).
func toInstant(text string) (instant, bool) {
	if len(text) < len(time.DateOnly) || len(text) > 64 {
		return instant{}, false
	}
	if text[4] == '-' && text[7] == '-' {
		return isoInstant(text)
	}
	if text[3] != ',' && (text[0] < '0' || text[0] > '9' || text[1] != ' ' && text[2] != ' ') {
		return instant{}, false
	}
	t, err := mail.ParseDate(text)
	return instantOf(t), err == nil
}

func isoInstant(text string) (instant, bool) {
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
	return instant{}, false
}

func instantOf(t time.Time) instant { return instant{t.Unix(), t.Nanosecond()} }

func (i instant) compare(o instant) int {
	return cmp.Or(cmp.Compare(i.seconds, o.seconds), cmp.Compare(i.nanos, o.nanos))
}

// sortable writes an instant so that texts are ordered like instants.
func (i instant) sortable() string {
	return fmt.Sprintf("%016x%08x", uint64(i.seconds)^1<<63, i.nanos)
}

// timestamp returns how a time.Time is compared with metadata.
func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// clock is time.Now except in tests.
var clock = time.Now

// relativeTime matches now, or a time before or after it.
var relativeTime = regexp.MustCompile(`^now(?:[+-][0-9]{1,6}[smhdwMy])*$`)

// relative resolves now, now-7d or now-1M+12h to a timestamp. ok is false for other words.
func relative(word string) (stamp string, ok bool) {
	if !relativeTime.MatchString(word) {
		return "", false
	}
	t := clock()
	for steps := strings.TrimPrefix(word, "now"); steps != ""; {
		end := strings.IndexAny(steps, "smhdwMy")
		n, err := strconv.Atoi(steps[:end])
		if err != nil {
			return "", false
		}
		switch steps[end] {
		case 's':
			t = t.Add(time.Duration(n) * time.Second)
		case 'm':
			t = t.Add(time.Duration(n) * time.Minute)
		case 'h':
			t = t.Add(time.Duration(n) * time.Hour)
		case 'd':
			t = t.AddDate(0, 0, n)
		case 'w':
			t = t.AddDate(0, 0, 7*n)
		case 'M':
			t = t.AddDate(0, n, 0)
		case 'y':
			t = t.AddDate(n, 0, 0)
		}
		steps = steps[end+1:]
	}
	return timestamp(t), t.Year() >= 0 && t.Year() <= 9999
}
