package folder

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/internal/regular"
)

// builtExcludes are left out of folders outside Git repositories, which have no .gitignore: what programs install and
// build. See walker.ignored for those that hold source files.
var builtExcludes = parseRules("", []byte(`node_modules/
venv/
target/
dist/
build/
__pycache__/
`))

// writtenExcludes are left out of all folders: files that programs write for themselves. Repositories have them, too.
var writtenExcludes = parseRules("", []byte(`*.min.js
*.min.css
*.lock
package-lock.json
npm-shrinkwrap.json
pnpm-lock.yaml
`))

func init() { builtExcludes.usual, writtenExcludes.usual = true, true }

// outer are the rules from outside the root: the defaults, and those of its Git repository, as git reads them.
func (f *Folder) outer() ([]rules, error) {
	var out []rules
	if !f.o.NoDefaultExcludes {
		out = append(out, writtenExcludes)
	}
	top := f.root
	for ; ; top = filepath.Dir(top) {
		if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
			break
		} else if !gone(err) {
			return nil, outerError(filepath.Join(top, ".git"), err)
		}
		if top == filepath.Dir(top) {
			if !f.o.NoDefaultExcludes {
				out = append(out, builtExcludes)
			}
			return out, nil
		}
	}
	add := func(file, folder string) error {
		b, err := regular.ReadFile(file, maxIgnoreFile)
		if gone(err) || errors.Is(err, regular.ErrIrregular) {
			return nil
		}
		if err != nil {
			return outerError(file, err)
		}
		r := parseRules("", b)
		above, err := filepath.Rel(folder, f.root)
		if err != nil {
			return err
		}
		if r.above = filepath.ToSlash(above); r.above == "." {
			r.above = ""
		}
		out = append(out, r)
		return nil
	}
	if global := globalExcludes(); global != "" {
		if err := add(global, top); err != nil {
			return nil, err
		}
	}
	if err := add(filepath.Join(gitFolder(top), "info", "exclude"), top); err != nil {
		return nil, err
	}
	below, err := filepath.Rel(top, f.root)
	if err != nil {
		return nil, err
	}
	at := top
	for _, part := range strings.Split(below, string(filepath.Separator)) { // but for the root, which the walk reads
		if at == f.root {
			break
		}
		if err := add(filepath.Join(at, ".gitignore"), at); err != nil {
			return nil, err
		}
		at = filepath.Join(at, part)
	}
	return out, nil
}

func outerError(file string, err error) error {
	return &ignoreFileError{file, reason(err)}
}

// gitFolder is the folder of a repository's settings, which worktrees share.
func gitFolder(top string) string {
	git := filepath.Join(top, ".git")
	follow := func(file, prefix string) {
		b, err := regular.ReadFile(file, 1<<16)
		to, ok := strings.CutPrefix(strings.TrimSpace(string(b)), prefix)
		if err != nil || !ok || to == "" {
			return // a folder, as in most repositories
		}
		if to = filepath.FromSlash(strings.TrimSpace(to)); !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(file), to)
		}
		git = to
	}
	follow(git, "gitdir:")
	follow(filepath.Join(git, "commondir"), "")
	return git
}

// globalExcludes is the user's file of patterns for all repositories: core.excludesFile in git's settings, or its
// default. It is "" if there is no home folder.
func globalExcludes() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	settings := filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git")
	configs := []string{filepath.Join(settings, "config"), filepath.Join(home, ".gitconfig")}
	if own := os.Getenv("GIT_CONFIG_GLOBAL"); own != "" {
		configs = []string{own}
	}
	file := filepath.Join(settings, "ignore")
	for _, config := range configs {
		b, err := regular.ReadFile(config, maxIgnoreFile)
		if err != nil {
			continue // most users have one of the two
		}
		if named := excludesFile(b); named != "" {
			file = named
		}
	}
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		file = filepath.Join(home, filepath.FromSlash(rest))
	}
	if !filepath.IsAbs(file) {
		return ""
	}
	return file
}

// excludesFile is the value of core.excludesFile in a file of git's settings.
func excludesFile(config []byte) (value string) {
	core := false
	for lines := bufio.NewScanner(bytes.NewReader(config)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			core = strings.EqualFold(strings.ReplaceAll(line, " ", ""), "[core]")
			continue
		}
		key, v, _ := strings.Cut(line, "=")
		if core && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
			value = strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return value
}
