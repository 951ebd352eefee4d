package code_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/code"
)

// languages are texts with the names that they define.
var languages = map[string]struct {
	text  string
	names []string
}{
	"go":         {"package p\n\n// Open opens.\nfunc Open(dir string) (*DB, error) {\n\tif ok(dir) {\n\t\treturn call(dir)\n\t}\n}\n\nfunc (d *DB) Close() error { return nil }\n\nfunc (s set[K]) Add(k K) {\n}\n\ntype DB struct {\n\tname string\n}\n", []string{"Open", "DB.Close", "set.Add", "DB"}},
	"python":     {"import os\n\nclass Parser(Base):\n    @property\n    def head(self):\n        for x in y(1):\n            pass\n\n    async def read(self, n=3):\n        return f(n)\n\ndef main():\n    run(1)\n", []string{"Parser", "head", "read", "main"}},
	"javascript": {"export function parse(s) {\n  return f(s);\n}\nconst twice = (x) => x * 2;\nlet n = 3;\nclass A extends B {\n  constructor(a) {\n  }\n  run(a, b) {\n    if (a) {\n    }\n    call(() => {\n    });\n    make(a, {\n    });\n    on(b, function () {\n    });\n  }\n}\n", []string{"parse", "twice", "A", "constructor", "run"}},
	"typescript": {"export const ZodString = make(\"x\");\nexport interface Shape<T> {\n}\nexport abstract class Zod<T> {\n  protected parse(input: Data): Output {\n  }\n  static async create<T>(a: T): Promise<T> {\n  }\n}\nexport type Out = In;\nexport namespace util {\n}\n", []string{"ZodString", "Shape", "Zod", "parse", "create", "Out", "util"}},
	"java":       {"package a.b;\n\n@Deprecated\npublic final class Gson {\n  public <T> T fromJson(String json, Class<T> type) throws IOException {\n    if (json == null) {\n      throw new X(1);\n    }\n    return read(json);\n  }\n  private static int count(List<String> all) {\n  }\n}\n", []string{"Gson", "fromJson", "count"}},
	"kotlin":     {"data class User(val name: String)\nsuspend fun load(id: Int): User {\n}\nobject Store {\n}\n", []string{"User", "load", "Store"}},
	"rust":       {"pub struct Router<S> {\n}\nimpl<S> Router<S> {\n    pub fn new() -> Self {\n        let x = f(1);\n        Box::new(Self {\n        })\n    }\n    pub(crate) async fn run(self) {\n    }\n}\nimpl<S> Service for Route<S> {\n}\npub trait Handler {\n}\nmacro_rules! all {\n}\nmod inner;\n", []string{"Router", "Router", "new", "run", "Route", "Handler", "all", "inner"}},
	"c":          {"#include <a.h>\n\nstatic int uv__run(uv_loop_t* loop, int n) {\n  while (n) {\n    step(loop);\n  }\n  return f(n,\n           2);\n}\n\nvoid uv_close(uv_handle_t* h)\n{\n}\nstruct loop {\n};\nstatic PyObject *\ndict_get(PyObject *self,\n         int n)\n{\n    call(self,\n         n);\n}\n\nint\nset_item(int n)\n{\n}\n\nint\nno_body(int n)\nint x;\n", []string{"uv__run", "uv_close", "loop", "dict_get", "set_item"}},
	"c++":        {"namespace fmt {\nclass buffer {\n  void grow(size_t n) {\n  }\n};\nvoid detail::buffer::reset(int a) {\n}\n}\nenum class color { red };\n", []string{"fmt", "buffer", "grow", "detail::buffer::reset", "color"}},
	"c#":         {"public sealed class Loader {\n  public async Task<int> LoadAsync(string path) {\n  }\n}\n", []string{"Loader", "LoadAsync"}},
	"ruby":       {"module Rack\n  class Request\n    def params\n    end\n    def self.build(env)\n    end\n    def ok?\n    end\n  end\nend\n", []string{"Rack", "Request", "params", "build", "ok?"}},
	"php":        {"<?php\nfinal class Router {\n    public function dispatch($a) {\n    }\n}\nfunction helper() {\n}\n", []string{"Router", "dispatch", "helper"}},
	"swift":      {"public protocol Shape {\n}\nextension View {\n    func draw(in r: Rect) {\n    }\n}\n", []string{"Shape", "View", "draw"}},
	"scala":      {"case class Point(x: Int)\ntrait Ord {\n  def less(a: Int): Boolean\n}\nobject Main {\n}\n", []string{"Point", "Ord", "less", "Main"}},
	"elixir":     {"defmodule App.Worker do\n  def start(a) do\n  end\n  defp loop(b) do\n  end\nend\n", []string{"App.Worker", "start", "loop"}},
	"lua":        {"local function add(a, b)\nend\nfunction M.run(x)\nend\n", []string{"add", "M.run"}},
	"zig":        {"pub fn main() !void {\n}\n", []string{"main"}},
	"shell":      {"#!/bin/sh\n# Starts it.\ndo_start()\n{\n\tif run; then\n\t\techo\n\tfi\n}\n\nstop () {\n  kill $1\n}\nfunction load {\n  x\n}\nload()\nx()\n", []string{"do_start", "stop", "load"}},
	"perl":       {"#!/usr/bin/perl\nsub parse {\n    my ($a) = @_;\n}\nsub run\n{\n  parse(1);\n}\n", []string{"parse", "run"}},
	"awk":        {"#!/usr/bin/awk -f\nfunction sum(a, b) {\n  return a + b\n}\nBEGIN {\n  print sum(1, 2)\n}\n", []string{"sum"}},
	"tcl":        {"#!/usr/bin/tclsh\nproc greet {name} {\n  puts $name\n}\n", []string{"greet"}},
	"dart":       {"class Box {\n  void open(int a) {\n  }\n}\n", []string{"Box", "open"}},
}

func TestDefinitions(t *testing.T) {
	for name, l := range languages {
		for _, ending := range []string{"\n", "\r\n"} {
			text := strings.ReplaceAll(l.text, "\n", ending)
			all, err := code.Definitions(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range all {
				got = append(got, d.Name)
				if d.At >= len(text) || d.At > 0 && text[d.At-1] != '\n' {
					t.Errorf("%s: %+v is no start of a line", name, d)
				}
			}
			if !slices.Equal(got, l.names) {
				t.Errorf("%s: got %q, want %q", name, got, l.names)
			}
		}
	}
}

func TestProseDefinesLittle(t *testing.T) {
	text := "The class of all sets is no set. A function is a rule.\nType the word (as you see it) and press enter.\nif you like (and only then), go on\n\nstruct.\n"
	if all, err := code.Definitions(t.Context(), text); err != nil || len(all) > 0 {
		t.Errorf("%v %v", all, err)
	}
}

func TestSymbol(t *testing.T) {
	for _, c := range []struct{ language, at, want string }{
		{"go", "call(dir)", "Open"},
		{"go", "// Open opens", "Open"},
		{"go", "func Open", "Open"},
		{"go", "package p", ""},
		{"go", "name string", "DB"},
		{"go", "return nil", "DB.Close"},
		{"python", "pass", "Parser.head"},
		{"python", "@property", "Parser.head"},
		{"python", "return f(n)", "Parser.read"},
		{"python", "run(1)", "main"},
		{"ruby", "self.build", "Rack.Request.build"},
		{"rust", "let x", "Router.new"},
		{"java", "throw new", "Gson.fromJson"},
		{"c", "return f(n", "uv__run"},
		{"c", "call(self", "dict_get"},
		{"c++", "void grow", "buffer.grow"},
		{"typescript", "protected parse", "Zod.parse"},
		{"shell", "echo", "do_start"},
		{"shell", "kill", "stop"},
		{"shell", "# Starts", "do_start"},
	} {
		text := languages[c.language].text
		at := strings.Index(text, c.at)
		if at < 0 {
			t.Fatalf("%s has no %q", c.language, c.at)
		}
		if got, err := code.Symbol(t.Context(), text, at); err != nil || got != c.want {
			t.Errorf("%s at %q: got %q, want %q (%v)", c.language, c.at, got, c.want, err)
		}
	}
}

// The head of a function may take several lines, and its brace one of its own.
func TestSymbolOfHeads(t *testing.T) {
	for text, want := range map[string]string{
		"void close(int a)\n{\n  AT;\n}\n":                                          "close",
		"func Open(\n\ta int,\n) error {\n\tAT\n}\n":                                "Open",
		"func Open(\n\tAT int,\n) error {\n}\n":                                     "Open",
		"class A {\n public:\n  void f() {\n    if (a) {\n    } else {\n      AT\n": "A.f",
		"func a() {\n}\n\nvar AT = 1\n":                                             "",
		"func a() {\n}\n// AT\n\nfunc b() {\n}\n":                                   "",
		"class A:\n    def f(self):\n        pass\n\n    AT = 3\n":                  "A",
		"func a() {\n\t// AT\n\tb()\n}\n":                                           "a",
		"// AT":                                                                     "",
	} {
		if got, err := code.Symbol(t.Context(), text, strings.Index(text, "AT")); err != nil || got != want {
			t.Errorf("%q: got %q, want %q (%v)", text, got, want, err)
		}
	}
}

func TestRole(t *testing.T) {
	for path, want := range map[string]string{
		"lib/rack/parser.rb": code.Source, "gin.go": code.Source, "src/contest.py": code.Source, "internal/latest/a.go": code.Source, "src/protest/x.rs": code.Source,
		"gin_test.go": code.Test, "test/spec_utils.rb": code.Test, "src/a.test.ts": code.Test, "tests/a.py": code.Test, "pkg/test_a.py": code.Test, "src/test/java/GsonTest.java": code.Test,
		"GsonTest.java": code.Test, "conftest.py": code.Test, `src\tests\a.cs`: code.Test, "benches/a.rs": code.Test, "testdata/x.go": code.Test, "a/b_bench.c": code.Test, "axum/src/test_helpers/a.rs": code.Source,
		"README.md": code.Documentation, "docs/a.rst": code.Documentation, "LICENSE": code.Documentation, "a/CHANGELOG.txt": code.Documentation,
		"examples/a.go": code.Example, "install.sh": code.Source, "lib/todo.go": code.Source, "CMakeLists.txt": code.Source, "src/CMakeLists.txt": code.Source, "NEWS": code.Documentation, "README.ja": code.Documentation, "bin/run": code.Source,
		"t/basic.t": code.Test, "run.bats": code.Test, "Makefile": code.Source, "vendor/x/a.go": code.Vendored, "vendor/x/a_test.go": code.Test, "pip/_vendor/b.py": code.Vendored, "vendor.go": code.Source, "docs/conf.py": code.Example, "docs_src/a/b.py": code.Example, "example.go": code.Example,
	} {
		if got := code.Role(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestName(t *testing.T) {
	for path, want := range map[string]string{"a/b.c.go": "b.c", "b": "b", "extract/mod.rs": "extract", "index.ts": "index", "fastapi/__init__.py": "fastapi", `a\b.go`: "b", ".bashrc": ".bashrc"} {
		if got := code.Name(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	text := strings.Repeat("func a() {\n", 2000)
	if _, err := code.Definitions(ctx, text); !errors.Is(err, context.Canceled) {
		t.Errorf("definitions: %v", err)
	}
	deep := "func a() {\n" + strings.Repeat("\tb()\n", 2000)
	if _, err := code.Symbol(ctx, deep, len(deep)-2); !errors.Is(err, context.Canceled) {
		t.Errorf("symbol: %v", err)
	}
}

func FuzzDefinitions(f *testing.F) {
	for _, l := range languages {
		f.Add(l.text, len(l.text)/2)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		all, err := code.Definitions(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all {
			if d.Name == "" || d.At < 0 || d.At >= len(text) {
				t.Fatalf("%+v", d)
			}
		}
		if _, err := code.Symbol(t.Context(), text, at); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkDefinitions reads all texts as one.
func BenchmarkDefinitions(b *testing.B) {
	var text strings.Builder
	for _, l := range languages {
		text.WriteString(l.text)
	}
	s := strings.Repeat(text.String(), 20)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		if _, err := code.Definitions(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
}

func TestWanted(t *testing.T) {
	for query, want := range map[string]string{"Cut": "Cut", " strings.Cut() ": "Cut of strings", "func Cut": "Cut", "Class a::B": "B of a", "fn a::b::C": "C of b", "a.b.": "",
		".Cut": "Cut", "cut the string": "", "cut string": "", "": "", "func": "func"} {
		got, of := code.Wanted(query)
		if of != "" {
			got += " of " + of
		}
		if got != want {
			t.Errorf("%q asks for %q, want %q", query, got, want)
		}
	}
}

// A definition belongs to its receiver, to the names before its own, or to the definition around it.
func TestOf(t *testing.T) {
	for language, want := range map[string]string{
		"go":         " DB set ",
		"python":     " Parser Parser ",
		"typescript": "   Zod Zod  ",
		"ruby":       " Rack Request Request Request",
		"rust":       "  Router Router    ",
		"c++":        "  buffer buffer ",
	} {
		all, err := code.Definitions(t.Context(), languages[language].text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range all {
			got = append(got, d.Of())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q", language, s, want)
		}
	}
}
