// Package servertest tests the program lexsem together with a server of another search engine. Start with
// [MigrateKilled]: a migration that is killed repeatedly must move all documents in the end.
package servertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// Program builds lexsem.
func Program(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "lexsem")
	if out, err := exec.Command("go", "build", "-o", bin, "github.com/lexsem/lexsem/cmd/lexsem").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// migratedDocuments is the number of documents to move; the long form moves 100,000.
func migratedDocuments() int {
	if trial.Long() {
		return 100_000
	}
	return 3000
}

// MigrateKilled tests the engine that where names: `lexsem migrate`, killed repeatedly, moves all documents
// there in the end, and back; then `lexsem serve` in front of them answers. settings are appended to the
// URL of the created index.
func MigrateKilled(t *testing.T, where, settings string) {
	bin := Program(t)
	rng := rand.New(rand.NewPCG(19, trial.Seed(t)))
	dir := filepath.Join(t.TempDir(), "db")
	enc := encoder.NewHash(64)
	e, err := engine.Open(t.Context(), dir, enc, engine.Options{TokenStates: engine.TokenStatesOff})
	if err != nil {
		t.Fatal(err)
	}
	n := migratedDocuments()
	for at := 0; at < n; at += 1000 {
		docs := make([]engine.Document, 1000)
		for i := range docs {
			docs[i] = engine.Document{ID: fmt.Sprintf("doc %d", at+i), Title: "A title", Text: fmt.Sprintf("document %d speaks of matter %d and topic %d", at+i, i%97, i%13), Metadata: map[string]any{"n": at + i, "topic": fmt.Sprint(i % 13)}}
		}
		if _, err := e.Add(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	type summary struct {
		Documents, Passages, Copied, Mended, Removed int
		Digest                                       string
	}
	// move runs a migration, which is killed kills times after it has made progress, and may then finish.
	move := func(kills int, mark string, args ...string) (s summary) {
		t.Helper()
		for k := 0; ; k++ {
			cmd := exec.Command(bin, append([]string{"migrate", "--json", "--quiet"}, args...)...)
			var out, problems bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &problems
			before, _ := os.ReadFile(mark) // there is none at first
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- cmd.Wait() }()
			further := time.NewTicker(time.Millisecond)
			defer further.Stop()
			var err error
			for killed := false; ; {
				select {
				case err = <-done:
				case <-further.C:
					if now, _ := os.ReadFile(mark); k < kills && !killed && len(now) > 0 && !bytes.Equal(now, before) {
						time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
						_ = cmd.Process.Kill() // it may have ended
						killed = true
					}
					continue
				}
				if killed {
					t.Logf("killed behind %s", before)
				}
				if killed || err == nil {
					break
				}
				t.Fatalf("%v: %v\n%s", args, err, problems.String())
			}
			if k < kills {
				continue
			}
			if err := json.Unmarshal(out.Bytes(), &s); err != nil {
				t.Fatalf("%v: %s", err, out.String())
			}
			return s
		}
	}
	began := time.Now()
	bridge := filepath.Join(t.TempDir(), "bridge")
	there := move(3, dir+".migrating", "--db", dir, "--to", where+settings, "--bridge", bridge, "--by", "topic")
	if there.Documents != n || there.Passages != n || there.Copied >= n-500 || there.Mended+there.Removed != 0 {
		t.Fatalf("there: %+v", there)
	}
	t.Logf("there in %s, the last run copied %d of %d", time.Since(began).Round(time.Second), there.Copied, n)
	began = time.Now()
	again := filepath.Join(t.TempDir(), "again")
	back := move(2, again+".migrating", "--db", again, "--from", where)
	if back.Documents != n || back.Digest != there.Digest {
		t.Fatalf("back: %+v, there %+v", back, there)
	}
	t.Logf("back in %s, the last run copied %d of %d", time.Since(began).Round(time.Second), back.Copied, n)

	if out, err := exec.Command(bin, "bridge", "--db", where, filepath.Join(t.TempDir(), "another"), "--parts", "2").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	serve := exec.Command(bin, "serve", "--db", where, "--bridge", bridge, "--addr", "127.0.0.1:0", "--quiet")
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = serve.Process.Signal(os.Interrupt)
		if err := serve.Wait(); err != nil {
			t.Errorf("serve: %v", err)
		}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	for filter, of := range map[string]string{"": "", `topic = "12"`: `topic = "12"`, "n < 100": ""} {
		body, err := json.Marshal(map[string]any{"query": "document 77 of matter 77", "k": 3, "filter": filter})
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.Post(addr+"/v1/search", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var answer struct {
			Hits     []struct{ ID, Text string }
			Stale    int
			BridgeOf string `json:"bridge_of"`
		}
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || len(answer.Hits) != 3 || answer.Hits[0].ID != "doc 77" || answer.BridgeOf != of || answer.Stale != 0 {
			t.Errorf("filter %q: the server answers %+v, %v", filter, answer, err)
		}
	}
}
