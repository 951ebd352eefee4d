package bench

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// FuzzReadRun reads any text as a run file: errors are those of lines, and what is
// read and can be written is read again as it was.
func FuzzReadRun(f *testing.F) {
	f.Add("q1 Q0 p1 1 0.5 tag\nq1 Q0 p␣2 2 -1e300 tag\n\nq2\tQ0\tp1\t1\tinf\ttag\r\n")
	f.Add("q1 Q0 p1 1 0.5 tag\nq1 Q0 p1 2 0.4 tag\n")
	f.Add("q1 Q0 p1 1 nan tag")
	f.Add("\ufeffq\x00 Q0 \xff 1 0x1p-9 t")
	f.Add("q2 Q0 p1 1 0.5 tag\n\ufeff\ufeffq1 Q0 p\ufeff 1 0.5 tag\nq␛FEFF; Q0 p␛FEFF; 1 0.5 tag\n")
	f.Add("q Q0 a 1 7.038531e-26 t\nq Q0 b 2 7.0385307e-26 t\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ReadRun(strings.NewReader(text), "run", ReadOptions{})
		if err != nil {
			if _, ok := errors.AsType[*LineError](err); !ok {
				t.Fatalf("no line: %v", err)
			}
			return
		}
		var b strings.Builder
		if err := writeRun(&b, "t", got); err != nil {
			if !errors.Is(err, ErrBrokenLine) {
				t.Fatal(err)
			}
			return
		}
		again, err := ReadRun(strings.NewReader(b.String()), "run", ReadOptions{})
		if err != nil || !sameOrder(got, again) {
			t.Fatalf("%v, again %v, %v", got, again, err)
		}
	})
}

// FuzzReadJSON reads any text as a report: what is taken can be shown and written, and
// what is written is read as it was.
func FuzzReadJSON(f *testing.F) {
	var b strings.Builder
	if err := sampleReport().WriteJSON(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String())
	f.Add(`{"results":[{}]}`)
	f.Add(`{"results":[{"system":"\u202e","task":"t","metrics":{"x":1e308},"per_query":{"x":[1,2]}},{"metrics":null}],"systems":[{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		rep, err := ReadJSON(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, ErrBrokenLine) {
				t.Fatal(err)
			}
			return
		}
		if err := rep.WriteTable(io.Discard, nil); err != nil {
			t.Fatal(err)
		}
		var first, second strings.Builder
		if err := rep.WriteJSON(&first); err != nil {
			t.Fatal(err)
		}
		again, err := ReadJSON(strings.NewReader(first.String()))
		if err == nil {
			err = again.WriteJSON(&second)
		}
		if err != nil || first.String() != second.String() {
			t.Fatalf("%v: %s\nagain %s", err, first.String(), second.String())
		}
	})
}
