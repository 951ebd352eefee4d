package provision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/lexsem/lexsem/internal/provision/internal/web"
)

// Pages of a Python package index are HTML (PEP 503) or JSON (PEP 691).
const (
	simpleJSON  = "application/vnd.pypi.simple.v1+json"
	simpleHTML  = "application/vnd.pypi.simple.v1+html"
	simpleTypes = simpleJSON + ", " + simpleHTML + ";q=0.2, text/html;q=0.01"
	maxPage     = 32 << 20
	maxLinks    = 200_000 // on a page
)

// indexFile is a file that an index offers.
type indexFile struct {
	name, url string
	sha256    string // "" where the index does not say
}

// simplePage returns the files on a page of a Python package index.
func simplePage(p web.Page) ([]indexFile, error) {
	switch p.Type {
	case simpleJSON:
		return simpleFromJSON(p)
	case simpleHTML, "text/html":
		return simpleFromHTML(p)
	}
	return nil, fmt.Errorf("%s is of type %q: no page of a package index", web.Shown(p.URL.String()), p.Type)
}

func simpleFromJSON(p web.Page) ([]indexFile, error) {
	var page struct {
		Meta struct {
			Version string `json:"api-version"`
		} `json:"meta"`
		Files []struct {
			Name   string            `json:"filename"`
			URL    string            `json:"url"`
			Hashes map[string]string `json:"hashes"`
		} `json:"files"`
	}
	shown := web.Shown(p.URL.String())
	if err := json.Unmarshal(p.Body, &page); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", shown, err)
	}
	if v := page.Meta.Version; !strings.HasPrefix(v, "1.") {
		return nil, fmt.Errorf("%s is of version %q of the package index; 1.x is read", shown, v)
	}
	var out []indexFile
	for _, f := range page.Files {
		if u := resolve(p.URL, f.URL); u != "" {
			out = append(out, indexFile{f.Name, u, strings.ToLower(f.Hashes["sha256"])})
		}
	}
	return out, nil
}

func simpleFromHTML(p web.Page) ([]indexFile, error) {
	base, links := p.URL, 0
	var out []indexFile
	var text *strings.Builder // of the link that is open
	var href string
	for z := html.NewTokenizer(bytes.NewReader(p.Body)); ; {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				return nil, fmt.Errorf("%s is damaged: %w", web.Shown(p.URL.String()), z.Err())
			}
			return out, nil
		case html.TextToken:
			if text != nil {
				text.Write(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			at := slices.IndexFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "href" })
			if at < 0 {
				continue
			}
			switch t.Data {
			case "base":
				if u, err := p.URL.Parse(t.Attr[at].Val); err == nil {
					base = u
				}
			case "a":
				if links++; links > maxLinks {
					return nil, fmt.Errorf("%s has more than %d links", web.Shown(p.URL.String()), maxLinks)
				}
				href, text = t.Attr[at].Val, new(strings.Builder)
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) != "a" || text == nil {
				continue
			}
			f := indexFile{name: strings.TrimSpace(text.String()), url: resolve(base, href)}
			text = nil
			if u, err := url.Parse(f.url); err == nil && f.url != "" {
				if sum, ok := strings.CutPrefix(u.Fragment, "sha256="); ok {
					f.sha256 = strings.ToLower(sum)
				}
				u.Fragment = ""
				f.url = u.String()
				out = append(out, f)
			}
		}
	}
}

// resolve is the absolute address of a link, or "" if the link is invalid.
func resolve(base *url.URL, link string) string {
	u, err := base.Parse(strings.TrimSpace(link))
	if err != nil || u.Host == "" {
		return ""
	}
	u.User = nil // who asks is the user's to say
	return u.String()
}

var separators = regexp.MustCompile(`[-_.]+`)

// normalName is a project's name as indexes write it (PEP 503).
func normalName(name string) string {
	return strings.ToLower(separators.ReplaceAllString(name, "-"))
}

// findWheel chooses the file of p: a wheel of its version, for one of its tags or, if p
// has no tags, for any machine.
func findWheel(files []indexFile, p Package) (indexFile, bool) {
	for _, f := range files {
		stem, ok := strings.CutSuffix(f.name, ".whl")
		parts := strings.Split(stem, "-") // name, version, [build,] python, abi, platform
		if n := len(parts); !ok || n < 5 || n > 6 || normalName(parts[0]) != normalName(p.Name) || parts[1] != p.Version {
			continue
		}
		tail := parts[len(parts)-3:]
		python, abi, platforms := tail[0], tail[1], strings.Split(tail[2], ".")
		if len(p.Tags) == 0 {
			if abi == "none" && slices.Contains(platforms, "any") {
				return f, true
			}
			continue
		}
		fits := python == wheelABI && abi == wheelABI || python == "py3" && abi == "none"
		if fits && slices.ContainsFunc(p.Tags, func(t string) bool { return slices.Contains(platforms, t) }) {
			return f, true
		}
	}
	return indexFile{}, false
}
