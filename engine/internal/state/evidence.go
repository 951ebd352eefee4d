package state

import (
	"slices"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// SavedLive is the snapshot of the live versions of the database in dir, as far as it
// is whole and of this database and history, which history tells by the number of a
// commit. It is nil otherwise: a zero uuid is not known.
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

// Snapshots are the files of the database in dir that opening makes anew where they
// are missing.
func Snapshots(dir string) []string {
	files := slices.Concat(index.Kinds(), []string{fileLive, fileWords, fileColumns, fileSums, fileTokens, fileLocal})
	for i, kind := range files {
		files[i] = pathOf(dir, kind)
	}
	return files
}
