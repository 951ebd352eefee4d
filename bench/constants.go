package bench

import (
	"math"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/local"
	"github.com/lexsem/lexsem/internal/train"
	"github.com/lexsem/lexsem/modulate"
)

// fuse ranks cs by f with the constants c. It may change cs.
func fuse(c constants.Values, f fusion.Options, cs []fusion.Candidate, unknown float64) error {
	if power, ok := c["power"]; ok && f.Kind == fusion.Calibrated {
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
	return f.Fuse(cs)
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
