package fusion

// copied is what a word counts that stands in the passage as it was asked: its token there has a cosine
// of about this, though with other words around it, it may have less.
const copied = 0.8

// counted is what term recall takes off the term of the token states. It was chosen on the dev halves of two sets of
// documentation and five judged ones, of 0.1 to 0.3, and loses on no test half.
const counted = 0.2

// Answered is the term of the token states: tokens is the score of late interaction in [-1, 1]
// (package late), presence the term recall (Candidate.Presence). It is at least 0.8 times the term
// recall, so a passage with all words of the query does not rank below one that has only similar
// tokens. Less 0.2·presence^1.25: Presence rewards the same words, which count once.
func Answered(tokens, presence float64) float64 {
	return max(tokens, copied*presence) - counted*raised(presence)
}
