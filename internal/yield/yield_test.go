package yield

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestRule: others run once a slice, and work that waited goes on for as long as that.
func TestRule(t *testing.T) {
	var now, wait time.Duration
	lets := 0
	var turns Turns
	ask := func(after time.Duration, want int) {
		t.Helper()
		now += after
		if turns.let(func() time.Duration { return now }, func() { lets++; now += wait }); lets != want {
			t.Errorf("at %v others ran %d times, want %d", now, lets, want)
		}
	}
	ask(0, 1)
	ask(slice-1, 1)
	ask(1, 2)
	wait = 5 * time.Millisecond
	ask(slice, 3)
	wait = 0
	ask(5*time.Millisecond-1, 3)
	ask(1, 4)
	ask(slice, 5)
}

// TestContext: what waits for a processor runs while work asks for its context, and a context made of it ends with it.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	y := Context(ctx)
	ran := make(chan struct{})
	go close(ran)
	for i := 0; ; i++ {
		if err := y.Err(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ran:
		default:
			continue
		}
		break
	}
	made, stop := context.WithCancel(y)
	defer stop()
	why := errors.New("why")
	cancel(why)
	<-made.Done()
	if made.Err() == nil || !errors.Is(y.Err(), context.Canceled) || context.Cause(y) != why {
		t.Errorf("%v, %v, %v", made.Err(), y.Err(), context.Cause(y))
	}
}

// TestTurn: a turn is given back once, by the work within it or by the one who gave it.
func TestTurn(t *testing.T) {
	EndTurn(t.Context()) // has none
	for _, first := range []string{"work", "giver"} {
		n := 0
		ctx, end := WithTurn(t.Context(), func() { n++ })
		if n != 0 {
			t.Error("given back at once")
		}
		if first == "work" {
			EndTurn(ctx)
		}
		end()
		EndTurn(ctx)
		if n != 1 {
			t.Errorf("%s first: given back %d times", first, n)
		}
	}
}
