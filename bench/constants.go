package bench

import (
	"context"
	"math"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/local"
	"github.com/lexsem/lexsem/internal/train"
	"github.com/lexsem/lexsem/modulate"
)

// fuse ranks the candidates of a question by the constants c. It may change cs.
func (r fusedRetriever) fuse(ctx context.Context, c constants.Values, cs []fusion.Candidate, q Question) error {
	f, unknown := r.fusion, q.Output.Tokens.Unknown()
	power, ok := c["power"]
	if ok && f.Kind == fusion.Calibrated {
		shipped, _ := constants.Named("power")
		for i := range cs { // what the fusion raises to the shipped power
			cs[i].Presence = math.Pow(cs[i].Presence, power/shipped.Shipped)
		}
	}
	if v, ok := c["unknown"]; ok {
		unknown *= v
	}
	f = fusedBy(c, f)
	f.Unknown = unknown
	if r.of == nil || ok { // the term recall of neighbours has the shipped power
		return f.Fuse(cs)
	}
	terms := r.words.analyzer.Asked(nil, q.Text)
	return f.FuseAround(cs, r.neighbours, func(dst []float64, of []inverted.Neighbours) error {
		return r.words.Around(ctx, dst, terms, of)
	})
}

// fusedBy puts the weights of a fusion into f.
func fusedBy(c constants.Values, f fusion.Options) fusion.Options {
	for name, to := range map[string]*float64{
		"presence": &f.Presence, "coverage": &f.Beta, "pair": &f.Pair, "title": &f.Title, "near": &f.Near, constants.Tokens: &f.Tokens,
		"rank-constant": &f.RankConstant, "share": &f.LexicalShare,
	} {
		if v, ok := c[name]; ok {
			*to = v
			if v == 0 {
				*to = -1 // 0 stands for the default there
			}
		}
	}
	if v, ok := c["reach"]; ok {
		f.Reach = v
	}
	return f
}

// rlrBy returns the options of RLR; 0 stands for a shipped value.
func rlrBy(c constants.Values) modulate.RLROptions {
	return modulate.RLROptions{Alpha: c["alpha"], Lambda: c["lambda"]}
}

// localBy puts the options of local bridges over n passages into o.
func localBy(c constants.Values, o *local.Options, n int) {
	o.Beta, o.Lambda = c["local-beta"], c["local-lambda"]
	if size, ok := c["cell"]; ok {
		o.Cells = max(1, int(math.Round(float64(n)/size)))
	}
}

// ofFits reports whether a constant is read by fits.
func ofFits(name string) bool { return name == "spread" || name == "tau" }

// fitBy puts the options of a fit into o.
func fitBy(c constants.Values, o *train.Options) { o.Spread, o.Tau = c["spread"], c["tau"] }
