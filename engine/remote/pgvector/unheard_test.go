package pgvector_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/pgvector"
)

// What a proxy does with the next commit.
const (
	pass   = iota
	before // cuts the connection, so that the server does not hear of it
	after  // lets the server make it, and cuts the connection before the answer
)

// proxy stands in front of a server; cut is what it does with the next commit.
func proxy(t *testing.T, to string, cut *atomic.Int32) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	serve := func(client net.Conn) {
		defer client.Close()
		server, err := net.Dial("tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		defer server.Close()
		var deaf atomic.Bool // answers go to nobody
		committed := make(chan struct{}, 1)
		go func() {
			buf := make([]byte, 1<<16)
			for {
				n, err := server.Read(buf)
				if err != nil {
					client.Close()
					return
				}
				if deaf.Load() {
					committed <- struct{}{}
					return
				}
				if _, err := client.Write(buf[:n]); err != nil {
					return
				}
			}
		}()
		buf := make([]byte, 1<<16)
		for {
			n, err := client.Read(buf)
			if err != nil {
				return
			}
			how := int32(pass)
			if bytes.Contains(buf[:n], []byte("commit\x00")) {
				how = cut.Swap(pass)
			}
			if how == before {
				return
			}
			deaf.Store(how == after)
			if _, err := io.Copy(server, bytes.NewReader(buf[:n])); err != nil {
				return
			}
			if how == after {
				<-committed
				return
			}
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// TestUnheard: a call whose commit got no answer ends as if it had, whether it was made or not: nothing is
// taken for somebody else's, and nothing is counted twice.
func TestUnheard(t *testing.T) {
	s := shared(t)
	ctx := t.Context()
	var cut atomic.Int32
	port := proxy(t, s.host(), &cut)
	b := open(t, pgvector.Options{URL: fmt.Sprintf("postgres://lexsem@127.0.0.1:%d/postgres?sslmode=disable", port), Schema: schema(t)})
	if err := b.Create(ctx, info(2)); err != nil {
		t.Fatal(err)
	}
	for _, how := range []int32{before, after} {
		had, err := b.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		docs := [][]remote.Passage{document(t, "a", "x", `{"a": 1}`, []float32{1, 0}), document(t, "b", "x y", "", []float32{0, 1})}
		for i, do := range []func() error{
			func() error { return b.Put(ctx, docs, true) },
			func() error { return b.Put(ctx, docs, false) },
			func() error {
				n, err := b.Delete(ctx, []string{"a", "b", "nobody"})
				if err == nil && n != 2 {
					err = fmt.Errorf("deleted %d, not 2", n)
				}
				return err
			},
		} {
			cut.Store(how)
			if err := do(); err != nil {
				t.Errorf("call %d, cut %d: %v", i, how, err)
			}
			if cut.Load() != pass {
				t.Errorf("call %d, cut %d: no commit was cut", i, how)
			}
			want := remote.Status{Documents: 2, Passages: 2, Terms: 3, Writes: had.Writes + uint64(2*(i+1))}
			if i == 2 {
				want.Documents, want.Passages, want.Terms = 0, 0, 0
			}
			if got, err := b.Status(ctx); err != nil || got != want {
				t.Errorf("call %d, cut %d: %+v, %v; want %+v", i, how, got, err, want)
			}
		}
	}
}
