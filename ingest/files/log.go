package files

import (
	"bytes"
	"io"
	"strings"
)

// logShare is the part of MaxBytes at which a log is cut, since long logs mostly repeat themselves.
const logShare = 8

// readLog reads the beginning and the end of a long log, if they contain no NUL bytes. done is false for other files.
func (s *File) readLog() (done bool, err error) {
	most := s.o.MaxBytes / logShare
	if s.at == nil || s.size <= most || !strings.HasSuffix(baseName(s.name), ".log") {
		return false, nil
	}
	head, tail := make([]byte, most/2), make([]byte, most/2)
	for at, part := range map[int64][]byte{0: head, s.size - int64(len(tail)): tail} {
		if n, err := s.ReadAt(part, at); n < len(part) {
			if s.err != nil {
				return true, s.err
			}
			return false, err
		}
	}
	end, begin := bytes.LastIndexByte(head, '\n'), bytes.IndexByte(tail, '\n')
	if end < 0 || begin < 0 || bytes.IndexByte(head, 0) >= 0 || bytes.IndexByte(tail, 0) >= 0 {
		return false, nil
	}
	lines := 1
	buf := make([]byte, sampleBytes)
	for at := int64(0); at < s.size; {
		n, err := s.ReadAt(buf, at)
		if n == 0 || err != nil && err != io.EOF {
			return true, err
		}
		lines += bytes.Count(buf[:n], []byte("\n"))
		at += int64(n)
	}
	if bytes.HasSuffix(tail, []byte("\n")) {
		lines--
	}
	joined := append(append(head[:end+1:end+1], "…\n"...), tail[begin+1:]...)
	r, err := s.decodedFrom(bytes.NewReader(joined), bytes.NewReader(joined), int64(len(joined)))
	if err != nil {
		return true, err
	}
	text, err := s.all(r)
	if err != nil {
		return true, err
	}
	s.Warn(0, "the log is longer than %s: its beginning and its end are stored; split it to store all", bytesText(most))
	return true, s.One(Record{Document: document(printed(strings.ReplaceAll(string(text), "\r\n", "\n"))), From: 1, To: lines})
}
