package command

import "testing"

func TestBytesOf(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 102_300: "99.9 KiB", 1_023_000: "999 KiB", 1_023_900: "1000 KiB", 1<<20 - 1: "1024 KiB", 1 << 20: "1 MiB", 5 << 40: "5 TiB", 3 << 50: "3072 TiB"} {
		if got := bytesOf(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
