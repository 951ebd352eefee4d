package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/local"
	"github.com/lexsem/lexsem/internal/train"
	"github.com/lexsem/lexsem/modulate"
)

// Constant is a number of a system that can be tuned.
type Constant struct {
	Name string // for example "presence"
	Doc  string // one-line description
	// Shipped is the default of the program. NaN means that it depends on the corpus.
	Shipped float64
	// Try lists the values that are tried by default.
	Try []float64
	// Low and High are the bounds of the values.
	Low, High float64
}

// constants of all systems; System.Constants says who reads which.
var constants = []Constant{
	{"presence", "weight of the share of the query's words that a passage has (hybrid)", .25, []float64{.1, .15, .2, .25, .3, .35, .4, .5}, 0, 10},
	{"power", "power of that share", 1.25, []float64{1, 1.25, 1.5, 2, 3}, .1, 10},
	{"coverage", "weight of BM25 over the most that it can give (hybrid)", .1, []float64{0, .05, .1, .15, .2, .3, .5}, 0, 10},
	{"near", "weight of that share within the best 24 words in a row (hybrid)", .07, []float64{0, .03, .05, .07, .1, .15}, 0, 10},
	{"pair", "weight of the query's adjacent pairs of words (hybrid)", .2, []float64{0, .05, .1, .15, .2, .3, .4}, 0, 10},
	{"title", "weight of the title match (hybrid)", .2, []float64{0, .1, .15, .2, .25, .3}, 0, 10},
	{tokensConstant, "weight of token states behind a fusion (hybrid+tokens)", besideWords, []float64{.25, .35, .5, .7, 1, 1.4, 2}, 0, 10},
	{"reach", "share of the query's words that the candidate with most of them counts as having (hybrid)", 0, []float64{.4, .5, .55, .6, .7}, 0, 1},
	{"unknown", "what the share that the encoder does not know takes from the cosine, times the share (hybrid)", 1, []float64{0, .5, 1}, 0, 1},
	{"rank-constant", "what ranks are added to (rrf)", 60, []float64{10, 20, 40, 60, 100}, 1, 1e6},
	{"share", "lexical share of the sum (convex)", .3, []float64{.1, .2, .3, .4, .5, .6}, .01, 1},
	{"alpha", "length of RLR's shift", .5, []float64{.2, .35, .5, .6, .7, .85, 1}, .01, 1000},
	{"lambda", "ridge of RLR", 1, []float64{.1, .3, 1, 3, 10}, 1e-6, 1e9},
	{"local-beta", "what a passage with every token of the query gains by local bridges", math.NaN(), []float64{.4, .6, .8, 1, 1.2, 1.5}, .01, 10},
	{"local-lambda", "ridge of a cell of local bridges", .15, []float64{.05, .15, .5, 1.5}, 1e-6, 1e9},
	{"cell", "passages of a cell of local bridges", math.NaN(), []float64{125, 250, 500}, 1, 1e9},
	{"spread", "bound on the deviation of fitted logits", .6, []float64{.3, .45, .6, .8, 1.2}, .01, 100},
	{"tau", "temperature of a fit's loss", .05, []float64{.025, .05, .1}, .001, 10},
}

// AllConstants lists every constant that can be tried.
func AllConstants() []Constant { return slices.Clone(constants) }

// ConstantNamed returns the constant called name. The error is ErrUnknownName.
func ConstantNamed(name string) (Constant, error) {
	var known []string
	for _, c := range constants {
		if c.Name == name {
			return c, nil
		}
		known = append(known, c.Name)
	}
	return Constant{}, fmt.Errorf("%w: constant %q; known are %s", ErrUnknownName, name, strings.Join(known, ", "))
}

// Reranks reports whether another value needs no new search: the fusion ranks the known candidates
// again.
func (c Constant) Reranks() bool { return reranks(c.Name) }

// fusionConstants are the constants of each kind of fusion. Another value of one only ranks known
// candidates again; other constants need a new search.
var fusionConstants = map[string][]string{
	fusion.Calibrated: {"presence", "power", "near", "coverage", "pair", "title", "reach", "unknown"},
	fusion.RRF:        {"rank-constant"},
	fusion.Convex:     {"share"},
}

// tokensConstant is the weight of the token score after a calibrated fusion.
const tokensConstant = "tokens"

// reranks reports whether another value of the constant needs no new search.
func reranks(name string) bool {
	if name == tokensConstant {
		return true
	}
	for _, names := range fusionConstants {
		if slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// Constants are values, by constant name, that systems use instead of the shipped ones.
type Constants map[string]float64

// With returns c with one value changed. A shipped value is left out, so that equal settings have
// equal names.
func (c Constants) With(name string, v float64) Constants {
	out := Constants{}
	for k, x := range c {
		out[k] = x
	}
	out[name] = v
	if known, err := ConstantNamed(name); err == nil && known.Shipped == v {
		delete(out, name)
	}
	return out
}

// Only returns the constants for which keep is true.
func (c Constants) Only(keep func(name string) bool) Constants {
	out := Constants{}
	for k, v := range c {
		if keep(k) {
			out[k] = v
		}
	}
	return out
}

// String lists the values in the order of AllConstants, or returns "shipped" if there are none.
func (c Constants) String() string {
	var out []string
	for _, known := range constants {
		if v, ok := c[known.Name]; ok {
			out = append(out, known.Name+"="+strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	if len(out) == 0 {
		return "shipped"
	}
	return strings.Join(out, " ")
}

// fuse ranks cs by f with the constants c. It may change cs.
func (c Constants) fuse(f fusion.Options, cs []fusion.Candidate, unknown float64) error {
	weight := func(to *float64, name string) {
		if v, ok := c[name]; ok {
			*to = v
			if v == 0 {
				*to = -1 // 0 stands for the default there
			}
		}
	}
	if f.Kind == "" && f.Presence >= 0 {
		weight(&f.Presence, "presence")
		weight(&f.Beta, "coverage")
		weight(&f.Pair, "pair")
		weight(&f.Title, "title")
		weight(&f.Near, "near")
		weight(&f.Tokens, tokensConstant)
		if v, ok := c["reach"]; ok {
			f.Reach = v
		}
		if power, ok := c["power"]; ok {
			shipped, _ := ConstantNamed("power")
			for i := range cs { // what the fusion raises to the shipped power
				cs[i].Presence = math.Pow(cs[i].Presence, power/shipped.Shipped)
			}
		}
		if v, ok := c["unknown"]; ok {
			unknown *= v
		}
	}
	weight(&f.RankConstant, "rank-constant")
	weight(&f.LexicalShare, "share")
	f.Unknown = unknown
	return f.Fuse(cs)
}

// rlr returns the options of RLR; 0 stands for a shipped value.
func (c Constants) rlr() modulate.RLROptions {
	return modulate.RLROptions{Alpha: c["alpha"], Lambda: c["lambda"]}
}

// local puts the options of local bridges over n passages into o.
func (c Constants) local(o *local.Options, n int) {
	o.Beta, o.Lambda = c["local-beta"], c["local-lambda"]
	if size, ok := c["cell"]; ok {
		o.Cells = max(1, int(math.Round(float64(n)/size)))
	}
}

// ofFits reports whether a constant is read by fits.
func ofFits(name string) bool { return name == "spread" || name == "tau" }

// fit puts the options of a fit into o.
func (c Constants) fit(o *train.Options) { o.Spread, o.Tau = c["spread"], c["tau"] }
