package provision

import "context"

// transfer is the task of a source: to put the files of pkg, each with its digest
// checked, into dir. Temporary files go into tmp.
type transfer struct {
	artifact string
	route    string
	pkg      Package
	tmp, dir string
}

// outer returns the members of the package's archive that are requested themselves.
func (t transfer) outer() []File {
	if t.pkg.Inner != "" {
		return []File{{Member: t.pkg.Inner, Name: "inner.zip"}}
	}
	return t.pkg.Files
}

// source fetches a package. To add one, write a file that calls registerSource.
type source func(ctx context.Context, s *session, t transfer) error

var sources = map[string]source{}

func registerSource(via string, f source) source {
	sources[via] = f
	return f
}

// route is one way to a package.
type route struct {
	name  string
	fetch source
}

// routes returns the routes to a package, in the order in which they are tried.
func (p Package) routes() []route {
	var out []route
	if f, ok := indexes[p.Via]; ok {
		out = append(out, route{RouteIndex, f})
	}
	if f, ok := sources[p.Via]; ok {
		out = append(out, route{p.Via, f})
	}
	return out
}
