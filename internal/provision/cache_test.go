package provision

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
)

// countingServer serves testFiles and counts the files it was asked for.
func countingServer(t *testing.T) (string, *atomic.Int32) {
	var n atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		time.Sleep(20 * time.Millisecond)
		fmt.Fprint(w, testFiles[filepath.Base(r.URL.Path)])
	}))
	t.Cleanup(server.Close)
	return server.URL, &n
}

// Damage of any kind makes a cached artifact be fetched again.
func TestCacheDamage(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"nothing": func(string) error { return nil },
		"other bytes": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "model.safetensors"), []byte("evil"), 0o644)
		},
		"file gone":    func(dir string) error { return os.Remove(filepath.Join(dir, "tokenizer.json")) },
		"receipt gone": func(dir string) error { return os.Remove(filepath.Join(dir, receiptFile)) },
		"receipt cut":  func(dir string) error { return os.Truncate(filepath.Join(dir, receiptFile), 20) },
		"receipt of another version": func(dir string) error {
			path := filepath.Join(dir, receiptFile)
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, []byte(strings.Replace(string(b), "main", "old", 1)), 0o644))
		},
		"receipt that leads out": func(dir string) error {
			path := filepath.Join(dir, receiptFile)
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, []byte(strings.Replace(string(b), `"tokenizer.json"`, `"../../x"`, 1)), 0o644))
		},
		"other bytes, with a receipt of them": func(dir string) error {
			path, evil := filepath.Join(dir, receiptFile), []byte("evil")
			b, err := os.ReadFile(path)
			text := strings.Replace(string(b), sumOf([]byte(testFiles["model.safetensors"])), sumOf(evil), 1)
			return errors.Join(err, os.WriteFile(filepath.Join(dir, "model.safetensors"), evil, 0o644), os.WriteFile(path, []byte(text), 0o644))
		},
		"receipt without a file": func(dir string) error {
			path := filepath.Join(dir, receiptFile)
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, []byte(strings.Replace(string(b), `"tokenizer.json"`, `"tokenizer.txt"`, 1)), 0o644),
				os.WriteFile(filepath.Join(dir, "tokenizer.txt"), []byte(testFiles["tokenizer.json"]), 0o644))
		},
		"folder instead of file": func(dir string) error {
			path := filepath.Join(dir, "tokenizer.json")
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := countingServer(t)
			s, _ := testSession(t, url)
			a := testModel(s)
			if _, err := s.obtain(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if err := damage(a.dir); err != nil {
				t.Fatal(err)
			}
			asked.Store(0)
			p, err := s.obtain(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if again := name != "nothing"; p.Cached == again || (asked.Load() > 0) != again {
				t.Errorf("cached %v after %d requests", p.Cached, asked.Load())
			}
			if b, err := os.ReadFile(filepath.Join(a.dir, "model.safetensors")); string(b) != testFiles["model.safetensors"] {
				t.Errorf("%d bytes in the cache, %v", len(b), err)
			}
			asked.Store(0)
			s.offline = true
			if p, err := s.obtain(t.Context(), a); err != nil || !p.Cached || asked.Load() != 0 {
				t.Errorf("offline: %+v, %v, %d requests", p, err, asked.Load())
			}
		})
	}
}

// A start trusts the stamps; a change that keeps size and time is found where the
// files are hashed. Files without stamps, or with others, are hashed once.
func TestStamps(t *testing.T) {
	url, asked := countingServer(t)
	s, _ := testSession(t, url)
	a := testModel(s)
	if _, err := s.obtain(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	path, note := filepath.Join(a.dir, "model.safetensors"), filepath.Join(a.dir, receiptFile)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s.offline = true
	change := func(from, to string) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(path, []byte(strings.Replace(string(b), from, to, 1)), 0o644), os.Chtimes(path, time.Time{}, info.ModTime())); err != nil {
			t.Fatal(err)
		}
	}
	change("weights", "WEIGHTS")
	if _, err := s.obtain(t.Context(), a); err != nil {
		t.Errorf("the stamp was not trusted: %v", err)
	}
	s.verify = true
	if _, err := s.obtain(t.Context(), a); !errors.Is(err, ErrDigest) {
		t.Errorf("what changed behind the stamp was not found: %v", err)
	}
	s.verify = false
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, time.Time{}, later); err != nil {
		t.Fatal(err)
	}
	if _, err := s.obtain(t.Context(), a); !errors.Is(err, ErrDigest) {
		t.Errorf("what changed with its time was not found: %v", err)
	}
	change("WEIGHTS", "weights")
	for _, old := range []bool{false, true} { // another time; a receipt of before there were stamps
		if err := os.Chtimes(path, time.Time{}, later); err != nil {
			t.Fatal(err)
		}
		if old {
			b, err := os.ReadFile(note)
			if err != nil {
				t.Fatal(err)
			}
			text, _, _ := strings.Cut(string(b), `,
  "stamps"`)
			if err := os.WriteFile(note, []byte(text+"}"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.obtain(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(note)
		if want := fmt.Sprint(later.UnixNano()); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("old receipt %v: the stamp of %s is not noted: %s, %v", old, want, b, err)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("%d requests", asked.Load())
	}
}

// An interrupt while the cache is checked is no damage of it.
func TestCacheInterrupted(t *testing.T) {
	url, asked := countingServer(t)
	s, _ := testSession(t, url)
	a := testModel(s)
	if _, err := s.obtain(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	asked.Store(0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s.offline = range []bool{true, false} {
		s.report.log = func(line string) { t.Errorf("said %q", line) }
		if _, err := s.obtain(ctx, a); !errors.Is(err, context.Canceled) || errors.Is(err, encoder.ErrUnavailable) || asked.Load() != 0 {
			t.Errorf("offline %v: %v after %d requests", s.offline, err, asked.Load())
		}
	}
}

// Several callers at once (each with a lock of its own, as processes have)
// fetch an artifact once, and what a killed one left goes away.
func TestOneFetches(t *testing.T) {
	url, asked := countingServer(t)
	first, _ := testSession(t, url)
	left := filepath.Join(first.staging(), "model@123", "fill")
	other := filepath.Join(first.staging(), "model-q@123")
	for _, d := range []string{left, other} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	var fetched atomic.Int32
	for range 8 {
		wg.Go(func() {
			s, _ := testSession(t, url)
			s.cache = first.cache
			p, err := s.obtain(t.Context(), testModel(s))
			if err != nil {
				t.Error(err)
			}
			if !p.Cached {
				fetched.Add(1)
			}
		})
	}
	wg.Wait()
	if fetched.Load() != 1 || asked.Load() != 2 {
		t.Errorf("%d callers fetched with %d requests, want 1 with 2", fetched.Load(), asked.Load())
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what a killed process left is still there")
	}
	if _, err := os.Stat(other); err != nil {
		t.Error("another artifact's folder was removed")
	}
}

// What one user fetched or made serves all users of the machine, also after its files were checked again.
func TestOthersReadTheCache(t *testing.T) {
	url, _ := countingServer(t)
	s, _ := testSession(t, url)
	fetched := testModel(s)
	made := artifact{name: "table", dir: filepath.Join(s.cache, "models", "table"), main: "table", packages: []Package{{Via: RouteMade, Name: "model"}},
		finish: func(_ context.Context, dir string) error {
			return os.WriteFile(filepath.Join(dir, "table"), []byte("t"), 0o600)
		}}
	for _, a := range []artifact{fetched, made} {
		get := s.obtain
		if a.finish != nil {
			get = s.make
		}
		for _, round := range []string{"new", "checked again"} {
			if _, err := get(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			err := filepath.WalkDir(a.dir, func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() { // a umask is obeyed there
					return err
				}
				if info, err := e.Info(); err != nil || info.Mode()&0o044 != 0o044 {
					t.Errorf("%s, %s: %v, %v", round, path, info.Mode(), err)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(filepath.Join(a.dir, a.main), time.Time{}, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Whoever waits for another process is told so.
func TestWaitIsLogged(t *testing.T) {
	url, _ := countingServer(t)
	s, l := testSession(t, url)
	unlock, err := s.lock(t.Context(), "model")
	if err != nil {
		t.Fatal(err)
	}
	long, unlock := s.silence, sync.OnceFunc(unlock)
	s.silence, l.heard = 0, func(string) { s.silence = long; unlock() }
	defer time.AfterFunc(20*time.Second, unlock).Stop()
	if _, err := s.obtain(t.Context(), testModel(s)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(l.String(), "waiting for another process") {
		t.Errorf("log:\n%s", l)
	}
}

func TestUnknownModel(t *testing.T) {
	_, err := Ensure(t.Context(), Request{Model: "no-such-model", CacheDir: t.TempDir(), Offline: true})
	if !errors.Is(err, ErrUnknownModel) || !strings.Contains(err.Error(), DefaultModel) {
		t.Errorf("%v", err)
	}
}

// Offline with nothing there is an immediate answer that names everything.
func TestOfflineMissing(t *testing.T) {
	begin := time.Now()
	lib := filepath.Join(t.TempDir(), "none.so")
	_, err := Ensure(t.Context(), Request{CacheDir: t.TempDir(), Offline: true, Library: lib, Log: func(s string) { t.Errorf("it said %q", s) }})
	var m *MissingError
	if !errors.As(err, &m) || !errors.Is(err, encoder.ErrUnavailable) || len(m.Missing) != 2 {
		t.Fatalf("%v", err)
	}
	for _, text := range []string{"onnxruntime is missing", DefaultModel + " is missing", "remedy:", "offline", lib} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q lacks %q", err, text)
		}
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestCacheDir(t *testing.T) {
	t.Setenv("LEXSEM_CACHE", "relative")
	if dir, err := CacheDir(); err != nil || !filepath.IsAbs(dir) || filepath.Base(dir) != "relative" {
		t.Errorf("%s, %v", dir, err)
	}
	t.Setenv("LEXSEM_CACHE", "")
	if dir, err := CacheDir(); err != nil || filepath.Base(dir) != "lexsem" {
		t.Errorf("%s, %v", dir, err)
	}
}

// Every registered package is complete: a missing digest would be accepted.
func TestRegistry(t *testing.T) {
	check := func(t *testing.T, p Package) {
		if _, ok := sources[p.Via]; !ok {
			t.Errorf("%s %s comes by %s, which is not registered", p.Name, p.Version, p.Via)
		}
		if p.Archive != "" && len(p.SHA256) != 64 {
			t.Errorf("archive %s has the digest %q", p.Archive, p.SHA256)
		}
		if p.Name == "" || p.Version == "" || len(p.Files) == 0 {
			t.Errorf("incomplete: %+v", p)
		}
		for _, f := range p.Files {
			if p.Archive == "" && (len(f.SHA256) != 64 || f.Size <= 0) {
				t.Errorf("%s of %s has the digest %q and size %d", f.Member, p.Name, f.SHA256, f.Size)
			}
		}
	}
	for _, m := range Models() {
		if err := m.Spec.Validate(); err != nil {
			t.Error(err)
		}
		if m.Size() < 1<<20 || len(m.Languages) == 0 || m.License == "" || m.Dim < 1 {
			t.Errorf("%s is listed with %d bytes, languages %v, licence %q, %d dimensions", m.Spec.Model, m.Size(), m.Languages, m.License, m.Dim)
		}
		for _, p := range m.Packages {
			check(t, p)
		}
	}
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64", "windows/arm64"} {
		ps := libraryPackages(platform)
		if len(ps) < 3 {
			t.Errorf("%s: %d packages", platform, len(ps))
		}
		for _, p := range ps {
			check(t, p)
		}
	}
	if ps := libraryPackages("plan9/386"); len(ps) != 0 {
		t.Errorf("plan9/386: %v", ps)
	}
}
