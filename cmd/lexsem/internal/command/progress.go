package command

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/lexsem/lexsem/internal/digits"
)

const (
	drawEvery  = 100 * time.Millisecond // between two drawings of a bar
	printEvery = 10 * time.Second       // between two lines where there is no terminal
)

// step is one state of a long piece of work.
type step struct {
	stage    string  // what is being done; a new name starts a new bar
	done     int     // units done
	total    int     // units in all; 0 while unknown
	unit     string  // name of the units, plural
	fraction float64 // share done where total is unknown but, say, bytes are known; else 0
	note     string  // anything else worth a few columns, such as a loss
}

// progress draws a bar with rate and remaining time on a terminal, and prints
// a line every ten seconds elsewhere. Its methods are safe for concurrent use.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	tty     bool
	width   int
	now     func() time.Time
	stage   string
	start   time.Time
	first   int     // units already done when the stage began
	share   float64 // that were
	drawn   time.Time
	visible bool
}

// progress returns the meter of this command; with --quiet it shows nothing.
func (a *app) progress() *progress {
	p := &progress{w: raw(a.Stderr), tty: a.StderrTerminal, width: a.Width, now: time.Now}
	if a.quiet {
		p.w = io.Discard
		p.tty = false
	}
	return p
}

func (p *progress) update(s step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if s.stage != p.stage || p.start.IsZero() {
		p.clear()
		p.stage, p.start, p.first, p.share = s.stage, now, s.done, s.fraction
		p.drawn = now
		if p.tty {
			p.drawn = time.Time{}
		}
	}
	every := printEvery
	if p.tty {
		every = drawEvery
	}
	if now.Sub(p.drawn) < every {
		return
	}
	p.drawn = now
	line := visible(p.line(s, now.Sub(p.start)))
	if p.tty {
		fmt.Fprintf(p.w, "\r\x1b[K%s", clipColumns(line, p.width-1))
		p.visible = true
	} else {
		fmt.Fprintln(p.w, line)
	}
}

// done removes the bar; the next update starts a new one.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.start = time.Time{}
}

func (p *progress) clear() {
	if p.visible {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.visible = false
	}
}

func (p *progress) line(s step, elapsed time.Duration) string {
	share := s.fraction
	if s.total > 0 {
		share = float64(s.done) / float64(s.total)
	}
	share = min(max(share, 0), 1)
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s ", s.stage)
	if share > 0 && p.tty {
		const cells = 16
		full := int(share * cells)
		b.WriteString(strings.Repeat("█", full) + strings.Repeat("░", cells-full) + " ")
	}
	if share > 0 {
		fmt.Fprintf(&b, "%3.0f %%  ", share*100)
	}
	if s.total > 0 {
		fmt.Fprintf(&b, "%s/%s %s", thousands(s.done), thousands(s.total), s.unit)
	} else {
		fmt.Fprintf(&b, "%s %s", thousands(s.done), s.unit)
	}
	if seconds := elapsed.Seconds(); seconds > 0.5 && s.done > p.first {
		rate := float64(s.done-p.first) / seconds
		fmt.Fprintf(&b, "  %s/s", significant(rate))
		switch {
		case s.total > s.done:
			fmt.Fprintf(&b, "  %s left", short(time.Duration(float64(s.total-s.done)/rate*float64(time.Second))))
		case s.total == 0 && share > p.share:
			fmt.Fprintf(&b, "  %s left", short(time.Duration(seconds*(1-share)/(share-p.share)*float64(time.Second))))
		}
	}
	if s.note != "" {
		b.WriteString("  " + s.note)
	}
	return b.String()
}

// short prints a duration in at most two units.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 90*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

func significant(x float64) string {
	switch {
	case x >= 1000:
		return thousands(int(x))
	case x >= 10:
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f", x)
}

// thousands prints n with a comma between groups of three digits.
func thousands(n int) string { return digits.Group(fmt.Sprint(n)) }

// clipColumns cuts s to n runes, with "…" at the end if something was cut.
func clipColumns(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	return string(r[:n-1]) + "…"
}
