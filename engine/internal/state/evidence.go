package state

import (
	"slices"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// SavedLive is the snapshot of the live versions of the database in dir, as far as it
// is whole and of this database and history, which history tells by the number of a
// commit. It is nil otherwise: a zero uuid is not known.
func SavedLive(dir string, uuid store.UUID, history func(seq uint64) ([16]byte, bool)) *store.Evidence {
	f, err := snapshot.Open((&DB{o: Options{Dir: dir}}).path(fileLive))
	if err != nil {
		return nil
	}
	defer f.Close()
	h := f.Header()
	known, ok := history(h.Seq)
	if h.Kind != fileLive || h.Version != version || uuid != (store.UUID{}) && h.Database != [16]byte(uuid) || !ok || known != h.History {
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

// SnapshotNames are the names of the files below Folder that opening makes anew where
// they are missing.
func SnapshotNames(kinds []string) []string {
	names := slices.Concat(kinds, []string{fileLive, fileWords, fileColumns, fileSums, fileLocal})
	for i, n := range names {
		names[i] = n + ".snap"
	}
	return names
}
