package runs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/internal/digits"
	"github.com/lexsem/lexsem/internal/stat"
)

// book holds the values of the runs that a marker names.
type book struct {
	values map[string]float64
	keys   []string // sorted
	words  map[string]bool
}

func newBook(rs []*Run) (*book, error) {
	b := &book{values: map[string]float64{}, words: map[string]bool{}}
	for _, r := range rs {
		for k, v := range r.Values {
			if old, ok := b.values[k]; ok && old != v {
				return nil, fmt.Errorf("%q has two values in the runs that are named together", k)
			}
			b.values[k] = v
			for _, w := range strings.Fields(k) {
				b.words[w] = true
			}
		}
	}
	for k := range b.values {
		b.keys = append(b.keys, k)
	}
	slices.Sort(b.keys)
	return b, nil
}

// wanted is what a cell shows: the words and properties of its value.
type wanted struct {
	cell     string // the places of the cell, in braces
	words    []string
	minus    string // system to subtract
	seeds    string // what is shown of several: "median", "least", "greatest"; "" is all, or the median of differences
	mean     bool   // over all that has the words
	holm     bool   // p corrected over the same p of all sets
	decimals int    // -1: as its metric is printed
}

// find returns the text of a wanted value and its key; the key is "" if no value has the words.
func (b *book) find(w wanted) (text, key string, err error) {
	groups := map[string][]float64{} // by key without seed
	var order []string
	for _, k := range b.keys {
		stem, _ := cutSeed(k)
		if !holds(stem, w.words) {
			continue
		}
		v := b.values[k]
		if w.minus != "" {
			base, known := b.values[instead(k, w.minus)]
			if !known {
				return "", "", fmt.Errorf("%q has no value of %s to subtract", k, w.minus)
			}
			v -= base
		}
		if _, seen := groups[stem]; !seen {
			order = append(order, stem)
		}
		groups[stem] = append(groups[stem], v)
	}
	if len(order) == 0 {
		return "", "", nil
	}
	if len(order) > 1 && !w.mean {
		return "", "", fmt.Errorf("%q fits %q and %q; say more words", strings.Join(w.words, " "), order[0], order[1])
	}
	metric := order[0][strings.LastIndexByte(order[0], ' ')+1:]
	list := groups[order[0]]
	if w.mean {
		sum := 0.0
		for _, g := range groups {
			sum += stat.Median(g) / float64(len(groups))
		}
		list = []float64{sum}
	} else if w.seeds == "least" {
		list = []float64{slices.Min(list)}
	} else if w.seeds == "greatest" {
		list = []float64{slices.Max(list)}
	} else if w.minus != "" || w.seeds == "median" {
		list = []float64{stat.Median(list)}
	}
	if w.holm {
		if _, one := b.values[order[0]]; !one || metric != "p" || w.mean || w.minus != "" {
			return "", "", fmt.Errorf("holm corrects a p of a run without seeds, not %q", order[0])
		}
		list = []float64{b.holm(order[0])}
	}
	var parts []string
	for _, v := range list {
		parts = append(parts, format(v, metric, w.decimals, w.minus != ""))
	}
	return strings.Join(parts, " / "), fmt.Sprint(order, w.minus, w.seeds, w.holm), nil
}

// holm is the p value of a key with Holm's correction over the sets, which are the keys that differ only in
// their first word.
func (b *book) holm(key string) float64 {
	_, of, _ := strings.Cut(key, " ")
	var family []float64
	at := 0
	for _, k := range b.keys {
		if _, rest, ok := strings.Cut(k, " "); ok && rest == of {
			if k == key {
				at = len(family)
			}
			family = append(family, b.values[k])
		}
	}
	return stat.Holm(family)[at]
}

func holds(key string, words []string) bool {
	have := strings.Fields(key)
	for _, w := range words {
		if !slices.Contains(have, w) {
			return false
		}
	}
	return true
}

// cutSeed splits the seed from a key; it is "" if there is none.
func cutSeed(key string) (stem, seed string) {
	if i := strings.LastIndex(key, " seed="); i >= 0 {
		return key[:i], key[i:]
	}
	return key, ""
}

// instead is key with another system, which comes before the metric.
func instead(key, system string) string {
	stem, seed := cutSeed(key)
	f := strings.Fields(stem)
	if len(f) < 2 {
		return key
	}
	f[len(f)-2] = system
	return strings.Join(f, " ") + seed
}

// format writes a value as in documents: hundredths with one decimal, shares from −1 to 1 without their 0,
// probabilities with two digits, seconds with two decimals.
func format(v float64, metric string, decimals int, signed bool) string {
	bare := false
	d := 1
	switch metric {
	case "rdc", "roc":
		bare, d = true, 4
	case "spearman":
		bare, d = true, 2
	case "p", "p_rdc", "p_roc", "p_gap":
		bare, d = true, 2
		for x := v; d < 4 && x > 0 && x < 0.1; d++ {
			x *= 10
		}
	case "score", "all", "replaced", "together", "correlation", "accuracy", "precision", "recall", "f1", "insertion", "removal":
		bare, d = true, 3
	case "difference":
		signed = true
	case "queries", "left_out", "same_text", "higher", "lower", "bytes", "cpu_us", "docs_per_second", "docs_per_cpu_second":
		d = 0
	case "open_seconds", "open_behind_seconds", "collapse_seconds", "idle", "during_add", "during_fit":
		d = 2
	}
	if decimals >= 0 {
		d = decimals
	}
	s := strconv.FormatFloat(math.Abs(v)+1e-9, 'f', d, 64) // a half goes up
	if strings.HasSuffix(metric, "_second") {
		s = digits.Group(s)
	}
	if bare && strings.HasPrefix(s, "0.") {
		s = s[1:]
	}
	zero := strings.Trim(s, "0.") == ""
	switch {
	case zero && signed:
		return s
	case v < 0 && !zero:
		return "−" + s
	case signed:
		return "+" + s
	}
	return s
}

// says reports whether some value, or some difference to dense, is x after rounding to the decimals of x.
func (b *book) says(x float64, decimals int) bool {
	unit := math.Pow10(decimals)
	same := func(v float64) bool { return math.Abs(math.Abs(v)-math.Abs(x))*unit < 0.5+1e-6 }
	rounded := func(v float64) float64 { return math.Round(v*unit) / unit }
	gains := map[string][]float64{}
	for k, v := range b.values {
		if same(v) {
			return true
		}
		if base, ok := b.values[instead(k, "dense")]; ok && !strings.Contains(k, " dense ") {
			if same(v-base) || same(rounded(v)-rounded(base)) {
				return true
			}
			stem, _ := cutSeed(k)
			gains[stem] = append(gains[stem], v-base)
		}
	}
	for _, g := range gains {
		if same(stat.Median(g)) {
			return true
		}
	}
	return false
}
