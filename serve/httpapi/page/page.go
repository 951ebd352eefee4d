// Package page is the search page of a server for browsers: it compares search modes, shows why a document is
// found, and stores the documents of files. Start with [Handler]. The page is plain HTML, style and script
// embedded in the program. It calls only the server that it came from.
package page

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var assets embed.FS

// policy lets the page run its own files and call its own server, and nothing else: no script or style in the
// markup, no text turned into markup by script, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

type asset struct {
	kind, tag string
	data      []byte
}

// Handler serves the page at / and its other files next to it; other paths are not found. The page calls v1/…
// relative to its own folder, so it may be mounted with http.StripPrefix next to the server's own paths. It
// needs no key: the page asks its reader for one, and keeps it while the tab is open.
func Handler() http.Handler {
	files := load()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		name = cmp.Or(name, "index.html")
		a, ok := files[name]
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		switch {
		case !ok:
			http.NotFound(w, r)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "the page is read by GET", http.StatusMethodNotAllowed)
			return
		}
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache") // asked for again each time, and answered with 304
		h.Set("ETag", a.tag)
		h.Set("Content-Type", a.kind)
		if r.Header.Get("If-None-Match") == a.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if r.Method == http.MethodGet {
			_, _ = w.Write(a.data) // the reader may be gone
		}
	})
}

// load reads the files, which are part of the program: an error is a programming mistake.
func load() map[string]asset {
	root, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err)
	}
	names, err := fs.Glob(root, "*")
	if err != nil {
		panic(err)
	}
	files := map[string]asset{}
	for _, name := range names {
		data, err := fs.ReadFile(root, name)
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(data)
		files[name] = asset{kinds[path.Ext(name)], `"` + hex.EncodeToString(sum[:8]) + `"`, data}
	}
	return files
}
