package clientconf

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// uvFile holds the fields of a uv.toml that are used.
type uvFile struct {
	Index []struct {
		URL     string `toml:"url"`
		Default bool   `toml:"default"`
		Format  string `toml:"format"`
	} `toml:"index"`
	IndexURL string   `toml:"index-url"`
	Extra    []string `toml:"extra-index-url"`
	NoIndex  bool     `toml:"no-index"`
	Pip      struct {
		IndexURL string   `toml:"index-url"`
		Extra    []string `toml:"extra-index-url"`
	} `toml:"pip"`
}

// uv reads variables and files of uv; as in uv, the default index comes last.
func (e Env) uv() ([]Registry, error) {
	var first, last []Registry
	add := func(to *[]Registry, where string, addresses ...string) error {
		for _, a := range addresses {
			if a == "" {
				continue
			}
			r, err := registry(a, where)
			if err != nil {
				return err
			}
			*to = append(*to, r)
		}
		return nil
	}
	for _, variable := range []string{"UV_INDEX", "UV_EXTRA_INDEX_URL"} {
		for _, a := range strings.Fields(e.Getenv(variable)) {
			// uv takes NAME=URL too.
			if name, rest, ok := strings.Cut(a, "="); ok && !strings.Contains(name, ":") {
				a = rest
			}
			if err := add(&first, variable, a); err != nil {
				return nil, err
			}
		}
	}
	for _, variable := range []string{"UV_DEFAULT_INDEX", "UV_INDEX_URL"} {
		a := e.Getenv(variable)
		if name, rest, ok := strings.Cut(a, "="); ok && !strings.Contains(name, ":") {
			a = rest
		}
		if err := add(&last, variable, a); err != nil {
			return nil, err
		}
	}
	for _, path := range e.uvFiles() {
		b, err := read(path)
		if err != nil {
			return nil, err
		}
		var f uvFile
		if _, err := toml.Decode(string(b), &f); err != nil { // whose text may hold an address
			return nil, fmt.Errorf("%s is no TOML; mend it", path)
		}
		if f.NoIndex {
			continue
		}
		for _, x := range f.Index {
			to := &first
			if x.Default {
				to = &last
			}
			if x.Format != "flat" {
				if err := add(to, path, x.URL); err != nil {
					return nil, err
				}
			}
		}
		if err := add(&first, path, append(f.Extra, f.Pip.Extra...)...); err != nil {
			return nil, err
		}
		if err := add(&last, path, f.IndexURL, f.Pip.IndexURL); err != nil {
			return nil, err
		}
	}
	return append(first, last...), nil
}

// uvFiles returns the paths of uv's configuration, the user's first.
func (e Env) uvFiles() []string {
	if e.Getenv("UV_NO_CONFIG") != "" {
		return nil
	}
	if own := e.Getenv("UV_CONFIG_FILE"); own != "" {
		return []string{own}
	}
	if e.OS == "windows" {
		return []string{e.below("APPDATA", "uv", "uv.toml"), e.below("PROGRAMDATA", "uv", "uv.toml")}
	}
	files := []string{cmp.Or(e.below("XDG_CONFIG_HOME", "uv", "uv.toml"), e.home(".config", "uv", "uv.toml"))}
	for _, dir := range filepath.SplitList(cmp.Or(e.Getenv("XDG_CONFIG_DIRS"), e.system("/etc/xdg"))) {
		files = append(files, filepath.Join(dir, "uv", "uv.toml"))
	}
	return append(files, e.system("/etc/uv/uv.toml"))
}
