package fusion

// copied is what a word counts that stands in the passage as it was asked: its token there has a cosine
// of about this, though with other words around it, it may have less.
const copied = 0.8

// Answered is how well the tokens of a passage answer those of a query, with respect to its words: tokens, of late
// interaction (package late), in [-1, 1], or more where the query's words stand in the passage; presence is their share
// (Candidate.Presence). Without it a passage that has all words of the query, its tokens coloured by other words around them, would fall
// behind one that has tokens alike and not the words (docs/method.md).
func Answered(tokens, presence float64) float64 { return max(tokens, copied*presence) }
