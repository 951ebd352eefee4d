package page

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestHandler(t *testing.T) {
	h := Handler()
	ask := func(method, path, tag string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, nil)
		if tag != "" {
			r.Header.Set("If-None-Match", tag)
		}
		h.ServeHTTP(w, r)
		return w
	}
	for _, c := range []struct {
		method, path string
		status       int
		kind         string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/index.html", 200, "text/html; charset=utf-8"},
		{"GET", "/app.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/base.css", 200, "text/css; charset=utf-8"},
		{"GET", "/icon.svg", 200, "image/svg+xml"},
		{"HEAD", "/", 200, "text/html; charset=utf-8"},
		{"POST", "/", 405, ""},
		{"GET", "/page.go", 404, ""},
		{"GET", "/../page.go", 404, ""},
		{"GET", "/assets/index.html", 404, ""},
		{"GET", "//", 404, ""},
	} {
		w := ask(c.method, c.path, "")
		if w.Code != c.status || c.kind != "" && w.Header().Get("Content-Type") != c.kind {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, w.Code, w.Header().Get("Content-Type"), c.status, c.kind)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s may be sniffed", c.method, c.path)
		}
		if c.method == "HEAD" && w.Body.Len() > 0 {
			t.Error("HEAD has a body")
		}
		if c.status != http.StatusOK {
			continue
		}
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(w.Header().Get("Content-Security-Policy"), want) {
				t.Errorf("%s: the policy lacks %s", c.path, want)
			}
		}
		if w := ask(c.method, c.path, w.Header().Get("ETag")); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
			t.Errorf("%s again: %d", c.path, w.Code)
		}
	}
}

// Nothing is loaded from elsewhere, no file is missing, and nothing is in the markup or
// the scripts that the policy would refuse.
func TestFilesKeepThePolicy(t *testing.T) {
	files := load()
	named := regexp.MustCompile(`(?:href|src)="([^"#]+)"|from "([^"]+)"`)
	for name, a := range files {
		text := string(a.data)
		if a.kind == "" {
			t.Errorf("%s has no type", name)
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			file := strings.TrimPrefix(m[1]+m[2], "./")
			if _, ok := files[file]; !ok && file != "" {
				t.Errorf("%s names %s, which there is not", name, file)
			}
		}
		for _, never := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", " style=", "<style", "javascript:", "localStorage", "document.cookie", "@import", "url("} {
			if strings.Contains(text, never) {
				t.Errorf("%s has %q", name, never)
			}
		}
		if strings.HasSuffix(name, ".html") && regexp.MustCompile(`<script(?:>|[^>]*[^"]>)| on[a-z]+=`).MatchString(text) {
			t.Errorf("%s has a script in it", name)
		}
		if strings.Contains(strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), "://") {
			t.Errorf("%s names another place", name)
		}
		if n := strings.Count(text, "\n"); n > 400 {
			t.Errorf("%s has %d lines", name, n)
		}
	}
	if len(files) < 10 {
		t.Errorf("only %d files", len(files))
	}
}
