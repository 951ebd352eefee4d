package runs

import (
	"strings"
	"testing"
)

// two is a run over two sets, and one over two seeds.
var two = map[string]*Run{
	"two": {Name: "two", About: "x", Recorded: ByCommand, Values: map[string]float64{
		"a query dense ndcg@1": 93.09, "a query rlr ndcg@1": 93.74, "a query dense ndcg@10": 96.91, "a query rlr ndcg@10": 97.21,
		"a part:8 dense ndcg@1": 57.6, "a part:8 rlr ndcg@1": 73.9, "a part:8 dense ndcg@10": 68.8, "a part:8 rlr ndcg@10": 83.04,
		"a query rlr p": 0.0004,
	}},
	"seeds": {Name: "seeds", About: "x", Recorded: ByCommand, Seeds: []int{1, 2, 3}, Values: map[string]float64{
		"a query dense ndcg@1 seed=1": 60, "a query dense ndcg@1 seed=2": 61, "a query dense ndcg@1 seed=3": 62,
		"a query rlr ndcg@1 seed=1": 62, "a query rlr ndcg@1 seed=2": 66, "a query rlr ndcg@1 seed=3": 65,
		"b query dense ndcg@1 seed=1": 10, "b query rlr ndcg@1 seed=1": 9,
	}},
	"hand": {Name: "hand", About: "x", Recorded: ByHand, Cells: map[string]string{"ours, cold | ms": "5.1", "ours, warm | ms": "4 to 5"}, Said: []string{"2.5"}},
}

const good = `# T

<!-- run: two | {ndcg@1} / {ndcg@10} | eight words = part:8; best in column -->
| | query | eight words |
|---|---|---|
| dense | 93.1 / 96.9 | 57.6 / 68.8 |
| rlr, one vector still | **93.7 / 97.2** | **73.9 / 83.0** |

It gains 16.3 points, +0.7 on questions (p .0004).

<!-- run: seeds | {ndcg@1} -->
| | a dense | a rlr | a rlr − dense |
|---|---|---|---|
| query | 60.0 / 61.0 / 62.0 | 62.0 / 66.0 / 65.0 | +3.0 |

<!-- run: seeds | {ndcg@1} -->
| | rlr − dense |
|---|---|
| mean | +1.0 |
| b | −1.0 |
| a greatest | +5.0 |
| a least | +2.0 |

<!-- run: hand -->
| | | ms |
|---|---|---|
| ours | cold | 5.1 |
| | warm | 4 to 5 |

Bound by 2.5 ms, or 5.1 ms cold.

<!-- end -->
Of 9.5 ms nobody knows.

## Others

Here 3.5 points have no run, as 7 % have.

<!-- published: a paper -->
| | ndcg |
|---|---|
| theirs | 44.0 |
`

func TestWhatAgreesPasses(t *testing.T) {
	f := Check("d", good, two)
	if len(f.Problems) > 0 {
		t.Fatal(strings.Join(f.Problems, "\n"))
	}
	if f.Unheld != 3 || f.Quoted != 1 || f.Copied != 5 || f.Held != 8+3+7+4 || len(f.Used) != 3 {
		t.Errorf("held %d, copied %d, quoted %d, unheld %d, used %v", f.Held, f.Copied, f.Quoted, f.Unheld, f.Used)
	}
	same, err := Rewrite(good, two)
	if err != nil || same != good {
		t.Errorf("%v\n%s", err, same)
	}
}

func TestAColumnShowsWhatItsTemplateSays(t *testing.T) {
	text := `
<!-- run: two | {query ndcg@1} | in ten = {query ndcg@10:.2} -->
| | query | in ten |
|---|---|---|
| dense | 93.1 | 96.91 |
`
	if f := Check("d", text, two); len(f.Problems) > 0 || f.Held != 2 {
		t.Errorf("%d held, %v", f.Held, f.Problems)
	}
	wrong := strings.Replace(text, "96.91", "93.10", 1)
	if f := Check("d", wrong, two); len(f.Problems) != 1 {
		t.Error(f.Problems)
	}
	if got, err := Rewrite(wrong, two); err != nil || got != text {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestHolmCorrectsOverTheSetsOfARun: by hand, .01·3, then .02·2, and .03 may not be less than that.
func TestHolmCorrectsOverTheSetsOfARun(t *testing.T) {
	three := map[string]*Run{"three": {Name: "three", About: "x", Recorded: ByCommand, Values: map[string]float64{
		"a query rlr p": .02, "b query rlr p": .01, "c query rlr p": .03, "a query bm25 p": .5, "a query rlr ndcg@10": 90}}}
	text := `
<!-- run: three | p {query p}, {holm query p} -->
| | rlr |
|---|---|
| a | p .020, .040 |
| b | p .010, .030 |
| c | p .030, .040 |
`
	if f := Check("d", text, three); len(f.Problems) > 0 {
		t.Error(f.Problems)
	}
	wrong := strings.ReplaceAll(text, "holm query p", "holm query ndcg@10")
	if f := Check("d", wrong, three); len(f.Problems) == 0 || !strings.Contains(f.Problems[0], "holm corrects") {
		t.Error(f.Problems)
	}
	seeded := map[string]float64{}
	for k, v := range three["three"].Values {
		seeded[k+" seed=1"] = v
	}
	three["three"].Values = seeded
	if f := Check("d", text, three); len(f.Problems) == 0 || !strings.Contains(f.Problems[0], "holm corrects") {
		t.Errorf("of seeds: %v", f.Problems)
	}
}

func TestWhatDisagreesIsNamed(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"57.6 / 68.8", "57.6 / 68.9", `d:6: "dense | eight words" says "57.6 / 68.9"`},
		{"**93.7 / 97.2**", "93.7 / 97.2", "best in its column"},
		{"eight words = part:8", "eight words = part:9", "no value has the words"},
		{"eight words = part:8; ", "", "say more words"},
		{"| rlr, one", "| rrf, one", "say more words"},
		{"16.3 points", "16.5 points", "the paragraph says 16.5"},
		{"| +3.0 |", "| +3.1 |", `says "+3.1"`},
		{"| −1.0 |", "| +1.0 |", `says "+1.0"`},
		{"| dense | 93.1 / 96.9", "| rlr, too | 93.1 / 96.9", "it shows the value of"},
		{"| 5.1 |", "| 5.2 |", `says "5.2"`},
		{"2.5 ms", "2.6 ms", "says 2.6"},
		{"<!-- published: a paper -->\n", "", "has no <!-- run: NAME -->"},
		{"run: hand", "run: hands", "there is no docs/runs/hands.json"},
		{"best in column", "best in cell", "option"},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%q is not there", c.old)
		}
		f := Check("d", strings.Replace(good, c.old, c.new, 1), two)
		if !strings.Contains(strings.Join(f.Problems, "\n"), c.want) {
			t.Errorf("%q for %q: %v", c.new, c.old, f.Problems)
		}
	}
}

func TestRewriteMendsTables(t *testing.T) {
	stale := strings.NewReplacer("57.6 / 68.8", "1", "**93.7 / 97.2**", "50.0 / 50.0", "+3.0", "+2.9").Replace(good)
	got, err := Rewrite(stale, two)
	if err != nil || got != good {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestAdoptTakesTheHandWritten(t *testing.T) {
	hand := &Run{Name: "hand", Cells: map[string]string{}}
	text := good[strings.Index(good, "<!-- run: hand"):]
	if err := Adopt(text, map[string]*Run{"hand": hand}, map[[2]string]bool{}); err != nil {
		t.Fatal(err)
	}
	if len(hand.Cells) != 2 || hand.Cells["ours, warm | ms"] != "4 to 5" || strings.Join(hand.Said, " ") != "2.5" {
		t.Errorf("%v %v", hand.Cells, hand.Said)
	}
}

func TestFormat(t *testing.T) {
	for want, got := range map[string]string{
		".62": format(.6173, "spearman", -1, false), "−.20": format(-.2, "spearman", -1, false), "1.00": format(1, "spearman", -1, false),
		"1592": format(1592, "same_text", -1, false), "59": format(59, "left_out", -1, false),
		".0012": format(.0012, "p_gap", -1, false), ".85": format(.8509, "p_rdc", -1, false), ".027": format(.0272, "p_roc", -1, false),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFiguresOfProse(t *testing.T) {
	for text, want := range map[string]string{
		"it takes 99 ms, 2.0 at most, of 1,997 passages (5 %)":  "99 2.0 5",
		"`x 3.5` at v0.8.2 by Go 1.26 and Eq. 5, nDCG@1 s^1.25": "",
		"from +0.4 to −1.5 points, .86 or 12,000 bytes":         "+0.4 −1.5 .86 12,000",
		"see [that](a-1.5.md); sha256; 4 cores; 1e-6":           "",
	} {
		var got []string
		for _, x := range figuresOf(text) {
			got = append(got, x.text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %q", text, got, want)
		}
	}
}

func TestRunsLackWhatRepeatsThem(t *testing.T) {
	r := &Run{Name: "r", About: "x", Recorded: ByCommand, Values: map[string]float64{"a": 1}, Commands: []Command{{Run: "lexsem bench", Commit: "c", Date: "d", Machine: "m"}}}
	r.Commands[0].Sum = r.SumOf(r.Commands[0])
	if bad := r.Problems(); len(bad) > 0 {
		t.Fatal(bad)
	}
	for what, change := range map[string]func(*Run){
		"no commit":      func(r *Run) { r.Commands[0].Commit = "" },
		"no command":     func(r *Run) { r.Commands = nil },
		"was changed":    func(r *Run) { r.Commands[0].Run += " --seed 2" },
		"was changed ":   func(r *Run) { r.Seeds = []int{1} },
		"no figure":      func(r *Run) { r.Values = nil },
		"about is empty": func(r *Run) { r.About = "" },
		"recorded is":    func(r *Run) { r.Recorded = "somehow" },
	} {
		bent := *r
		bent.Commands = append([]Command{}, r.Commands...)
		change(&bent)
		if !strings.Contains(strings.Join(bent.Problems(), "\n"), strings.TrimSpace(what)) {
			t.Errorf("%s: %v", what, bent.Problems())
		}
	}
}

// TestAdoptKeepsWhatNoTableShows: a page shows some cells of a run, and two pages may show the same one.
func TestAdoptKeepsWhatNoTableShows(t *testing.T) {
	hand := &Run{Name: "hand", Cells: map[string]string{"cold | ms": "9", "warm | ms": "4"}}
	into, taken := map[string]*Run{"hand": hand}, map[[2]string]bool{}
	page := "<!-- run: hand -->\n| | ms |\n|---|---|\n| cold | 5 |\n"
	for range 2 {
		if err := Adopt(page, into, taken); err != nil {
			t.Fatal(err)
		}
	}
	if len(hand.Cells) != 2 || hand.Cells["cold | ms"] != "5" || hand.Cells["warm | ms"] != "4" {
		t.Errorf("%v", hand.Cells)
	}
	if err := Adopt(strings.Replace(page, "5", "6", 1), into, taken); err == nil {
		t.Error("two pages that disagree were adopted")
	}
}
