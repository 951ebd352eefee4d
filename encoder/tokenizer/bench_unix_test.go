//go:build unix

package tokenizer

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/bench/process"
)

// BenchmarkTokenize measures one goroutine over the paragraphs of this project's
// documents, English, and over the recorded strings, of every script, by the time
// of the processor, as the machine may be busy. Where
// LEXSEM_TOKENIZERS_PYTHON names a python that has the reference library, that is
// timed beside it, its best of five rounds, and "x-reference" is how many times
// faster ours is.
//
//	LEXSEM_TOKENIZERS_PYTHON=python3 go test ./encoder/tokenizer -run '^$' -bench Tokenize -cpu 1
func BenchmarkTokenize(b *testing.B) {
	r := recorded()
	var mixed []string
	for _, s := range r.texts {
		if len(s) < 1000 {
			mixed = append(mixed, strings.ToValidUTF8(s, "\ufffd"))
		}
	}
	for _, set := range []struct {
		name  string
		texts []string
	}{{"english", documents(b)}, {"mixed", mixed}} {
		size := 0
		for _, s := range set.texts {
			size += len(s)
		}
		list, err := json.Marshal(set.texts)
		if err != nil {
			b.Fatal(err)
		}
		path := filepath.Join(b.TempDir(), "texts.json")
		if err := os.WriteFile(path, list, 0o644); err != nil {
			b.Fatal(err)
		}
		for i, name := range r.names {
			k, err := Parse(bytes.NewReader(r.files[i]))
			if err != nil {
				b.Fatal(err)
			}
			b.Run(set.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				tokens, best := 0, time.Duration(1<<62)
				for b.Loop() {
					start := process.CPUTime()
					tokens = 0
					for _, s := range set.texts {
						tokens += len(k.Tokenize(s, 0).IDs)
					}
					best = min(best, process.CPUTime()-start)
				}
				b.ReportMetric(float64(best.Nanoseconds())/float64(tokens), "ns/token")
				if python := os.Getenv("LEXSEM_TOKENIZERS_PYTHON"); python != "" {
					out, err := exec.Command(python, "testdata/record.py", "testdata/recorded.gz", "time", name, path).Output()
					if err != nil {
						b.Fatal(err)
					}
					seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(seconds/best.Seconds(), "x-reference")
				}
			})
		}
	}
}

// documents are the paragraphs of the project's documents.
func documents(b *testing.B) []string {
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(names) == 0 {
		b.Fatalf("%v, %v", names, err)
	}
	var out []string
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		for _, p := range strings.Split(string(raw), "\n\n") {
			if len(p) > 100 {
				out = append(out, p)
			}
		}
	}
	return out
}

// BenchmarkParse measures reading, of a vocabulary of 250,000 entries.
func BenchmarkParse(b *testing.B) {
	var vocab [][2]any
	vocab = append(vocab, [2]any{"<unk>", 0})
	for i := range 250_000 {
		vocab = append(vocab, [2]any{"▁" + strconv.FormatInt(int64(i)*7919, 36), -float64(i) / 1e4})
	}
	file, err := json.Marshal(map[string]any{"model": map[string]any{"type": "Unigram", "unk_id": 0, "vocab": vocab}})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(bytes.NewReader(file)); err != nil {
			b.Fatal(err)
		}
	}
}
