package share

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// kind is the kind of a frame.
type kind byte

// Frames that the caller sends.
const (
	kindMethod kind = 'm' // name of the call
	kindArgs   kind = 'a' // its arguments; after them the call runs
	kindCancel kind = 'k' // the caller's context has ended
	kindEnd    kind = 'e' // end of what the caller streams
	kindAbort  kind = 'x' // the caller cannot read on what it streams
)

// Frames that the holder sends.
const (
	kindReply    kind = 'r' // result and error; the last of a call
	kindGone     kind = 'g' // the holder ends without having done the call
	kindProgress kind = 'p' // a report of long work
	kindItem     kind = 'i' // one of the documents of All
	kindWant     kind = 'w' // asks for a kindData, kindEnd or kindAbort
)

// kindData is a part of a byte stream in either direction.
const kindData kind = 'd'

// A message is one or more frames of at most maxFrame bytes each: memory is only
// allocated for data that has arrived. maxMessage limits the arguments and the result of
// one call.
const (
	maxFrame   = 1 << 20
	maxMessage = 1 << 30
	headLen    = 6 // kind, 1 if more frames follow, length in big-endian
)

// errTooLong means that a message exceeds maxMessage.
var errTooLong = fmt.Errorf("more than %d MiB in one call between processes; split it", maxMessage>>20)

// errProtocol means that bytes are not frames of this package.
var errProtocol = errors.New("what the other process sends is not understood")

// wire is a connection to which several goroutines write whole messages.
type wire struct {
	net.Conn
	mu sync.Mutex // held while a message is written
}

// send writes a message.
func (w *wire) send(k kind, payload []byte) error {
	if len(payload) > maxMessage {
		return errTooLong
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		part := payload[:min(len(payload), maxFrame)]
		payload = payload[len(part):]
		head := [headLen]byte{byte(k)}
		if len(payload) > 0 {
			head[1] = 1
		}
		binary.BigEndian.PutUint32(head[2:], uint32(len(part)))
		buf := net.Buffers{head[:], part}
		if _, err := buf.WriteTo(w.Conn); err != nil {
			return err
		}
		if len(payload) == 0 {
			return nil
		}
	}
}

// receive reads a message of at most limit bytes. each, if not nil, is called before
// every frame.
func receive(r io.Reader, limit int, each func()) (kind, []byte, error) {
	var k kind
	var message []byte
	for first := true; ; first = false {
		if each != nil {
			each()
		}
		var head [headLen]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			if !first && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, nil, err
		}
		n := int(binary.BigEndian.Uint32(head[2:]))
		switch {
		case head[1] > 1 || n > maxFrame || n == 0 && head[1] == 1:
			return 0, nil, errProtocol
		case !first && kind(head[0]) != k:
			return 0, nil, errProtocol
		case len(message)+n > limit:
			return 0, nil, errTooLong
		}
		k = kind(head[0])
		at := len(message)
		message = append(message, make([]byte, n)...)
		if _, err := io.ReadFull(r, message[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, nil, err
		}
		if head[1] == 0 {
			return k, message, nil
		}
	}
}

// within sets the deadline of reads and writes of c to d from now; 0 removes it.
func within(c net.Conn, d time.Duration) error {
	if d == 0 {
		return c.SetDeadline(time.Time{})
	}
	return c.SetDeadline(time.Now().Add(d))
}

// wanted is the payload of kindWant: the maximum number of bytes, at most maxFrame.
func wanted(n int) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(min(n, maxFrame)))
}

func readWanted(payload []byte) (int, error) {
	if len(payload) != 4 {
		return 0, errProtocol
	}
	n := int(binary.BigEndian.Uint32(payload))
	if n < 1 || n > maxFrame {
		return 0, errProtocol
	}
	return n, nil
}
