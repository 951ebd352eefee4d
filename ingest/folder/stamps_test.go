package folder

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func someStamps() map[string]stamp {
	return map[string]stamp{
		"a.md":     {Path: "a.md", Size: 3, Time: 1715000000123456789, Digest: bytes.Repeat([]byte{7}, 32), Documents: 1, IDs: 1 << 63},
		"é/<b>.md": {Path: "é/<b>.md", Time: -1, Digest: bytes.Repeat([]byte{8}, 32), Racy: true},
	}
}

func TestStamps(t *testing.T) {
	path := stampsFile(filepath.Join(t.TempDir(), "sync"), "/notes")
	none, _, err := readStamps(path, "/notes", "s")
	if err != nil || len(none) != 0 {
		t.Fatalf("no file: %v, %v", none, err)
	}
	want := someStamps()
	if err := writeStamps(path, "/notes", "s", []string{"nas"}, want); err != nil {
		t.Fatal(err)
	}
	got, _, err := readStamps(path, "/notes", "s")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
	for _, other := range [][2]string{{"/other", "s"}, {"/notes", "t"}} {
		if got, _, err := readStamps(path, other[0], other[1]); err != nil || len(got) != 0 {
			t.Errorf("for %q they are %v, %v; want none", other, got, err)
		}
	}
	// Every bit counts.
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		for _, damaged := range [][]byte{append(append([]byte(nil), whole[:i]...), whole[i+1:]...), flipped(whole, i)} {
			got, _, err := parseStamps(damaged, "/notes", "s")
			if err == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("byte %d: other stamps without an error: %+v", i, got)
			}
			if err != nil && !errors.Is(err, errStamps) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
	}
	if err := os.WriteFile(path, whole[:len(whole)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if got, _, err := readStamps(path, "/notes", "s"); err != nil || len(got) != 0 {
		t.Errorf("half a file: %v, %v; want none", got, err)
	}
}

func flipped(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 1
	return b
}

// FuzzStamps: whatever is read can be written, and is the same then.
func FuzzStamps(f *testing.F) {
	whole, err := formatStamps("/r", "s", nil, someStamps())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"lexsem_sync":1,"root":"/r","settings":"s","files":-1,"crc32c":0}`))
	f.Add([]byte(`{"lexsem_sync":1,"root":"/r","settings":"s","files":1}` + "\n" +
		`{"p":"\ud800","s":0,"t":-1,"d":"` + strings.Repeat("A", 43) + `=","n":1,"i":18446744073709551615,"w":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		var head stampsHead
		if json.Unmarshal(line, &head) == nil { // with the right checksum, or that is all that is tested
			head.CRC = crc32.Checksum(rest, castagnoli)
			line, err := json.Marshal(head)
			if err != nil {
				t.Fatal(err)
			}
			data = slices.Concat(line, []byte("\n"), rest)
		}
		got, _, err := parseStamps(data, "/r", "s")
		if err != nil {
			if !errors.Is(err, errStamps) {
				t.Fatal(err)
			}
			return
		}
		again, err := formatStamps("/r", "s", nil, got)
		if err != nil {
			t.Fatal(err)
		}
		read, _, err := parseStamps(again, "/r", "s")
		if err != nil {
			t.Fatalf("%q: %v", again, err)
		}
		if twice, err := formatStamps("/r", "s", nil, read); err != nil || !bytes.Equal(twice, again) {
			t.Fatalf("%q became %q, %v", again, twice, err)
		}
	})
}
