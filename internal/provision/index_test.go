package provision

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fakeIndex is a package index with one wheel, and a Maven repository.
type fakeIndex struct {
	*httptest.Server
	t      *testing.T
	wheel  []byte
	name   string // of the wheel
	sum    string // that the index gives it
	html   bool   // pages as in PEP 503, else as in PEP 691
	etag   string
	whole  bool   // the server sends no parts
	auth   string // who may ask, as "name:password"
	sent   atomic.Int64
	asked  atomic.Int32
	mu     sync.Mutex
	before func(w http.ResponseWriter, r *http.Request) bool // answers a request for a file itself
}

func newFakeIndex(t *testing.T, members ...member) *fakeIndex {
	f := &fakeIndex{t: t, name: "pkg_name-1.0-py3-none-any.whl", etag: `"v1"`, wheel: makeZip(t, members...)}
	f.sum = sumOf(f.wheel)
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeIndex) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	before := f.before
	f.mu.Unlock()
	if f.auth != "" && r.Header.Get("Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(f.auth)) {
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	switch {
	case r.URL.Path == "/simple/pkg-name/":
		if before != nil && before(w, r) {
			return
		}
		link := "../../files/" + f.name
		if f.html {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			if f.sum != "" {
				link += "#sha256=" + f.sum
			}
			fmt.Fprintf(w, "<!DOCTYPE html><html><body><a href='../../files/old.tar.gz'>old</a><br/>\n<a data-x=y href=%q>%s</a></body></html>", link, f.name)
			return
		}
		w.Header().Set("Content-Type", simpleJSON)
		json.NewEncoder(w).Encode(map[string]any{"meta": map[string]string{"api-version": "1.1"}, "name": "pkg-name",
			"files": []any{map[string]any{"filename": f.name, "url": link, "hashes": map[string]string{"sha256": f.sum}}}})
	case strings.HasPrefix(r.URL.Path, "/files/"), strings.HasPrefix(r.URL.Path, "/maven/org/some/pkg/1.0/pkg-1.0.jar"):
		f.asked.Add(1)
		if before != nil && before(w, r) {
			return
		}
		f.file(w, r)
	default:
		http.NotFound(w, r)
	}
}

// file sends the wheel.
func (f *fakeIndex) file(w http.ResponseWriter, r *http.Request) {
	if f.etag != "" {
		w.Header().Set("ETag", f.etag)
	}
	if f.whole {
		r.Header.Del("Range")
	}
	http.ServeContent(&counted{w, &f.sent}, r, "", time.Time{}, bytes.NewReader(f.wheel))
}

type counted struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

// session is one whose configuration names the index, with user and password
// in the address where the index asks for them, and with no client to be found.
func (f *fakeIndex) session() (*session, *log) {
	onlyPath(f.t)
	s, l := testSession(f.t, "http://127.0.0.1:1")
	u, err := url.Parse(f.URL + "/simple/")
	if err != nil {
		f.t.Fatal(err)
	}
	if name, password, ok := strings.Cut(f.auth, ":"); ok {
		u.User = url.UserPassword(name, password)
	}
	setenv(s, "PIP_INDEX_URL", u.String())
	return s, l
}

// setenv adds a variable to what a session sees of the environment.
func setenv(s *session, name, value string) {
	before := s.env.Getenv
	s.env.Getenv = func(n string) string {
		if n == name {
			return value
		}
		return before(n)
	}
}

// noise are bytes that do not shrink when they are packed.
func noise(n int) string {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

func indexArtifact(s *session, via, name string, body string) artifact {
	return artifact{name: "thing", dir: filepath.Join(s.cache, "thing"), main: "out-b.txt",
		packages: []Package{{Via: via, Name: name, Version: "1.0", Files: []File{wanted("a/b.txt", body)}}}}
}

// checkThing holds what is in the cache to the body.
func checkThing(t *testing.T, s *session, p Provenance, err error, body string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if p.Route != RouteIndex || p.Cached {
		t.Errorf("provenance %+v", p)
	}
	if b, err := os.ReadFile(filepath.Join(s.cache, "thing", "out-b.txt")); string(b) != body {
		t.Errorf("%d bytes in the cache, want %d; %v", len(b), len(body), err)
	}
	if left, err := filepath.Glob(filepath.Join(s.cache, "partial", "*")); len(left) > 0 || err != nil {
		t.Errorf("left in part: %v, %v", left, err)
	}
	if p.Package == "Pkg.Name" {
		if again, err := s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", body)); err != nil || !again.Cached {
			t.Errorf("the second time: %+v, %v", again, err)
		}
	}
}

// A wheel is read where the configuration says that the index is, and no more
// of it than is needed.
func TestIndex(t *testing.T) {
	small, big := noise(70_000), noise(900_000)
	for _, c := range []struct {
		name   string
		change func(f *fakeIndex)
		body   string
		most   int64 // bytes that may be sent
	}{
		{"a small part", func(f *fakeIndex) {}, small, 300_000},
		{"HTML", func(f *fakeIndex) { f.html = true }, small, 300_000},
		{"no parts", func(f *fakeIndex) { f.whole = true }, small, 1 << 20},
		{"parts without a state", func(f *fakeIndex) { f.etag = "" }, small, 1 << 20},
		{"most of it", func(f *fakeIndex) {}, big, 1_100_000},
		{"no digest", func(f *fakeIndex) { f.sum = ""; f.html = true; f.whole = true }, small, 1 << 20},
		{"password", func(f *fakeIndex) { f.auth = "name:pass word/@" }, small, 300_000},
		{"redirect", func(f *fakeIndex) {
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/moved") || !strings.HasPrefix(r.URL.Path, "/files/") {
					return false
				}
				http.Redirect(w, r, "/files/moved/moved", http.StatusFound)
				return true
			}
		}, small, 300_000},
		{"published anew meanwhile", func(f *fakeIndex) {
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				if f.asked.Load() > 2 {
					f.etag = `"v2"`
				}
				return false
			}
		}, small, 1 << 20},
		{"busy at first", func(f *fakeIndex) {
			var n atomic.Int32
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				k := n.Add(1)
				if k%2 == 0 {
					return false
				}
				http.Error(w, "later", []int{429, 500, 502, 503, 504}[k%5])
				return true
			}
		}, small, 300_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeIndex(t, member{name: "a/b.txt", body: c.body}, member{name: "a/big", body: noise(400_000 - len(c.body)%100_000)})
			c.change(f)
			s, l := f.session()
			p, err := s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", c.body))
			checkThing(t, s, p, err, c.body)
			if n := f.sent.Load(); n > c.most {
				t.Errorf("%d bytes were sent, want at most %d of %d", n, c.most, len(f.wheel))
			}
			last := l.events[len(l.events)-1]
			if !last.Done || l.events[0].Route != RouteIndex || l.events[0].Total < int64(len(c.body)) || l.events[0].Bytes == 0 {
				t.Errorf("events %+v", l.events)
			}
		})
	}
}

// The archive within an archive, as one of the model's packages has it.
func TestIndexInner(t *testing.T) {
	body := noise(50_000)
	f := newFakeIndex(t, member{name: "pkg/inner.zip", body: string(makeZip(t, member{name: "a/b.txt", body: body}))}, member{name: "x", body: noise(300_000)})
	s, _ := f.session()
	a := indexArtifact(s, "pip", "Pkg.Name", body)
	a.packages[0].Inner = "pkg/inner.zip"
	p, err := s.obtain(t.Context(), a)
	if err != nil || p.Route != RouteIndex {
		t.Fatalf("%+v, %v", p, err)
	}
}

// A jar is read where the settings of Maven say, and out of the repository on
// this machine.
func TestMavenRepository(t *testing.T) {
	body := noise(70_000)
	for _, local := range []bool{false, true} {
		f := newFakeIndex(t, member{name: "a/b.txt", body: body}, member{name: "big", body: noise(300_000)})
		f.auth = "me:secret"
		s, _ := f.session()
		s.env.Home = t.TempDir()
		setenv(s, "MAVEN_PASSWORD", "secret")
		jar := filepath.Join(s.env.Home, ".m2", "repository", "org", "some", "pkg", "1.0", "pkg-1.0.jar")
		settings := fmt.Sprintf(`<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0"><mirrors><mirror><id>m</id><mirrorOf>*</mirrorOf><url>%s/maven</url></mirror></mirrors>
			<servers><server><id>m</id><username>me</username><password>${env.MAVEN_PASSWORD}</password></server></servers></settings>`, f.URL)
		if err := errors.Join(os.MkdirAll(filepath.Dir(jar), 0o755), os.WriteFile(filepath.Join(s.env.Home, ".m2", "settings.xml"), []byte(settings), 0o644)); err != nil {
			t.Fatal(err)
		}
		if local {
			if err := os.WriteFile(jar, f.wheel, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p, err := s.obtain(t.Context(), indexArtifact(s, "mvn", "org.some:pkg", body))
		checkThing(t, s, p, err, body)
		if (f.asked.Load() == 0) != local {
			t.Errorf("local %v: asked %d times", local, f.asked.Load())
		}
	}
}

// A wheel in a folder of pip's find-links needs no network; one that is damaged
// is passed over.
func TestIndexFolder(t *testing.T) {
	body := noise(1000)
	for _, damaged := range []bool{false, true} {
		f := newFakeIndex(t, member{name: "a/b.txt", body: body})
		wheel := f.wheel
		if damaged {
			wheel = makeZip(t, member{name: "a/b.txt", body: noise(1001)[1:]})
		}
		s, _ := f.session()
		setenv(s, "PIP_FIND_LINKS", filepath.Join(t.TempDir(), "none")+" "+filepath.Dir(writeFile(t, f.name, wheel)))
		p, err := s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", body))
		checkThing(t, s, p, err, body)
		if (f.asked.Load() > 0) != damaged {
			t.Errorf("damaged %v: the index was asked %d times", damaged, f.asked.Load())
		}
	}
}

// What an index or a server does wrong is said, and leaves nothing behind.
func TestIndexRefused(t *testing.T) {
	body := noise(70_000)
	answer := func(code int) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool { http.Error(w, "no", code); return true }
	}
	onFiles := func(do func(w http.ResponseWriter, r *http.Request)) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasPrefix(r.URL.Path, "/files/") {
				return false
			}
			do(w, r)
			return true
		}
	}
	for _, c := range []struct {
		name   string
		change func(f *fakeIndex)
		text   string
		want   error
	}{
		{"the index's digest", func(f *fakeIndex) { f.sum, f.whole = sumOf(nil), true }, "SHA-256", ErrDigest},
		{"the index's digest of what is wanted most of", func(f *fakeIndex) {
			f.wheel, f.sum = makeZip(f.t, member{name: "a/b.txt", body: body}), sumOf(nil)
		}, "SHA-256", ErrDigest},
		{"a digest that is none", func(f *fakeIndex) { f.sum = "abc" }, "digest", nil},
		{"our digest", func(f *fakeIndex) {
			f.wheel = makeZip(f.t, member{name: "a/b.txt", body: noise(70_001)[1:]}, member{name: "x", body: noise(200_000)})
		}, "SHA-256", ErrDigest},
		{"our digest, whole", func(f *fakeIndex) {
			f.wheel, f.whole = makeZip(f.t, member{name: "a/b.txt", body: noise(70_001)[1:]}), true
			f.sum = sumOf(f.wheel)
		}, "SHA-256", ErrDigest},
		{"member missing", func(f *fakeIndex) { f.wheel = makeZip(f.t, member{name: "a/c.txt", body: body}) }, "lacks a/b.txt", ErrArchive},
		{"member twice", func(f *fakeIndex) {
			f.wheel = makeZip(f.t, member{name: "a/b.txt", body: body}, member{name: "a/b.txt", body: body}, member{name: "x", body: noise(600_000)})
		}, "where it cannot", ErrArchive},
		{"name that leads out", func(f *fakeIndex) {
			f.wheel = makeZip(f.t, member{name: "a/b.txt", body: body}, member{name: "../x", body: noise(200_000)})
		}, "../x", ErrArchive},
		{"link", func(f *fakeIndex) {
			f.wheel = makeZip(f.t, member{name: "a/b.txt", body: body, link: true}, member{name: "x", body: noise(200_000)})
		}, "regular", ErrArchive},
		{"unpacks to more", func(f *fakeIndex) {
			f.wheel = makeZip(f.t, member{name: "a/b.txt", body: strings.Repeat("0", 50<<20)}, member{name: "x", body: noise(200_000)})
		}, "longer", ErrArchive},
		{"no zip", func(f *fakeIndex) { f.wheel = []byte(noise(300_000)) }, "not a valid zip", ErrArchive},
		{"a directory of lies", func(f *fakeIndex) {
			f.wheel = directoryOf(f.t, 60_000)
		}, "unusable archive", ErrArchive},
		{"a directory too long", func(f *fakeIndex) { f.wheel = bigDirectory(f.t) }, "to know what is in it", ErrArchive},
		{"member beyond the end", func(f *fakeIndex) { f.wheel = lyingSizes(f.t, body) }, "where it cannot", ErrArchive},
		{"not found", func(f *fakeIndex) { f.before = answer(404) }, "404", nil},
		{"forbidden", func(f *fakeIndex) { f.before = answer(403) }, "403", nil},
		{"always busy", func(f *fakeIndex) { f.before = answer(503) }, "503", nil},
		{"no page", func(f *fakeIndex) {
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Content-Type", "application/pdf")
				fmt.Fprint(w, "x")
				return true
			}
		}, "no page of a package index", nil},
		{"damaged page", func(f *fakeIndex) {
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Content-Type", simpleJSON)
				fmt.Fprint(w, `{"meta":{"api-version":"1.0"},"files":[`)
				return true
			}
		}, "damaged", nil},
		{"another version of the page", func(f *fakeIndex) {
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Content-Type", simpleJSON)
				fmt.Fprint(w, `{"meta":{"api-version":"2.0"},"files":[]}`)
				return true
			}
		}, `"2.0"`, nil},
		{"other version of the package", func(f *fakeIndex) { f.name = "pkg_name-1.1-py3-none-any.whl" }, "no wheel of version 1.0", nil},
		{"wheel of another machine", func(f *fakeIndex) { f.name = "pkg_name-1.0-cp311-cp311-win32.whl" }, "no wheel of version 1.0", nil},
		{"endless redirect", func(f *fakeIndex) {
			f.before = onFiles(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) })
		}, "redirects", nil},
		{"redirect nowhere", func(f *fakeIndex) {
			f.before = onFiles(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "gopher://hole/", http.StatusFound) })
		}, "", nil},
		{"silent", func(f *fakeIndex) {
			f.before = onFiles(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		}, "sent nothing", nil},
		{"silent in the middle", func(f *fakeIndex) {
			f.before = onFiles(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "1000")
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			})
		}, "sent nothing", nil},
		{"another part", func(f *fakeIndex) {
			f.before = onFiles(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasPrefix(r.Header.Get("Range"), "bytes=-") {
					r.Header.Set("Range", "bytes=0-99")
				}
				f.file(w, r)
			})
		}, "", nil},
		{"changes all the time", func(f *fakeIndex) {
			var n atomic.Int32
			f.before = onFiles(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", fmt.Sprintf(`"%d"`, n.Add(1)))
				f.whole = n.Load() > 3 // and then it is another one
				if f.wheel[100]++; f.whole {
					r.Header.Del("Range")
				}
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.wheel))
			})
		}, "unusable archive", ErrArchive},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeIndex(t, member{name: "a/b.txt", body: body}, member{name: "big", body: noise(400_000)})
			f.auth = "name:s3cr3t"
			f.sum = ""
			c.change(f)
			s, l := f.session()
			if strings.HasPrefix(c.name, "silent") {
				s.silence = 300 * time.Millisecond
			}
			begin := time.Now()
			_, err := s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", body))
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			var m *MissingError
			if !errors.As(err, &m) || !strings.Contains(err.Error(), c.text) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v, want a MissingError that says %q", err, c.text)
			}
			for _, secret := range []string{"s3cr3t", base64.StdEncoding.EncodeToString([]byte("name:s3cr3t"))} {
				if strings.Contains(fmt.Sprint(err, l), secret) {
					t.Errorf("the password is shown: %v\n%s", err, l)
				}
			}
			if _, err := os.Stat(filepath.Join(s.cache, "thing")); err == nil {
				t.Error("the thing is in the cache")
			}
			if left, _ := os.ReadDir(s.staging()); len(left) > 0 {
				t.Errorf("the staging folder holds %v", left)
			}
		})
	}
}

// onlyPath leaves no client to be found.
func onlyPath(t *testing.T) { t.Setenv("PATH", t.TempDir()) }

// directoryOf is a zip whose end claims so many members, of which there are two.
func directoryOf(t *testing.T, n uint16) []byte {
	z := makeZip(t, member{name: "a/b.txt", body: "x"}, member{name: "c", body: noise(100_000)})
	binary.LittleEndian.PutUint16(z[len(z)-12:], n)
	return z
}

// bigDirectory is a zip whose directory is longer than anyone reads.
func bigDirectory(t *testing.T) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range 300 {
		if _, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i), Comment: strings.Repeat("x", 40_000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// lyingSizes is a zip whose wanted member is said to be longer than the zip.
func lyingSizes(t *testing.T, body string) []byte {
	z := makeZip(t, member{name: "a/b.txt", body: body}, member{name: "c", body: noise(200_000)})
	at := bytes.Index(z, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(z[at+20:], 1<<30)
	return z
}

// A cut transfer goes on where it was cut: at once, and in a later run.
func TestIndexResumes(t *testing.T) {
	body := noise(600_000)
	for _, c := range []struct {
		name  string
		whole int // bytes of other members
	}{{"part", 900_000}, {"whole", 10}} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeIndex(t, member{name: "a/b.txt", body: body}, member{name: "big", body: noise(c.whole)})
			long := func(r *http.Request) bool {
				return strings.HasPrefix(r.URL.Path, "/files/") && !strings.HasPrefix(r.Header.Get("Range"), "bytes=-")
			}
			// Every answer is cut after 100,000 bytes.
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				if !long(r) {
					return false
				}
				f.file(&cutting{w, 100_000}, r)
				return true
			}
			s, _ := f.session()
			p, err := s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", body))
			checkThing(t, s, p, err, body)
			if n := f.sent.Load(); n > int64(len(body))*5/4+300_000 {
				t.Errorf("%d bytes were sent for %d", n, len(body))
			}

			// Each run is stopped after the first 100,000 bytes.
			f.sent.Store(0)
			s, l := f.session()
			runs := 0
			for ; runs < 60; runs++ {
				ctx, cancel := context.WithCancel(t.Context())
				f.mu.Lock()
				f.before = func(w http.ResponseWriter, r *http.Request) bool {
					if !long(r) {
						return false
					}
					defer func() {
						if cut := recover(); cut != nil {
							time.Sleep(20 * time.Millisecond)
							cancel()
							panic(cut)
						}
					}()
					f.file(&cutting{w, 100_000}, r)
					return true
				}
				f.mu.Unlock()
				p, err = s.obtain(ctx, indexArtifact(s, "pip", "Pkg.Name", body))
				cancel()
				if err == nil {
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
			}
			checkThing(t, s, p, err, body)
			if runs < 3 {
				t.Errorf("done after %d runs: they were not stopped", runs)
			}
			if n := f.sent.Load(); n > int64(len(body))*2+int64(runs)*200_000 {
				t.Errorf("%d bytes were sent for %d in %d runs", n, len(body), runs)
			}
			bytes := int64(0)
			for _, e := range l.events {
				bytes = max(bytes, e.Bytes)
			}
			if bytes < int64(len(body))/2 {
				t.Errorf("progress went to %d of %d", bytes, len(body))
			}
		})
	}
}

// cutting drops the connection after so many bytes.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; c.left <= 0 {
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// What an earlier run left is not used where the file has changed since, nor
// where it is damaged.
func TestIndexResumesNothingWrong(t *testing.T) {
	body := noise(300_000)
	for _, c := range []struct {
		name  string
		other int
		do    func(f *fakeIndex, part string)
	}{
		{"changed, part", 500_000, func(f *fakeIndex, part string) { f.etag = `"v2"` }},
		{"changed, whole", 10, func(f *fakeIndex, part string) { f.etag = `"v2"` }},
		{"damaged, part", 500_000, func(f *fakeIndex, part string) { damagePart(f.t, part) }},
		{"damaged, whole", 10, func(f *fakeIndex, part string) { damagePart(f.t, part) }},
		{"state damaged", 10, func(f *fakeIndex, part string) {
			if err := os.WriteFile(part+".json", []byte("{"), 0o644); err != nil {
				f.t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeIndex(t, member{name: "a/b.txt", body: body}, member{name: "big", body: noise(c.other)})
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasPrefix(r.URL.Path, "/files/") && !strings.HasPrefix(r.Header.Get("Range"), "bytes=-") {
					if r.Header.Get("If-Range") != "" && f.asked.Load() > 3 {
						http.Error(w, "gone home", http.StatusForbidden)
						return true
					}
					f.file(&cutting{w, 100_000}, r)
					return true
				}
				return false
			}
			onlyPath(t)
			s, _ := f.session()
			if _, err := s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", body)); err == nil {
				t.Fatal("it was not cut")
			}
			f.before = nil
			parts, err := filepath.Glob(filepath.Join(s.cache, "partial", "thing", "*[0-9a-f]"))
			if err != nil || len(parts) != 1 {
				t.Fatalf("left in part: %v, %v", parts, err)
			}
			c.do(f, parts[0])
			p, err := s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", body))
			checkThing(t, s, p, err, body)
		})
	}
}

func damagePart(t *testing.T, path string) {
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Without a configured index, the way goes on to the clients, and says once why.
func TestIndexNotConfigured(t *testing.T) {
	onlyPath(t)
	s, l := testSession(t, "http://127.0.0.1:1")
	a := indexArtifact(s, "pip", "Pkg.Name", "x")
	a.packages = append(a.packages, indexArtifact(s, "mvn", "org.some:pkg", "x").packages...)
	_, err := s.obtain(t.Context(), a)
	for _, text := range []string{"no index is configured for pip or uv", "PIP_INDEX_URL", "no index is configured for mvn", "settings.xml", "pip or uv is not on PATH"} {
		if !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("%v does not say %q", err, text)
		}
	}
	if len(l.lines) > 0 {
		t.Errorf("said %q", l)
	}
}

// A certificate that pip was given is trusted, and no other.
func TestIndexCertificate(t *testing.T) {
	body := noise(1000)
	f := newFakeIndex(t, member{name: "a/b.txt", body: body})
	f.Server.Close()
	f.Server = httptest.NewTLSServer(f)
	defer f.Server.Close()
	f.Config.ErrorLog = nil
	onlyPath(t)
	s, _ := f.session()
	if _, err := s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", body)); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
	pemFile := writeFile(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw}))
	s, _ = f.session()
	setenv(s, "PIP_CERT", pemFile)
	p, err := s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", body))
	checkThing(t, s, p, err, body)
	s, _ = f.session()
	setenv(s, "PIP_CERT", writeFile(t, "none.pem", []byte("nothing")))
	if _, err := s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", body)); err == nil || !strings.Contains(err.Error(), "holds no certificate") {
		t.Errorf("a file without certificates: %v", err)
	}
}

// The proxy of the environment is used, and asked for addresses that only it knows.
func TestIndexProxy(t *testing.T) {
	body := noise(1000)
	f := newFakeIndex(t, member{name: "a/b.txt", body: body})
	var hosts sync.Map
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts.Store(r.URL.Host, true)
		f.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	s, _ := testSession(t, "http://127.0.0.1:1")
	setenv(s, "PIP_INDEX_URL", "http://index.invalid/simple")
	setenv(s, "http_proxy", proxy.URL)
	p, err := s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", body))
	checkThing(t, s, p, err, body)
	if _, ok := hosts.Load("index.invalid"); !ok {
		t.Error("the proxy was not asked")
	}
}

// Credentials go to the server they are for, even through redirects; where the
// address has none, those of .netrc do.
func TestIndexCredentials(t *testing.T) {
	body := noise(1000)
	var leaked atomic.Value
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := r.Header.Get("Authorization"); h != "" {
			leaked.Store(h)
		}
		w.Header().Set("ETag", `"x"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(makeZip(t, member{name: "a/b.txt", body: body})))
	}))
	defer other.Close()
	f := newFakeIndex(t)
	f.sum, f.auth = "", "name:s3cr3t"
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/files/") {
			return false
		}
		http.Redirect(w, r, other.URL+"/elsewhere?signature=abcdef", http.StatusFound)
		return true
	}
	s, l := testSession(t, "http://127.0.0.1:1")
	setenv(s, "PIP_INDEX_URL", strings.Replace(f.URL, "http://", "http://name:s3cr3t@", 1)+"/simple")
	p, err := s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", body))
	checkThing(t, s, p, err, body)
	if h := leaked.Load(); h != nil {
		t.Errorf("another host was sent %q", h)
	}
	if strings.Contains(l.String(), "abcdef") || strings.Contains(l.String(), "s3cr3t") {
		t.Errorf("a secret is logged:\n%s", l)
	}

	f.before, f.wheel = nil, makeZip(t, member{name: "a/b.txt", body: body})
	s, _ = testSession(t, "http://127.0.0.1:1")
	setenv(s, "PIP_INDEX_URL", f.URL+"/simple")
	setenv(s, "NETRC", writeFile(t, "netrc", []byte("machine elsewhere login x password y\nmachine 127.0.0.1\n\tlogin name\n\tpassword s3cr3t\n")))
	p, err = s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", body))
	checkThing(t, s, p, err, body)
}

// The hub is asked where HF_ENDPOINT says, by the token of HF_TOKEN, which no
// other host sees.
func TestHub(t *testing.T) {
	var leaked atomic.Value
	var asked atomic.Int32
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := r.Header.Get("Authorization"); h != "" {
			leaked.Store(h)
		}
		w.Header().Set("ETag", `"x"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(testFiles[filepath.Base(r.URL.Path)]))
	}))
	defer store.Close()
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hf_token" || !strings.HasPrefix(r.URL.Path, "/hub/maker/name/resolve/main/") {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		if asked.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "later", http.StatusTooManyRequests)
			return
		}
		http.Redirect(w, r, store.URL+"/"+filepath.Base(r.URL.Path)+"?X-Signature=abcdef", http.StatusFound)
	}))
	defer hub.Close()
	s, l := testSession(t, hub.URL)
	setenv(s, "HF_TOKEN", "hf_token")
	p, err := s.obtain(t.Context(), testModel(s))
	if err != nil || p.Route != "download" {
		t.Fatalf("%+v, %v", p, err)
	}
	if h := leaked.Load(); h != nil {
		t.Errorf("the store was sent %q", h)
	}
	if said := l.String(); strings.Contains(said, "abcdef") || strings.Contains(said, "hf_token") {
		t.Errorf("a secret is logged:\n%s", said)
	}
	s, l = testSession(t, hub.URL)
	setenv(s, "HF_TOKEN", "hf_wrong")
	if _, err := s.obtain(t.Context(), testModel(s)); err == nil || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error()+l.String(), "hf_wrong") {
		t.Errorf("with a wrong token: %v", err)
	}
	t.Setenv("HF_ENDPOINT", "http://127.0.0.1:9/mirror")
	if s, err := newSession(Request{CacheDir: t.TempDir()}); err != nil || s.hub != "http://127.0.0.1:9/mirror/" {
		t.Errorf("HF_ENDPOINT: %v", err)
	}
}

// TestNoPasswordsOfOthers: neither a proxy that does not answer, nor what a client says of an address, gives a
// password away.
func TestNoPasswordsOfOthers(t *testing.T) {
	const password = "s3cr3t"
	for _, variable := range []string{"HTTP_PROXY", "http_proxy", "PIP_PROXY"} {
		f := newFakeIndex(t, member{name: "a/b.txt", body: "text"})
		s, l := f.session()
		setenv(s, variable, "http://me:"+password+"@127.0.0.1:1")
		setenv(s, "PIP_INDEX_URL", "http://index.invalid/simple/") // this machine's own has no proxy
		_, err := s.obtain(t.Context(), indexArtifact(s, "pip", "Pkg.Name", "text"))
		if err == nil || strings.Contains(fmt.Sprint(err, l), password) || !strings.Contains(err.Error(), "proxy") {
			t.Errorf("%s: %v\n%s", variable, err, l)
		}
	}
	for _, said := range []string{"cannot read https://me:" + password + "@host/simple", "long " + strings.Repeat("x", maxClientOutput-20) + " https://me:" + password + "@host/simple a b",
		"x https://me:" + password + "@host/" + strings.Repeat("x", maxClientOutput-len("rt@host/")) + " y"} {
		var out tail
		if _, err := out.Write([]byte(said)); err != nil || strings.Contains(out.String(), "3t@") || !strings.ContainsAny(out.String(), "aby") {
			t.Errorf("%s: %v", out.String(), err)
		}
	}
}
