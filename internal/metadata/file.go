package metadata

import "maps"

// File is the reserved field that says which file a document is from. Its value is an object with some fields of
// FileNames, always with "path". Its field "own" is the file's own field of this name. All other fields belong to the
// user. Filters, counts, sorts, groups and boosts also find a field of the object by its plain name if the document has no
// field of that name: `kind = "csv"` matches the records of a CSV file, unless the file has a column kind.
const File = "_file"

// FileNames are the fields of File. An object without the first is a user's.
var FileNames = [...]string{"path", "root", "time", "kind", "line", "line_end"}

// OfFile returns the fields that say which file a document is from: those of File. flat says that there is none, and returns the
// metadata themselves: so earlier builds wrote them, and so do programs.
func OfFile(m map[string]any) (fields map[string]any, flat bool) {
	file, _ := m[File].(map[string]any)
	if _, there := file[FileNames[0]]; there {
		return file, false
	}
	return m, true
}

// Named returns metadata as filters read them: with the fields of File by their plain names, too.
func Named(m map[string]any) map[string]any {
	fields, flat := OfFile(m)
	if flat {
		return m
	}
	named := maps.Clone(m)
	for _, name := range FileNames {
		v, there := fields[name]
		if _, own := m[name]; there && !own {
			named[name] = v
		}
	}
	return named
}
