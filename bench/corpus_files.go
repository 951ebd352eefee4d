package bench

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// textFiles are the name endings of the files that are read from a folder of texts.
var textFiles = []string{".txt", ".md"}

// Check checks, without reading, that every part of data exists (see ReadCorpora). The error is
// ErrNoData.
func (o ReadOptions) Check(data string) error {
	for _, part := range dataParts(data) {
		if _, err := os.Stat(part); err != nil && len(o.find(part, corpusNames)) == 0 {
			return fmt.Errorf("%w: %w; docs/data.md says what a folder holds", ErrNoData, err)
		}
	}
	return nil
}

// readLoose reads passages without a BEIR folder: a .jsonl or .tsv file, or a folder of text files.
// Each text file is a passage, and its path below the folder is the id. Hidden files, files in
// hidden folders and irregular files are left out. ok is false if path is neither.
func readLoose(path string, o ReadOptions) (c *Corpus, ok bool, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, false, nil // the caller's own error says what is wanted
	}
	c = &Corpus{Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Qrels: Qrels{}}
	if !st.IsDir() {
		c.Name = strings.TrimSuffix(c.Name, ".jsonl") // of .jsonl.gz
		return c, true, c.readPassages(o, path)
	}
	if len(o.find(path, corpusNames)) > 0 {
		return nil, false, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, false, fmt.Errorf("resolving the data folder: %w", err)
	}
	c.Name = filepath.Base(abs)
	if path, err = filepath.EvalSymlinks(path); err != nil { // a walk does not enter a link
		return nil, false, err
	}
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name != path && strings.HasPrefix(d.Name(), ".") { // hidden, as for index
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !slices.Contains(textFiles, strings.ToLower(filepath.Ext(name))) {
			return nil
		}
		p, err := readText(path, name)
		if err != nil {
			return o.problem(name, 0, err)
		}
		c.Passages = append(c.Passages, p)
		return nil
	})
	return c, len(c.Passages) > 0, err
}

func readText(root, name string) (Passage, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return Passage{}, err
	}
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return Passage{}, err
	}
	p := Passage{ID: filepath.ToSlash(rel), Body: string(raw)}
	switch {
	case !utf8.Valid(raw):
		return p, fmt.Errorf("%w: not valid UTF-8; convert the file to UTF-8", ErrBrokenLine)
	case p.Text() == "":
		return p, fmt.Errorf("%w: the file holds no text; fill or remove it", ErrBrokenLine)
	case strings.ContainsAny(p.ID, "\t\n\r"):
		return p, fmt.Errorf("%w: its name holds a tab or line break, which judgements cannot name; rename it", ErrBrokenLine)
	}
	return p, nil
}

// readPassages reads files of passages; an id that stood earlier is a problem of its line.
func (c *Corpus) readPassages(o ReadOptions, corpus ...string) error {
	seen := map[string]struct{}{}
	for _, file := range corpus {
		err := eachLine(file, o, passageLine(file, func(p Passage) error {
			if _, dup := seen[p.ID]; dup {
				return fmt.Errorf("%w: passage %q stood earlier in the file; keep one of the two", ErrDuplicateID, p.ID)
			}
			seen[p.ID] = struct{}{}
			c.Passages = append(c.Passages, p)
			return nil
		}))
		if err != nil {
			return err
		}
	}
	if len(c.Passages) == 0 {
		return &LineError{File: corpus[0], Err: fmt.Errorf("%w: holds no passage; each line is an object with _id, title and text", ErrBrokenLine)}
	}
	return nil
}

// readQueries reads files of queries. A repeated id is a problem of the line that repeats it.
func readQueries(o ReadOptions, queries ...string) ([]Query, error) {
	var out []Query
	seen := map[string]struct{}{}
	add := func(q Query) error {
		if _, dup := seen[q.ID]; dup {
			return fmt.Errorf("%w: query %q stood earlier in the file; keep one of the two", ErrDuplicateID, q.ID)
		}
		seen[q.ID] = struct{}{}
		out = append(out, q)
		return nil
	}
	for _, file := range queries {
		var err error
		if isTopics(file) {
			err = eachTopic(file, o, add)
		} else {
			err = eachLine(file, o, queryLine(file, add))
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// lower makes all texts lower case.
func (c *Corpus) lower() {
	for i := range c.Passages {
		p := &c.Passages[i]
		p.Title, p.Body = strings.ToLower(p.Title), strings.ToLower(p.Body)
	}
	for i := range c.Queries {
		c.Queries[i].Text = strings.ToLower(c.Queries[i].Text)
	}
}
