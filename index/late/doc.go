// Package late is late interaction: how well the tokens of a passage answer those
// of a query. An encoder makes a state for every token on its way to the vector of a
// text; here these states are kept in about 50 bytes each, and a query is compared
// with them token by token:
//
//	score = Σ_t w_t · max_u cos(t, u) / Σ_t w_t
//
// over the tokens t of the query and u of the passage (MaxSim). A Basis says which
// directions of the states are kept, a Coder turns the states of a passage into codes,
// a Query scores codes and tells which token of the passage answers each of its own.
//
// Codes are self-contained byte strings and belong to whoever stores them. They know
// the basis that they were made with; a Query takes all bases that are in use.
package late
