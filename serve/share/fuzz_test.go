package share

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
)

// canned is a connection of which the other end has sent some bytes, and reads all.
type canned struct {
	in  *bytes.Reader
	out bytes.Buffer
}

func (c *canned) Read(p []byte) (int, error)       { return c.in.Read(p) }
func (c *canned) Write(p []byte) (int, error)      { return c.out.Write(p) }
func (c *canned) Close() error                     { return nil }
func (c *canned) LocalAddr() net.Addr              { return nil }
func (c *canned) RemoteAddr() net.Addr             { return nil }
func (c *canned) SetDeadline(time.Time) error      { return nil }
func (c *canned) SetReadDeadline(time.Time) error  { return nil }
func (c *canned) SetWriteDeadline(time.Time) error { return nil }

// empty is a closed database that still reads what is imported.
type empty struct{ engine.Database }

func (empty) Import(_ context.Context, x *archive.Exported) (r engine.AddResult, err error) {
	_, err = io.Copy(io.Discard, x.Unread())
	return r, err
}

// FuzzPeer: no bytes of a peer end the holder, or keep it.
func FuzzPeer(f *testing.F) {
	var greeted bytes.Buffer
	if err := writeGreeting(&greeted, nil); err != nil {
		f.Fatal(err)
	}
	message := func(name string, args any, more ...[]byte) []byte {
		c := &canned{in: bytes.NewReader(nil)}
		w := &wire{Conn: c}
		raw, err := encoding.Marshal(args)
		if err == nil {
			err = w.send(kindMethod, []byte(name))
		}
		if err == nil {
			err = w.send(kindArgs, raw)
		}
		if err != nil {
			f.Fatal(err)
		}
		return append(c.out.Bytes(), bytes.Join(more, nil)...)
	}
	d, err := whole.to(engine.Document{ID: "a", Text: "words", Vector: []float32{1, 2}, Metadata: map[string]any{"a": 1}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(greeted.Bytes(), false)
	for _, m := range [][]byte{
		message("Upsert", []document{d}), message("Patch", []meta[engine.Patch]{{engine.Patch{ID: "a"}, []byte(`{"a":null}`)}}),
		message("Search", query{}), message("SearchBatch", []query{{}}), message("Explain", explainArgs{}), message("Fit", fitArgs{}), message("Count", engine.Filter{}),
		message("Import", nothing{}, []byte("d\x00\x00\x00\x00\x03{}\n"), []byte("e\x00\x00\x00\x00\x00")), message("Export", archive.ExportOptions{}), message("Delete", []string{"a"}),
	} {
		f.Add(m, true)
	}
	f.Fuzz(func(t *testing.T, sent []byte, greets bool) {
		if greets {
			sent = append(bytes.Clone(greeted.Bytes()), sent...)
		}
		s := &shared{db: empty{&Joined{closed: true}}, greet: greetWithin, frame: frameWithin, holder: self("", ""), conns: map[*wire]bool{}}
		s.root, s.cancel = context.WithCancel(context.Background())
		defer s.cancel()
		done := make(chan error, 1)
		go func() { done <- s.serve(&wire{Conn: &canned{in: bytes.NewReader(sent)}}) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("the holder does not end")
		}
	})
}

// FuzzAnswer: no bytes of a holder end the caller, and what is read is written as it was.
func FuzzAnswer(f *testing.F) {
	for _, v := range []any{result{Hits: []meta[engine.Hit]{{}}}, document{}, meta[engine.Explanation]{}, engine.Stats{}, []result{{}}} {
		raw, err := encoding.Marshal(v)
		if err == nil {
			raw, err = encoding.Marshal(reply{raw, faultOf(&engine.DocumentError{ID: "a", Err: engine.ErrInvalid})})
		}
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ctx := context.Background()
		if w, err := replied[result](ctx, raw); err == nil {
			if r, err := found.from(w); err == nil {
				if _, err := found.to(r); err != nil {
					t.Errorf("%+v does not cross back: %v", r, err)
				}
			}
		}
		if w, err := replied[document](ctx, raw); err == nil {
			_, _ = whole.from(w)
		}
		_, _ = replied[meta[engine.Explanation]](ctx, raw)
		_, _ = replied[engine.Stats](ctx, raw)
		_, _ = replied[[]result](ctx, raw)
		_, _, _ = receive(bytes.NewReader(raw), 1<<16, nil)
		_, _ = readGreeting(bytes.NewReader(raw))
	})
}
