package modulate

import "github.com/lexsem/lexsem/internal/ridge"

// reach is the share of a query, by idf, that the bridge and the corpus know, each in [0, 1]. A modulation is
// reduced to this share of that for a query with only known tokens: the few tokens that a text of another language
// shares with the corpus are accidental. ids are distinct. A share is exactly 1 if all are known.
//
// The corpus knows a token if some passage has it. The bridge also knows those with a row in W. Without sums all
// tokens have equal weight.
func (m *modulator) reach(ids []int32) (bridge, corpus float64) {
	var all float64
	for _, t := range ids {
		w, knows := 1.0, false
		if m.sums != nil {
			df := m.sums.DF(t)
			w, knows = ridge.IDF(m.sums.Len(), df), df > 0
		}
		all += w
		if knows {
			corpus += w
		}
		if knows || m.bridge != nil && m.bridge.knows(m.projection, t) {
			bridge += w
		}
	}
	if all == 0 { // without tokens of weight nothing is moved anyway
		return 1, 1
	}
	return bridge / all, corpus / all
}

// knows reports whether W has a row for token t in one of its parts.
func (b *Bridge) knows(w *Projection, t int32) bool {
	if t < 0 || int(t) >= b.vocab {
		return false
	}
	for k := range b.parts {
		if w.Slot(t+int32(k*b.vocab)) >= 0 {
			return true
		}
	}
	return false
}

// shorten multiplies logits by a share; a share of 1 keeps their bits.
func shorten(z []float64, share float64) {
	for i := range z {
		z[i] *= share
	}
}
