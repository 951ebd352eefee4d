package tokenizer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// recording is what testdata/record.py wrote.
type recording struct {
	names []string
	files []json.RawMessage
	texts []string
	sums  [][]uint32 // by family and text
}

func readRecording(t testing.TB, path string) *recording {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	line, b, _ := bytes.Cut(all, []byte("\n"))
	var head struct {
		Names []string
		Files []json.RawMessage
	}
	if err := json.Unmarshal(line, &head); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	number := func() int {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			t.Fatalf("%s: cut off", path)
		}
		b = b[n:]
		return int(v)
	}
	r := &recording{names: head.Names, files: head.Files}
	for range number() {
		times, n := number(), 0
		n = number()
		r.texts = append(r.texts, strings.Repeat(string(b[:n]), times))
		b = b[n:]
	}
	for range r.names {
		sums := make([]uint32, len(r.texts))
		for i := range sums {
			sums[i] = binary.LittleEndian.Uint32(b)
			b = b[4:]
		}
		r.sums = append(r.sums, sums)
	}
	return r
}

// sum is the CRC-32 that the recording has for k.
func sum(k encoder.Tokens) uint32 {
	b := make([]byte, 0, 12*len(k.IDs))
	for i, id := range k.IDs {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
		b = binary.LittleEndian.AppendUint32(b, uint32(k.Offsets[i].Start))
		b = binary.LittleEndian.AppendUint32(b, uint32(k.Offsets[i].End))
	}
	return crc32.ChecksumIEEE(b)
}

// compare counts the texts for which ids or offsets are not those recorded.
func (r *recording) compare(t *testing.T) {
	for f, name := range r.names {
		t.Run(name, func(t *testing.T) {
			k, err := Parse(bytes.NewReader(r.files[f]))
			if err != nil {
				t.Fatal(err)
			}
			wrong := 0
			for i, text := range r.texts {
				got := k.Tokenize(text, 0)
				if sum(got) == r.sums[f][i] {
					continue
				}
				if wrong++; wrong <= 4 {
					t.Errorf("string %d, %.300q: got %.600s", i, text, show(got))
				}
			}
			if wrong > 0 {
				t.Errorf("%d of %d strings differ from the reference", wrong, len(r.texts))
			}
		})
	}
}

func show(k encoder.Tokens) string {
	var s strings.Builder
	for i, id := range k.IDs {
		fmt.Fprintf(&s, "[%d, %d, %d], ", id, k.Offsets[i].Start, k.Offsets[i].End)
	}
	return s.String()
}

// TestRecorded holds every family to what the reference library made of 2,000
// strings.
func TestRecorded(t *testing.T) {
	r := readRecording(t, "testdata/recorded.gz")
	if len(r.texts) < 2000 || len(r.names) < 13 {
		t.Fatalf("%d strings of %d families", len(r.texts), len(r.names))
	}
	r.compare(t)
}

// TestReference compares strings without end with the reference library itself,
// 100,000 for each family (LEXSEM_ROUNDS). LEXSEM_TOKENIZERS_PYTHON names a
// python that has tokenizers 0.23.3, sentencepiece and protobuf:
//
//	LEXSEM_LONG=1 LEXSEM_TOKENIZERS_PYTHON=python3 go test ./encoder/tokenizer -run Reference -timeout 1h
func TestReference(t *testing.T) {
	python := os.Getenv("LEXSEM_TOKENIZERS_PYTHON")
	if !trial.Long() || python == "" {
		t.Skip("NOT TESTED: the long form needs LEXSEM_LONG=1 and LEXSEM_TOKENIZERS_PYTHON")
	}
	const batch = 20_000
	seed := trial.Seed(t)
	for left := trial.Rounds(t, 0, 100_000); left > 0; left -= batch {
		path := filepath.Join(t.TempDir(), "recorded.gz")
		cmd := exec.Command(python, "testdata/record.py", path, strconv.Itoa(min(left, batch)), strconv.FormatUint(seed, 10))
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v", cmd, err)
		}
		r := readRecording(t, path)
		t.Logf("%d strings of %d families, seed %d", len(r.texts), len(r.names), seed)
		r.compare(t)
		seed++
	}
}
