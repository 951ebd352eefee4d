package provision

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// member is one entry of an archive made for a test.
type member struct {
	name, body string
	link       bool
}

func makeZip(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		if h.SetMode(0o644); m.link {
			h.SetMode(os.ModeSymlink | 0o777)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func makeTgz(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.body)), Typeflag: tar.TypeReg}
		if m.link {
			h.Typeflag, h.Linkname, h.Size, m.body = tar.TypeSymlink, m.body, 0, ""
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func wanted(name, body string) File {
	return File{Member: name, Name: "out-" + filepath.Base(name), Size: int64(len(body)), SHA256: sumOf([]byte(body))}
}

func sumOf(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func writeFile(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExtract(t *testing.T) {
	const body = "the body of a wanted file"
	want := []File{wanted("a/b.txt", body)}
	inner := makeZip(t, member{name: "a/b.txt", body: body})
	for _, c := range []struct {
		name    string
		pkg     Package
		members []member
		want    error // nil: it works
	}{
		{"plain", Package{Files: want}, []member{{name: "x", body: "y"}, {name: "a/b.txt", body: body}}, nil},
		{"dotted name", Package{Files: want}, []member{{name: "./a/b.txt", body: body}}, nil},
		{"nested", Package{Inner: "in/model.zip", Files: want}, []member{{name: "in/model.zip", body: string(inner)}}, nil},
		{"unwanted link", Package{Files: want}, []member{{name: "l", body: "b.txt", link: true}, {name: "a/b.txt", body: body}}, nil},
		{"missing", Package{Files: want}, []member{{name: "a/c.txt", body: body}}, ErrArchive},
		{"missing inner", Package{Inner: "in/model.zip", Files: want}, []member{{name: "a/b.txt", body: body}}, ErrArchive},
		{"damaged inner", Package{Inner: "in/model.zip", Files: want}, []member{{name: "in/model.zip", body: "no zip"}}, ErrArchive},
		{"other bytes", Package{Files: want}, []member{{name: "a/b.txt", body: strings.ToUpper(body)}}, ErrDigest},
		{"shorter", Package{Files: want}, []member{{name: "a/b.txt", body: body[1:]}}, ErrDigest},
		{"longer", Package{Files: want}, []member{{name: "a/b.txt", body: body + "!"}}, ErrArchive},
		{"bomb", Package{Files: want}, []member{{name: "a/b.txt", body: strings.Repeat("\x00", 30<<20)}}, ErrArchive},
		{"wanted link", Package{Files: want}, []member{{name: "a/b.txt", body: "/etc/hostname", link: true}}, ErrArchive},
		{"twice", Package{Files: want}, []member{{name: "a/b.txt", body: body}, {name: "a/b.txt", body: body}}, ErrArchive},
		{"twice by another name", Package{Files: want}, []member{{name: "a/b.txt", body: body}, {name: "a//b.txt", body: body}}, ErrArchive},
		{"upwards", Package{Files: want}, []member{{name: "../evil", body: "x"}, {name: "a/b.txt", body: body}}, ErrArchive},
		{"upwards inside", Package{Files: want}, []member{{name: "a/../../evil", body: "x"}, {name: "a/b.txt", body: body}}, ErrArchive},
		{"upwards to the wanted", Package{Files: want}, []member{{name: "c/../a/b.txt", body: body}}, ErrArchive},
		{"absolute", Package{Files: want}, []member{{name: "/evil", body: "x"}, {name: "a/b.txt", body: body}}, ErrArchive},
		{"backslashes", Package{Files: want}, []member{{name: `..\evil`, body: "x"}, {name: "a/b.txt", body: body}}, ErrArchive},
		{"drive", Package{Files: want}, []member{{name: "C:evil", body: "x"}, {name: "a/b.txt", body: body}}, ErrArchive},
	} {
		for kind, b := range map[string][]byte{".whl": makeZip(t, c.members...), ".tgz": makeTgz(t, c.members...)} {
			t.Run(c.name+kind, func(t *testing.T) {
				root := t.TempDir()
				tr := transfer{pkg: c.pkg, tmp: filepath.Join(root, "tmp"), dir: filepath.Join(root, "dir")}
				for _, d := range []string{tr.tmp, tr.dir} {
					if err := os.Mkdir(d, 0o755); err != nil {
						t.Fatal(err)
					}
				}
				err := extract(t.Context(), writeFile(t, "archive"+kind, b), tr)
				if !errors.Is(err, c.want) || c.want == nil && err != nil {
					t.Fatalf("%v, want %v", err, c.want)
				}
				got, readErr := os.ReadFile(filepath.Join(tr.dir, "out-b.txt"))
				if c.want == nil && string(got) != body {
					t.Errorf("extracted %q, %v", got, readErr)
				}
				var files []string
				filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
					if err == nil && !d.IsDir() {
						files = append(files, path)
					}
					return err
				})
				if c.want == nil && len(files) != 1 || c.want != nil && len(files) > 1 {
					t.Errorf("it left %v", files)
				}
				if c.want != nil && !errors.Is(err, ErrArchive) && got != nil {
					t.Errorf("refused bytes stayed: %q", got)
				}
			})
		}
	}
}

// A cut archive is refused at every length.
func TestExtractTruncated(t *testing.T) {
	body := strings.Repeat("some text to pack ", 10)
	for kind, b := range map[string][]byte{
		".whl": makeZip(t, member{name: "a/b.txt", body: body}),
		".tgz": makeTgz(t, member{name: "a/b.txt", body: body}),
	} {
		for n := range len(b) {
			dir := t.TempDir()
			err := extract(t.Context(), writeFile(t, "archive"+kind, b[:n]), transfer{tmp: dir, dir: dir, pkg: Package{Files: []File{wanted("a/b.txt", body)}}})
			// The end of a tgz is padding that no member needs.
			if _, statErr := os.Stat(filepath.Join(dir, "out-b.txt")); err == nil && statErr != nil || err != nil && kind == ".tgz" && errors.Is(err, ErrDigest) {
				t.Fatalf("%s cut to %d of %d bytes: %v, %v", kind, n, len(b), err, statErr)
			}
			if err == nil && kind == ".whl" {
				t.Fatalf("a zip cut to %d of %d bytes was taken", n, len(b))
			}
		}
	}
}

func TestExtractCancelled(t *testing.T) {
	body := strings.Repeat("x", 1<<16)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	for kind, b := range map[string][]byte{".whl": makeZip(t, member{name: "a/b.txt", body: body}), ".tgz": makeTgz(t, member{name: "a/b.txt", body: body})} {
		err := extract(ctx, writeFile(t, "archive"+kind, b), transfer{tmp: dir, dir: dir, pkg: Package{Files: []File{wanted("a/b.txt", body)}}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// Whatever the bytes, extraction neither panics nor writes anything but the
// wanted file with its pinned content into its folder.
func FuzzExtract(f *testing.F) {
	const body = "hello hello hello"
	inner := makeZip(f, member{name: "a/b.txt", body: body})
	for _, tgz := range []bool{false, true} {
		pack := makeZip
		if tgz {
			pack = makeTgz
		}
		f.Add(pack(f, member{name: "a/b.txt", body: body}), tgz, false)
		f.Add(pack(f, member{name: "in.zip", body: string(inner)}), tgz, true)
		f.Add(pack(f, member{name: "../x", body: body}, member{name: "a/b.txt", body: "z", link: true}), tgz, false)
		f.Add([]byte("PK\x05\x06"), tgz, false)
	}
	f.Fuzz(func(t *testing.T, b []byte, tgz, nested bool) {
		root, name := t.TempDir(), "archive.whl"
		if tgz {
			name = "archive.tgz"
		}
		tmp, dir := filepath.Join(root, "tmp"), filepath.Join(root, "dir")
		for _, d := range []string{tmp, dir} {
			if err := os.Mkdir(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		p := Package{Files: []File{wanted("a/b.txt", body)}}
		if nested {
			p.Inner = "in.zip"
		}
		err := extract(t.Context(), writeFile(t, name, b), transfer{pkg: p, tmp: tmp, dir: dir})
		entries, _ := os.ReadDir(dir)
		if err == nil && len(entries) != 1 {
			t.Fatalf("no error, but %d files", len(entries))
		}
		for _, e := range entries {
			got, readErr := os.ReadFile(filepath.Join(dir, e.Name()))
			if e.Name() != "out-b.txt" || string(got) != body {
				t.Fatalf("%s holds %q (%v)", e.Name(), got, readErr)
			}
		}
		if rest, _ := os.ReadDir(root); len(rest) != 2 {
			t.Fatalf("it wrote outside of its folders: %v", rest)
		}
	})
}
