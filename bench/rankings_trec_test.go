package bench

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestRunFileRoundTrip(t *testing.T) {
	r := Rankings{
		"q 1": {{"Geneva Durben", math.Nextafter(.3, 1)}, {"b", math.Nextafter(.3, 0)}, {"a%20", 1e-300}},
		"q2":  {{"a", 7}, {"b", 7}, {"c", math.Inf(-1)}},
	}
	var b strings.Builder
	if err := writeRun(&b, "rlr+slr", r); err != nil {
		t.Fatal(err)
	}
	if want := "q␣1 Q0 Geneva␣Durben 1 0.30000000000000004 rlr+slr\n"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("the file begins %q, want %q", b.String(), want)
	}
	got, err := ReadRun(strings.NewReader(b.String()), "r", ReadOptions{})
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("read back %v, %v", got, err)
	}
}

func TestRunFileFaults(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want error
	}{
		"five fields": {"q Q0 a 1 0.5", ErrBrokenLine},
		"score":       {"q Q0 a 1 high t", ErrBrokenLine},
		"nan":         {"q Q0 a 1 NaN t", ErrBrokenLine},
		"twice":       {"q Q0 b 2 0.1 t", ErrDuplicateID},
	} {
		_, err := ReadRun(strings.NewReader("q Q0 b 1 0.5 t\n"+c.line+"\n"), "r", ReadOptions{})
		var at *LineError
		if !errors.Is(err, c.want) || !errors.As(err, &at) || at.Line != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, id := range []string{"", "a\tb", "a\nb", "a␣b"} {
		if err := writeRun(&strings.Builder{}, "t", Rankings{"q": {{id, 1}}}); !errors.Is(err, ErrBrokenLine) {
			t.Errorf("writing id %q: %v", id, err)
		}
	}
}

func TestScoreDecidesOverRankColumn(t *testing.T) {
	got, err := ReadRun(strings.NewReader("q Q0 a 1 0.1 t\nq Q0 c 2 0.9 t\nq Q0 b 3 0.9 t\n"), "r", ReadOptions{})
	if want := []Ranked{{"b", .9}, {"c", .9}, {"a", .1}}; err != nil || !reflect.DeepEqual(got["q"], want) {
		t.Errorf("read %v, %v", got, err)
	}
}

func TestQrelsRoundTrip(t *testing.T) {
	want := Qrels{"q1": {"a": 2, "Geneva Durben": 0}, "q2": {"b": -1}}
	var b strings.Builder
	if err := writeQrels(&b, want); err != nil {
		t.Fatal(err)
	}
	got := Qrels{}
	if err := EachQrel(strings.NewReader(b.String()), "q", ReadOptions{}, got.Add); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read back %v, %v", got, err)
	}
}
