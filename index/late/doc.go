// Package late is late interaction (MaxSim): it scores how well the tokens of a passage answer those of a
// query,
//
//	score = Σ_t w_t · max_u cos(t, u) / Σ_t w_t
//
// over the tokens t of the query and u of the passage. Start with [FitBasis], which finds the directions of
// the states that are kept. [Coder.Encode] makes codes of a passage, about 50 bytes a token by default.
// [NewQuery] and [Query.Score] compare. [Query.Ties] gives the token alignment: the token of the passage that
// answers each token of the query.
//
// Codes are byte strings that name their basis, and belong to the caller. A Query takes all bases in use.
// Basis, Coder and Query are safe for concurrent use. Codes of an unknown basis are ErrBasis.
package late
