package engine

import (
	"io"

	"github.com/lexsem/lexsem/store"
)

// version is one chunk of a document's version as derived state sees it.
type version struct {
	ord    uint64 // id of the chunk
	vector []float32
	tokens []int32
	// Set where the part asks for texts:
	text     string // title and text as one passage
	metadata []byte // JSON object, or nil; of the first chunk
}

// part is one piece of derived state: something that can be made from the
// store alone. Parts are changed under Engine.mu held exclusively and read
// under it held shared.
type part interface {
	// kind names the snapshot file.
	kind() string
	// reset empties the part; load replaces it by the data of a snapshot that
	// save has written, or fails and leaves it in any state.
	reset() error
	load(data []byte) error
	save(w io.Writer) (int64, error)
	// texts says that add needs version.text or version.metadata; then it
	// needs no vector and no tokens.
	texts() bool
	// add takes in versions that are live now; remove takes out versions that
	// were, given with their vectors and tokens.
	add(vs []version) error
	remove(vs []version) error
	// len is the number of chunks in it, or of documents where it keeps those.
	len() int
}

// change is one applied change with the chunks it made and ended.
type change struct {
	store.Change
	now    []version // where New != 0
	before []version // where Old != 0
}

// block is how many versions are handed to a part at once.
const block = 1024

// feeder hands versions to parts in blocks.
type feeder struct {
	parts []part
	vs    []version
}

func (f *feeder) add(vs ...version) error {
	f.vs = append(f.vs, vs...)
	if len(f.vs) < block {
		return nil
	}
	return f.flush()
}

func (f *feeder) flush() error {
	if len(f.vs) > 0 {
		for _, p := range f.parts {
			if err := p.add(f.vs); err != nil {
				return err
			}
		}
	}
	f.vs = f.vs[:0]
	return nil
}
