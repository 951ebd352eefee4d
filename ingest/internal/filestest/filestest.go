// Package filestest checks that records of every kind of file satisfy the contract of package files.
// Start with [ReadAll]; [Fuzz] does the same with arbitrary bytes.
package filestest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/internal/metadata"
)

// ReadAll reads a file of text and returns its records, and the errors of single records as "line:
// reason". It checks the rules for every kind.
func ReadAll(t testing.TB, name, in string, o files.Options) (recs []files.Record, bad []string, last error) {
	t.Helper()
	for rec, err := range files.Read(t.Context(), strings.NewReader(in), int64(len(in)), name, o) {
		if last != nil {
			t.Fatalf("%s: something comes after the error %v", name, last)
		}
		var re *files.RecordError
		switch {
		case errors.As(err, &re):
			bad = append(bad, fmt.Sprintf("%d: %v", re.Line, re.Err))
			if !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("%s: %v is not engine.ErrInvalid", name, err)
			}
		case err != nil:
			last = err
		default:
			lawful(t, name, in, rec)
			recs = append(recs, rec)
		}
	}
	return recs, bad, last
}

// lawful checks a record against the contract of its type.
func lawful(t testing.TB, name, in string, r files.Record) {
	t.Helper()
	if r.ID == "" || strings.TrimSpace(r.Title+r.Text) == "" && r.Vector == nil {
		t.Errorf("%s: a record without id or text: %+v", name, r)
	}
	before := 0
	for _, b := range r.Breaks {
		if b <= before || b >= len(r.Text) || r.Text[b]&0xc0 == 0x80 {
			t.Errorf("%s: breaks %v of a text of %d bytes", name, r.Breaks, len(r.Text))
			break
		}
		before = b
	}
	if r.From > r.To || r.From < 0 {
		t.Errorf("%s: lines %d to %d", name, r.From, r.To)
	}
	if !utf8.ValidString(r.Text) || !utf8.ValidString(r.Title) || r.Verbatim && strings.ContainsRune(r.Text, 0) {
		t.Errorf("%s: a text that is not UTF-8, or has a NUL: %.60q, %.60q", name, r.Title, r.Text)
	}
	if !r.Verbatim || !utf8.ValidString(in) || strings.ContainsAny(in, "\x00\b\x1b") || strings.Contains(strings.ToLower(in), "data:") || strings.HasSuffix(name, ".tex") { // its lines are others
		return
	}
	file := strings.Split(strings.TrimPrefix(in, "\ufeff"), "\n")
	lines := strings.Split(strings.TrimSuffix(r.Text, "\n"), "\n")
	if r.From+len(lines)-1 != r.To || r.To > len(file) {
		t.Errorf("%s: lines %d to %d for a text of %d lines", name, r.From, r.To, len(lines))
		return
	}
	for i, l := range lines {
		if want := strings.TrimSuffix(file[r.From+i-1], "\r"); l != want && l != file[r.From+i-1] && strings.TrimLeft(want, " \t") != l {
			t.Errorf("%s: line %d of the text is %q, of the file %q", name, i+1, l, want)
		}
	}
}

// Fuzz checks the records that a parser makes of arbitrary bytes.
func Fuzz(f *testing.F, kind string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		o := files.Options{Kind: kind, ID: "f", MaxBytes: 1 << 16}
		records, size := 0, 0
		for rec, err := range files.Read(t.Context(), strings.NewReader(string(in)), int64(len(in)), "f", o) {
			if records++; records > len(in)+1 {
				t.Fatalf("%d bytes give more than %d records", len(in), records)
			}
			if err != nil {
				if !errors.Is(err, engine.ErrInvalid) {
					t.Fatalf("%v is not engine.ErrInvalid", err)
				}
				continue
			}
			lawful(t, kind, string(in), rec)
			if size += len(rec.Text); len(rec.Text) > 1<<16 {
				t.Fatalf("a text of %d bytes", len(rec.Text))
			}
			Encodable(t, rec)
		}
	})
}

// Encodable checks that the content of a record can be stored.
func Encodable(t testing.TB, r files.Record) {
	t.Helper()
	if _, err := metadata.Encode(r.Metadata); err != nil {
		t.Errorf("metadata %.200v: %v", r.Metadata, err)
	}
	if !utf8.ValidString(r.Text) || !utf8.ValidString(r.Title) {
		t.Errorf("not UTF-8: %q, %q", r.Title, r.Text)
	}
	for _, x := range r.Vector {
		if math.IsInf(float64(x), 0) || math.IsNaN(float64(x)) {
			t.Errorf("vector %v", r.Vector)
		}
	}
}
