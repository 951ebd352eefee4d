package command

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func TestFlagsStandAnywhere(t *testing.T) {
	cases := []struct {
		args []string
		k    int
		json bool
		rest []string
	}{
		{[]string{"a", "b"}, 3, false, []string{"a", "b"}},
		{[]string{"-k", "5", "a", "b"}, 5, false, []string{"a", "b"}},
		{[]string{"a", "-k", "5", "b", "--json"}, 5, true, []string{"a", "b"}},
		{[]string{"a", "b", "-k=5"}, 5, false, []string{"a", "b"}},
		{[]string{"a", "--", "-k", "5"}, 3, false, []string{"a", "-k", "5"}},
		{[]string{"--", "--json"}, 3, false, []string{"--json"}},
		{[]string{"-", "--json"}, 3, true, []string{"-"}},
		{nil, 3, false, nil},
	}
	for _, c := range cases {
		f := newFlags("test")
		k, j := f.int("k", 3, ""), f.bool("json", "")
		rest, err := f.parse(c.args, func(string) string { return "" })
		if err != nil || *k != c.k || *j != c.json || !reflect.DeepEqual(rest, c.rest) {
			t.Errorf("parse(%q) = %q, k %d, json %v, %v; want %q, %d, %v", c.args, rest, *k, *j, err, c.rest, c.k, c.json)
		}
	}
}

func TestFlagsFromEnvironment(t *testing.T) {
	env := map[string]string{"LEXSEM_MAX_QUERIES": "7", "LEXSEM_DB": "from-env", "LEXSEM_SEED": ""}
	f := newFlags("test")
	n, db, seed := f.int("max-queries", 0, ""), f.str("db", "", ""), f.seed("")
	if _, err := f.parse([]string{"--db", "given"}, func(k string) string { return env[k] }); err != nil {
		t.Fatal(err)
	}
	if *n != 7 || *db != "given" || *seed != 1 {
		t.Errorf("max-queries %d, db %q, seed %d; want 7 from the environment, the flag's value, the default for an empty variable", *n, *db, *seed)
	}
	env["LEXSEM_SEED"] = "-1"
	f = newFlags("test")
	f.seed("")
	if _, err := f.parse(nil, func(k string) string { return env[k] }); exitCode(err) != exitUsage {
		t.Errorf("LEXSEM_SEED=-1 gave %v; want a usage error", err)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"search", "setup", "stats", "index"}
	for in, want := range map[string]string{"serch": "search", "stat": "stats", "indxe": "index", "frobnicate": "", "": ""} {
		if got := nearest(in, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

// Every flag of every command has a variable of its own within the command,
// a group in the help, and a usage text.
func TestFlagTables(t *testing.T) {
	for _, c := range commands() {
		f := newFlags(c.name)
		c.declare(f)
		new(globals).declare(f)
		seen := map[string]bool{}
		for _, g := range f.groups {
			for _, name := range g.names {
				if v := variable(name); seen[v] {
					t.Errorf("%s: two flags share %s", c.name, v)
				} else {
					seen[v] = true
				}
				if f.set.Lookup(name).Usage == "" {
					t.Errorf("%s --%s has no usage text", c.name, name)
				}
			}
		}
		if c.summary == "" || len(c.examples) != 2 {
			t.Errorf("%s: needs a summary and two examples", c.name)
		}
	}
}

// TestNoArguments: a command whose synopsis has no arguments refuses them before it does anything.
func TestNoArguments(t *testing.T) {
	for _, c := range commands() {
		if c.args != "" || c.name == "bench" {
			continue
		}
		var out bytes.Buffer
		code := Run(t.Context(), Env{Args: append(strings.Fields(c.name), "extra"), Stderr: &out})
		if code != exitUsage || !strings.Contains(out.String(), c.name+` takes no arguments, got "extra"`) {
			t.Errorf("%s: exit %d, %s", c.name, code, out.String())
		}
	}
}
