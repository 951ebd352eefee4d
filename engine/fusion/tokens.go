package fusion

// copied is what a word counts that stands in the passage as it was asked: its token there has a cosine
// of about this, though with other words around it, it may have less.
const copied = 0.8

// Answered is the term of the token states: tokens is the score of late interaction in [-1, 1]
// (package late), presence the term recall (Candidate.Presence). It is at least 0.8 times the term
// recall, so a passage with all words of the query does not rank below one that has only similar
// tokens.
func Answered(tokens, presence float64) float64 { return max(tokens, copied*presence) }
