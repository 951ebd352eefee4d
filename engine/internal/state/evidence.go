package state

import (
	"slices"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// SavedLive is the snapshot of the live versions in dir, if it is undamaged and belongs
// to this database and history; history returns the identity of the history at a commit.
// Otherwise it is nil; a zero uuid means unknown.
func SavedLive(dir string, uuid store.UUID, history func(seq uint64) ([16]byte, bool)) *store.Evidence {
	f, err := snapshot.Open(pathOf(dir, fileLive))
	if err != nil {
		return nil
	}
	defer f.Close()
	h := f.Header()
	if uuid == (store.UUID{}) {
		uuid = h.Database
	}
	known, ok := history(h.Seq)
	if foreign(h, fileLive, uuid) != nil || !ok || known != h.History {
		return nil
	}
	live, err := openLive(f)
	if err != nil {
		return nil
	}
	e := &store.Evidence{Seq: h.Seq, Live: map[uint64]struct{}{}}
	for ord := range live.All {
		e.Live[ord] = struct{}{}
	}
	return e
}

// Snapshots returns the files of the database in dir that opening rebuilds if they are
// missing.
func Snapshots(dir string) []string {
	files := slices.Concat(index.Kinds(), []string{fileLive, fileWords, fileColumns, fileSums, fileTokens, fileLocal})
	for i, kind := range files {
		files[i] = pathOf(dir, kind)
	}
	return files
}
