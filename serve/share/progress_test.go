package share_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/serve/share"
)

// stages are the stages that a listener has heard of.
type stages struct {
	mu    sync.Mutex
	heard []engine.Progress
}

func (s *stages) hear(p engine.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, p)
}

// take empties it.
func (s *stages) take() []engine.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.heard
	s.heard = nil
	return all
}

// TestProgress: whoever makes a call hears how far it is, and the holder, whose call it is
// not, hears nothing; of the holder's own calls it is the other way round.
func TestProgress(t *testing.T) {
	dir := t.TempDir()
	var there, here stages
	e := opened(t, dir, encoder.NewHash(dim), engine.Options{Progress: there.hear})
	shared(t, e, dir, share.Options{})
	j := joined(t, dir, share.JoinOptions{Progress: here.hear})
	var exported bytes.Buffer
	for _, step := range []struct {
		stage string
		done  int // of 40
		do    func() error
	}{
		{"encode", 40, func() error { _, err := j.Upsert(t.Context(), documents(40)); return err }},
		{"export", 1, func() error { _, err := j.Export(t.Context(), &exported, archive.ExportOptions{}); return err }},
		{"import", 40, func() error {
			if _, err := j.Delete(t.Context(), []string{documents(40)[7].ID}); err != nil {
				return err
			}
			x, err := archive.NewExported(&exported)
			if err == nil {
				_, err = j.Import(t.Context(), x)
			}
			return err
		}},
		{"backup", 0, func() error { _, err := j.Backup(t.Context(), filepath.Join(t.TempDir(), "backup")); return err }},
		{"backup", 0, func() error { _, err := j.BackupTo(t.Context(), &bytes.Buffer{}); return err }},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.stage, err)
		}
		got := here.take()
		if !slices.ContainsFunc(got, func(p engine.Progress) bool { return p.Stage == step.stage && p.Total == 40 && p.Done == step.done }) {
			t.Errorf("%s: of %d of 40 nothing was heard: %v", step.stage, step.done, got)
		}
		if other := there.take(); len(other) > 0 {
			t.Errorf("%s: the holder hears of it: %v", step.stage, other)
		}
	}
	if _, err := e.Export(t.Context(), &bytes.Buffer{}, archive.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	if mine, other := there.take(), here.take(); len(mine) == 0 || len(other) > 0 {
		t.Errorf("of its own export the holder heard %v, the other process %v", mine, other)
	}
	quiet := asked(t, dir) // nobody listens
	if n, err := quiet.Export(t.Context(), &bytes.Buffer{}, archive.ExportOptions{}); err != nil || n != 40 {
		t.Errorf("%d documents, %v", n, err)
	}
}
