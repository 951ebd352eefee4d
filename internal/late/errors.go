package late

import "errors"

var (
	// ErrCodes: the bytes are not, or not all, of a passage's codes.
	ErrCodes = errors.New("not codes of token states; encode the passage again")
	// ErrBasis: the codes were made with a basis that the query does not have.
	ErrBasis = errors.New("codes are of another basis; give the query every basis in use")
	// ErrDamaged: the bytes of a basis are damaged.
	ErrDamaged = errors.New("basis is damaged; fit another and encode the passages again")
	// ErrOptions: an option is out of its range.
	ErrOptions = errors.New("option out of range; see late.Coder and late.FitBasis")
	// ErrLength: the lengths of states, marks, weights or basis do not match.
	ErrLength = errors.New("lengths do not match; give dim numbers a token and one mark and weight each")
	// ErrNotFinite: a state or weight is NaN or infinite, or a weight is below 0.
	ErrNotFinite = errors.New("states and weights must be finite, and weights not below 0")
)
