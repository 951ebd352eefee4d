package trial

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/bench/process"
)

// Overrun is how long call goes on after its deadline: the least of some tries of the wall-clock time or, if that is less,
// of the time that processors worked, so that other processes on the machine do not count. It tries again while that is
// more than want.
func Overrun(t testing.TB, deadline, want time.Duration, call func(context.Context) error) (least time.Duration, err error) {
	least = time.Hour
	for try := 0; try < 5 && least > want; try++ {
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		begin, before := time.Now(), make(chan time.Duration, 1)
		stop := context.AfterFunc(ctx, func() { before <- process.CPUTime() })
		err = call(ctx)
		late := time.Duration(0)
		if !stop() {
			late = min(time.Since(begin)-deadline, process.CPUTime()-<-before)
		}
		cancel()
		least = min(least, max(0, late))
	}
	return least, err
}

// HardTexts are texts of size bytes that are hard to cut, to count or to compare.
func HardTexts(size int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	var distinct strings.Builder
	for i := 0; distinct.Len() < size; i++ {
		fmt.Fprintf(&distinct, "w%d ", i)
	}
	return map[string]string{
		"without a blank": repeat("a"), "of one letter": repeat("a "), "of new lines": repeat("x\n"), "of distinct words": distinct.String(),
		"of marks": repeat("a\u0301"), "of no letters": repeat("!?"), "of ideographs": repeat("漢字"), "of quotes": repeat(`"a" -b `), "of long words": repeat(strings.Repeat("q", 5000) + " "),
	}
}
