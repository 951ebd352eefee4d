package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// messages removes invalid messages from the input of a stream, since the SDK ends a session at the first
// one. Each is answered with a JSON-RPC error instead. A message may span lines, and a line may hold
// several.
type messages struct {
	in              *bufio.Reader
	close           func() error
	out             io.Writer // for errors
	ready           []byte    // messages that were not read yet, a line each
	open            []byte    // the start of a message whose end is on a later line
	depth           int       // brackets that are open in it
	quoted, escaped bool      // at its end: within a string, after a backslash there
	err             error     // of in

	batches atomic.Bool // there was one
}

func newMessages(in io.Reader, out io.Writer) *messages {
	m := &messages{in: bufio.NewReader(in), out: out, close: func() error { return nil }}
	if c, ok := in.(io.Closer); ok {
		m.close = c.Close
	}
	return m
}

// Close implements io.Closer.
func (m *messages) Close() error { return m.close() }

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.ready) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		line, err := m.line()
		m.err = err
		if err := m.take(line); err != nil {
			return 0, err
		}
		if m.err != nil && len(m.open) > 0 {
			m.open = nil
			if err := m.refuse(nil, jsonrpc.CodeParseError, "the input ends within a message"); err != nil {
				return 0, err
			}
		}
	}
	n := copy(p, m.ready)
	m.ready = m.ready[n:]
	return n, nil
}

// line reads a line. If a line makes its message longer than MaxMessage, the message is refused,
// and the line is returned empty.
func (m *messages) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := m.in.ReadSlice('\n')
		if long = long || len(m.open)+len(line)+len(part) > MaxMessage; long {
			line, m.open = nil, nil
		} else {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			return nil, errors.Join(m.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message of more than %d bytes; send smaller ones", MaxMessage)), err)
		}
		return line, err
	}
}

// take adds the messages that a line completes or contains to the ready ones. Error: that of
// out.
func (m *messages) take(line []byte) error {
	if len(m.open) > 0 {
		if !complete(line) {
			if m.extend(line); m.depth > 0 {
				return nil
			}
			line, m.open = m.open, nil
		} else if err := m.refuse(nil, jsonrpc.CodeParseError, "a message without its end"); err != nil {
			return err
		}
	}
	m.open = nil
	values, rest, err := split(line)
	if err := m.accept(values); err != nil {
		return err
	}
	if err != nil {
		return m.refuse(nil, jsonrpc.CodeParseError, err.Error())
	}
	m.depth, m.quoted, m.escaped = 0, false, false
	m.extend(rest)
	return nil
}

// complete reports whether a line is one message or several.
func complete(line []byte) bool {
	if line = bytes.TrimSpace(line); len(line) == 0 || !bytes.ContainsAny(line[:1], "{[") || !bytes.ContainsAny(line[len(line)-1:], "}]") {
		return false
	}
	values, rest, err := split(line)
	if err != nil || len(rest) > 0 || len(values) == 0 {
		return false
	}
	return !slices.ContainsFunc(values, func(v json.RawMessage) bool { _, err := check(v); return err != nil })
}

// extend adds text to the open message, and counts its open brackets.
func (m *messages) extend(text []byte) {
	m.open = append(m.open, text...)
	for _, c := range text {
		switch {
		case m.escaped:
			m.escaped = false
		case m.quoted:
			m.escaped, m.quoted = c == '\\', c != '"'
		case c == '"':
			m.quoted = true
		case c == '{' || c == '[':
			m.depth++
		case c == '}' || c == ']':
			m.depth--
		}
	}
}

// split cuts text into complete JSON values and the start of another.
func split(text []byte) (values []json.RawMessage, rest []byte, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		at := d.InputOffset()
		var v json.RawMessage
		switch err := d.Decode(&v); {
		case err == io.EOF:
			return values, nil, nil
		case err == io.ErrUnexpectedEOF:
			return values, bytes.Clone(text[at:]), nil
		case err != nil:
			return values, nil, err
		}
		values = append(values, v)
	}
}

// accept makes values available if they are messages.
func (m *messages) accept(values []json.RawMessage) error {
	for _, v := range values {
		if id, err := check(v); err != nil {
			if err := m.refuse(id, jsonrpc.CodeInvalidRequest, err.Error()); err != nil {
				return err
			}
			continue
		}
		if v[0] == '[' {
			m.batches.Store(true)
		}
		if bytes.ContainsAny(v, "\r\n") { // which the SDK takes for its end
			var line bytes.Buffer
			if err := json.Compact(&line, v); err != nil {
				return err
			}
			v = line.Bytes()
		}
		m.ready = append(append(m.ready, v...), '\n')
	}
	return nil
}

// check returns why v is not a message or a batch of messages, and its id.
func check(v json.RawMessage) (id json.RawMessage, err error) {
	var batch []json.RawMessage
	if v[0] == '[' {
		if err := json.Unmarshal(v, &batch); err != nil {
			return nil, err
		}
		if len(batch) == 0 {
			return nil, errors.New("a batch without messages")
		}
	} else {
		batch = []json.RawMessage{v}
	}
	for _, one := range batch {
		if _, err := jsonrpc.DecodeMessage(one); err != nil {
			var has struct {
				ID json.RawMessage `json:"id"`
			}
			if json.Unmarshal(one, &has) == nil && len(has.ID) > 0 && has.ID[0] != '{' && has.ID[0] != '[' {
				id = has.ID
			}
			return id, err
		}
	}
	return nil, nil
}

// refuse answers text that is not a message.
func (m *messages) refuse(id json.RawMessage, code int64, why string) error {
	if id == nil {
		id = json.RawMessage("null")
	}
	answer, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, &jsonrpc.Error{Code: code, Message: why}})
	if err != nil {
		return err
	}
	_, err = m.out.Write(append(answer, '\n'))
	return err
}

// oneByOne is a writer for several goroutines. Close does not close it, since the caller owns
// it.
type oneByOne struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *oneByOne) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (*oneByOne) Close() error { return nil }
