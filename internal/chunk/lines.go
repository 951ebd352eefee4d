package chunk

import "strings"

// Lines tells the lines of a text. Each call counts from the place of the call before, so all chunks of a text cost one
// pass, and not one for each.
type Lines struct {
	Text string

	at, ends int // ends of lines before at
}

// At is the line, from 1, of byte at.
func (l *Lines) At(at int) int {
	if at < l.at {
		l.at, l.ends = 0, 0
	}
	l.ends += strings.Count(l.Text[l.at:at], "\n")
	l.at = at
	return 1 + l.ends
}
