package store

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBackupTerms: each part of a backup has the terms that those before lack, and a
// restored vocabulary grows on.
func TestBackupTerms(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	file := filepath.Join(t.TempDir(), "backup")
	counts := []int{0, 3, 3, 1500, 1501}
	at := 0
	for i, n := range counts {
		addTerms(t, s, at, madeTerms(at, n))
		at = n
		if r := backedUp(t, s, file); r.Part != i+1 {
			t.Fatalf("%+v", r)
		}
	}
	for i, n := range counts {
		r := restored(t, file, RestoreOptions{Parts: i + 1})
		want := madeTerms(0, n)
		if got := termsOf(t, r); !slices.Equal(got, want) || r.TermCount() != n {
			t.Fatalf("part %d: %d terms, want %d", i+1, len(got), n)
		}
		if _, err := r.Verify(ctx, nil); err != nil {
			t.Errorf("part %d: %v", i+1, err)
		}
		addTerms(t, r, n, madeTerms(n, n+5))
		var again bytes.Buffer
		if _, err := r.Backup(ctx, &again, nil); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "again")
		if _, err := Restore(ctx, dir, &again, RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := termsOf(t, open(t, dir, small)); !slices.Equal(got, madeTerms(0, n+5)) {
			t.Fatalf("part %d, backed up again: %d terms, want %d", i+1, len(got), n+5)
		}
	}
}

// Vocabularies that are whole by their digests and wrong in what they say are refused.
func TestRestoreForgedTerms(t *testing.T) {
	t.Parallel()
	uuid := UUID{15: 1}
	to := place{Seq: 3, Next: 10, History: History{1}, Terms: 3}
	first := partHeader{Part: 1, UUID: uuid, To: to}
	vocabulary := func(payloads ...[]byte) func(p *partWriter) error {
		return func(p *partWriter) error {
			for _, b := range payloads {
				if err := p.frame(frameTerms, b); err != nil {
					return err
				}
			}
			return nil
		}
	}
	abc := encodeTerms([]string{"a", "b", "c"})
	good, end := forged{first, vocabulary(abc), 0}.bytes(t)
	dir := t.TempDir()
	if _, err := Restore(ctx, dir, bytes.NewReader(good), RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := termsOf(t, open(t, dir, small)); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatalf("terms %q", got)
	}
	large := first
	large.To.Terms = maxTerms + 1
	for what, f := range map[string]forged{
		"none":          {first, nil, 0},
		"too few":       {first, vocabulary(encodeTerms([]string{"a", "b"})), 0},
		"too many":      {first, vocabulary(abc, encodeTerms([]string{"d"})), 0},
		"one twice":     {first, vocabulary(encodeTerms([]string{"a", "b", "a"})), 0},
		"twice, frames": {first, vocabulary(encodeTerms([]string{"a", "b"}), encodeTerms([]string{"b"})), 0},
		"empty":         {first, vocabulary(encodeTerms([]string{"a", "", "c"})), 0},
		"too long":      {first, vocabulary(encodeTerms([]string{"a", string(make([]byte, maxTermBytes+1)), "c"})), 0},
		"cut":           {first, vocabulary(abc[:5], abc[5:]), 0},
		"endless":       {first, vocabulary([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1}), 0},
		"impossible":    {large, vocabulary(abc), 0},
		"behind a document": {first, func(p *partWriter) error {
			if err := putForged(p, 1, doc("a", 1)); err != nil {
				return err
			}
			return p.frame(frameTerms, abc)
		}, 1},
		"before a bridge": {first, func(p *partWriter) error {
			if err := p.frame(frameTerms, abc); err != nil {
				return err
			}
			return p.frame(frameBridge, []byte("x"))
		}, 0},
	} {
		b, _ := f.bytes(t)
		if bad := refusedWhole(t, what, b); what == "impossible" && !strings.Contains(bad.Error(), "at most 2147483648 are possible") {
			t.Errorf("%s: %v", what, bad)
		}
	}
	second := partHeader{UUID: uuid, From: &to, To: place{Seq: 4, Next: 12, History: History{2}, Terms: 4}}
	fewer := second
	fewer.To.Terms = 2
	more := func(payloads ...[]byte) func(p *partWriter) error {
		return func(p *partWriter) error {
			if err := p.frame(frameSurvivors, nil); err != nil {
				return err
			}
			return vocabulary(payloads...)(p)
		}
	}
	for what, f := range map[string]forged{
		"one of before": {second, more(encodeTerms([]string{"b"})), 0},
		"all again":     {second, more(abc, encodeTerms([]string{"d"})), 0},
		"none":          {second, more(), 0},
		"fewer":         {fewer, more(), 0},
		"":              {second, more(encodeTerms([]string{"d"})), 0},
	} {
		b, _ := f.bytes(t, end)
		both := append(slices.Clone(good), b...)
		if what != "" {
			if bad := refusedWhole(t, what, both); bad.Part != 2 {
				t.Errorf("%s: part %d", what, bad.Part)
			}
			continue
		}
		dir := t.TempDir()
		if _, err := Restore(ctx, dir, bytes.NewReader(both), RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := termsOf(t, open(t, dir, small)); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
			t.Errorf("terms %q", got)
		}
	}
	// Accept hears how many terms there are.
	var told []int
	if _, err := Restore(ctx, t.TempDir(), bytes.NewReader(good), RestoreOptions{
		Accept: func(_ *Manifest, terms, _ int) (func(*Document) error, error) {
			told = append(told, terms)
			return nil, nil
		},
	}); err != nil || !slices.Equal(told, []int{3}) {
		t.Errorf("%d, %v", told, err)
	}
}
