package trial

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

func TestRounds(t *testing.T) {
	for _, c := range []struct {
		long, rounds string
		want         int
	}{{"", "", 4}, {"1", "", 90}, {"", "7", 7}, {"1", "7", 7}} {
		t.Setenv("LEXSEM_LONG", c.long)
		t.Setenv("LEXSEM_ROUNDS", c.rounds)
		if testing.Short() && c.rounds == "" {
			c.want = 2
		}
		if got := Rounds(t, 4, 90); got != c.want {
			t.Errorf("LEXSEM_LONG=%s LEXSEM_ROUNDS=%s: %d rounds, want %d", c.long, c.rounds, got, c.want)
		}
		if Long() != (c.long != "" && !testing.Short()) {
			t.Errorf("LEXSEM_LONG=%s: %t", c.long, Long())
		}
	}
}

func TestSeed(t *testing.T) {
	t.Setenv("LEXSEM_SEED", "41")
	if got := Seed(t); got != 41 {
		t.Error(got)
	}
	t.Setenv("LEXSEM_SEED", "")
	if a, b := Seed(t), Seed(t); a == b {
		t.Errorf("the clock gave %d twice", a)
	}
}

func TestParallel(t *testing.T) {
	f := flag.Lookup("test.parallel")
	was := f.Value.String()
	defer f.Value.Set(was)
	Parallel()
	if got, want := f.Value.String(), strconv.Itoa(3*runtime.GOMAXPROCS(0)); got != want {
		t.Errorf("%s at a time, want %s", got, want)
	}
}
