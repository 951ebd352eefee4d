package share

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
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

// empty is a database that takes and gives nothing.
type empty struct{}

func (empty) Add(context.Context, []engine.Document) (r engine.AddResult, err error)    { return }
func (empty) Upsert(context.Context, []engine.Document) (r engine.AddResult, err error) { return }
func (empty) Patch(context.Context, []engine.Patch) (int, error)                        { return 0, nil }
func (empty) Delete(context.Context, []string) (int, error)                             { return 0, nil }
func (empty) DeleteWhere(context.Context, engine.Filter) (int, error)                   { return 0, nil }
func (empty) Get(context.Context, string) (d engine.Document, err error)                { return }
func (empty) All(context.Context, engine.Filter) iter.Seq2[engine.Document, error] {
	return func(func(engine.Document, error) bool) {}
}
func (empty) Count(context.Context, engine.Filter) (int, error)                    { return 0, nil }
func (empty) Search(context.Context, engine.Query) (r engine.Result, err error)    { return }
func (empty) SearchBatch(context.Context, []engine.Query) ([]engine.Result, error) { return nil, nil }
func (empty) Explain(context.Context, engine.Query, string) (x engine.Explanation, err error) {
	return
}
func (empty) Vector(context.Context, engine.Query) (v []float32, t engine.Trace, err error) { return }
func (empty) Default() string                                                               { return "" }
func (empty) Fit(context.Context, engine.FitOptions) (r engine.FitReport, err error)        { return }
func (empty) Stats(context.Context) (s engine.Stats, err error)                             { return }
func (empty) Verify(context.Context, func(engine.Progress)) (r engine.VerifyReport, err error) {
	return
}
func (empty) Flush(context.Context) error { return nil }
func (empty) KeepTokenStates(context.Context) (engine.TokenReport, error) {
	return engine.TokenReport{}, nil
}
func (empty) Compact(context.Context) error                                        { return nil }
func (empty) Export(context.Context, io.Writer, engine.ExportOptions) (int, error) { return 0, nil }
func (empty) Import(_ context.Context, x *engine.Exported) (r engine.ImportReport, err error) {
	_, err = io.Copy(io.Discard, x.Unread())
	return r, err
}
func (empty) Backup(context.Context, string) (r engine.BackupReport, err error)      { return }
func (empty) BackupTo(context.Context, io.Writer) (r engine.BackupReport, err error) { return }
func (empty) Close() error                                                           { return nil }

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
	d, err := wireDocument(engine.Document{ID: "a", Text: "words", Vector: []float32{1, 2}, Metadata: map[string]any{"a": 1}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(greeted.Bytes(), false)
	for _, m := range [][]byte{
		message(callUpsert, []document{d}), message("Patch", []patch{{engine.Patch{ID: "a"}, []byte(`{"a":null}`)}}),
		message("Search", query{}), message("SearchBatch", []query{{}}), message("Explain", explainArgs{}), message("Fit", fitArgs{}), message("Count", engine.Filter{}),
		message("Import", nothing{}, []byte("d\x00\x00\x00\x00\x03{}\n"), []byte("e\x00\x00\x00\x00\x00")), message("Export", engine.ExportOptions{}), message("Delete", []string{"a"}),
	} {
		f.Add(m, true)
	}
	f.Fuzz(func(t *testing.T, sent []byte, greets bool) {
		if greets {
			sent = append(bytes.Clone(greeted.Bytes()), sent...)
		}
		s := &Shared{db: empty{}, greet: greetWithin, frame: frameWithin, holder: self("", ""), conns: map[*wire]bool{}}
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
	for _, v := range []any{result{Hits: []hit{{}}}, document{}, explanation{}, engine.Stats{}, []result{{}}} {
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
			if r, err := w.result(); err == nil {
				if _, err := wireResult(r); err != nil {
					t.Errorf("%+v does not cross back: %v", r, err)
				}
			}
		}
		if w, err := replied[document](ctx, raw); err == nil {
			_, _ = w.document()
		}
		_, _ = replied[explanation](ctx, raw)
		_, _ = replied[engine.Stats](ctx, raw)
		_, _ = replied[[]result](ctx, raw)
		_, _, _ = receive(bytes.NewReader(raw), 1<<16, nil)
		_, _ = readGreeting(bytes.NewReader(raw))
	})
}
