package inverted

import "errors"

var (
	// ErrOptions: an option is out of its range.
	ErrOptions = errors.New("option out of range; see inverted.Options and inverted.NewSparse")
	// ErrBadK: the number of documents asked for is below 1.
	ErrBadK = errors.New("k must be at least 1; ask for one document or more")
	// ErrLength: the lengths of two arguments do not match.
	ErrLength = errors.New("lengths do not match; give one entry each")
	// ErrTerm: a term is empty or over 64 KiB, or a vocabulary id is out of range or repeated.
	ErrTerm = errors.New("not a term of this index; use the analyzer or the tokenizer it was made for")
	// ErrWeight: a weight is negative, infinite or not a number.
	ErrWeight = errors.New("weights must be finite and not negative; leave other terms out")
	// ErrFull: an index holds at most MaxLen documents.
	ErrFull = errors.New("index is full; split the collection over several indexes")
	// ErrCorrupt: a snapshot is damaged. If a checksum shows it, the error also wraps
	// snapshot.ErrDamaged.
	ErrCorrupt = errors.New("snapshot is damaged; rebuild the index from the stored documents")
	// ErrBase: Rebase got a value that is not an ancestor.
	ErrBase = errors.New("not made from that value; rebase on a value that edits led from")
	// ErrMismatch: a snapshot is sound, but of another version or configuration.
	ErrMismatch = errors.New("snapshot is of another configuration; rebuild the index from the stored documents")
)
