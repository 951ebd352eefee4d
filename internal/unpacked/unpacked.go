// Package unpacked reads what gzip packed, and other bytes as they are. Start with [Reader].
package unpacked

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
)

// Reader reads r, which errors call name. It reads nothing before the first Read, as a terminal may wait.
func Reader(r io.Reader, name string) io.Reader {
	return &reader{name: name, packed: bufio.NewReader(r)}
}

type reader struct {
	name   string
	packed *bufio.Reader
	plain  io.Reader    // nil until the first Read
	gzip   *gzip.Reader // nil if gzip did not pack it
}

func (u *reader) Read(p []byte) (n int, err error) {
	if u.plain == nil {
		u.plain = u.packed
		if magic, _ := u.packed.Peek(2); string(magic) == "\x1f\x8b" {
			u.gzip = new(gzip.Reader)
			err = u.gzip.Reset(u.packed)
			u.plain = u.gzip
		}
	}
	if err == nil {
		n, err = u.plain.Read(p)
	}
	if u.gzip != nil && err != nil && err != io.EOF {
		err = fmt.Errorf("%s is damaged; pack it with gzip again: %w", u.name, err)
	}
	return n, err
}
