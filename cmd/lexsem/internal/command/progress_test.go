package command

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	now := time.Unix(0, 0)
	newMeter := func(tty bool) (*progress, *bytes.Buffer) {
		var b bytes.Buffer
		return &progress{w: &b, tty: tty, width: 80, now: func() time.Time { return now }}, &b
	}
	t.Run("terminal", func(t *testing.T) {
		p, b := newMeter(true)
		p.update(step{stage: "indexing", done: 0, total: 1000, unit: "documents"})
		now = now.Add(10 * time.Second)
		p.update(step{stage: "indexing", done: 250, total: 1000, unit: "documents"})
		for _, want := range []string{"████░", " 25 %", "250/1,000 documents", "25/s", "30 s left"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("bar %q lacks %q", b.String(), want)
			}
		}
		before := b.Len()
		p.update(step{stage: "indexing", done: 251, total: 1000, unit: "documents"})
		if b.Len() != before {
			t.Error("drawn again within 100 ms")
		}
		p.done()
		if !strings.HasSuffix(b.String(), "\r\x1b[K") {
			t.Error("the bar was not removed")
		}
	})
	t.Run("bytes known", func(t *testing.T) { // the rate counts from where the bar began
		p, b := newMeter(true)
		p.update(step{stage: "indexing", unit: "documents"})
		now = now.Add(10 * time.Second)
		p.update(step{stage: "indexing", done: 50, fraction: 0.5, unit: "documents"})
		if !strings.HasSuffix(b.String(), "5.0/s  10 s left") {
			t.Errorf("%q", b.String())
		}
		p.done() // something else was printed
		p.update(step{stage: "indexing", done: 60, fraction: 0.6, unit: "documents"})
		now = now.Add(10 * time.Second)
		p.update(step{stage: "indexing", done: 80, fraction: 0.8, unit: "documents"})
		if !strings.HasSuffix(b.String(), "2.0/s  10.0 s left") {
			t.Errorf("%q", b.String())
		}
	})
	t.Run("file", func(t *testing.T) {
		p, b := newMeter(false)
		for range 25 {
			p.update(step{stage: "fit", done: 1, total: 100, unit: "steps", note: "loss 1.234"})
			now = now.Add(time.Second)
		}
		p.done()
		if lines := strings.Count(b.String(), "\n"); lines != 2 || strings.ContainsAny(b.String(), "\r\x1b█") || !strings.Contains(b.String(), "loss 1.234") {
			t.Errorf("25 s without a terminal gave %q; want two plain lines", b.String())
		}
	})
	t.Run("quiet", func(t *testing.T) {
		var b bytes.Buffer
		a := &app{Env: Env{Stderr: &b, StderrTerminal: true, Width: 80}, globals: globals{quiet: true}}
		p := a.progress()
		p.now = func() time.Time { return now }
		for range 25 {
			p.update(step{stage: "fit", done: 1, total: 100})
			now = now.Add(time.Second)
		}
		p.done()
		if b.Len() > 0 {
			t.Errorf("--quiet printed %q", b.String())
		}
	})
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -4000: "-4,000"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{1500 * time.Millisecond: "1.5 s", 42 * time.Second: "42 s", 125 * time.Second: "2 min 05 s", 3700 * time.Second: "1 h 01 min"} {
		if got := short(d); got != want {
			t.Errorf("short(%v) = %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{12: "12 B", 2048: "2 KiB", 5 << 20: "5 MiB", 1<<30 + 1<<29: "1.5 GiB"} {
		if got := bytesOf(n); got != want {
			t.Errorf("bytesOf(%d) = %q, want %q", n, got, want)
		}
	}
}
