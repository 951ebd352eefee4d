package filter

import "slices"

// Paths returns the distinct paths that f reads, sorted; nil for an invalid filter.
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
