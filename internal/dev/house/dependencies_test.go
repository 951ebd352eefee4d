package house_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// free are phrases of the licences that a dependency may have. Each stands in no licence that asks for more.
var free = []string{
	"Permission is hereby granted, free of charge, to any person obtaining a copy", // MIT
	"Redistribution and use in source and binary forms, with or without",           // BSD
	"Apache License Version 2.0",
	"Permission to use, copy, modify, and/or distribute this software for any purpose", // ISC
	"Mozilla Public License Version 2.0",
	"CC0 1.0 Universal",
}

// TestLicences: the licence in each module that the program is built of, direct or not, is a free one.
func TestLicences(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}", "./...")
	list.Dir = "../../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(strings.Join(slices.Compact(slices.Sorted(strings.SplitSeq(string(out), "\n"))), "\t"))
	if len(modules) < 60 {
		t.Fatalf("%d modules, which is too few", len(modules)/2)
	}
	for i := 0; i < len(modules); i += 2 {
		files, err := filepath.Glob(filepath.Join(modules[i+1], "[LlCc][IiOo][CcPp]*")) // LICENSE, LICENCE, COPYING
		if err != nil {
			t.Fatal(err)
		}
		known := false
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				continue // a folder
			}
			words := strings.Join(strings.Fields(string(text)), " ")
			known = known || slices.ContainsFunc(free, func(phrase string) bool { return strings.Contains(words, phrase) })
		}
		if !known {
			t.Errorf("%s: no licence that is known to be free in %v; read it, and replace the module or add the licence to this list", modules[i], files)
		}
	}
}
