package house_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDependenciesAreExplained: the decision on dependencies has a line, with licence and purpose,
// for each module that a go.mod of this repository asks for by itself, and for no other.
func TestDependenciesAreExplained(t *testing.T) {
	lists, err := filepath.Glob(decisions + "/*-dependencies.md")
	if err != nil || len(lists) != 1 {
		t.Fatalf("the decision on dependencies: %v, %v", lists, err)
	}
	table, err := os.ReadFile(lists[0])
	if err != nil {
		t.Fatal(err)
	}
	list := "docs/decisions/" + filepath.Base(lists[0])
	asked := map[string]bool{} // the names in the list; true once a go.mod asks for one
	version, beside := regexp.MustCompile(` v\d+$`), regexp.MustCompile(` \(and [^)]+\)`)
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+/[^|]+) \| [^|]+ \| [^|]+ \|$`).FindAllStringSubmatch(string(table), -1) {
		for name := range strings.SplitSeq(beside.ReplaceAllString(m[1], ""), ", ") {
			asked[version.ReplaceAllString(name, "")] = false
		}
	}
	var files []string
	for _, pattern := range []string{"go.mod", "engine/adapters/*/go.mod", "bench/peers/*/go.mod"} {
		found, err := filepath.Glob(filepath.Join("../../..", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		for _, path := range required(t, file) {
			name := regexp.MustCompile(`/v\d+$`).ReplaceAllString(path, "")
			known := false
			for listed := range asked {
				if name == listed || strings.HasSuffix(name, "/"+listed) {
					asked[listed], known = true, true
				}
			}
			if !known {
				t.Errorf("%s asks for %s, which has no line in %s", strings.TrimPrefix(file, "../../../"), path, list)
			}
		}
	}
	for name, used := range asked {
		if !used {
			t.Errorf("%s lists the dependency %s, which no go.mod asks for", list, name)
		}
	}
}

// required are the modules that a go.mod asks for by itself, but for this one.
func required(t *testing.T, file string) (paths []string) {
	t.Helper()
	out, err := exec.Command("go", "mod", "edit", "-json", file).Output()
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		if !r.Indirect && r.Path != module {
			paths = append(paths, r.Path)
		}
	}
	return paths
}
