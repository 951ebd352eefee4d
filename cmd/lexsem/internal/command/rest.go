package command

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// restAfter is how long a server must have made little garbage before it returns what work has left.
const restAfter = 5 * time.Second

// freeAtRest collects garbage and gives free memory back to the operating system each time the process rests: work has
// made the runtime collect, and then nothing for the time after. The runtime itself waits for two minutes. It ends
// with ctx.
func freeAtRest(ctx context.Context, after time.Duration) {
	tick := time.NewTicker(after)
	defer tick.Stop()
	for last, freed := uint64(0), uint64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := collected()
		if now == last && now != freed {
			debug.FreeOSMemory()
			now = collected()
			freed = now
		}
		last = now
	}
}

// collected is how many garbage collections there have been.
func collected() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
