package folder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/internal/location"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/regular"
)

// Metadata are anyone's to write, so a document is not the folder's because they say so. The
// ids of the documents that a sync is about to store are noted first. A document is
// recorded from a root where its metadata say so and its id is noted. Of what earlier builds stored the metadata have the names
// that a user's fields may have, too: without notes such a document gives way to its file, and is never removed.

// notes are the hashes of the recorded ids of one root, and their file.
type notes struct {
	path, root string
	ids        map[uint64]struct{}
	there      bool // the file: without it nothing is known of what syncs have stored
	dirty      bool // some are dropped, and stand in the file still
}

// notesHead is the first line of the file; a line of 16 hexadecimal digits for each id follows.
type notesHead struct {
	Version int    `json:"lexsem_ids"`
	Root    string `json:"root"`
}

const (
	notesVersion = 1
	digits       = 16 // of a hash
)

// readNotes reads a file of notes. A missing or foreign file counts as empty; lines torn by a killed
// process are skipped.
func readNotes(path, root string) (*notes, error) {
	n := &notes{path: path, root: root, ids: map[uint64]struct{}{}}
	data, err := regular.ReadFile(path, maxStamps)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return nil, err
	}
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	var head notesHead
	if json.Unmarshal(line, &head) != nil || head.Version != notesVersion || head.Root != root {
		return n, nil
	}
	n.there = true
	for line := range bytes.Lines(rest) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if id, err := strconv.ParseUint(string(line), 16, 64); err == nil && len(line) == digits {
			n.ids[id] = struct{}{}
		}
	}
	return n, nil
}

func (n *notes) has(id string) bool {
	_, ok := n.ids[hashOf(id)]
	return ok
}

// add records ids, also in the file, before their documents are stored.
func (n *notes) add(ids ...string) error {
	var lines bytes.Buffer
	lines.WriteByte('\n') // ends what was torn
	for _, id := range ids {
		if h := hashOf(id); !n.has(id) {
			n.ids[h] = struct{}{}
			fmt.Fprintf(&lines, "%0*x\n", digits, h)
		}
	}
	if lines.Len() == 1 {
		return nil
	}
	if !n.there {
		return n.write()
	}
	f, err := os.OpenFile(n.path, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) { // was removed meanwhile
		return n.write()
	}
	if err != nil {
		return err
	}
	if _, err = f.Write(lines.Bytes()); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// drop removes ids from the notes. write then updates the file.
func (n *notes) drop(ids ...string) {
	for _, id := range ids {
		n.dirty = n.dirty || n.has(id)
		delete(n.ids, hashOf(id))
	}
}

// write writes the file again.
func (n *notes) write() error {
	head, err := json.Marshal(notesHead{notesVersion, n.root})
	if err != nil {
		return err
	}
	out := bytes.NewBuffer(append(head, '\n'))
	for _, h := range slices.Sorted(maps.Keys(n.ids)) {
		fmt.Fprintf(out, "%0*x\n", digits, h)
	}
	if err := replace(n.path, out.Bytes()); err != nil {
		return err
	}
	n.there, n.dirty = true, false
	return nil
}

// said is the file information in the metadata of a document.
type said struct {
	place
	kind  string
	exact bool // all is there, and written as a sync writes it
}

// says reads the metadata of a document that claims to be from this root; ok is false if they have less
// than every sync writes.
func (f *Folder) says(id string, m map[string]any) (s said, ok bool) {
	m, s.flat = metadata.OfFile(m)
	root, _ := m[location.Root].(string)
	s.path, _ = m[location.Path].(string)
	s.kind, _ = m[location.Kind].(string)
	if root != f.root || s.kind == "" || !filepath.IsLocal(filepath.FromSlash(s.path)) {
		return s, false
	}
	at, _ := m[location.Time].(string)
	t, err := time.Parse(time.RFC3339, at)
	if err != nil { // another hand wrote it: the file is read again
		t = time.Time{}
	}
	s.time = t.Unix()
	line, lines := location.Whole(m[location.Line])
	s.exact = err == nil && location.Written(t) == at && s.kind == files.KindOf(s.path) && (lines && line > 0 || !hasLines(s.kind)) &&
		(id == s.path || strings.HasSuffix(id, "/"+s.path) || !oneDocument(s.kind))
	return s, true
}

// oneDocument reports whether each file of a kind is one document with the file's id.
func oneDocument(kind string) bool {
	switch kind {
	case "markdown", "text", "html", "code", "pdf", files.KindImage, "docx", "pptx", "xlsx", "odt", "ods", "odp", "epub", "rtf", "ipynb", "eml":
		return true
	}
	return false
}

// hasLines reports whether documents of a kind store the line on which they begin.
func hasLines(kind string) bool {
	switch kind {
	case "markdown", "text", "html", "code", "jsonl", "json", "csv", "tsv", "mbox":
		return true
	}
	return false
}

// proven returns those documents that claim to be from a file, are not recorded, and are confirmed by a stamp: they
// were stored before ids were recorded. known are the hashes of the recorded ids of the file.
func proven(s stamp, known []uint64, unsure []string) []string {
	var sum uint64
	for _, h := range known {
		sum += h
	}
	for _, id := range unsure {
		sum += hashOf(id)
	}
	if len(known)+len(unsure) == s.Documents && sum == s.IDs {
		return unsure
	}
	if s.Documents == 1 {
		return slices.DeleteFunc(slices.Clone(unsure), func(id string) bool { return hashOf(id) != s.IDs })
	}
	return nil
}
