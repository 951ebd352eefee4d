package fusion

import (
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/late"
)

// copied is the value of a query word that the passage has: its token there has about this cosine, or a lower
// one if the words around it differ.
const copied = 0.8

// counted is the part of term recall that is subtracted from the score of the token states.
const counted = 0.1

// Answered is the score of the token states in the fusion: half the match of the whole passage, a quarter that of its best
// part and a quarter that of its front. The first two are at least 0.8 times the term recall there, so a passage with all
// words of the query does not rank below a passage with only similar tokens. Then 0.1·presence^1.25 is subtracted:
// Presence already rewards the same words.
//
// The shares, the weight DefaultTokens and the sizes of the parts were chosen on godoc, gitdocs and capret-en; sets that
// were left out keep their scores (docs/runs/documentation.json has those of documentation).
func Answered(tokens late.Match, words inverted.Match) float64 {
	return max(tokens.Whole, copied*words.Presence)/2 + (max(tokens.Near, copied*words.Near)+tokens.Front)/4 - counted*raised(words.Presence)
}
