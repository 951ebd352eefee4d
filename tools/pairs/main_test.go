//go:build unix

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/trial"
)

func TestTable(t *testing.T) {
	made := func(cpu float64, hits ...hit) report {
		return report{Add: times{cpu, 1}, Open: times{3 * cpu, 1}, Bytes: 10 * cpu, Search: map[string]times{"dense none": {2 * cpu, 2}}, Hits: map[string][][]hit{"dense none": {{{"a", 1}}, hits}},
			Steps: []step{{"a backup", "%.1f s", times{5 * cpu, 1}}}}
	}
	other := []report{made(1, hit{"a", .5}, hit{"b", .25}), made(2), made(4)}
	this := []report{made(2, hit{"b", .25}, hit{"a", .75}), made(2), made(2)}
	if _, worse := table(this[2:], other[2:], 1.9); strings.Join(worse, ", ") != "adding all (2.00), opening (2.00), space on disk (2.00), a backup (2.00), dense none (2.00)" {
		t.Errorf("above the limit: %q", worse)
	}
	for _, want := range []string{
		"| opening | 6.0 ms | 6.0 ms | 1.00 (0.50 to 2.00) | 1.00 (1.00 to 1.00) | |  |",
		"| space on disk | 20 bytes | 20 bytes | 1.00 (0.50 to 2.00) | 1.00 (0.50 to 2.00) | |  |",
		"| a backup | 10.0 s | 10.0 s | 1.00 (0.50 to 2.00) | 1.00 (1.00 to 1.00) | |  |",
		"| adding all | 2.00 s | 2.00 s | 1.00 (0.50 to 2.00) | 1.00 (1.00 to 1.00) | |  |",
		"| dense none | 4 µs | 4 µs | 1.00 (0.50 to 2.00) | 1.00 (1.00 to 1.00) | 1 of 2 | 0.2 |",
	} {
		if got, worse := table(other, this, 1); !strings.Contains(got, want+"\n") || worse != nil {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestAlone: a corpus that is too small or none is refused before anything is built.
func TestAlone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "corpus.jsonl")
	for text, want := range map[string]string{`{"text":"a"}` + "\n": "has fewer than 1000 lines", strings.Repeat("no\n", 1001): "corpus.jsonl:1: "} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := alone(t.Context(), name, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestPairs compares this tree with its last commit, which finds the same where nothing has changed what is found.
func TestPairs(t *testing.T) {
	if !trial.Long() {
		t.Skip("NOT TESTED without LEXSEM_LONG=1: two trees, which are built and run for a minute")
	}
	t.Chdir(filepath.Join("..", ".."))
	if err := exec.Command("git", "rev-parse", "HEAD").Run(); err != nil {
		t.Skip("NOT TESTED: the two trees; there is no commit here to compare with: run it in a clone")
	}
	name := filepath.Join(t.TempDir(), "docs.jsonl")
	var b bytes.Buffer
	for i := range 60 {
		v := []byte{}
		for k := range 16 {
			v = binary.LittleEndian.AppendUint32(v, uint32(0x3f000000+(i*7+k*13)%64<<16))
		}
		fmt.Fprintf(&b, `{"_id":"%d","text":"word%d word%d","lexsem":{"rows":[{"vector":%q}]}}`+"\n", i, i, i/2, base64.StdEncoding.EncodeToString(v))
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := compare(t.Context(), &out, "HEAD", 1, 0, name, name); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	if n := strings.Count(out.String(), " | 60 of 60 | "); n != 5 {
		t.Errorf("%d of 5 modes answer alike:\n%s", n, out.String())
	}
	for _, step := range []string{"memory after searches", "a backup", "size of a backup", "a sync of 500 unchanged files", "a command that searches", "memory of a command that searches"} {
		if !strings.Contains(out.String(), "\n| "+step+" | ") {
			t.Errorf("no %s", step)
		}
	}
	if strings.Contains(out.String(), "\n| encoding 200 texts | ") == strings.Contains(out.String(), "encoding: not run: ") {
		t.Error("encoding is neither measured nor said to be missing")
	}
	if err := compare(t.Context(), &out, "HEAD", 1, 0, "docs/method.md", name); err == nil || !strings.Contains(err.Error(), "docs/method.md, document 1: ") {
		t.Errorf("documents that are none: %v", err)
	}
	if err := compare(t.Context(), &out, "no-such-commit", 1, 0, name, name); err == nil || !strings.Contains(err.Error(), "no-such-commit") {
		t.Errorf("a commit that is none: %v", err)
	}
}

// TestNDCG: all files that answer count alike, only the first ten places count, and without an answer it is 0.
func TestNDCG(t *testing.T) {
	ten := strings.Fields("a b c d e f g h i j")
	for _, c := range []struct {
		files, rel []string
		want       float64
	}{
		{ten, ten, 1},
		{ten, []string{"a"}, 1},
		{ten, []string{"b"}, 1 / math.Log2(3)},
		{ten, []string{"b", "z"}, 1 / math.Log2(3) / (1 + 1/math.Log2(3))},
		{append(ten, "k"), []string{"k"}, 0},
		{ten, nil, 0}, {nil, ten, 0},
	} {
		if got := ndcg(c.files, c.rel); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v of %v: %v, want %v", c.files, c.rel, got, c.want)
		}
	}
}
