package command

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestHealth(t *testing.T) {
	status, wait := http.StatusOK, time.Duration(0)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
		}
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(status)
	}))
	defer s.Close()
	ask := func(addr string, args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := Run(t.Context(), Env{Args: append([]string{"health"}, args...), Stdout: &out, Stderr: &errs, Getenv: func(name string) string {
			return map[string]string{"LEXSEM_ADDR": addr}[name]
		}})
		return code, out.String() + errs.String()
	}
	addr := strings.TrimPrefix(s.URL, "http://")
	secure := httptest.NewTLSServer(s.Config.Handler)
	defer secure.Close()
	own := filepath.Join(t.TempDir(), "own.pem")
	for cert, want := range map[string]int{own: exitOK, own + ".other": exitFailure, own + ".missing": exitFailure} {
		block := pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}
		if cert != own {
			block.Bytes = []byte("another")
		}
		if !strings.HasSuffix(cert, ".missing") {
			text := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("k")}), pem.EncodeToMemory(&block)...)
			if err := os.WriteFile(cert, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out, errs bytes.Buffer
		code := Run(t.Context(), Env{Args: []string{"health"}, Stdout: &out, Stderr: &errs, Getenv: func(name string) string {
			return map[string]string{"LEXSEM_ADDR": strings.TrimPrefix(secure.URL, "https://"), "LEXSEM_TLS_CERT": cert}[name]
		}})
		if code != want {
			t.Errorf("over TLS with %s: %d, %s%s", cert, code, &out, &errs)
		}
	}
	for _, args := range [][]string{nil, {s.URL}, {s.URL + "/"}} {
		if code, said := ask(addr, args...); code != exitOK || !strings.Contains(said, "is ready") {
			t.Errorf("%q: %d, %s", args, code, said)
		}
	}
	status = http.StatusServiceUnavailable
	if code, said := ask(addr); code != exitFailure || !strings.Contains(said, "503") {
		t.Errorf("not ready: %d, %s", code, said)
	}
	status, wait = http.StatusOK, time.Minute
	if code, _ := ask(addr, "--timeout", "1"); code == exitOK {
		t.Error("a server that does not answer is ready")
	}
	for _, bad := range [][]string{{"a", "b"}, {"--timeout", "0"}, {"ftp://x"}, {"::"}} {
		if code, said := ask(addr, bad...); code != exitUsage {
			t.Errorf("%q: %d, %s", bad, code, said)
		}
	}
	for addr, want := range map[string]string{"": "http://127.0.0.1:7700", "0.0.0.0:80": "http://127.0.0.1:80", "[::]:80": "http://127.0.0.1:80", ":80": "http://127.0.0.1:80", "10.0.0.1:80": "http://10.0.0.1:80"} {
		if got := serverURL(addr); got != want {
			t.Errorf("a server on %q is asked at %s, want %s", addr, got, want)
		}
	}
}
