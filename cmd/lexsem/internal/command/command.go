package command

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/lexsem/lexsem/encoder/models"
	"github.com/lexsem/lexsem/internal/modelname"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/secret"
	"github.com/lexsem/lexsem/serve/collections"
	"github.com/lexsem/lexsem/store"
)

// command is one entry of the command table. declare adds the command's flags
// to f and returns what to run once they are parsed.
type command struct {
	name     string
	args     string // positional arguments as the synopsis shows them; "" if it takes none
	instead  string // what to do instead of giving arguments to a command that takes none; "" for --db
	summary  string // one line for the list of commands
	about    string // what it does, a few lines
	examples []string
	declare  func(f *flags) action
}

// action runs a command with its positional arguments.
type action func(ctx context.Context, a *app, args []string) error

// commands returns every command in the order in which help lists them.
func commands() []command {
	return []command{
		cmdDemo, cmdSetup, cmdDoctor,
		cmdIndex, cmdFit, cmdSearch, cmdExplain, cmdList, cmdGet, cmdCount, cmdDelete, cmdStats, cmdReembed, cmdTokens, cmdCompact, cmdBackup, cmdRestore, cmdExport, cmdImport, cmdMigrate, cmdBridge,
		cmdServe, cmdMCP, cmdMCPInstall, cmdMCPUninstall, cmdHealth, cmdEmbed, cmdBench, cmdBenchANN, cmdBenchEngine, cmdBenchSoak, cmdCompletion, cmdVersion,
		cmdBenchCurve, cmdBenchCompare, cmdBenchReport, cmdBenchSummary, cmdBenchTune, cmdBenchLexSemBridge, cmdBenchCapRetrieval, cmdBenchSURE, cmdBenchCorrelate, cmdBenchSAGE, cmdBenchLIMIT, cmdBenchImage, cmdBenchScore, cmdBenchSamples,
	}
}

// match finds the command that args begin with; its name may have two words. It returns
// the arguments after the name.
func match(args []string) (c command, rest []string, ok bool) {
	for n := min(2, len(args)); n > 0; n-- {
		name := strings.Join(args[:n], " ")
		for _, c := range commands() {
			if c.name == name {
				return c, args[n:], true
			}
		}
	}
	return command{}, nil, false
}

// globals are the flags of every command.
type globals struct {
	db, model, cache, library, backend string
	collection, main                   string // main is the folder of the database with the collection
	acceptModel                        string
	tokenLimit                         int
	offline, quiet                     bool
}

// defaultModel returns the name of the model if neither --model nor the database names one.
func (g *globals) defaultModel() string { return modelname.Unnamed(g.backend == models.BackendONNX) }

// floatModel is the default model as its makers publish it: what the bench measures.
const floatModel = provision.DefaultModel

func (g *globals) declare(f *flags) {
	f.group("Flags of every command")
	for _, s := range []struct {
		to          *string
		name, usage string
	}{
		{&g.db, "db", "`DIR`folder of the database; default .lexsem, in the working folder or the nearest one above that has it"},
		{&g.collection, "collection", "`NAME`use this collection of the database instead of the database itself"},
		{&g.model, "model", "`NAME`model: a name or a folder, each with -int8 appended for weights of one byte, static or static:NAME for a table of vectors made of it, or openai:NAME or ollama:NAME; +splade:FOLDER after it adds a model like SPLADE; default the database's own, or " + models.Default},
		{&g.cache, "cache", "`DIR`folder of runtime and models; default lexsem in the user's cache folder"},
		{&g.library, "library", "`FILE`libonnxruntime to use instead of searching for one"},
		{&g.acceptModel, "accept-model", "`NAME`accept this model although its vectors may differ from those of the database"},
	} {
		f.note(s.name)
		f.set.StringVar(s.to, s.name, "", s.usage)
	}
	f.note("backend")
	f.set.StringVar(&g.backend, "backend", models.BackendAuto, "`NAME`what runs the model: onnx, native or auto, which takes onnx if its library is available, and native for a single query")
	f.checks = append(f.checks, g.checkBackend, g.enterCollection)
	f.note("token-limit")
	f.set.IntVar(&g.tokenLimit, "token-limit", 0, "most tokens sent to a model behind a URL in this run; default no limit")
	f.note("offline")
	f.set.BoolVar(&g.offline, "offline", false, "open no network connections")
	f.note("quiet")
	f.set.BoolVar(&g.quiet, "quiet", false, "show no progress on stderr")
}

// enterCollection makes the command work on the folder of the collection.
func (g *globals) enterCollection() error {
	switch {
	case g.collection == "":
		return nil
	case g.db == "":
		var err error
		if g.db, err = findDB(); err != nil {
			return err
		}
		if g.db == "" {
			return hinted(usagef("--collection %s: no database given", g.collection), whichDB)
		}
	case elsewhere(g.db):
		return usagef("--collection %s: only a database in a folder has collections", g.collection)
	}
	dir, err := collections.Dir(store.Folder(g.db).Collections(), g.collection)
	if err != nil {
		return usagef("--collection: %v", err)
	}
	g.main, g.db = g.db, dir
	return nil
}

// app is the environment of a running command.
type app struct {
	Env
	globals
	served atomic.Pointer[collections.Set] // of the database, while this process serves them
	name   string                          // of the command
	keep   cacheBounds                     // of what is kept of documents that are encoded
	few    bool                            // a text or two are encoded
}

// whichDB is the remedy where no database is given or found.
const whichDB = "name its folder with --db DIR or LEXSEM_DB, or make one for this folder: lexsem index ."

// needDB returns the database's folder, which is that of the working folder if none is given, or a usage error.
func (a *app) needDB() (string, error) {
	if a.db == "" {
		found, err := findDB()
		if err != nil {
			return "", err
		}
		if found == "" {
			return "", hinted(usagef("no database given, and no %s in this folder or above it", folderName), whichDB)
		}
		a.db = found
	}
	if elsewhere(a.db) {
		return "", hinted(usagef("--db %s: %s works on a folder", secret.URL(a.db), a.name), "only serve and bridge take a URL; `lexsem serve --db URL` answers searches")
	}
	return a.db, nil
}
