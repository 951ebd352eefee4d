package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/lexsem/lexsem/engine/internal/calls"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/internal/problems"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/store"
)

// reclaimAfter, if not 0, is the idle time after which space is reclaimed. Tests set it.
var reclaimAfter time.Duration

// Writable returns the error that a write would have now, or nil, without a commit: ErrClosed, ErrReadOnly, ErrNoSpace,
// or that of a failed disk. At most every 5 s it writes and syncs a small file; in between it returns the last answer.
// It does not predict ErrMemory, which depends on the documents. In a remote.Database it asks whether the Backend
// answers.
func (e *Engine) Writable(ctx context.Context) (err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	return e.st.Writable(ctx)
}

// Stats describes the database.
func (e *Engine) Stats(ctx context.Context) (_ Stats, err error) {
	ctx = calls.Promptly(ctx)
	s, done, err := e.read()
	if err != nil {
		return Stats{}, err
	}
	defer done(&err)
	if err := ctx.Err(); err != nil {
		return Stats{}, err
	}
	disk, err := e.st.DiskSpace()
	if err != nil {
		return Stats{}, err
	}
	live, dead, tables, err := s.View.Space()
	if err != nil {
		return Stats{}, err
	}
	reembedding, err := store.Folder(store.Folder(e.dir).Next()).Exists()
	if err != nil {
		return Stats{}, err
	}
	bridges, err := bridgeStats(s.Bridges)
	if err != nil {
		return Stats{}, err
	}
	lacks, err := problems.Summarize(e.dir)
	if err != nil {
		return Stats{}, err
	}
	kind, err := e.kindOf(ctx, s)
	if err != nil {
		return Stats{}, err
	}
	note, err := e.noteOf(ctx, s)
	if err != nil {
		return Stats{}, err
	}
	states, err := e.tokenStats(ctx, s)
	if err != nil {
		return Stats{}, err
	}
	m := e.db.Maintenance()
	r := Stats{
		Dir: e.dir, Documents: s.View.Len(), Chunks: s.Chunks(), Waiting: s.Chunks() - s.Encoded(), Seq: s.Seq, Dim: e.fp.Dim,
		Index: s.Vectors.Kind, Metric: e.metric.String(), Encoder: e.fp, Language: cmp.Or(e.st.Manifest().Language, text.Defaults().Language), Kind: kind, Truncated: s.View.Truncated(),
		DiskBytes: disk.Sum(), Disk: disk, LiveBytes: int64(live), DeadBytes: int64(dead), Reclaimable: int64(max(tables, live+dead) - live), Bridges: bridges, Default: search.Default(&s.Modulation, ModeHybrid),
		Reranker:    RerankerName(e.o.Reranker),
		FormatMajor: e.st.Manifest().Major,
		Memory:      Memory(s.Memory()),
		MaxMemory:   e.o.partBytes(),
		Foregone:    e.db.Foregone(s),
		Reembedding: reembedding,
		TokenStates: states,
		Problems:    lacks,
		Note:        note,
		Maintenance: Maintenance{Task: m.Task, Done: m.Done, Total: m.Total, Unindexed: len(s.Fresh)},
	}
	r.Maintenance.Stale, _ = s.Sums.Staleness()
	if m.Err != nil {
		r.Maintenance.Error = m.Err.Error()
	}
	return r, nil
}

// Compact frees the disk space of replaced and deleted documents. The engine also does so automatically when they take
// more space than live documents. If ctx ends, the work continues in the background.
//
// Searches continue meanwhile; writes wait for short moments. Errors: ErrNoSpace if the disk has no room for a second
// copy of the tables; ErrReadOnly. Cost: reading and writing all live data once.
func (e *Engine) Compact(ctx context.Context) (err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	return e.db.Compact(ctx)
}
