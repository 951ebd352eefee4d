// Package late is late interaction (MaxSim): it scores how well the tokens of a passage match those of a
// query,
//
//	score = Σ_t w_t · max_u cos(t, u) / Σ_t w_t
//
// over the tokens t of the query and u of the passage. Start with [FitBasis], which finds the main directions
// of the states. [Coder.Encode] makes codes of a passage, 26 bytes a token by default. [NewQuery] and
// [Query.Score] compare a query with codes. [Query.Ties] returns the token alignment: for each token of the
// query the token of the passage that matches it.
//
// Codes are byte strings that identify their basis, and belong to the caller. A Query takes all bases in use.
// Basis, Coder and Query are safe for concurrent use. Codes of an unknown basis are ErrBasis.
package late
