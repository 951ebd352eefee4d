package models

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/encoder/native"
	"github.com/lexsem/lexsem/internal/distil"
	"github.com/lexsem/lexsem/internal/modelname"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/provision"
)

// findStatic takes a static model from the cache, or makes it. The teacher is opened only then.
func findStatic(ctx context.Context, teacher string, o Options) (*Model, error) {
	name := modelname.StaticName(modelname.StaticPrefix + ":" + teacher)
	_, again := modelname.Static(teacher)
	if _, hash, err := modelname.Hash(teacher); hash || err != nil || again || modelname.Remote(teacher) || vision(teacher) {
		return nil, fmt.Errorf("%w: %s:%s; a static model is made of a text model that runs on this machine", ErrName, modelname.StaticPrefix, teacher)
	}
	if o.Backend == BackendONNX {
		return nil, fmt.Errorf("%s: %w", name, ErrNoGraph)
	}
	id, of, recipe, err := identity(teacher)
	if err != nil {
		return nil, err
	}
	m := &Model{o: o, precision: native.FP32, request: o.Request(name)}
	m.request.Runtime = provision.RuntimeNone
	from, err := provision.Make(ctx, m.request, strings.Replace(name, ":", "-", 1)+id, name, of, recipe, func(ctx context.Context, dir string) error {
		return makeStatic(ctx, teacher, name, dir, o)
	})
	m.Result = provision.Result{ModelDir: from.Path, From: []provision.Provenance{from}}
	return m, err
}

// identity tells teachers of one name apart, says which one it is, and tells what was made of a folder from what was made
// before the folder changed.
func identity(teacher string) (id, of, recipe string, err error) {
	recipe = fmt.Sprintf("distil %d", distil.Version)
	file, inBytes := modelname.Int8(teacher)
	suffix := ""
	if inBytes {
		suffix = modelspec.Int8Suffix
	}
	if r, ok := modelname.Registered(file); ok {
		return "", r.Spec.Model + suffix, recipe, nil
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", "", "", err
	}
	entries, err := os.ReadDir(abs)
	if errors.Is(err, os.ErrNotExist) { // whoever looks for the teacher says so
		return "", teacher, recipe, nil
	}
	for _, e := range entries {
		info, failed := e.Info()
		if err = errors.Join(err, failed); failed == nil && !e.IsDir() {
			recipe += fmt.Sprintf(", %s %d %d", e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return fmt.Sprintf("-%.6x", sha256.Sum256([]byte(abs))), abs + suffix, recipe, err
}

// makeStatic makes a static model in dir.
func makeStatic(ctx context.Context, teacher, name, dir string, o Options) error {
	o.Brief = false
	m, err := Find(ctx, teacher, o)
	if err != nil {
		return err
	}
	enc, _, err := m.Open(ctx)
	if err != nil {
		return err
	}
	t, ok := enc.(distil.Teacher)
	if !ok {
		return errors.Join(fmt.Errorf("%w: %s gives no vectors of tokens; use another model", ErrName, teacher), enc.Close())
	}
	event := func(done, of int, end bool) {
		if o.Progress != nil {
			o.Progress(provision.Event{Artifact: name, Route: provision.RouteMade, Bytes: int64(done), Total: int64(of), Done: end})
		}
	}
	err = distil.Distil(ctx, t, m.ModelDir, name, dir, func(done, of int) { event(done, of, false) })
	event(0, 0, true)
	return errors.Join(err, enc.Close())
}
