package filter

import "slices"

// Paths returns the paths that f asks for, sorted, each once; none of a filter that is
// invalid or asks for nothing.
func (f Filter) Paths() []string {
	if f.err != nil {
		return nil
	}
	var paths []string
	f.addPaths(&paths)
	slices.Sort(paths)
	return slices.Compact(paths)
}

func (f Filter) addPaths(to *[]string) {
	if f.path != "" {
		*to = append(*to, f.path)
	}
	for _, a := range f.args {
		a.addPaths(to)
	}
}
