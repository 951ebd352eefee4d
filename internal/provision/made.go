package provision

import (
	"context"
	"fmt"
	"path/filepath"
)

// RouteMade is the route of a model that this machine made of another.
const RouteMade = "made"

// What is made has no files to fetch: it is all the work of artifact.finish.
var _ = registerSource(RouteMade, func(context.Context, *session, transfer) error { return nil })

// Make returns the folder of a model that this machine makes of another model, teacher. The folder is kept in the cache
// below id, with the digests of its files, and checked like one that was fetched. If it is missing, damaged or of
// another recipe, make fills an empty folder, which takes its place as a whole. One process makes it, others wait.
// name is that of the model, in messages. Errors: those of make; that of ctx.
func Make(ctx context.Context, r Request, id, name, teacher, recipe string, make func(ctx context.Context, dir string) error) (Provenance, error) {
	s, err := newSession(r)
	if err != nil {
		return Provenance{}, err
	}
	p, err := s.make(ctx, artifact{
		name: id, dir: filepath.Join(s.cache, "models", id), main: fileSafetensors, recipe: recipe,
		packages: []Package{{Via: RouteMade, Name: teacher}},
		finish: func(ctx context.Context, dir string) error {
			s.report.logf("%s is made of %s, once", name, teacher)
			return make(ctx, dir)
		},
	})
	p.Artifact = name
	return p, err
}

// make returns a from the cache, or makes it of what is on this machine.
func (s *session) make(ctx context.Context, a artifact) (Provenance, error) {
	if r, err := s.cached(ctx, a); err == nil {
		return r.provenance(a, true), nil
	}
	unlock, err := s.lock(ctx, a.name)
	if err != nil {
		return Provenance{}, err
	}
	defer unlock()
	if r, err := s.cached(ctx, a); err == nil { // another process was faster
		return r.provenance(a, true), nil
	}
	if err := s.sweep(a.name); err != nil {
		return Provenance{}, err
	}
	r, err := s.install(ctx, a, a.packages[0], a.packages[0].routes()[0])
	if err != nil {
		return Provenance{}, fmt.Errorf("make %s: %w", a.name, err)
	}
	return r.provenance(a, false), nil
}
