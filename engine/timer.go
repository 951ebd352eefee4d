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
	took := now.Sub(t.last)
	t.last = now
	for i := range t.steps { // a step that was taken before, when the search looks deeper
		if t.steps[i].Name == name {
			t.steps[i].Took += took
			return
		}
	}
	t.steps = append(t.steps, Step{name, took})
}
