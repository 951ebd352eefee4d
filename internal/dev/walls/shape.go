package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// shape counts how the files of a package call each other.
type shape struct{ files, calls, against int }

// shapeOf counts the pairs of files in which one calls a function or method of the other. A greedy search orders the
// files so that few calls run upwards; against counts those. A method counts only if a single file has a method of
// that name.
func shapeOf(dir string) (shape, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return shape{}, err
	}
	var files []*ast.File
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			return shape{}, err
		}
		files = append(files, f)
	}
	arrows := callsAmong(files)
	s := shape{files: len(files)}
	order := layered(arrows, len(files))
	for from, to := range arrows {
		for t := range to {
			s.calls++
			if slices.Index(order, t) < slices.Index(order, from) {
				s.against++
			}
		}
	}
	return s, nil
}

// callsAmong returns, for each file, the files that it calls.
func callsAmong(files []*ast.File) map[int]map[int]bool {
	const several = -1
	funcs, methods := map[string]int{}, map[string]int{}
	for i, f := range files {
		for _, d := range f.Decls {
			if fn, is := d.(*ast.FuncDecl); is {
				if fn.Recv == nil {
					funcs[fn.Name.Name] = i
				} else if at, has := methods[fn.Name.Name]; has && at != i {
					methods[fn.Name.Name] = several
				} else {
					methods[fn.Name.Name] = i
				}
			}
		}
	}
	arrows := map[int]map[int]bool{}
	for i, f := range files {
		arrows[i] = map[int]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			to, known := several, false
			switch fn := call.Fun.(type) {
			case *ast.Ident:
				to, known = funcs[fn.Name]
			case *ast.SelectorExpr:
				to, known = methods[fn.Sel.Name]
			}
			if known && to != several && to != i {
				arrows[i][to] = true
			}
			return true
		})
	}
	return arrows
}

// layered orders files so that few arrows run upwards; it finds an order without any if there is one. Files
// without callers come first, and files without calls come last. If there is neither, the
// file with the largest excess of outgoing arrows comes next (Eades, Lin and Smyth 1993).
func layered(arrows map[int]map[int]bool, n int) (order []int) {
	var last []int
	left := map[int]bool{}
	for i := range n {
		left[i] = true
	}
	for len(left) > 0 {
		next, most, sink := -1, 0, -1
		for i := range n {
			if !left[i] {
				continue
			}
			in, out := 0, 0
			for j := range left {
				if arrows[i][j] {
					out++
				}
				if arrows[j][i] {
					in++
				}
			}
			lead := out - in
			switch {
			case in == 0:
				lead = n
			case out == 0 && sink < 0:
				sink = i
			}
			if next < 0 || lead > most {
				next, most = i, lead
			}
		}
		if most < n && sink >= 0 {
			last = append(last, sink)
			delete(left, sink)
			continue
		}
		order = append(order, next)
		delete(left, next)
	}
	slices.Reverse(last)
	return append(order, last...)
}
