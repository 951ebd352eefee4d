package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
)

// publicNames counts, by package folder, the exported constants, variables, types and functions that
// another module may import.
func publicNames(files []string) (map[string]int, error) {
	names := map[string]map[string]bool{} // by folder: one name has several files, by platform
	for _, file := range files {
		if !importable(file) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if f.Name.Name == "main" {
			continue
		}
		dir := filepath.Dir(file)
		if names[dir] == nil {
			names[dir] = map[string]bool{}
		}
		for _, name := range declared(f) {
			if ast.IsExported(name) {
				names[dir][name] = true
			}
		}
	}
	counts := map[string]int{}
	for dir, of := range names {
		counts[dir] = len(of)
	}
	return counts, nil
}

// declared returns the package-level names of a file, without methods.
func declared(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}
