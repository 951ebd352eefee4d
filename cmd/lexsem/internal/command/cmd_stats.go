package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/answer"
)

var cmdStats = command{
	name:    "stats",
	summary: "show what a database holds",
	about:   "Reads only the database: neither runtime nor model is needed.",
	examples: []string{
		"lexsem stats --db notes.db --space",
		"lexsem stats --db notes.db --json | jq .documents",
	},
	declare: func(f *flags) action {
		asJSON := f.bool("json", "print as JSON")
		space := f.bool("space", "say what takes the disk space, and what the caches of all databases take")
		return func(ctx context.Context, a *app, _ []string) error { return runStats(ctx, a, *asJSON, *space) }
	},
}

// statsSummary is the output of stats --json.
type statsSummary struct {
	answer.Stats
	HeldBy *statsHolder     `json:"held_by,omitempty"`
	Space  map[string]int64 `json:"space,omitempty"` // bytes on disk, by part
}

// statsHolder is another process that has the database open and answered.
type statsHolder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Model   string    `json:"model"` // "" if it was opened without one
	Since   time.Time `json:"since"`
}

func (h statsHolder) String() string {
	return fmt.Sprintf("process %d (%s) since %s", h.PID, h.Command, h.Since.Format(time.RFC3339))
}

// heldBy is nil if this process has the database open.
func heldBy(db *database) *statsHolder {
	h, other := db.Holder()
	if !other {
		return nil
	}
	return &statsHolder{h.PID, h.Command, h.Model, h.Since}
}

// statsOf returns the stats of a database, and which other process has it open.
func (a *app) statsOf(ctx context.Context, dir string) (engine.Stats, *statsHolder, error) {
	db, err := a.openBare(ctx, dir, engine.Options{ReadOnly: true})
	if err != nil {
		return engine.Stats{}, nil, err
	}
	stats, err := db.Stats(ctx)
	holder := heldBy(db)
	return stats, holder, errors.Join(err, db.close())
}

func runStats(ctx context.Context, a *app, asJSON, space bool) error {
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	stats, holder, err := a.statsOf(ctx, dir)
	if err != nil {
		return err
	}
	s := statsSummary{Stats: answer.NewStats(stats), HeldBy: holder}
	if space {
		if s.Space, err = a.spaceOf(stats); err != nil {
			return err
		}
	}
	if asJSON {
		return json.NewEncoder(a.Stdout).Encode(s)
	}
	writeStats(a.Stdout, s)
	writeSpace(a.Stdout, s.Space)
	return nil
}

// formatShort is the format from which on vectors of a model take two bytes a component.
const formatShort = 5

// Parts of spaceOf besides those of store.DiskParts.
const (
	partVectors = "tables: vectors"
	partStates  = "tables: token states"
	partDead    = "tables: dead versions"
	partTables  = "tables: all else"
	partCache   = "cache of vectors"
)

// spaceOf is the bytes on disk of each part: the tables by their content, and the cache of vectors, which all databases
// share.
func (a *app) spaceOf(s engine.Stats) (map[string]int64, error) {
	parts := maps.Clone(s.Disk)
	tables := parts["tables"]
	delete(parts, "tables")
	component := int64(4)
	if s.FormatMajor >= formatShort && s.Encoder.Model != "" {
		component = 2
	}
	left := tables
	take := func(part string, n int64) {
		parts[part] = min(n, left)
		left -= parts[part]
	}
	take(partVectors, component*int64(s.Chunks-s.Waiting)*int64(s.Dim))
	take(partStates, s.TokenStates.Bytes)
	take(partDead, s.DeadBytes)
	take(partTables, left)
	parts[partCache] = 0
	dir, err := a.vectorCacheDir()
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return nil, err
		}
		parts[partCache] += info.Size()
	}
	return parts, nil
}

// writeSpace prints the parts, the largest first.
func writeSpace(w io.Writer, parts map[string]int64) {
	byBytes := func(a, b string) int { return cmp.Or(cmp.Compare(parts[b], parts[a]), cmp.Compare(a, b)) }
	for _, part := range slices.SortedFunc(maps.Keys(parts), byBytes) {
		fmt.Fprintf(w, "%10s  %s\n", bytesOf(parts[part]), part)
	}
}

func writeStats(w io.Writer, s statsSummary) {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-11s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("database", "%s, format %d, %s", s.DB, s.FormatMajor, bytesOf(s.DiskBytes))
	if s.MaxTokens > 0 {
		row("documents", "%s, %s cut at %d tokens, commit %d", thousands(s.Documents), thousands(s.Truncated), s.MaxTokens, s.Seq)
	} else {
		row("documents", "%s, commit %d", thousands(s.Documents), s.Seq)
	}
	if s.HeldBy != nil {
		row("open in", "%v, which answers other commands", *s.HeldBy)
	}
	row("space", "%s live, %s dead, about %s to be had by `lexsem compact`", bytesOf(s.LiveBytes), bytesOf(s.DeadBytes), bytesOf(s.Reclaimable))
	if s.Chunks > s.Documents {
		row("chunks", "%s, long documents in several", thousands(s.Chunks))
	}
	if s.Waiting > 0 {
		row("vectors", "%s of %s passages have one; the others follow while a process has the database open for writing", thousands(s.Chunks-s.Waiting), thousands(s.Chunks))
	}
	switch {
	case s.Model == "":
		row("encoder", "none: vectors alone, %d dimensions", s.Dim)
	case s.Pooling == "":
		row("encoder", "%s, %d dimensions", s.Model, s.Dim)
	default:
		row("encoder", "%s, %d dimensions, %s, %s pooling", s.Model, s.Dim, s.Precision, s.Pooling)
	}
	row("index", "%s, %s", s.Index, s.Metric)
	if s.Kind == engine.KindCode {
		row("kind", "source code: file names and definitions count, too")
	}
	m := s.Memory
	row("memory", "%s vectors, %s codes, %s graph and tables, %s words, %s metadata, %s rlr, %s local bridges", bytesOf(m.Vectors), bytesOf(m.Codes),
		bytesOf(m.Graph), bytesOf(m.Words), bytesOf(m.Columns), bytesOf(m.RLR), bytesOf(m.Local))
	if s.MaxMemory > 0 {
		without := ""
		if len(s.Foregone) > 0 {
			without = "; without " + strings.Join(s.Foregone, " and ")
		}
		row("", "at most %s besides the vectors%s", bytesOf(s.MaxMemory), without)
	}
	if k := s.TokenStates; k.Chunks > 0 || k.Mode != engine.TokenStatesOff {
		more := ""
		if k.Note != "" {
			more = "; " + k.Note
		}
		row("tokens", "%s: %s of %s chunks with token states, %s%s", k.Mode, thousands(k.Chunks), thousands(s.Chunks), bytesOf(k.Bytes), more)
	}
	if s.Note != "" {
		row("note", "%s", s.Note)
	}
	if n := problemCounts(s.Problems); n != "" {
		row("problems", "%s", n)
		for _, p := range s.Problems.First[:min(len(s.Problems.First), 3)] {
			row("", "%s", problemLine(p))
		}
	}
	if !s.Problems.LeftOut.Zero() {
		row("left out", "%s", leftOutWords(s.Problems.LeftOut))
	}
	if s.Reembedding {
		row("reembed", "a change of model is under way, or was interrupted: `lexsem reembed` goes on, with --discard forgets it")
	}
	if s.Default == engine.VariantNone {
		row("queries", "as they are: where lengths count nothing is modulated")
	} else {
		row("queries", "modulated by %s unless --variant says otherwise", s.Default)
	}
	for _, b := range s.Bridges {
		seen := "all passages seen"
		if b.Unfitted > 0 {
			seen = fmt.Sprintf("%s since: run `lexsem fit` again", count(b.Unfitted, "passage came", "passages came"))
		}
		if b.Passages == 0 {
			row("bridge", "%s, trained elsewhere", b.Variant)
			continue
		}
		row("bridge", "%s, fitted on %s passages, %s", b.Variant, thousands(b.Passages), seen)
		for _, p := range b.Probes {
			row("", "%-8s nDCG@1 %.1f → %.1f on %s queries drawn from the corpus", p.Task, 100*p.Dense, 100*p.Modified, thousands(p.Queries))
		}
	}
}

// bytesOf prints a size with three digits, four from 1000 to 1023.
func bytesOf(n int64) string {
	x, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if x < 1024 {
			break
		}
		x, unit = x/1024, u
	}
	switch {
	case unit == "B":
		return fmt.Sprintf("%d B", n)
	case x >= 999.5: // which %.3g writes with an exponent
		return fmt.Sprintf("%.0f %s", x, unit)
	}
	return fmt.Sprintf("%.3g %s", x, unit)
}
