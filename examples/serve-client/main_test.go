package main

import (
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/serve/httpapi"
)

// serve is a server of an empty database.
func serve(t *testing.T) (url string) {
	t.Helper()
	enc := encoder.NewHash(64)
	db, err := engine.Open(t.Context(), filepath.Join(t.TempDir(), "notes.db"), enc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := httpapi.New(db, httpapi.Options{Encoder: enc})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return h.URL
}

// TestClients: the three clients store, filter and find alike.
func TestClients(t *testing.T) {
	const want = " keys: Rotate the signing keys with keyctl rotate.\n"
	check := func(t *testing.T, out string) {
		t.Helper()
		if !strings.HasSuffix(out, want) || strings.Count(out, "\n") != 1 {
			t.Errorf("output %q, want a score and %q", out, want)
		}
	}
	t.Run("Go", func(t *testing.T) {
		var out strings.Builder
		if err := run(t.Context(), serve(t), "", "rotate keys", &out); err != nil {
			t.Fatal(err)
		}
		check(t, out.String())
	})
	for _, c := range [][]string{{"python3", "client.py"}, {"node", "client.mjs"}} {
		t.Run(c[0], func(t *testing.T) {
			if _, err := exec.LookPath(c[0]); err != nil {
				t.Skipf("%s is not at hand", c[0])
			}
			out, err := exec.CommandContext(t.Context(), c[0], c[1], serve(t), "rotate keys").CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			check(t, string(out))
		})
	}
}

// TestRefused: what the server says of a bad query reaches the user.
func TestRefused(t *testing.T) {
	err := run(t.Context(), serve(t), "", " ", nil)
	if err == nil || !strings.Contains(err.Error(), "(invalid)") {
		t.Errorf("an empty query: %v", err)
	}
}
