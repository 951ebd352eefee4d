package search

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/limit"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/value"
)

// A query that is nothing but the name or the path of a file asks for the file, and not for the texts that mention it.

// fileName is what such a query looks like: a name with an extension, or a path; and perhaps a line, as compilers write it.
var fileName = regexp.MustCompile(`^(.*\.[\pL][\pL\pN_+-]{0,9}|\S*/[^/\s]+)(?::(\d{1,7})(?::\d+)?)?$`)

const (
	mostFiles   = 3    // of one name that become the first hits
	mostHolding = 5000 // documents with the words of the name whose paths are compared
)

// askedFiles are the chunks of the files for which a query asks, the one with the shortest path first: those with the line of
// the query, else the first ones. They are nil if the query names no file, and not if there is none of the name.
func (r *Run) askedFiles(ctx context.Context) ([]uint64, error) {
	if len(r.typed) > limit.IDBytes {
		return nil, nil
	}
	slashes := func(s string) string { return strings.ReplaceAll(s, `\`, "/") } // of Windows
	m := fileName.FindStringSubmatch(slashes(strings.Trim(r.typed, " \t\n\"“”`'")))
	if m == nil {
		return nil, nil
	}
	asked := strings.ToLower(path.Clean(m[1]))
	holding, err := r.S.Words.Having(ctx, nil, r.AnalyseQuery(path.Base(m[1])))
	if err != nil {
		return nil, err
	}
	paths, err := r.inColumns(ctx, metadata.File+".path", nil)
	if err != nil {
		return nil, err
	}
	roots, err := r.inColumns(ctx, metadata.File+".root", nil)
	if err != nil {
		return nil, err
	}
	of := func(values valuesOf, ord uint64) (s string, err error) {
		err = values(ord, func(_ value.Kind, text []byte) { s = string(text) })
		return s, err
	}
	type file struct {
		path string
		ord  uint64
	}
	holding = slices.DeleteFunc(holding, func(id uint64) bool { return chunk.Number(id) > 0 })
	var files []file
	for i, id := range holding[:min(len(holding), mostHolding)] {
		if i%scored == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ord := chunk.Ord(id)
		if !r.S.Live.Has(ord) || !r.Allows(id) {
			continue
		}
		p, err := of(paths, ord)
		if err != nil {
			return nil, err
		}
		at := strings.ToLower(p)
		if at != asked && !strings.HasSuffix(at, "/"+asked) {
			root, err := of(roots, ord)
			if err != nil {
				return nil, err
			}
			if at == "" || root == "" || strings.ToLower(path.Join(slashes(root), p)) != asked {
				continue
			}
		}
		files = append(files, file{at, ord})
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(cmp.Compare(len(a.path), len(b.path)), cmp.Compare(a.ord, b.ord)) })
	ids := make([]uint64, min(len(files), mostFiles))
	for i := range ids {
		if ids[i], err = r.chunkOfLine(ctx, files[i].ord, m[2]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// chunkOfLine is the chunk of a document that has a line of its file; the first one if there is no such line, or the text has other
// lines than the file.
func (r *Run) chunkOfLine(ctx context.Context, ord uint64, line string) (uint64, error) {
	first := chunk.ID(ord, 0)
	n, err := strconv.Atoi(line)
	if err != nil {
		return first, nil
	}
	d, err := r.text(ctx, ord)
	if err != nil {
		return 0, err
	}
	m, err := metadata.Parse(d.Metadata)
	if err != nil {
		return 0, err
	}
	file, _ := metadata.OfFile(m)
	number, _ := file["line"].(json.Number)
	begin, err := strconv.Atoi(number.String())
	if _, other := file["line_end"]; other || err != nil {
		return first, nil
	}
	at := 0
	for ; n > begin; n-- {
		next := strings.IndexByte(d.Text[at:], '\n')
		if next < 0 {
			return first, nil
		}
		at += next + 1
	}
	return chunk.ID(ord, chunkAt(d, at, 1)), nil
}
