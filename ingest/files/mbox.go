package files

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
)

// mboxFrom is the line before a message in a mailbox: its sender and date.
var mboxFrom = regexp.MustCompile(`^From \S.*\d\d:\d\d.*\d{4}`)

// readMbox reads a mailbox: one document a message. Its id is that of the message, if it has one.
func readMbox(s *File) error {
	in := bufio.NewReaderSize(s, 64<<10)
	var message bytes.Buffer
	limit := int(expansion * s.o.MaxBytes)
	begin, line, over := 0, 0, false // line of the message that is read, 0 before the first
	give := func(last int) error {
		if begin == 0 {
			return nil
		}
		s.n++
		if over {
			s.Warn(begin, "the message is longer than %s; the rest is left out", bytesText(int64(limit)))
		}
		rec, err := s.message(bytes.NewReader(message.Bytes()), begin)
		rec.From, rec.To = begin, max(begin, last)
		if id, ok := rec.Metadata["message_id"].(string); ok {
			rec.ID = id
		}
		message.Reset()
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		return s.record(rec, err)
	}
	blank, start := true, true // the line before is empty; a line starts here
	for {
		part, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && err != io.EOF {
			return err
		}
		if len(part) > 0 {
			text := part
			if start {
				line++
				switch {
				case blank && mboxFrom.Match(part) || line == 1 && bytes.HasPrefix(part, []byte("From ")):
					if err := give(line - 1); err != nil {
						return err
					}
					begin, over, text = line, false, nil
				case begin == 0 && len(bytes.TrimSpace(part)) > 0:
					return Errorf(ErrMalformed, `not a mailbox: it does not begin with a line such as "From ann@example.org Mon Jan  1 10:00:00 2024"`)
				case strings.HasPrefix(strings.TrimLeft(string(part[:min(len(part), 100)]), ">"), "From "):
					text = bytes.TrimPrefix(part, []byte(">"))
				}
			}
			blank = start && len(bytes.TrimRight(part, "\r\n")) == 0
			start = part[len(part)-1] == '\n'
			if room := limit - message.Len(); begin > 0 && len(text) > room {
				text, over = text[:max(0, room)], true
			}
			message.Write(text)
		}
		if err == io.EOF {
			return give(line)
		}
	}
}
