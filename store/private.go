package store

import (
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/lexsem/lexsem/internal/private"
)

// The known files of a database: nothing else in its folder is touched. A collection is a separate database,
// with its own known files.
var (
	ourRecords = private.Ours{Folders: map[string]private.Ours{recordsName: {Files: isRecordFile}}}
	ourParts   = map[string]private.Ours{
		recordsName: {Files: isRecordFile}, bridgesName: named(".bridge"), derivedName: named(".snap"), syncName: named(".jsonl", ".ids", ".problems", ".options"),
		fitName: named("state", ".vectors", ".vectors.lock", ".vectors.new"),
	}
	ourFiles = named(markerName, lockName, headName, swapName, reserveName, "demo.json").Files
	ours     = private.Ours{Files: ourFiles, Folders: maps.Clone(ourParts)}
)

func init() {
	ours.Folders[nextName] = private.Ours{Files: ourFiles, Folders: ourParts}
	ours.Folders[replacedName] = private.Ours{Folders: ourParts}
	ours.Folders[collectionsName] = private.Ours{}
}

// named is a folder in which files with these names or endings, as in private.Named, belong to us, including temporary
// files for them.
func named(names ...string) private.Ours {
	has := private.Named(names...)
	return private.Ours{Files: func(name string) bool { return temporary.MatchString(name) || has(name) }}
}

// isRecordFile reports whether a name is that of one of Badger's files, or of our files next to them.
func isRecordFile(name string) bool {
	name = strings.TrimSuffix(name, spareExt)
	switch name {
	case badger.ManifestFilename, badger.KeyRegistryFileName, badger.KeyRegistryRewriteFileName, discardName, lockName, checksumsName:
		return true
	}
	return isNumbered(name, ".sst") || isNumbered(name, ".mem") || isNumbered(name, ".vlog") || temporary.MatchString(name)
}

// tighten restricts our files in the database's folder to their owner.
func (s *Store) tighten(what private.Ours) {
	if err := private.Tighten(s.dir, what); err != nil {
		s.o.logger().Warn("other users of this machine may read files of the database", "dir", s.dir, "error", err)
	}
}

// tight records which of Badger's files are restricted to their owner. Badger leaves this to the umask; until
// tightenNew restricts them, their folder keeps others out.
type tight struct {
	mu   sync.Mutex
	seen time.Time // when the folder had changed for the last time
}

// clockStep is more than the time within which changes of a folder may get the same timestamp.
const clockStep = 50 * time.Millisecond

// tightenNew restricts the records if files were added since its last call.
func (s *Store) tightenNew() {
	if s.o.ReadOnly {
		return
	}
	s.tight.mu.Lock()
	defer s.tight.mu.Unlock()
	info, err := os.Stat(s.records())
	if err != nil || info.ModTime().Equal(s.tight.seen) {
		return // who needs the folder tells of the error
	}
	s.tight.seen = time.Time{}
	if time.Since(info.ModTime()) > clockStep {
		s.tight.seen = info.ModTime()
	}
	s.tighten(ourRecords)
}
