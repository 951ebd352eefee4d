package provision

import "context"

// transfer is the job of a source: to put the files of pkg, each with its
// digest checked, into dir. What else it needs on disk goes into tmp.
type transfer struct {
	artifact string
	pkg      Package
	tmp, dir string
}

// source fetches a package. A new one is added by adding a file that calls
// registerSource.
type source func(ctx context.Context, s *session, t transfer) error

var sources = map[string]source{}

func registerSource(via string, f source) source {
	sources[via] = f
	return f
}
