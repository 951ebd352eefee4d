package filter

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

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
