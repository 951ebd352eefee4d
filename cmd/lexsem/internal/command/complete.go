package command

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder/models"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/bench/ann"
	"github.com/lexsem/lexsem/internal/bench/load"
	"github.com/lexsem/lexsem/internal/bench/repeat"
	"github.com/lexsem/lexsem/internal/bench/sage"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/modulate"
)

// completeCommand is called by the scripts of `lexsem completion` with the words of the
// command line up to the cursor. The last word begins with "=", since some shells drop an
// empty word. It prints one candidate a line, followed by a tab and a description. The
// last line says what else the shell may offer: files, folders, or nothing.
const completeCommand = "__complete"

const (
	offerNothing = ":none"
	offerFiles   = ":files"
	offerFolders = ":folders"
)

// candidate is a possible word at the cursor.
type candidate struct{ word, about string }

func complete(w io.Writer, words []string) error {
	cur := ""
	if n := len(words); n > 0 {
		cur, words = strings.TrimPrefix(words[n-1], "="), words[:n-1]
	}
	found, offer := candidates(words, cur)
	for _, c := range found {
		if strings.HasPrefix(c.word, cur) {
			if _, err := fmt.Fprintf(w, "%s\t%s\n", c.word, c.about); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(w, offer)
	return err
}

// candidates returns the possible words after words that begin with cur.
func candidates(words []string, cur string) ([]candidate, string) {
	words = slices.Clone(words)
	var g globals
	f := newFlags(program)
	g.declare(f)
	f.bool("json", "as JSON") // taken before the name by whatever command has it
	at, value := f.walk(words, true)
	if at == len(words) { // the command's name is not there yet
		switch {
		case value != nil:
			return values("", value, cur)
		case strings.HasPrefix(cur, "-"):
			return f.candidates("", cur)
		}
		return commandNames(nil), offerNothing
	}
	words = words[at:]
	if words[0] == "help" {
		found := commandNames(words[1:])
		if slices.Equal(words[1:], []string{cmdBenchName}) {
			found = append(found, candidate{flagsTopic, "the flags of bench, with its systems, tasks and metrics"})
		}
		return found, offerNothing
	}
	second := commandNames(words) // such as engine behind bench
	c, rest, ok := match(words)
	if !ok {
		return second, offerNothing
	}
	f = tableOf(c)
	if end, value := f.walk(rest, false); value != nil {
		return values(c.name, value, cur)
	} else if end == ended {
		return nil, offerOf(c.args)
	}
	if strings.HasPrefix(cur, "-") {
		return f.candidates(c.name, cur)
	}
	if len(rest) > 0 {
		second = nil
	}
	if c.name == cmdCompletion.name && len(rest) == 0 {
		for _, s := range shells() {
			second = append(second, candidate{s, "completion script for " + s})
		}
	}
	if strings.HasPrefix(c.name, cmdMCP.name+" ") && len(rest) == 0 {
		for _, m := range mcpClients {
			second = append(second, candidate{m.name, m.title})
		}
	}
	return second, offerOf(c.args)
}

// ended means that a -- ends the flags.
const ended = -1

// walk reads words in the same way as parse. at is the position of the first word that is
// neither a flag nor the value of one, if name is set. waits is the flag whose value
// comes after the last word, or nil.
func (f *flags) walk(words []string, name bool) (at int, waits *flag.Flag) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			return ended, nil
		}
		if len(w) < 2 || w[0] != '-' {
			if name {
				return i, nil
			}
			continue
		}
		fl := f.set.Lookup(strings.TrimLeft(w, "-"))
		if fl == nil || isBool(fl) { // "--flag=value" is no flag's name either
			continue
		}
		if i+1 == len(words) {
			return len(words), fl
		}
		i++
	}
	return len(words), nil
}

func isBool(fl *flag.Flag) bool {
	b, ok := fl.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// candidates returns the flags, or after --flag= its values.
func (f *flags) candidates(command, cur string) (found []candidate, offer string) {
	if name, value, ok := strings.Cut(cur, "="); ok {
		fl := f.set.Lookup(strings.TrimLeft(name, "-"))
		if fl == nil {
			return nil, offerNothing
		}
		found, offer = values(command, fl, value)
		for i := range found {
			found[i].word = name + "=" + found[i].word
		}
		return found, offer
	}
	f.set.VisitAll(func(fl *flag.Flag) {
		_, about := valueName(fl)
		about, _, _ = strings.Cut(about, ";")
		found = append(found, candidate{dashed(fl.Name), about})
	})
	return found, offerNothing
}

// commandNames returns the possible words after the first words of a command's name.
func commandNames(before []string) (found []candidate) {
	for _, c := range commands() {
		words := strings.Fields(c.name)
		if len(words) == len(before)+1 && slices.Equal(words[:len(before)], before) {
			found = append(found, candidate{words[len(before)], c.summary})
		}
	}
	if len(before) == 0 {
		found = append(found, candidate{"help", "show flags, exit codes and examples of a command"})
	}
	return found
}

// offerOf derives from the arguments in a synopsis what the shell may offer.
func offerOf(args string) string {
	for _, files := range []string{"FILE", "PATH", "DIR", "REPORT"} {
		if strings.Contains(args, files) {
			return offerFiles
		}
	}
	return offerNothing
}

// values returns the possible values of a flag that begin with cur. In a list, the part
// after the last comma is completed.
func values(command string, fl *flag.Flag, cur string) (found []candidate, offer string) {
	known, ok := knownValues[command+" "+fl.Name]
	if !ok {
		known, ok = knownValues[fl.Name]
	}
	kind, _ := valueName(fl)
	offer = offerNothing
	switch kind {
	case "FILE":
		offer = offerFiles
	case "DIR":
		offer = offerFolders
	}
	if fl.Name == "model" { // a name or a folder
		offer = offerFolders
	}
	if !ok {
		return nil, offer
	}
	before := ""
	if at := strings.LastIndexByte(cur, ','); at >= 0 && kind == "LIST" {
		before = cur[:at+1]
	}
	for _, v := range known() {
		found = append(found, candidate{before + v, ""})
	}
	return found, offer
}

// knownValues are the values of flags that have a fixed set, by the name of the flag, or
// by command and flag if commands differ.
var knownValues = map[string]func() []string{
	"backend":       among(models.BackendAuto, models.BackendONNX, models.BackendNative),
	"model":         modelNames,
	"mode":          among(engine.ModeAuto, engine.ModeDense, engine.ModeLexical, engine.ModeHybrid),
	"fusion":        among(fusion.Calibrated, fusion.RRF, fusion.Convex),
	"variant":       variantNames,
	"fit variant":   fittedNames,
	"index":         func() []string { return append([]string{"auto"}, index.Kinds()...) },
	"language":      text.Languages,
	"index kind":    among(engine.KindAuto, engine.KindCode, engine.KindText),
	"index metric":  index.Metrics,
	"doctor metric": index.Metrics,
	"token-states":  among(engine.TokenStatesAuto, engine.TokenStatesOn, engine.TokenStatesOff),
	"role":          among("passage", "query"),
	"over":          among(repeat.OverQueries, repeat.OverSteps, repeat.OverPassages),
	"systems":       systemNames,
	"tasks":         func() []string { return kinds(bench.TaskKinds(), func(k bench.TaskKind) string { return k.Name }) },
	"metrics":       func() []string { return kinds(bench.MetricKinds(), func(k bench.MetricKind) string { return k.Name }) },
	"parts":         func() []string { return append(slices.Clone(load.Parts), "stalls") },

	"search format":           among("text", "json", "trec"),
	"embed format":            among("jsonl", "npy", "fbin"),
	"embed input":             among("lines", "jsonl"),
	"bench ann index":         ann.Indexes,
	"bench sage tasks":        sage.Tasks,
	"bench sage similarities": sage.Similarities,
}

func among(values ...string) func() []string { return func() []string { return values } }

func kinds[T any](list []T, name func(T) string) []string {
	names := make([]string, len(list))
	for i, k := range list {
		names[i] = name(k)
	}
	return names
}

func modelNames() []string {
	var names []string
	for _, m := range provision.Models() {
		names = append(names, m.Spec.Model)
		if m.Spec.Precision == "fp32" {
			names = append(names, m.Spec.Model+modelspec.Int8Suffix)
		}
	}
	return append(names, "static", "static:", "hash", "openai:", "ollama:")
}

func systemNames() []string {
	names := variantNames()
	for _, k := range bench.SystemKinds() {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func variantNames() []string {
	names := map[string]bool{engine.VariantNone: true, engine.VariantLocal: true, "rlr+slr": true, "rlr-local+slr": true, "rlr+whiten": true}
	for _, v := range modulate.Variants() {
		names[v.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func fittedNames() []string {
	names := []string{engine.VariantLocal, "rlr+slr"}
	for _, v := range modulate.Variants() {
		if v.Kind == modulate.Multiplicative {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return names
}
