package engine

import "time"

// timer collects the steps of a trace.
type timer struct {
	steps []Step
	last  time.Time
}

func newTimer() *timer { return &timer{last: time.Now(), steps: make([]Step, 0, 6)} }

func (t *timer) done(name string) {
	now := time.Now()
	t.steps = append(t.steps, Step{name, now.Sub(t.last)})
	t.last = now
}
