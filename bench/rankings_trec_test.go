package bench

import (
	"errors"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// order is the ids of a ranking.
func order(hits []Ranked) (ids []string) {
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// sameOrder tells whether two rankings have the same queries and, for each, the same passages in the same order.
func sameOrder(a, b Rankings) bool {
	return maps.EqualFunc(a, b, func(x, y []Ranked) bool { return slices.Equal(order(x), order(y)) })
}

func TestRunFileRoundTrip(t *testing.T) {
	r := Rankings{
		"q 1":  {{"Geneva Durben", math.Nextafter(.3, 1), 0}, {"b", math.Nextafter(.3, 0), 0}, {"a%20", 1e-300, 0}, {"c", 0, 0}, {"d", 0, 0}},
		"q2":   {{"c", 7, 0}, {"b", 7, 0}, {"a", math.Inf(-1), 0}, {"nan", math.NaN(), 0}},
		"low":  {{"a", -math.MaxFloat32, 0}, {"b", -math.MaxFloat32, 0}, {"c", math.Inf(-1), 0}},
		"high": {{"c", math.Inf(1), 0}, {"b", 1e300, 0}, {"a", 2, 0}},
		"ids":  {{"a  b", 8, 0}, {"a␣b", 8, 0}, {"a b", 8, 0}, {"a\u00a0b", 8, 0}, {"␛2423;", 8, 0}, {"␣", 8, 0}, {" ", 8, 0}, {"a\tb", 8, 0}, {"a\x1cb", 8, 0}, {"␛", 8, 0}, {"␛;", 8, 0}, {"␛110000;", 8, 0}},
	}
	var b strings.Builder
	if err := writeRun(&b, "rlr+slr x", r); err != nil {
		t.Fatal(err)
	}
	if want := "\nq␣1 Q0 Geneva␣Durben 1 0.3 rlr+slr␣x\nq␣1 Q0 b 2 0.29999998 rlr+slr␣x\n"; !strings.Contains(b.String(), want) {
		t.Errorf("the file is %q, want %q in it", b.String(), want)
	}
	last, of := float32(0), ""
	for line := range strings.Lines(b.String()) {
		// C's and Python's white space end a field.
		if f := strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }); len(f) != 6 {
			t.Errorf("%d fields in %q", len(f), line)
		} else if score, err := strconv.ParseFloat(f[4], 64); err != nil || math.IsInf(score, 0) || of == f[0] && !(float32(score) < last) {
			t.Errorf("score %s after %v in single precision (%v)", f[4], last, err)
		} else {
			last, of = float32(score), f[0]
		}
	}
	got, err := ReadRun(strings.NewReader(b.String()), "r", ReadOptions{})
	if err != nil || !sameOrder(got, r) {
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
	for _, id := range []string{"", "a\xff"} {
		if err := writeRun(&strings.Builder{}, "t", Rankings{"q": {{id, 1, 0}}}); !errors.Is(err, ErrBrokenLine) {
			t.Errorf("writing id %q: %v", id, err)
		}
	}
}

func TestScoreDecidesOverRankColumn(t *testing.T) {
	got, err := ReadRun(strings.NewReader("q Q0 a 1 0.1 t\nq Q0 c 2 0.9 t\nq Q0 b 3 0.9 t\n"), "r", ReadOptions{})
	if want := []string{"c", "b", "a"}; err != nil || !slices.Equal(order(got["q"]), want) {
		t.Errorf("read %v, %v", got, err)
	}
}

// TestSinglePrecision: trec_eval keeps scores in single precision, so that scores tie in it that differ by less.
func TestSinglePrecision(t *testing.T) {
	got, err := ReadRun(strings.NewReader("q Q0 a 1 0.30000001 t\nq Q0 b 2 0.3 t\nq Q0 c 3 1e-60 t\nq Q0 d 4 0 t\n"), "r", ReadOptions{})
	if want := []string{"b", "a", "d", "c"}; err != nil || !slices.Equal(order(got["q"]), want) {
		t.Errorf("read %v, %v", got, err)
	}
}

func TestQrelsRoundTrip(t *testing.T) {
	want := Qrels{"q1": {"a": 2, "Geneva Durben": 0, "a␣b": 1}, "q2": {"b": -1}}
	for name, write := range map[string]func(io.Writer, Qrels) error{"BEIR": writeQrels, "TREC": writeTrecQrels} {
		var b strings.Builder
		if err := write(&b, want); err != nil {
			t.Fatal(err)
		}
		got := Qrels{}
		if err := eachQrel(strings.NewReader(b.String()), "q", ReadOptions{}, got.Add); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read back %v, %v", name, got, err)
		}
	}
}

// TestQrelLayouts: judgements as BEIR, TREC, MS MARCO and MTEB ship them.
func TestQrelLayouts(t *testing.T) {
	want := Qrels{"q1": {"a": 1, "b c": 0}, "2": {"b c": 2}}
	for name, text := range map[string]string{
		"BEIR":            "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb c\t0\n2\tb c\t2\n",
		"TREC, blanks":    "q1 0 a 1\nq1  0   b␣c 0\n2 Q0 b␣c 2\n",
		"TREC, tabs":      "q1\t0\ta\t1\nq1\t0\tb c\t0\n2\t0\tb c\t2\n",
		"TREC, both":      "q1 0 a\t1\r\nq1 0\tb␣c 0\n2 0 b␣c\t2 \n",
		"JSON":            `{"query-id":"q1","corpus-id":"a","score":1}` + "\n" + `{"query-id":"q1","corpus-id":"b c","score":0.0}` + "\n" + `{"query-id":2,"corpus-id":"b c","score":2}`,
		"MS MARCO's head": "qid\t0\tpid\tscore\nq1\t0\ta\t1\nq1\t0\tb c\t0\n2\t0\tb c\t2\n",
	} {
		got := Qrels{}
		if err := eachQrel(strings.NewReader(text), "q", ReadOptions{}, got.Add); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for name, text := range map[string]string{"three by blanks": "q a 1", "five": "q 0 a 1 x", "a word": "q 0 a high", "no score": `{"query-id":"q","corpus-id":"a"}`, "no JSON": `{"query-id":`} {
		if err := eachQrel(strings.NewReader(text), "q", ReadOptions{}, Qrels{}.Add); !errors.Is(err, ErrBrokenLine) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestScoresRoundedTwice: the score that a run says is that of the ranking for readers in double precision.
func TestScoresRoundedTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	scores := []float32{math.Float32frombits(0x15ae43fd), math.Float32frombits(0x15ae43fe), math.MaxFloat32, math.SmallestNonzeroFloat32}
	for range 100_000 {
		if x := math.Float32frombits(r.Uint32()); !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) {
			scores = append(scores, x)
		}
	}
	for _, x := range scores {
		if s, err := strconv.ParseFloat(runScore(x), 64); err != nil || float32(s) != x {
			t.Fatalf("%x is written as %s and read as %x", x, runScore(x), float32(s))
		}
	}
}
