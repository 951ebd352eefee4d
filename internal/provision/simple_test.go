package provision

import (
	"net/url"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/provision/internal/web"
)

func pageOf(t testing.TB, kind, text string) web.Page {
	u, err := url.Parse("https://user:pw@index/simple/pkg/")
	if err != nil {
		t.Fatal(err)
	}
	return web.Page{URL: u, Type: kind, Body: []byte(text)}
}

// Both forms of a page give the same files.
func TestSimplePage(t *testing.T) {
	sum := sumOf(nil)
	want := []indexFile{
		{"pkg-1.0-py3-none-any.whl", "https://index/files/pkg-1.0-py3-none-any.whl", sum},
		{"pkg-1.1.tar.gz", "https://elsewhere/pkg-1.1.tar.gz?x=1&y=2", ""},
	}
	pages := map[string]string{
		simpleJSON: `{"meta":{"api-version":"1.3"},"files":[{"filename":"pkg-1.0-py3-none-any.whl","url":"../../files/pkg-1.0-py3-none-any.whl","hashes":{"sha256":"` + strings.ToUpper(sum) + `"}},
			{"filename":"pkg-1.1.tar.gz","url":"https://elsewhere/pkg-1.1.tar.gz?x=1&y=2","hashes":{"md5":"x"}},{"filename":"no","url":"mailto:x"}]}`,
		"text/html": `<html><head><title>x</title></head><body><h1>Links</h1><a name=top></a>
			<A HREF="../../files/pkg-1.0-py3-none-any.whl#sha256=` + sum + `" data-requires-python="&gt;=3.8">pkg-1.0-py3-none-any.whl</A><br>
			<a href="https://elsewhere/pkg-1.1.tar.gz?x=1&amp;y=2#md5=x"> pkg-1.1.tar.gz
			</a><a href="mailto:x">no</a><a href="never closed">`,
		simpleHTML: `<base href="https://index/deep/down/"><a href="../../files/pkg-1.0-py3-none-any.whl#sha256=` + sum + `">pkg-1.0-py3-none-any.whl</a><a href=//elsewhere/pkg-1.1.tar.gz?x=1&y=2>pkg-1.1.tar.gz</a>`,
	}
	for kind, text := range pages {
		got, err := simplePage(pageOf(t, kind, text))
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %+v, %v", kind, got, err)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %+v, want %+v", kind, got[i], want[i])
			}
		}
	}
	if _, err := simplePage(pageOf(t, "text/html", strings.Repeat("<a href=x>y</a>", maxLinks+1))); err == nil || strings.Contains(err.Error(), "pw") {
		t.Errorf("a page of links: %v", err)
	}
}

func TestFindWheel(t *testing.T) {
	any := Package{Name: "My.Pkg_x", Version: "1.0"}
	tagged := Package{Name: "pkg", Version: "1.0", Tags: []string{"manylinux_2_28_x86_64", "manylinux_2_27_x86_64"}}
	for _, c := range []struct {
		p    Package
		name string
		ok   bool
	}{
		{any, "my_pkg_x-1.0-py3-none-any.whl", true},
		{any, "My.Pkg-x-1.0-py3-none-any.whl", false}, // a dash is no part of a name in a file's
		{any, "my_pkg_x-1.0-1-py2.py3-none-any.whl", true},
		{any, "my_pkg_x-1.0.1-py3-none-any.whl", false},
		{any, "my_pkg_x-1.0-cp311-cp311-win32.whl", false},
		{any, "my_pkg_x-1.0.tar.gz", false},
		{any, "other-1.0-py3-none-any.whl", false},
		{any, ".whl", false},
		{tagged, "pkg-1.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl", true},
		{tagged, "pkg-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", false},
		{tagged, "pkg-1.0-cp311-cp311-manylinux_2_28_aarch64.whl", false},
		{tagged, "pkg-1.0-py3-none-any.whl", false},
		{tagged, "pkg-1.0-py3-none-manylinux_2_17_x86_64.manylinux_2_28_x86_64.whl", true}, // a program of no Python's
		{tagged, "pkg-1.0-cp312-none-manylinux_2_28_x86_64.whl", false},
	} {
		if _, ok := findWheel([]indexFile{{name: c.name}}, c.p); ok != c.ok {
			t.Errorf("%s for %s %s: %v", c.name, c.p.Name, c.p.Version, ok)
		}
	}
}

// No page makes reading it fail otherwise than by an error, and no link of it
// leads to anything but an address with a host, without credentials.
func FuzzSimplePage(f *testing.F) {
	f.Add(true, `<base href="//b"><a href="x#sha256=00">x</a>`)
	f.Add(false, `{"meta":{"api-version":"1.0"},"files":[{"filename":"x","url":"//u:p@h/x","hashes":{"sha256":"0"}}]}`)
	f.Fuzz(func(t *testing.T, isHTML bool, text string) {
		kind := simpleJSON
		if isHTML {
			kind = simpleHTML
		}
		files, err := simplePage(pageOf(t, kind, text))
		for _, file := range files {
			u, e := url.Parse(file.url)
			if err != nil || e != nil || u.Host == "" || u.User != nil {
				t.Errorf("%q, %v, %v", file.url, err, e)
			}
		}
		findWheel(files, Package{Name: "x", Version: "1"})
	})
}
