package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine"
)

// maxText is the largest text file, and the longest JSONL line, that is read.
const maxText = 16 << 20

// item is one document and the place it was read from.
type item struct {
	doc   engine.Document
	where string // "notes/a.md" or "corpus.jsonl:17"
}

// badInput says that one document cannot be read. Reading goes on after it
// when the caller wishes.
type badInput struct {
	where string
	err   error
}

func (e *badInput) Error() string { return e.where + ": " + e.err.Error() }
func (e *badInput) Unwrap() error { return e.err }

// skipped counts what a walk over folders left out.
type skipped struct {
	Hidden int `json:"hidden"` // files and folders whose name starts with a dot
	Binary int `json:"binary"` // files of a known kind that hold no UTF-8 text
	Other  int `json:"other"`  // files of other kinds, links and devices
}

// sources reads the documents of files, folders and standard input.
type sources struct {
	stdin   io.Reader
	each    func(item) error      // takes one document
	bad     func(*badInput) error // decides about one that cannot be read: nil goes on
	read    func(bytes int)       // hears of progress; may be nil
	skipped skipped
	origin  map[string]string // id of a text file → path, to refuse two files with one id
}

// total returns the bytes of all inputs, or 0 when standard input is among
// them.
func (s *sources) total(paths []string) int64 {
	var sum int64
	for _, p := range paths {
		if p == "-" {
			return 0
		}
		p = folder(p)
		_ = filepath.WalkDir(p, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // reading reports it
			}
			if name != p && hidden(d.Name()) {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && (name == p || kindOf(name) != "") {
				sum += info.Size()
			}
			return nil
		})
	}
	return sum
}

// walk reads every path in order.
func (s *sources) walk(paths []string) error {
	s.origin = map[string]string{}
	for _, p := range paths {
		if err := s.path(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *sources) path(p string) error {
	if p == "-" {
		return s.jsonl("stdin", s.stdin)
	}
	if p == "" {
		return hinted(usagef("an empty name among what to index"), "name files, folders or - for JSONL on standard input")
	}
	info, err := os.Stat(p)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w; name files, folders or - for standard input", p, fs.ErrNotExist)
		}
		return err
	}
	if !info.IsDir() {
		if kindOf(p) == "" {
			return hinted(usagef("%s: cannot index files of this kind", p), "files are .jsonl, .txt or .md; pipe JSONL to `lexsem index --db DIR -`")
		}
		return s.file(p, path.Clean(filepath.ToSlash(p)), true)
	}
	p = folder(p)
	return filepath.WalkDir(p, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if err = s.bad(&badInput{name, reason(err)}); err == nil && d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return err
		}
		if name == p {
			return nil
		}
		if hidden(d.Name()) {
			s.skipped.Hidden++
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		if !d.Type().IsRegular() || kindOf(name) == "" {
			s.skipped.Other++
			return nil
		}
		id, err := filepath.Rel(p, name)
		if err != nil {
			return err
		}
		return s.file(name, filepath.ToSlash(id), false)
	})
}

// folder makes a walk enter p even if it is a link to a folder, as the user
// who named it wants; links inside are left out.
func folder(p string) string {
	if info, err := os.Lstat(p); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return p + string(filepath.Separator)
	}
	return p
}

func hidden(name string) bool {
	return strings.HasPrefix(name, ".") && name != "." && name != ".."
}

func kindOf(name string) string {
	ext := strings.ToLower(filepath.Ext(name))
	if slices.Contains([]string{".jsonl", ".txt", ".md"}, ext) {
		return ext
	}
	return ""
}

// file reads one file of a known kind. named tells that the user named this
// very file, so that a binary one is an error and not left out.
func (s *sources) file(name, id string, named bool) error {
	f, err := os.Open(name)
	if err != nil {
		return s.bad(&badInput{name, reason(err)})
	}
	defer f.Close()
	if kindOf(name) == ".jsonl" {
		return s.jsonl(name, f)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return s.bad(&badInput{name, reason(err)})
	}
	if len(data) > maxText {
		return s.bad(&badInput{name, fmt.Errorf("larger than %d MiB; split it", maxText>>20)})
	}
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		if named {
			return s.bad(&badInput{name, errors.New("not UTF-8 text; convert it first")})
		}
		s.skipped.Binary++
		s.count(len(data))
		return nil
	}
	if first, dup := s.origin[id]; dup {
		return s.bad(&badInput{name, fmt.Errorf("gets the id %q, as %s did; index a folder above both", id, first)})
	}
	s.origin[id] = name
	text := normalise(string(data))
	title := ""
	if kindOf(name) == ".md" {
		title, text = markdownTitle(text)
	}
	s.count(len(data))
	if blank(title) && blank(text) {
		return s.bad(&badInput{name, errNoText})
	}
	return s.each(item{engine.Document{ID: id, Title: title, Text: text}, name})
}

// reason is err without the path, which stands before it already.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (s *sources) count(n int) {
	if s.read != nil {
		s.read(n)
	}
}

var errNoText = errors.New("no text to index; give it a text or leave it out")

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// normalise drops a byte order mark and makes line ends one byte.
func normalise(s string) string {
	return strings.ReplaceAll(strings.TrimPrefix(s, "\ufeff"), "\r\n", "\n")
}

// markdownTitle takes a level-1 heading off the start of a Markdown text.
func markdownTitle(text string) (title, rest string) {
	trimmed := strings.TrimLeft(text, " \t\n")
	line, rest, _ := strings.Cut(trimmed, "\n")
	if head, ok := strings.CutPrefix(line, "# "); ok && !blank(rest) {
		return strings.TrimSpace(strings.TrimRight(head, "# ")), strings.TrimLeft(rest, "\n")
	}
	return "", text
}
