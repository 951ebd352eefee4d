package late

import "errors"

var (
	// ErrCodes: bytes are not codes of a passage, or not all of them.
	ErrCodes = errors.New("not codes of token states; encode the passage again")
	// ErrBasis: codes were made with a basis that the query was not given.
	ErrBasis = errors.New("codes are of another basis; give the query every basis in use")
	// ErrDamaged: the bytes of a basis are not those that were written.
	ErrDamaged = errors.New("basis is damaged; fit another and encode the passages again")
	// ErrOptions: an option is out of its range.
	ErrOptions = errors.New("option out of range; see late.Coder and late.FitBasis")
	// ErrLength: states, marks and weights do not fit each other or the basis.
	ErrLength = errors.New("lengths do not match; give dim numbers a token and one mark and weight each")
	// ErrNotFinite: a state or a weight is NaN or infinite, or a weight below 0.
	ErrNotFinite = errors.New("states and weights must be finite, and weights not below 0")
)
