// Package trial says how extensive a test should be. Start with [Rounds], [Seed] and [Long]. A test runs
// its short form, unless the environment says otherwise:
//
//	LEXSEM_LONG=1      the long forms (not with go test -short)
//	LEXSEM_ROUNDS=n    n rounds of each test that counts rounds
//	LEXSEM_SEED=s      the first round is number s
//
// A round follows from its number, so a long form can be run in several parts.
package trial

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/bench/process"
)

// Long reports whether the long forms of tests should run.
func Long() bool { return os.Getenv("LEXSEM_LONG") != "" && !testing.Short() }

// Rounds is the number of rounds: that of LEXSEM_ROUNDS, else long or short; go test -short halves the
// short form.
func Rounds(t testing.TB, short, long int) int {
	t.Helper()
	switch n, set := number(t, "LEXSEM_ROUNDS"); {
	case set:
		return int(n)
	case Long():
		return long
	case testing.Short():
		return (short + 1) / 2
	}
	return short
}

// Seed is the number of the first round: that of LEXSEM_SEED, else one from the clock. The test's log
// shows it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	n, set := number(t, "LEXSEM_SEED")
	if !set {
		n = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with LEXSEM_SEED=%d", n)
	return n
}

// Parallel lets three parallel tests run for each processor, unless -parallel is set: for packages whose
// tests wait for a disk or a child. It is for TestMain, before flags are parsed.
func Parallel() {
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
}

// Took is how long do takes: by the clock or, if that is less, of processors, so that other processes on the machine do
// not count.
func Took(t testing.TB, do func()) time.Duration {
	t.Helper()
	begin, before := time.Now(), process.CPUTime()
	do()
	return min(time.Since(begin), process.CPUTime()-before)
}

func number(t testing.TB, name string) (n uint64, set bool) {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		t.Fatalf("%s is %q, want a number: %v", name, s, err)
	}
	return n, true
}
