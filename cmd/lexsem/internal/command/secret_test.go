package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/ollama"
	"github.com/lexsem/lexsem/encoder/openai"
	"github.com/lexsem/lexsem/engine/remote/elastic"
	"github.com/lexsem/lexsem/engine/remote/weaviate"
	"github.com/lexsem/lexsem/engine/rerank"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

const canary = "CANARY-1234567890"

// secretAddresses are addresses that hold a secret, in every place and however badly they are written.
var secretAddresses = []string{
	"http://me:" + canary + "@127.0.0.1:1/x", "http://me:" + canary + "/y@127.0.0.1:1/x", "http://me:%zz" + canary + "@127.0.0.1:1/x", "http://me:1/" + canary + "@127.0.0.1:1/x",
	"http://me:" + canary + "/x", "http://127.0.0.1:1/x?api_key=" + canary, "http://127.0.0.1:1/x?" + canary, "http://127.0.0.1:1/x#" + canary,
	"ftp://me:" + canary + "@127.0.0.1:1/x", "me:" + canary + "@127.0.0.1:1",
	"postgres://me:" + canary + "@127.0.0.1:1/a/b", "postgres://me:" + canary + "/c@127.0.0.1:1/a/b", "postgres://me:" + canary + "/a/b", "postgres://me:a/b/c?" + canary + "@127.0.0.1:1/a/b",
	"postgres://127.0.0.1:1/a/b?password=" + canary,
	"weaviate://me:" + canary + "@127.0.0.1:1/x", "weaviate://127.0.0.1:1/x?api_key=" + canary, "weaviate://127.0.0.1:1/x?" + canary, "weaviate://127.0.0.1:1/x?a;" + canary, "weaviate://me:1/" + canary + "@h/x",
	"elasticsearch://me:" + canary + "@127.0.0.1:1/x", "elasticsearch://127.0.0.1:1/x?api_key=" + canary, "weaviate://me:" + canary + "@127.0.0.1:1/X", "weaviate://127.0.0.1:1/X?api_key=" + canary,
}

// ran runs a command and returns its exit code and all that it prints.
func ran(ctx context.Context, env map[string]string, args ...string) (int, string) {
	var out bytes.Buffer
	code := Run(ctx, Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(name string) string { return env[name] }})
	return code, out.String()
}

// TestNoCommandPrintsASecret gives an address with a secret to every flag of every command, as an argument, a flag
// and a variable.
func TestNoCommandPrintsASecret(t *testing.T) {
	t.Chdir(t.TempDir())
	ended, end := context.WithCancel(t.Context())
	end() // no command is to get far
	cache := t.TempDir()
	check := func(env map[string]string, args ...string) {
		t.Helper()
		if code, said := ran(ended, env, args...); strings.Contains(said, canary) {
			t.Errorf("%q, %v: %d, %s", args, env, code, said)
		}
	}
	for _, c := range commands() {
		name := strings.Fields(c.name)
		base := append(name[:len(name):len(name)], "--offline", "--cache", t.TempDir())
		f := newFlags(c.name)
		c.declare(f)
		new(globals).declare(f)
		for _, address := range []string{"http://me:" + canary + "@127.0.0.1:1/x", "postgres://me:" + canary + "/y@127.0.0.1:1/x?api_key=" + canary} {
			check(nil, append(base, address)...)
			check(nil, append(base, "--db", "x", address)...)
			f.set.VisitAll(func(fl *flag.Flag) {
				if b, ok := fl.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() || fl.Name == "cache" {
					return
				}
				args := append(base, "--"+fl.Name, address)
				if slices.Contains([]string{"bench ann", "bench engine", "bench soak"}, c.name) { // which have work without any argument
					args = append(args, "a")
				}
				check(nil, args...)
				check(map[string]string{variable(fl.Name): address}, append(base, "a")...)
			})
		}
		check(map[string]string{"LEXSEM_DB": secretAddresses[0]}, append(base, "--help")...)
	}
	for _, address := range secretAddresses {
		check(nil, "migrate", "--db", "x", "--to", address)
		check(nil, "migrate", "--db", "x", "--from", address)
		check(nil, "serve", "--db", address, "--addr", "127.0.0.1:0")
		check(nil, "search", "--db", address, "a")
		check(nil, "search", "--db", "x", "--rerank", address, "a")
		check(nil, "bridge", "--db", address, "x")
		check(nil, "health", address)
		check(nil, completeCommand, "search", "--db", address, "")
	}
	for _, address := range secretAddresses { // commands that get as far as they can, and make nothing
		for _, args := range [][]string{{"stats"}, {"stats", "--json"}, {"list"}, {"count"}, {"count", "--json"}, {"get", "a"}, {"delete", "a"}, {"compact"}, {"doctor"}, {"doctor", "--json"}, {"doctor", "--repair", "--to", "y"}} {
			args = append(args, "--db", address, "--offline", "--model", "hash-8", "--cache", cache)
			if code, said := ran(t.Context(), nil, args...); code == 0 || strings.Contains(said, canary) {
				t.Errorf("%q: %d, %s", args, code, said)
			}
		}
	}
	check(nil, "serve", "--db", "x", "--api-key-file", canary)
	check(nil, "serve", "--db", "x", "--api-key-file", "no/"+canary)
}

// secretClients call a server once with a key: everything that takes one.
var secretClients = map[string]func(ctx context.Context, url string, h *http.Client) error{
	"openai": func(ctx context.Context, url string, h *http.Client) error {
		return encodeOnce(ctx)(openai.New(openai.Options{Model: "m", Dim: 3, BaseURL: url, Key: canary, Retries: -1, HTTP: h}))
	},
	"openai by a variable": func(ctx context.Context, url string, h *http.Client) error {
		return encodeOnce(ctx)(openai.New(openai.Options{Model: "m", Dim: 3, BaseURL: url, KeyEnv: "A_KEY", Retries: -1, HTTP: h}))
	},
	"ollama": func(ctx context.Context, url string, h *http.Client) error {
		return encodeOnce(ctx)(ollama.New(ollama.Options{Model: "m", Dim: 3, BaseURL: url, Retries: -1, HTTP: h}))
	},
	"rerank": func(ctx context.Context, url string, h *http.Client) error {
		r, err := rerank.New(rerank.Options{URL: url, Key: canary, Retries: -1, HTTP: h})
		if err != nil {
			return err
		}
		_, err = r.Rerank(ctx, "a", []string{"b"})
		return err
	},
	"elastic": func(ctx context.Context, url string, h *http.Client) error {
		return infoOnce[*elastic.Backend](ctx)(elastic.Open(elastic.Options{Nodes: []string{url}, Index: "i", Key: canary, Patience: 1, HTTP: h}))
	},
	"weaviate": func(ctx context.Context, url string, h *http.Client) error {
		return infoOnce[*weaviate.Backend](ctx)(weaviate.Open(weaviate.Options{Nodes: []string{url}, Class: "C", Key: canary, Patience: 1, HTTP: h}))
	},
}

func encodeOnce(ctx context.Context) func(encoder.Encoder, error) error {
	return func(e encoder.Encoder, err error) error {
		if err == nil {
			_, err = e.Encode(ctx, encoder.Passage, encoder.Texts("a"), encoder.NeedDense)
		}
		return err
	}
}

func infoOnce[B droppable](ctx context.Context) func(B, error) error {
	return func(b B, err error) error {
		if err == nil {
			_, err = b.Info(ctx)
			err = errors.Join(err, b.Close())
		}
		return err
	}
}

// textsOf are the texts of an error and of all that it wraps.
func textsOf(err error) string {
	if err == nil {
		return ""
	}
	said := err.Error() + fmt.Sprintf(" %+v", err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		said += textsOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			said += textsOf(one)
		}
	}
	return said
}

// through is a client of which every connection fails so.
func through(err error) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, err }}}
}

// proxied is a client whose proxy's address is broken, and has a password.
func proxied() *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) {
		return nil, fmt.Errorf("invalid proxy address %q", "http://me:%zz"+canary+"@127.0.0.1:1")
	}}}
}

// TestNoErrorHoldsAKey: whatever a server answers, and where there is none, the key goes to that server alone, and
// into no error.
func TestNoErrorHoldsAKey(t *testing.T) {
	t.Setenv("A_KEY", canary)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if a := r.Header.Get("Authorization"); a != "" {
			t.Errorf("a redirection to another origin carries %q", a)
		}
	}))
	defer other.Close()
	var sent atomic.Int64
	body, status, redirect := "", 0, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("Authorization"), " "+canary) {
			sent.Add(1)
		}
		w.Header().Set("X-Request-Id", strings.Repeat("x", 95)+canary)
		if redirect != "" {
			w.Header().Set("Location", redirect)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer s.Close()
	said := func(key string) []string {
		out := []string{key, `"` + key + `"`, `{"a":` + key}
		for _, pad := range []int{0, 490, 495} { // where a message is cut
			m := strings.Repeat("x", pad) + key
			out = append(out, fmt.Sprintf(`{"error":{"message":%q,"type":%q,"reason":%q,"root_cause":[{"reason":%q}]}}`, m, key, m, key), fmt.Sprintf(`{"error":%q,"message":%q,"status":{"error":%q}}`, m, m, m),
				fmt.Sprintf(`{"error":[{"message":%q}],"errors":[{"message":%q}]}`, m, m))
		}
		return out
	}
	for name, call := range secretClients {
		check := func(what, url string, h *http.Client) {
			t.Helper()
			err := call(t.Context(), url, h)
			if err == nil || strings.Contains(textsOf(err), canary[:6]) {
				t.Errorf("%s, %.100s: %v", name, what, err)
			}
		}
		check("refused", "http://127.0.0.1:1", nil)
		check("no such host", "http://nobody.invalid", through(&net.DNSError{Err: "no such host", Name: "nobody.invalid"}))
		check("a proxy's address", "http://nobody.invalid", proxied())
		for _, address := range secretAddresses {
			check(address, address, nil)
		}
		if name == "ollama" { // which has no key
			continue
		}
		for _, status = range []int{200, 400, 401, 403, 404, 500, 503} {
			for _, body = range said(canary) {
				check(fmt.Sprint(status, body), s.URL, nil)
			}
		}
		body, status = "", http.StatusTemporaryRedirect
		for _, redirect = range []string{other.URL, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)} {
			check("redirected", s.URL, nil)
			if err := call(t.Context(), s.URL, &http.Client{}); strings.Contains(textsOf(err), canary[:6]) {
				t.Errorf("%s, redirected: %v", name, err)
			}
		}
		redirect = ""
		if n := sent.Swap(0); n == 0 {
			t.Errorf("%s sends no key", name)
		}
	}
}

// TestNoFileHoldsAKey: of a database that was filled by a server with a key, and of what commands print of it.
func TestNoFileHoldsAKey(t *testing.T) {
	t.Chdir(t.TempDir())
	api := encoders.NewAPI(t, 8)
	t.Setenv("OPENAI_API_KEY", canary)
	t.Setenv("RERANK_API_KEY", canary)
	env := map[string]string{"OPENAI_BASE_URL": api.URL + "/v1", "LEXSEM_DB": "db", "LEXSEM_CACHE": "cache"}
	if err := os.WriteFile("a.txt", []byte("a text of some words"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"index", "--model", "openai:m@8", "a.txt"}, {"search", "words"}, {"stats"}, {"stats", "--json"}, {"doctor"}, {"export", "out"}, {"backup", "kept"},
		{"search", "--rerank", "http://127.0.0.1:1", "words"}} {
		code, said := ran(t.Context(), env, args...)
		if want := strings.Contains(strings.Join(args, " "), "rerank"); (code != exitOK) != want && args[0] != "doctor" || strings.Contains(said, canary) {
			t.Errorf("%q: %d, %s", args, code, said)
		}
	}
	api.Next = func(int, []string) encoders.Fault {
		return encoders.Fault{Status: 401, Body: `{"error":"` + canary + `"}`}
	}
	if code, said := ran(t.Context(), env, "search", "other words"); code != exitUnavailable || strings.Contains(said, canary) {
		t.Errorf("%d, %s", code, said)
	}
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if files++; bytes.Contains(b, []byte(canary)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil || files < 8 {
		t.Errorf("%d files, %v", files, err)
	}
}
