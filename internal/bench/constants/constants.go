// Package constants lists the numbers of the bench's systems that can be tuned ([All]), and holds other values of them
// ([Values]).
package constants

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/engine/fusion"
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
	{Tokens, "weight of token states (engine:hybrid/tokens)", fusion.DefaultTokens, []float64{.25, .35, .5, .7, 1, 1.4, 2}, 0, 10},
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

// All lists every constant that can be tried.
func All() []Constant { return slices.Clone(constants) }

// Named returns the constant called name; ok is false if there is none.
func Named(name string) (c Constant, ok bool) {
	i := slices.IndexFunc(constants, func(c Constant) bool { return c.Name == name })
	if i < 0 {
		return c, false
	}
	return constants[i], true
}

// Names are the names of all constants.
func Names() (names []string) {
	for _, c := range constants {
		names = append(names, c.Name)
	}
	return names
}

// OfFusion are the constants of each kind of fusion. Another value of one only ranks known
// candidates again; other constants need a new search.
var OfFusion = map[string][]string{
	fusion.Calibrated: {"presence", "power", "near", "coverage", "pair", "title", "reach", "unknown"},
	fusion.RRF:        {"rank-constant"},
	fusion.Convex:     {"share"},
}

// Tokens is the weight of token states in the engine's calibrated fusion.
const Tokens = "tokens"

// Reranks reports whether another value of a constant needs no new search: the fusion ranks the known candidates
// again.
func Reranks(name string) bool {
	if name == Tokens {
		return true
	}
	for _, names := range OfFusion {
		if slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// Values are values, by constant name, that systems use instead of the shipped ones.
type Values map[string]float64

// With returns c with one value changed. A shipped value is left out, so that equal settings have
// equal names.
func (c Values) With(name string, v float64) Values {
	out := Values{}
	maps.Copy(out, c)
	out[name] = v
	if known, ok := Named(name); ok && known.Shipped == v {
		delete(out, name)
	}
	return out
}

// Only returns the constants for which keep is true.
func (c Values) Only(keep func(name string) bool) Values {
	out := Values{}
	for k, v := range c {
		if keep(k) {
			out[k] = v
		}
	}
	return out
}

// String lists the values in the order of All, or returns "shipped" if there are none.
func (c Values) String() string {
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
