package httpapi

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// always has a connection for everyone.
type always struct{ net.Listener }

func (always) Accept() (net.Conn, error) { return &net.TCPConn{}, nil }
func (always) Close() error              { return nil }

// TestBounded: a connection more waits until one has ended, or the listener.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBounded(always{}, 2)
		got := make(chan error, 4)
		accept := func() {
			_, err := b.Accept()
			got <- err
		}
		for range 3 {
			go accept()
		}
		if synctest.Wait(); len(got) != 2 {
			t.Fatalf("%d connections of 2 are open", len(got))
		}
		b.ended(nil, http.StateIdle)
		if synctest.Wait(); len(got) != 2 {
			t.Fatal("an idle connection is not an ended one")
		}
		b.ended(nil, http.StateClosed)
		if synctest.Wait(); len(got) != 3 {
			t.Fatal("one has ended, and none is accepted")
		}
		go accept()
		synctest.Wait()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if synctest.Wait(); len(got) != 4 {
			t.Error("a closed listener waits")
		}
	})
}

// TestPlainToTLS: a client that speaks HTTP where HTTPS is spoken is told so, and the next one is served.
func TestPlainToTLS(t *testing.T) {
	with := httptest.NewUnstartedServer(nil) // has a certificate
	with.StartTLS()
	defer with.Close()
	db, err := engine.Open(t.Context(), t.TempDir(), encoder.NewHash(16), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := New(db, Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, tls.NewListener(l, &tls.Config{Certificates: with.TLS.Certificates})) }()
	for scheme, want := range map[string]string{"http": "HTTP request to an HTTPS server", "https": `"ok"`} {
		r, err := with.Client().Get(scheme + "://" + l.Addr().String() + "/healthz")
		if err != nil {
			t.Fatal(scheme, err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || !strings.Contains(string(body), want) || (r.StatusCode == 200) != (scheme == "https") {
			t.Errorf("%s: %d %s %v", scheme, r.StatusCode, body, err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
