package folder_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/ingest/folder"
)

// TestRulesFromOutside: in a repository, the root leaves out what git does, by each file that git asks.
func TestRulesFromOutside(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("NOT TESTED: no git here to compare with")
	}
	for _, worktree := range []bool{false, true} {
		b := newBase(t)
		home := t.TempDir()
		t.Setenv("HOME", home)
		t.Setenv("USERPROFILE", home)
		t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
		t.Setenv("GIT_CONFIG_GLOBAL", "")
		b.ok(os.Unsetenv("GIT_CONFIG_GLOBAL"))
		run := func(dir string, args ...string) string {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), git, args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("git %v: %v: %s", args, err, out)
			}
			return string(out)
		}
		repo := filepath.Join(home, "repo")
		b.ok(os.MkdirAll(repo, 0o755))
		run(repo, "init", "-q")
		top := repo
		if worktree {
			run(repo, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "x")
			top = filepath.Join(home, "tree")
			run(repo, "worktree", "add", "-q", top)
		}
		root := filepath.Join(top, "a", "b")
		for name, text := range map[string]string{
			filepath.Join(home, ".gitconfig"):                     "[user]\n\tname = a\n[core]\n\texcludesFile = \"~/mine\"\n",
			filepath.Join(home, "mine"):                           "global.txt\nglobal2.txt\n",
			filepath.Join(repo, ".git", "info", "exclude"):        "info.txt\n!global2.txt\n/a/b/deep/exact.txt\n",
			filepath.Join(top, ".gitignore"):                      "top.txt\n/a/b/one.txt\n/one.txt\nb/two.txt\nb/**/three.txt\n*.tmp.md\n",
			filepath.Join(top, "a", ".gitignore"):                 "!top.txt\nmid.txt\n/b/mid2.txt\n",
			filepath.Join(root, ".gitignore"):                     "own.txt\n!mid.txt\n",
			filepath.Join(home, "config", "git", "ignore", "dir"): "not read\n",
		} {
			b.writeAt(filepath.Dir(name), filepath.Base(name), text, past)
		}
		for _, name := range strings.Fields("global.txt global2.txt info.txt top.txt one.txt two.txt three.txt x.tmp.md mid.txt mid2.txt own.txt keep.txt deep/one.txt deep/two.txt deep/three.txt deep/exact.txt deep/top.txt node_modules/in.txt") {
			b.writeAt(root, name, "words", past)
		}
		want := strings.Fields(run(root, "ls-files", "-o", "--exclude-standard", "--", "*.txt", "*.md"))
		slices.Sort(want)
		r, err := b.syncDir(root, folder.Options{})
		b.ok(err)
		if len(r.Failed) > 0 || len(want) != 11 {
			t.Errorf("failed %v; git lists %v", r.Failed, want)
		}
		b.holds(strings.Join(want, " "))

		// A file that cannot be read might leave out anything: all stays as it was.
		b.ok(os.WriteFile(filepath.Join(top, "a", ".gitignore"), make([]byte, 2<<20), 0o644))
		b.ok(os.Remove(filepath.Join(root, "keep.txt")))
		r, err = b.syncDir(root, folder.Options{})
		b.ok(err)
		if len(r.Failed) != 1 || r.Failed[0].Path != "" || !strings.Contains(r.Failed[0].Error(), "make the file readable") || r.Removed > 0 {
			t.Errorf("an unreadable file above the root: %+v", r)
		}
		b.holds(strings.Join(want, " "))
	}
}

// TestWrittenExcludes: lock files and minified files of a repository are left out as others are, unless its rules name them.
func TestWrittenExcludes(t *testing.T) {
	b := newBase(t)
	b.ok(os.Mkdir(filepath.Join(b.dir, ".git"), 0o755))
	b.write(map[string]string{"a.md": "a", "pnpm-lock.yaml": "b", "web/c.min.js": "c", "build/d.md": "d"})
	r := b.synced(folder.Options{}, "+2 ~0 -0 =0 read 2")
	b.holds("a.md build/d.md")
	if got := strings.Join(r.Skipped.Usual, " "); got != "pnpm-lock.yaml web/c.min.js" {
		t.Errorf("%q", got)
	}
	b.write(map[string]string{".gitignore": "!*.min.js\n"})
	b.synced(folder.Options{}, "+1 ~0 -0 =2 read 1")
	b.synced(folder.Options{NoDefaultExcludes: true}, "+1 ~0 -0 =3 read 1")
	b.holds("a.md build/d.md pnpm-lock.yaml web/c.min.js")
}

// TestDefaultExcludes: outside of repositories the defaults hold, the summary names them, and each way out works.
func TestDefaultExcludes(t *testing.T) {
	b := newBase(t)
	b.write(map[string]string{"a.md": "a", "sub/node_modules/x/b.md": "b", "build/c.md": "c", "d.min.js": "d", "package-lock.json": `{"text":"e"}`, "target.md": "f", "dist": "g", "dist.md": "h", "venv/x.vsdx": "i"})
	r := b.synced(folder.Options{}, "+3 ~0 -0 =0 read 3")
	b.holds("a.md dist.md target.md")
	if got := strings.Join(r.Skipped.Usual, " "); got != "build d.min.js package-lock.json sub/node_modules venv" || r.Skipped.Ignored != 5 {
		t.Errorf("%q, %+v", got, r.Skipped)
	}
	b.write(map[string]string{".lexsemignore": "!build/\n*.min.js\n"})
	r = b.synced(folder.Options{}, "+1 ~0 -0 =3 read 1")
	b.holds("a.md build/c.md dist.md target.md")
	if got := strings.Join(r.Skipped.Usual, " "); got != "package-lock.json sub/node_modules venv" {
		t.Errorf("%q", got)
	}
	b.remove(".lexsemignore")
	b.write(map[string]string{"go/build/build.go": "package build", "go/build/doc.md": "j", "build/sub/d.py": "k"})
	r = b.synced(folder.Options{}, "+2 ~0 -1 =3 read 2")
	b.holds("a.md dist.md go/build/build.go go/build/doc.md target.md")
	r = b.synced(folder.Options{Exclude: []string{"build/"}}, "+0 ~0 -2 =3 read 0")
	if got := strings.Join(r.Skipped.Usual, " "); got != "d.min.js package-lock.json sub/node_modules venv" {
		t.Errorf("%q", got)
	}
	b.remove("go")
	b.remove("build/sub")
	r = b.synced(folder.Options{NoDefaultExcludes: true}, "+4 ~0 -0 =3 read 4")
	b.holds("a.md build/c.md d.min.js dist.md package-lock.json sub/node_modules/x/b.md target.md")
	if len(r.Skipped.Usual) > 0 || r.Skipped.Ignored > 0 {
		t.Errorf("%+v", r.Skipped)
	}
	b.synced(folder.Options{NoDefaultExcludes: true}, "+0 ~0 -0 =7 read 0")
	b.synced(folder.Options{NoDefaultExcludes: true, Reread: true}, "+0 ~0 -0 =7 read 7")
}
