package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// licences returns the licences of Go and of all modules in the program, as their terms
// require. A module without a licence is an error.
func (r *release) licences(env []string) ([]byte, error) {
	list, err := r.run(env, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/lexsem")
	if err != nil {
		return nil, err
	}
	root, err := r.run(env, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	modules := append(strings.Split(list, "\n"), "Go\t"+root)
	slices.Sort(modules)
	var b bytes.Buffer
	for _, m := range slices.Compact(modules) {
		name, dir, ok := strings.Cut(m, "\t")
		if !ok {
			continue // a package of the standard library
		}
		texts, err := licencesIn(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, text := range texts {
			fmt.Fprintf(&b, "==== %s\n\n%s\n\n", name, bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
		}
	}
	return b.Bytes(), nil
}

// licencesIn reads the files of a folder that state its terms.
func licencesIn(dir string) ([][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var texts [][]byte
	found := false
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		terms := strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "LICENCE") || strings.HasPrefix(name, "COPYING")
		if e.IsDir() || !terms && !strings.HasPrefix(name, "NOTICE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts, found = append(texts, text), found || terms
	}
	if !found {
		return nil, fmt.Errorf("no licence in %s", dir)
	}
	return texts, nil
}
