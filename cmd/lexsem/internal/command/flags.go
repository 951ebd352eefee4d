package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// flags is the flag table of one command: a flag.FlagSet that keeps the order and groups
// of its flags, accepts flags before and after positional arguments, and reads a LEXSEM_
// variable for each flag that the command line does not have.
type flags struct {
	set    *flag.FlagSet
	groups []flagGroup
	checks []func() error // of values, once all are known
}

type flagGroup struct {
	title string
	names []string
}

func newFlags(name string) *flags {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	return &flags{set: set}
}

// group starts a new heading; help lists later flags below it. The heading of flags without a group is "Flags".
func (f *flags) group(title string) { f.groups = append(f.groups, flagGroup{title: title}) }

func (f *flags) note(name string) {
	if len(f.groups) == 0 {
		f.group("Flags")
	}
	g := &f.groups[len(f.groups)-1]
	g.names = append(g.names, name)
}

// given says whether a flag was set, also by its variable.
func (f *flags) given(name string) (is bool) {
	f.set.Visit(func(fl *flag.Flag) { is = is || fl.Name == name })
	return is
}

func (f *flags) str(name, value, usage string) *string {
	f.note(name)
	return f.set.String(name, value, usage)
}

func (f *flags) bool(name, usage string) *bool {
	f.note(name)
	return f.set.Bool(name, false, usage)
}

func (f *flags) int(name string, value int, usage string) *int {
	f.note(name)
	return f.set.Int(name, value, usage)
}

// strs declares a flag that may be repeated; its variable has one value a line.
func (f *flags) strs(name, usage string) *[]string {
	f.note(name)
	v := new([]string)
	f.set.Var((*texts)(v), name, usage)
	return v
}

// texts is the value of a flag that may be repeated.
type texts []string

func (t *texts) String() string { return strings.Join(*t, "\n") }

func (t *texts) Set(s string) error {
	for line := range strings.SplitSeq(s, "\n") {
		if line != "" {
			*t = append(*t, line)
		}
	}
	return nil
}

func (f *flags) seed(usage string) *uint64 {
	f.note("seed")
	return f.set.Uint64("seed", 1, usage)
}

func (f *flags) float(name string, value float64, usage string) *float64 {
	f.note(name)
	return f.set.Float64(name, value, usage)
}

// variable returns the environment variable of a flag: "ef-construction" has
// LEXSEM_EF_CONSTRUCTION.
func variable(flagName string) string {
	return "LEXSEM_" + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

// parse reads args and returns the positional ones. Flags may come before, between and
// after them; "--" ends the flags. A flag that args do not have takes the value of its
// variable from getenv.
func (f *flags) parse(args []string, getenv func(string) string) ([]string, error) {
	var positional []string
	for {
		if err := f.set.Parse(args); err != nil {
			return nil, f.usage(err)
		}
		rest := f.set.Args()
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" {
			positional = append(positional, rest...)
			break
		}
		if len(rest) == 0 {
			break
		}
		positional = append(positional, rest[0])
		args = rest[1:]
	}
	if err := f.fromEnvironment(getenv); err != nil {
		return nil, err
	}
	for _, check := range f.checks {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return positional, nil
}

func (f *flags) fromEnvironment(getenv func(string) string) error {
	given := map[string]bool{}
	f.set.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	var err error
	f.set.VisitAll(func(fl *flag.Flag) {
		value := getenv(variable(fl.Name))
		if err != nil || given[fl.Name] || value == "" {
			return
		}
		if e := f.set.Set(fl.Name, value); e != nil {
			err = usagef("variable %s: value %q is not valid for %s: %v", variable(fl.Name), value, dashed(fl.Name), e)
		}
	})
	return err
}

// usage turns an error of package flag into one usage error with a hint.
func (f *flags) usage(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	msg := err.Error()
	name := f.set.Name()
	if name == cmdBenchName {
		name += " " + flagsTopic
	}
	topic := "`lexsem help " + name + "`"
	if f.set.Name() == program {
		topic = "`lexsem help COMMAND`"
	}
	const unknown = "flag provided but not defined: -"
	if name, ok := strings.CutPrefix(msg, unknown); ok {
		name = strings.TrimLeft(name, "-")
		var names []string
		f.set.VisitAll(func(fl *flag.Flag) { names = append(names, fl.Name) })
		u := usagef("%s has no flag %s", f.set.Name(), dashed(name))
		if f.set.Name() == program {
			u = usagef("unknown flag %s before the command; put the flags of a command after its name", dashed(name))
		}
		if short := f.set.Lookup(name[:min(1, len(name))]); short != nil && len(short.Name) < len(name) {
			u.hint = fmt.Sprintf("write -%s %s; %s lists the flags", short.Name, name[1:], topic)
		} else if near := nearest(name, names); near != "" {
			u.hint = fmt.Sprintf("did you mean %s? %s lists the flags; put -- before a text that starts with a dash", dashed(near), topic)
		} else {
			u.hint = topic + " lists the flags; put -- before a text that starts with a dash"
		}
		return u
	}
	u := usagef("%s: %s", f.set.Name(), singleDash.ReplaceAllString(msg, "$1-$2"))
	u.hint = "see " + topic
	return u
}

// singleDash finds the names of flags in messages of package flag, which
// writes one dash before names of any length.
var singleDash = regexp.MustCompile(`((?:flag|argument:) )(-[a-z][a-z-]+)`)

// nearest returns the name within edit distance 2 of s that is closest, or "".
func nearest(s string, names []string) string {
	best, at := "", 3
	for _, n := range names {
		if d := editDistance(s, n); d < at && d < len(n) {
			best, at = n, d
		}
	}
	return best
}

// editDistance is Levenshtein's, over bytes, in O(len(a)·len(b)).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
