package mcp

import (
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/engine"
)

// placesPage is how many documents an answer with places names unless k says otherwise.
const placesPage = maxHits

// placeTokens is what a place takes besides its text: the number of its line, and the signs around it.
const placeTokens = 4

type placeLine struct {
	Line int    `json:"line" jsonschema:"line of the file, or of the document's text, from 1; 0 if the kind of file has no lines"`
	Text string `json:"text"`
}

// placesOf are the lines of a hit that so many tokens hold, one at least, how many are left out, and the tokens.
func (s *Server) placesOf(h engine.Hit, room int) (lines []placeLine, left, tokens int) {
	for _, p := range h.Places {
		one := placeLine{p.Line, strings.TrimSpace(p.Text)}
		part := h
		part.Lines = [2]int{p.Line, p.Line}
		if _, at := s.placeOf(part); h.Media == "" {
			one.Line = at[0]
		}
		n := placeTokens + tokensOf(one.Text)
		if len(lines) > 0 && tokens+n > room {
			break
		}
		lines, tokens = append(lines, one), tokens+n
	}
	return lines, len(h.Places) - len(lines), tokens
}

// writePlaces writes the lines of a hit below its place.
func writePlaces(b *strings.Builder, h searchHit) {
	for _, p := range h.Places {
		if b.WriteString("  "); p.Line > 0 {
			fmt.Fprintf(b, "%d: ", p.Line)
		}
		b.WriteString(oneLine(p.Text) + "\n")
	}
	if h.MorePlaces > 0 {
		fmt.Fprintf(b, "  and %d more lines\n", h.MorePlaces)
	}
	b.WriteString("\n")
}
