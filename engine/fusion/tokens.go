package fusion

// copied is the value of a query word that the passage has: its token there has about this cosine, or a lower
// one if the words around it differ.
const copied = 0.8

// counted is the part of term recall that is subtracted from the score of the token states. It was chosen from 0.1
// to 0.3 on the dev halves of two sets of documentation and five judged corpora, and loses on no test half.
const counted = 0.2

// Answered is the score of the token states in the fusion: tokens is the score of late interaction in [-1, 1]
// (package late), presence the term recall (Candidate.Presence). It is at least 0.8 times the term recall, so
// a passage with all words of the query does not rank below a passage with only similar tokens. Then
// 0.2·presence^1.25 is subtracted: Presence already rewards the same words.
func Answered(tokens, presence float64) float64 {
	return max(tokens, copied*presence) - counted*raised(presence)
}
