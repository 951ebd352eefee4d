// Package state keeps the derived state of a database: everything that searches need and that can be rebuilt
// from the store alone. Start with [Open], [DB.Acquire] and [DB.Commit]. A [State] never changes. A commit
// prepares the next State while searches run, and publishes it by swapping a pointer. The maintainer
// (maintainer.go) does in the background the work that can wait. An error before the commit record leaves the
// database as it was. Damage is store.ErrCorrupt and is repaired in the background.
package state

import (
	"context"
	"hash/crc32"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/engine/internal/recent"
	"github.com/lexsem/lexsem/engine/internal/tokens"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/local"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/rcu"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// State is one committed state of a database, as searches see it. It never changes while it is held.
type State struct {
	Modulation
	Seq     uint64
	View    *store.View // the documents
	Live    cow.Set     // ordinals of the documents' versions
	Limit   uint64      // above the ordinals of all versions that ever were
	Vectors *Vectors    // shared by all states; Sees says which of them are this one's
	Words   *inverted.Words
	Columns *columns.Columns
	Tokens  *tokens.List    // the chunks that have codes of token states
	Impacts *inverted.Words // the chunks that have impacts, see inverted.ImpactOptions

	// Local bridges follow the commits with a delay and are at commit LocalSeq. Fresh are the chunks added
	// since; some may be removed again.
	LocalSeq uint64
	Fresh    []uint64

	views  *shared
	cached *recent.Cache[[]byte] // of codes, shared by all states
}

// Modulation holds the bridges and statistics that can modulate queries.
type Modulation struct {
	Metric metric.Metric  // of the database
	Sums   *ridge.Sums    // empty where vectors are no directions: see metric.Metric
	Local  *local.Bridges // nil where nobody has asked for them yet

	// Bridges are the fitted bridges, by canonical name. Standard is the variant fitted last; Auto is the
	// last fit's choice for queries that name no variant.
	Bridges        map[string]*Bridge
	Standard, Auto string

	// Modulators caches modulators by name.
	Modulators *sync.Map
}

// BridgesDir holds the files of fitted bridges, below the database's folder.
const BridgesDir = "bridges"

// BridgeDigest is the CRC-32C of a bridge file up to its own checksum: over the whole file it would be the
// same for every intact one.
func BridgeDigest(raw []byte) uint32 {
	return crc32.Checksum(raw[:max(0, len(raw)-4)], crc32.MakeTable(crc32.Castagnoli))
}

// Bridge is a fitted variant. A damaged file keeps its error: queries for this variant get it, other variants
// work.
type Bridge struct {
	store.Bridge
	Weights *modulate.Weights
	Err     error
	Fresh   int // live documents that came after the fit
}

// Ref is a State in use. Release gives it back.
type Ref = rcu.Ref[*State]

// Chunks is the number of chunks; a short document counts once.
func (s *State) Chunks() int { return s.Words.Len() }

// Encoded returns how many chunks have a vector: RLR's sums contain exactly these. With other metrics than
// cosine, all stored chunks have vectors.
func (s *State) Encoded() int {
	if !s.Metric.Directions() {
		return s.Chunks()
	}
	return s.Sums.Len()
}

// Match returns the documents of the state that meet f.
func (s *State) Match(ctx context.Context, f filter.Filter) (*columns.Matches, error) {
	return s.Columns.Match(ctx, f, s.View.IDs)
}

// Facets returns the k most frequent values at a path of the metadata among the documents that meet f.
func (s *State) Facets(ctx context.Context, f filter.Filter, path string, k int) ([]filter.Facet, error) {
	var m *columns.Matches // nil for all
	if !f.IsZero() {
		var err error
		if m, err = s.Match(ctx, f); err != nil {
			return nil, err
		}
	}
	return s.Columns.Facets(ctx, m, path, k)
}

// Sees reports whether a chunk is part of the state. Cost: a few reads of memory.
func (s *State) Sees(id uint64) bool { return s.Live.Has(chunk.Ord(id)) }

// Vector is the stored vector of a chunk, of unit length if vectors are directions; nil if the chunk does not
// exist or its vector is damaged.
func (s *State) Vector(id uint64) []float32 { return s.Vectors.Vector(id, nil) }

// IDs returns the chunks of the state, by document and number.
func (s *State) IDs() []uint64 {
	ids := make([]uint64, 0, s.Chunks())
	for id := range s.Vectors.IDs {
		if s.Sees(id) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, chunk.Compare)
	return ids
}

// Vectors is the vector index, with the name of its kind.
type Vectors struct {
	index.Index
	Kind string
}

// shared is a view of the store that several states read.
type shared struct {
	view *store.View
	refs atomic.Int32
}

func share(v *store.View) *shared {
	s := &shared{view: v}
	s.refs.Store(1)
	return s
}

func (s *shared) drop() {
	if s.refs.Add(-1) == 0 {
		s.view.Close()
	}
}

// Version is one chunk of a document's version.
type Version struct {
	ID       uint64    // of the chunk
	Vector   []float32 // nil where it is not made yet
	Tokens   []int32
	Codes    int    // bytes of the codes of its token states
	Impacts  []byte // of words, as inverted.AppendImpacts writes them
	Text     string // title and text, as the words see them
	Title    int    // bytes of Text that are the title
	Metadata []byte // JSON object, or nil; of the first chunk
}

// Change is one change of a commit with the chunks that it adds.
type Change struct {
	store.Change
	Now []Version // where New != 0
}

// withVectors returns the chunks that have their vectors.
func withVectors(vs []Version) []Version {
	without := func(v Version) bool { return len(v.Vector) == 0 }
	if !slices.ContainsFunc(vs, without) {
		return vs
	}
	return slices.DeleteFunc(slices.Clone(vs), without)
}

// rowsOf returns the chunks of version ord as its rows describe them.
func rowsOf(dst []Version, ord uint64, rows []store.Row) []Version {
	for i, r := range rows {
		dst = append(dst, Version{ID: chunk.ID(ord, i), Vector: r.Vector, Tokens: r.Tokens, Codes: len(r.Codes), Impacts: r.Impacts})
	}
	return dst
}

// VersionsOf returns the chunks of version ord of a document that was read whole.
func VersionsOf(ord uint64, d *store.Document) []Version {
	vs := rowsOf(nil, ord, d.Rows)
	withWords := chunk.WithFileWords(d.Title, d.Metadata)
	for i, r := range d.Rows {
		vs[i].Text, vs[i].Title = withWords(i, ChunkText(d, r))
	}
	if len(vs) > 0 {
		vs[0].Metadata = d.Metadata
	}
	return vs
}
