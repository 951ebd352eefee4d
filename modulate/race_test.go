//go:build race

package modulate

// Under the race detector a sync.Pool drops items at random.
const racing = true
