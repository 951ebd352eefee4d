package provision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/regular"
)

// The cache:
//
//	onnxruntime/OS-ARCH/   the library and receipt.json
//	models/NAME/           model.onnx, tokenizer.json, lexsem-model.json, receipt.json
//	locks/NAME.lock        held by the process that fetches NAME
//	partial/NAME/          files that were fetched in part, to be resumed
//	models/static-NAME/    a model that was made of NAME (Make), and receipt.json
//	staging/NAME@*         a folder being filled; its name changes to the final
//	                       one only when every digest was right
//
// A receipt lists each file with its digest and its stamp. A folder counts as cached if its receipt names a
// package that is still registered, and every file has its digest or the stamp of the last hashing. Otherwise
// it is fetched again.

const receiptFile = "receipt.json"

// CacheDir returns the folder for fetched artifacts: $LEXSEM_CACHE, else lexsem in the user's cache
// folder. It does not create it.
func CacheDir() (string, error) {
	if dir := os.Getenv("LEXSEM_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w; name one in LEXSEM_CACHE", err)
	}
	return filepath.Join(dir, "lexsem"), nil
}

// receipt lists the files of a cached folder and their origin.
type receipt struct {
	Route   string            `json:"route"`
	Package string            `json:"package"`
	Version string            `json:"version"`
	Recipe  string            `json:"recipe,omitempty"` // artifact.recipe
	Files   map[string]string `json:"files"`            // name: SHA-256
	Stamps  map[string]stamp  `json:"stamps,omitempty"` // of the files, when they had that digest
}

func (r receipt) provenance(a artifact, cached bool) Provenance {
	p := Provenance{Artifact: a.name, Route: r.Route, Package: r.Package, Version: r.Version,
		SHA256: r.Files[a.main], Path: a.dir, Cached: cached}
	if a.file {
		p.Path = filepath.Join(a.dir, a.main)
	}
	return p
}

// artifact is something from a package that the cache keeps in a folder.
type artifact struct {
	name     string
	dir      string // its folder in the cache
	main     string // the file that names its digest
	file     bool   // whether the artifact is that file alone, not the folder
	recipe   string // identifies what finish does; another recipe makes a cached folder stale
	packages []Package
	finish   func(ctx context.Context, dir string) error // completes the folder; may be nil
	remedy   string
}

// errNotCached means that the folder of an artifact does not exist.
var errNotCached = errors.New("not there")

// cached returns the receipt of a's folder after checking every file.
func (s *session) cached(ctx context.Context, a artifact) (receipt, error) {
	b, err := regular.ReadFile(filepath.Join(a.dir, receiptFile), maxJSONBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return receipt{}, errNotCached
	}
	if err != nil {
		return receipt{}, err
	}
	var r receipt
	if err := json.Unmarshal(b, &r); err != nil {
		return receipt{}, fmt.Errorf("%s is damaged: %w", receiptFile, err)
	}
	i := slices.IndexFunc(a.packages, func(p Package) bool {
		return p.Name == r.Package && p.Version == r.Version &&
			slices.ContainsFunc(p.routes(), func(w route) bool { return w.name == r.Route })
	})
	if i < 0 {
		return receipt{}, fmt.Errorf("holds %s %s, which this version does not use", r.Package, r.Version)
	}
	if err := a.pinned(a.packages[i], r); err != nil {
		return receipt{}, err
	}
	if r.Recipe != a.recipe {
		return receipt{}, fmt.Errorf("was made by another version")
	}
	if r.Files[a.main] == "" {
		return receipt{}, fmt.Errorf("%s does not list %s", receiptFile, a.main)
	}
	stamped, err := r.check(ctx, a.dir, s.verify)
	if err == nil && stamped {
		if err := r.write(a.dir); err != nil { // they are hashed again next time
			s.report.logf("%s: cannot be noted as checked: %v", a.name, err)
		}
	}
	return r, err
}

// pinned compares the digests of a receipt with those of the package in this program: a receipt is in the same folder
// as its files, so anybody who can change them can change it.
func (a artifact) pinned(p Package, r receipt) error {
	for _, f := range p.Files {
		digest, listed := r.Files[f.Name]
		gone := !listed && a.finish != nil // it makes another file of this one
		if f.SHA256 != "" && digest != f.SHA256 && !gone {
			return fmt.Errorf("%s has the SHA-256 %q by its %s, where that of %s %s is %s: %w", f.Name, digest, receiptFile, p.Name, p.Version, f.SHA256, ErrDigest)
		}
	}
	return nil
}

// obtain returns a from the cache, or over the first package that works.
func (s *session) obtain(ctx context.Context, a artifact) (Provenance, error) {
	r, err := s.cached(ctx, a)
	if err == nil {
		return r.provenance(a, true), nil
	}
	if ctx.Err() != nil { // which says nothing of the cache
		return Provenance{}, ctx.Err()
	}
	missing := &MissingError{Offline: s.offline, Missing: []Missing{{Artifact: a.name, Remedy: a.remedy}}}
	attempt := func(route string, reason error) {
		m := &missing.Missing[0]
		m.Attempts = append(m.Attempts, Attempt{route, reason})
	}
	attempt("cache", fmt.Errorf("%s: %w", a.dir, err))
	if s.offline {
		return Provenance{}, missing
	}
	unlock, err := s.lock(ctx, a.name)
	if err != nil {
		return Provenance{}, err
	}
	defer unlock()
	if r, err := s.cached(ctx, a); err == nil { // another process was faster
		return r.provenance(a, true), nil
	} else if ctx.Err() != nil {
		return Provenance{}, ctx.Err()
	} else if !errors.Is(err, errNotCached) {
		s.report.logf("%s in the cache is unusable (%v); fetching it again", a.name, err)
	}
	if err := s.sweep(a.name); err != nil {
		return Provenance{}, err
	}
	for _, p := range a.packages {
		for _, w := range p.routes() {
			r, err := s.install(ctx, a, p, w)
			if err == nil {
				s.report.event(Event{Artifact: a.name, Route: w.name, Done: true})
				if err := s.dropPartial(a.name); err != nil {
					s.report.logf("%s: what was fetched in part stays: %v", a.name, err)
				}
				return r.provenance(a, false), nil
			}
			if ctx.Err() != nil {
				return Provenance{}, ctx.Err()
			}
			switch {
			case errors.Is(err, errNotConfigured):
				known := slices.ContainsFunc(missing.Missing[0].Attempts, func(a Attempt) bool { return a.Reason.Error() == err.Error() })
				if !known {
					attempt(w.name, err)
				}
				continue
			case !errors.Is(err, errNoClient):
				s.report.logf("%s: %s did not work: %v", a.name, w.name, err)
			}
			attempt(w.name, fmt.Errorf("%s %s: %w", p.Name, p.Version, err))
		}
	}
	if len(a.packages) == 0 {
		attempt("packages", fmt.Errorf("nobody publishes it for %s", s.platform))
	}
	return Provenance{}, missing
}

// install fetches p by one route into a staging folder, completes it and moves it
// to a.dir.
func (s *session) install(ctx context.Context, a artifact, p Package, w route) (receipt, error) {
	stage, err := os.MkdirTemp(s.staging(), a.name+"@*")
	if err != nil {
		return receipt{}, err
	}
	defer os.RemoveAll(stage)
	fill := filepath.Join(stage, "fill") // what moves; stage also holds archives
	if err := os.Mkdir(fill, 0o755); err != nil {
		return receipt{}, err
	}
	if err := w.fetch(ctx, s, transfer{artifact: a.name, route: w.name, pkg: p, tmp: stage, dir: fill}); err != nil {
		return receipt{}, err
	}
	if a.finish != nil {
		if err := a.finish(ctx, fill); err != nil {
			return receipt{}, err
		}
	}
	r := receipt{Route: w.name, Package: p.Name, Version: p.Version, Recipe: a.recipe, Files: map[string]string{}, Stamps: map[string]stamp{}}
	return r, place(ctx, fill, a.dir, r)
}

// place writes r, completed by the digests of all files, into fill, and moves fill to dir. It moves an
// existing dir away first.
func place(ctx context.Context, fill, dir string, r receipt) error {
	entries, err := os.ReadDir(fill)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(fill, e.Name())
		if err := os.Chmod(path, 0o644); err != nil {
			return err
		}
		if r.Files[e.Name()], err = hashFile(ctx, path); err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		r.Stamps[e.Name()] = stampOf(info)
	}
	if err := r.write(fill); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	old := fill + ".old" // goes away with the staging folder
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(fill, dir)
}

func (s *session) staging() string { return filepath.Join(s.cache, "staging") }

// sweep removes the remains of a killed process that was fetching the named artifact. Its lock must be held.
func (s *session) sweep(name string) error {
	if err := os.MkdirAll(s.staging(), 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.staging())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+"@") {
			if err := os.RemoveAll(filepath.Join(s.staging(), e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// hashFile returns the SHA-256 of a regular file in hexadecimal.
func hashFile(ctx context.Context, path string) (string, error) {
	f, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, contextReader{ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// contextReader fails once its context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
