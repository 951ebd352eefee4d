// Command release makes the archives of a release: static programs for Linux, macOS and Windows on amd64 and
// arm64, each with its licences, a man page and completion scripts, and SHA256SUMS. Two runs of one commit
// with one Go give the same bytes.
//
//	.ci/release [-version V] [-targets linux/amd64,…] [-out dist]
//
// The version is that of the tag at HEAD. It needs go and git, and writes only into the folder of -out.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// targets are the systems for which a release is built.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	version := flag.String("version", "", "version such as 1.2.3; default that of the tag at HEAD")
	list := flag.String("targets", strings.Join(targets, ","), "systems, GOOS/GOARCH, with commas")
	out := flag.String("out", "dist", "folder that the archives are written to; it must not exist, or be empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if flag.NArg() > 0 {
		log.Fatalf("no arguments are taken, got %q", flag.Args())
	}
	r := release{ctx: ctx, out: *out}
	if err := r.begin(*version); err != nil {
		log.Fatal(err)
	}
	if err := r.make(strings.Split(*list, ",")); err != nil {
		log.Fatal(err)
	}
}

type release struct {
	ctx             context.Context
	out             string
	version, commit string
	at              time.Time // of the commit: the time of every file
}

// versions matches versions of semver.org, without a v.
var versions = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// begin determines what is released: a commit without local changes.
func (r *release) begin(version string) error {
	changed, err := r.run(nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the working tree differs from HEAD; commit or stash first:\n%s", changed)
	}
	if r.commit, err = r.run(nil, "git", "rev-parse", "HEAD"); err != nil {
		return err
	}
	seconds, err := r.run(nil, "git", "show", "-s", "--format=%ct", "HEAD")
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("time of the commit: %w", err)
	}
	r.at = time.Unix(n, 0).UTC()
	if version == "" {
		if version, err = r.run(nil, "git", "describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err != nil {
			return fmt.Errorf("HEAD has no tag such as v1.2.3; set one, or give -version: %w", err)
		}
	}
	r.version = strings.TrimPrefix(version, "v")
	if !versions.MatchString(r.version) {
		return fmt.Errorf("version %q; use one such as 1.2.3 or 1.2.3-rc.1", version)
	}
	if entries, err := os.ReadDir(r.out); err == nil && len(entries) > 0 {
		return fmt.Errorf("folder %s is not empty; remove it, or name another by -out", r.out)
	}
	return os.MkdirAll(r.out, 0o755)
}

// make builds and packs every target, and writes the checksums.
func (r *release) make(targets []string) error {
	var sums strings.Builder
	shared, err := r.shared()
	if err != nil {
		return err
	}
	slices.Sort(targets)
	for _, target := range targets {
		name, packed, err := r.pack(target, shared)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		if err := os.WriteFile(filepath.Join(r.out, name), packed, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(packed), name)
		fmt.Printf("%s: %.1f MB\n", name, float64(len(packed))/1e6)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// pack makes the archive of one target.
func (r *release) pack(target string, shared []file) (name string, packed []byte, err error) {
	goos, goarch, ok := strings.Cut(target, "/")
	if !ok {
		return "", nil, fmt.Errorf("a target is GOOS/GOARCH, such as linux/amd64")
	}
	env := []string{"GOOS=" + goos, "GOARCH=" + goarch, "CGO_ENABLED=0"}
	binary, err := r.build(env)
	if err != nil {
		return "", nil, err
	}
	licences, err := r.licences(env)
	if err != nil {
		return "", nil, err
	}
	top := "lexsem_" + r.version + "_" + goos + "_" + goarch
	program := "lexsem"
	if goos == "windows" {
		program += ".exe"
	}
	files := append(slices.Clone(shared), file{program, binary, true}, file{"THIRD-PARTY-LICENSES.txt", licences, false})
	for i := range files {
		files[i].name = path.Join(top, files[i].name)
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	if goos == "windows" {
		packed, err = zipped(files, r.at)
		return top + ".zip", packed, err
	}
	packed, err = tarred(files, r.at)
	return top + ".tar.gz", packed, err
}

// build returns the program, without paths of this machine, dates or ids in it.
func (r *release) build(env []string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "lexsem-release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, "lexsem")
	const pkg = "github.com/lexsem/lexsem/cmd/lexsem/internal/command."
	link := "-s -w -buildid= -X " + pkg + "linkedVersion=" + r.version + " -X " + pkg + "linkedCommit=" + r.commit
	if _, err := r.run(env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", link, "-o", to, "./cmd/lexsem"); err != nil {
		return nil, err
	}
	return os.ReadFile(to)
}

// shared returns the files that every archive has. The man page and the scripts come from the program
// itself.
func (r *release) shared() ([]file, error) {
	var files []file
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, data, false})
	}
	binary, err := r.build([]string{"GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH, "CGO_ENABLED=0"})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lexsem-release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "lexsem"+map[bool]string{true: ".exe"}[runtime.GOOS == "windows"])
	if err := os.WriteFile(program, binary, 0o755); err != nil {
		return nil, err
	}
	for name, args := range map[string][]string{
		"lexsem.1": {"help", "man"}, "completions/lexsem.bash": {"completion", "bash"}, "completions/_lexsem": {"completion", "zsh"},
		"completions/lexsem.fish": {"completion", "fish"}, "completions/lexsem.ps1": {"completion", "powershell"},
	} {
		text, err := exec.CommandContext(r.ctx, program, args...).Output()
		if err != nil {
			return nil, fmt.Errorf("lexsem %s: %w", strings.Join(args, " "), err)
		}
		files = append(files, file{name, text, false})
	}
	return files, nil
}

// run returns what a command prints, without white space around it.
func (r *release) run(env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(out.String()), nil
}
