package share

import "time"

// Hasten gives peers d for their greeting and for each frame, until reset.
func Hasten(d time.Duration) (reset func()) {
	greet, frame := greetWithin, frameWithin
	greetWithin, frameWithin = d, d
	return func() { greetWithin, frameWithin = greet, frame }
}
