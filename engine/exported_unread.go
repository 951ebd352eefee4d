package engine

import "io"

// Unread returns the rest of the export as bytes for NewExported in another process. Lines already read become empty
// lines, so that errors keep the original line numbers. Do not use x afterwards.
//
// Errors: those of the original reader, and a *LineError for a line that is too long. Memory: the longest line.
func (x *Exported) Unread() io.Reader { return &unread{x: x, line: 1} }

type unread struct {
	x    *Exported
	line int // number of the next one to be given
	rest []byte
}

func (u *unread) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(u.rest) == 0 {
		line := u.x.raw
		if u.x.first == nil {
			var err error
			if line, err = u.x.lines.next(); err != nil {
				return 0, err
			}
		}
		u.x.first = nil
		for ; u.line < u.x.lines.line; u.line++ {
			u.rest = append(u.rest, '\n')
		}
		u.rest = append(append(u.rest, line...), '\n')
		u.line++
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}
