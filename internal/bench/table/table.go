// Package table writes the figures of the bench as text: [Align] for the terminal, [Cell] for Markdown.
package table

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Percent writes a share in hundredths, with one decimal.
func Percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) }

// Cell keeps a name from ending a cell of Markdown or starting markup.
func Cell(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "`", "\\`", "<", "&lt;", "\n", " ").Replace(s)
}

// Align writes rows of equal length with two blanks between columns,
// the first left ones flush left, the others flush right.
func Align(b *strings.Builder, rows [][]string, left int) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if i < left {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
