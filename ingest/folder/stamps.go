package folder

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/regular"
)

// stamp is the state of a file when its documents were stored.
type stamp struct {
	Path      string `json:"p"`           // below the root, with slashes
	Size      int64  `json:"s"`           // bytes
	Time      int64  `json:"t"`           // of its modification, in nanoseconds since 1970
	Digest    []byte `json:"d"`           // SHA-256 of its bytes; zeros for a file without an extension that is no script
	Documents int    `json:"n"`           // that it holds; 0 for a file without text
	IDs       uint64 `json:"i"`           // sum of the hashes of their ids
	Other     bool   `json:"o,omitempty"` // it is of a known kind, and no document: a file of settings, or no script
	Empty     bool   `json:"e,omitempty"` // nothing is in it
	Racy      bool   `json:"r,omitempty"` // was changed when it was read, or just before: its time says nothing

	Warned []warning `json:"w,omitempty"` // what could not be read besides the text
}

// fits reports whether a file has the size and the time that it had then.
func (s stamp) fits(f file) bool { return s.Size == f.size && s.Time == f.time }

// warning describes an unreadable part of a file whose text is stored.
type warning struct {
	Line int    `json:"l,omitempty"` // from 1; 0 for the whole file
	Text string `json:"m"`
	Time string `json:"t"` // when it was seen, as problems.Problem has it
}

// stampsVersion is the version of the file of stamps. readingVersion is raised when files
// of some kind give other documents than before; then all are read again.
const (
	stampsVersion  = 1
	readingVersion = 9
)

// maxStamps bounds the file of stamps: 1 GiB is some five million files.
const maxStamps = 1 << 30

// stampsHead is the first line of the file; a line for each stamp follows.
type stampsHead struct {
	Version  int      `json:"lexsem_sync"`
	Root     string   `json:"root"`
	Settings string   `json:"settings"`         // digest of what else decides which documents a file gets
	Mounts   []string `json:"mounts,omitempty"` // folders below the root that were file systems of their own
	Lines    int      `json:"files"`
	CRC      uint32   `json:"crc32c"` // of the lines that follow
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errStamps reports a file of stamps that is damaged, or has another version or other
// settings. Reading the files makes all stamps anew.
var errStamps = errors.New("the stamps cannot be used")

// stampsFile is the path of a root's stamps.
func stampsFile(dir, root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, hex.EncodeToString(sum[:12])+".jsonl")
}

// formatStamps writes stamps in the order of their paths.
func formatStamps(root, settings string, mounts []string, stamps map[string]stamp) ([]byte, error) {
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, p := range slices.Sorted(maps.Keys(stamps)) {
		if err := enc.Encode(stamps[p]); err != nil {
			return nil, err
		}
	}
	head, err := json.Marshal(stampsHead{stampsVersion, root, settings, mounts, len(stamps), crc32.Checksum(lines.Bytes(), castagnoli)})
	if err != nil {
		return nil, err
	}
	return append(append(head, '\n'), lines.Bytes()...), nil
}

// parseStamps reads the format of formatStamps; settings = "" accepts any. Errors:
// errStamps. The folders that were mounted are also those of other settings.
func parseStamps(data []byte, root, settings string) (stamps map[string]stamp, mounts []string, err error) {
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	var head stampsHead
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, mounts, fmt.Errorf("%w: no first line: %w", errStamps, err)
	}
	if head.Version == stampsVersion && head.Root == root {
		mounts = slices.DeleteFunc(head.Mounts, func(m string) bool { return !filepath.IsLocal(filepath.FromSlash(m)) })
	}
	if head.Version != stampsVersion || head.Root != root || settings != "" && head.Settings != settings {
		return nil, mounts, fmt.Errorf("%w: they are of version %d, root %q and other settings", errStamps, head.Version, head.Root)
	}
	if crc32.Checksum(rest, castagnoli) != head.CRC {
		return nil, mounts, fmt.Errorf("%w: damaged", errStamps)
	}
	out := make(map[string]stamp, min(max(head.Lines, 0), len(rest)/64))
	for line := range bytes.Lines(rest) {
		var s stamp
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, mounts, fmt.Errorf("%w: %w", errStamps, err)
		}
		if s.Path == "" || s.Size < 0 || s.Documents < 0 || len(s.Digest) != sha256.Size {
			return nil, mounts, fmt.Errorf("%w: an impossible stamp", errStamps)
		}
		out[s.Path] = s
	}
	if len(out) != head.Lines {
		return nil, mounts, fmt.Errorf("%w: %d of %d lines", errStamps, len(out), head.Lines)
	}
	return out, mounts, nil
}

// readStamps returns the stamps of a root; none if they cannot be used.
func readStamps(path, root, settings string) (stamps map[string]stamp, mounts []string, err error) {
	data, err := regular.ReadFile(path, maxStamps)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]stamp{}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	stamps, mounts, err = parseStamps(data, root, settings)
	if errors.Is(err, errStamps) {
		return map[string]stamp{}, mounts, nil
	}
	return stamps, mounts, err
}

// writeStamps replaces the file of stamps as a whole.
func writeStamps(path, root, settings string, mounts []string, stamps map[string]stamp) error {
	data, err := formatStamps(root, settings, mounts, stamps)
	if err != nil {
		return err
	}
	return replace(path, data)
}

// replace writes a file atomically, and creates its folder if needed. Only the owner can read them.
func replace(path string, data []byte) error {
	if err := private.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.Write(path, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}
