package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/location"
	"github.com/lexsem/lexsem/internal/text"
)

// Escape sequences of the few styles in use.
const (
	bold  = "1"
	faint = "2"
	green = "32"
	red   = "31"
)

// style wraps s in an escape sequence if colours are wanted: Env.coloured.
func (a *app) style(code, s string) string {
	if !a.coloured() || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

var whiteSpace = regexp.MustCompile(`\s+`)

// flat puts s on one line and escapes control characters.
func flat(s string) string {
	return visible(strings.TrimSpace(whiteSpace.ReplaceAllString(s, " ")))
}

// writeHits prints hits for people: rank, score and id, then the title, the location, and two lines of the
// text from its span on.
func writeHits(w io.Writer, a *app, query string, res engine.Result) {
	if len(res.Hits) == 0 {
		fmt.Fprintln(w, "no hits: "+whyNone(res.Trace))
		return
	}
	width := min(a.Width, 100)
	for _, h := range res.Hits {
		place := ""
		if h.Chunks > 1 {
			place = fmt.Sprintf("  %d/%d", h.Chunk+1, h.Chunks)
		}
		if h.Reranked {
			place += fmt.Sprintf("  rerank %.3f", h.Rerank)
		}
		fmt.Fprintf(w, "%s  %s  %s%s\n", a.style(faint, fmt.Sprintf("%2d", h.Rank)), fmt.Sprintf("%.3f", h.Score), a.style(bold, clipColumns(flat(h.ID), width-11-len(place))), a.style(faint, place))
		if h.Title != "" && h.Title != h.ID {
			fmt.Fprintf(w, "    %s\n", clipColumns(flat(h.Title), width-4))
		}
		if at := placeOf(h); at != "" {
			if h.Symbol != "" {
				at += "  " + h.Symbol
			}
			fmt.Fprintf(w, "    %s\n", a.style(faint, clipColumns(flat(at), width-4)))
		}
		if why := staleWords[location.Stale(h.Metadata)]; why != "" {
			fmt.Fprintf(w, "    %s; `lexsem index` reads its files again\n", why)
		}
		if n := len(h.Duplicates); n > 0 {
			fmt.Fprintf(w, "    %s\n", a.style(faint, clipColumns("near-duplicates: "+flat(strings.Join(h.Duplicates, ", ")), width-4)))
		}
		for _, line := range snippet(h, width-4, 2) {
			fmt.Fprintf(w, "    %s\n", a.highlight(line, query))
		}
	}
}

// staleWords say what location.Stale does.
var staleWords = map[string]string{location.Changed: "the file has changed since", location.Gone: "the file is gone"}

// staleIDs are the documents of hits whose files are others now.
func staleIDs(hits []engine.Hit) (ids []string) {
	for _, h := range hits {
		if location.Stale(h.Metadata) != "" && !slices.Contains(ids, h.ID) {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

// writePlaces prints the lines of a query for places as grep does, and below them how many documents there are, and which are
// stale.
func writePlaces(w io.Writer, a *app, res engine.Result, k int) error {
	lines := 0
	var stale []string
	for _, h := range res.Hits {
		for _, p := range h.Places {
			at := h
			at.Lines, at.Span = [2]int{p.Line, p.Line}, [2]int{}
			where := cmp.Or(placeOf(at), fmt.Sprintf("%s:%d", h.ID, p.Line))
			fmt.Fprintf(w, "%s: %s\n", a.style(faint, visible(where)), visible(p.Text))
			lines++
		}
		if why := staleWords[location.Stale(h.Metadata)]; why != "" {
			stale = append(stale, h.ID+": "+why)
		}
	}
	fmt.Fprintf(w, "%s in %s\n", count(lines, "line", "lines"), count(len(res.Hits), "document", "documents"))
	if len(res.Hits) == k && res.Trace.Filtered > k {
		fmt.Fprintf(w, "%s more have it; a larger -k or --filter shows them\n", count(res.Trace.Filtered-k, "document", "documents"))
	}
	for _, s := range stale {
		fmt.Fprintf(w, "%s; `lexsem index` reads its files again\n", visible(s))
	}
	return nil
}

// writeFor says what was searched for besides what was typed.
func writeFor(w io.Writer, a *app, repaired string) {
	if repaired != "" {
		fmt.Fprintf(w, "for: %s\n", a.style(bold, flat(repaired)))
	}
}

// placeOf is the location of a hit's span, or of the whole hit if it has no span, in a form that editors read:
// path:line or path:from-to. The path is relative if the file is below the working folder. It is "" for documents that
// are not from a file.
func placeOf(h engine.Hit) string {
	path, lines, ok := location.OfSpan(h)
	if !ok {
		return ""
	}
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
	}
	switch {
	case lines[0] == 0:
		return path
	case lines[0] == lines[1]:
		return fmt.Sprintf("%s:%d", path, lines[0])
	}
	return fmt.Sprintf("%s:%d-%d", path, lines[0], lines[1])
}

// whyNone returns the reason why a search found nothing.
func whyNone(t engine.Trace) string {
	switch {
	case t.Documents == 0:
		return "the database is empty"
	case t.Filtered == 0 && len(t.Required)+len(t.Excluded) > 0:
		return "no document meets the operators of the query, and the filter if there is one; --plain searches without operators"
	case t.Filtered == 0:
		return "no document matches the filter"
	}
	return "no document contains a word of the query"
}

// snippet returns at most lines lines of a hit's text, each at most width columns wide: its beginning if that
// contains the span, else the text from the span on.
func snippet(h engine.Hit, width, lines int) []string {
	if (encoder.Input{Media: h.Media}).IsImage() {
		return nil // its text are visual words
	}
	rest, room := flat(h.Text), width*lines
	if h.Span[1] > 0 && len(rest) > room {
		from, to := h.Span[0]-h.Start, h.Span[1]-h.Start
		if len(flat(h.Text[:to])) > room*3/4 && flat(h.Text[:from]) != "" {
			rest = "…" + flat(h.Text[from:])
		}
	}
	var out []string
	for len(out) < lines && rest != "" {
		line, tail := breakLine(rest, width)
		if tail != "" && len(out) == lines-1 {
			line = clipColumns(line+" "+tail, width)
			tail = ""
		}
		out, rest = append(out, line), tail
	}
	return out
}

// breakLine cuts s at the last space within width columns.
func breakLine(s string, width int) (line, rest string) {
	r := []rune(s)
	if len(r) <= width {
		return s, ""
	}
	cut := width
	for i := width; i > width/2; i-- {
		if r[i] == ' ' {
			cut = i
			break
		}
	}
	return strings.TrimSpace(string(r[:cut])), strings.TrimSpace(string(r[cut:]))
}

func contentWords(query string) map[string]bool {
	out := map[string]bool{}
	for _, w := range text.Words(nil, query) {
		if !text.Stop(w.Lower) {
			out[w.Lower] = true
		}
	}
	return out
}

// highlight sets the query's content words in bold.
func (a *app) highlight(line, query string) string {
	if a.style(bold, "x") == "x" {
		return line
	}
	wanted := contentWords(query)
	var b strings.Builder
	at := 0
	for _, w := range text.Words(nil, line) {
		if wanted[w.Lower] {
			b.WriteString(line[at:w.Start] + a.style(bold, line[w.Start:w.End]))
			at = w.End
		}
	}
	return b.String() + line[at:]
}
