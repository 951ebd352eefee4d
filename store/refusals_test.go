package store

import (
	"errors"
	"fmt"
	"testing"
)

// TestRefusalsAreNoDamage: what the operating system refuses, such as one read that a
// disk fails, is told as such, also where Badger keeps no more than its words.
func TestRefusalsAreNoDamage(t *testing.T) {
	s := &Store{dir: "db"}
	for _, errno := range refusals {
		for name, err := range map[string]error{"wrapped": fmt.Errorf("get: %w", errno), "in words": fmt.Errorf("while reading: %v", errno)} {
			for where, got := range map[string]error{"record": s.corrupt("record", err), "table": (&tables{dir: "db"}).damaged("1.sst", err)} {
				if errors.Is(got, ErrCorrupt) || !errors.Is(got, errno) {
					t.Errorf("%v, %s, of a %s: %v", errno, name, where, got)
				}
			}
		}
	}
	if err := s.corrupt("record", errRecord); !errors.Is(err, ErrCorrupt) || !errors.Is(err, errRecord) {
		t.Errorf("damage: %v", err)
	}
	if err := s.corrupt("record", nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("damage without a cause: %v", err)
	}
}
