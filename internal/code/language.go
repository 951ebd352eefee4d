package code

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// extensions are the languages of files by their extensions.
var extensions = languages(`go: go
python: py pyi pyw pyx pxd
javascript: js mjs cjs jsx
typescript: ts mts cts tsx
vue: vue
svelte: svelte
coffeescript: coffee
java: java
kotlin: kt kts
scala: scala sbt
groovy: groovy gradle
clojure: clj cljs cljc
c: c h
c++: cc cpp cxx hh hpp hxx ino
objective-c: m mm
cuda: cu cuh
c#: cs
f#: fs
visual basic: vb
rust: rs
zig: zig
nim: nim
d: d
swift: swift
dart: dart
ruby: rb rake gemspec podspec ru
php: php
perl: pl pm t psgi
lua: lua
r: r
julia: jl
haskell: hs
ocaml: ml mli
elixir: ex exs
erlang: erl hrl
lisp: el lisp
scheme: scm
fortran: f90 f
pascal: pas
assembly: asm s
shell: sh bash zsh fish ksh csh bats
powershell: ps1 psm1
batch: bat cmd
vim: vim
sql: sql
protobuf: proto
graphql: graphql gql
terraform: tf tfvars
nix: nix
cmake: cmake
make: mk mak am
m4: m4 ac
dockerfile: dockerfile
css: css
scss: scss
less: less
yaml: yaml yml
toml: toml
ini: ini cfg
conf: conf
properties: properties
hcl: hcl
starlark: bzl bazel star
prisma: prisma
solidity: sol
astro: astro
erb: erb
ejs: ejs
handlebars: hbs
pug: pug
haml: haml
jinja: jinja j2
thrift: thrift
cap'n proto: capnp
crystal: cr
elm: elm
purescript: purs
racket: rkt
tcl: tcl
awk: awk
sed: sed
lean: lean
rego: rego
cue: cue
gdscript: gd
verilog: sv
vhdl: vhd vhdl
glsl: glsl
wgsl: wgsl
hlsl: hlsl`)

// wholeNames are the languages of files by their names. The names may have a dot before them, and another extension behind:
// Dockerfile.dev.
var wholeNames = languages(`make: makefile gnumakefile bsdmakefile justfile kbuild
cmake: cmakelists.txt
dockerfile: dockerfile containerfile
groovy: jenkinsfile
ruby: rakefile gemfile podfile fastfile vagrantfile brewfile guardfile capfile thorfile berksfile puppetfile dangerfile appraisals irbrc pryrc
python: sconstruct sconscript snakefile wscript
starlark: BUILD WORKSPACE BUCK tiltfile
go module: go.mod go.work
shell: bashrc bash_profile bash_aliases bash_logout profile zshrc zshenv zprofile zlogin zlogout kshrc cshrc tcshrc xinitrc xprofile pkgbuild apkbuild
vim: vimrc gvimrc
ini: gitconfig editorconfig npmrc pylintrc flake8
toml: pipfile
yaml: clang-format clang-tidy
caddyfile: caddyfile
procfile: procfile
earthfile: earthfile
kconfig: kconfig
meson: meson.build meson_options.txt
erlang: rebar.config
dune: dune dune-project`)

// interpreters are the languages of scripts by what their first lines name, without its version.
var interpreters = languages(`shell: sh bash dash ash ksh mksh zsh fish csh tcsh busybox bats openrc-run rc.common
python: python pypy ipython uv
javascript: node nodejs bun gjs zx
typescript: deno tsx ts-node
perl: perl
ruby: ruby jruby
awk: awk gawk mawk nawk
sed: sed
php: php
lua: lua luajit
tcl: tclsh wish expect
r: rscript
julia: julia
make: make gmake
powershell: pwsh
haskell: runhaskell runghc stack
ocaml: ocaml
elixir: elixir
erlang: escript
scheme: guile
racket: racket
lisp: sbcl emacs
clojure: clojure bb
groovy: groovy
kotlin: kotlin
scala: scala scala-cli
swift: swift
crystal: crystal
rust: rust-script cargo`)

// languages reads lines of a language and what stands for it.
func languages(list string) map[string]string {
	of := map[string]string{}
	for line := range strings.Lines(list) {
		language, all, _ := strings.Cut(line, ":")
		for word := range strings.FieldsSeq(all) {
			of[word] = language
		}
	}
	return of
}

// Extensions lists, in order, the extensions that tell a language, without the dot.
func Extensions() []string { return slices.Sorted(maps.Keys(extensions)) }

// leftovers are extensions of copies, templates and what programs write, which say nothing of the name before them.
var leftovers = words("in bak old orig rej lock")

// Language is the language that the name of a file tells, or "". whole says that it is the name as a whole, whatever the
// extension in it stands for elsewhere.
func Language(file string) (language string, whole bool) {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	low := strings.ToLower(base)
	if language = cmp.Or(wholeNames[base], wholeNames[strings.TrimPrefix(low, ".")]); language != "" {
		return language, true
	}
	ext := strings.TrimPrefix(path.Ext(low), ".")
	if language = extensions[ext]; language == "" && !leftovers[ext] {
		language = wholeNames[strings.TrimSuffix(low, "."+ext)]
	}
	return language, false
}

// Untold reports whether the name of a file tells nothing of what is in it, as that of many a script: it has no extension, or
// a version where one is, as in pip3.11.
func Untold(file string) bool {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	language, _ := Language(base)
	ext := path.Ext(base)
	return language == "" && (ext == "" || len(ext) > 1 && ext[1] >= '0' && ext[1] <= '9') && !strings.ContainsAny(base[:1], "./") && !strings.HasSuffix(base, "~")
}

// ScriptHead is how many bytes of a text Script looks at.
const ScriptHead = 512

// Script reports whether a text is a script, and its language, or "", by its first line: #!/usr/bin/env python3. One that GNU
// Autoconf wrote is none: it is long, and nobody reads it.
func Script(text string) (language string, is bool) {
	text = text[:min(len(text), ScriptHead)]
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(fields) == 0 || fields[0][0] == '[' || strings.Contains(text, "enerated by GNU Autoconf") {
		return "", false
	}
	if path.Base(fields[0]) == "env" {
		fields = slices.DeleteFunc(fields[1:], func(f string) bool { return f[0] == '-' || strings.Contains(f, "=") })
	}
	if len(fields) == 0 {
		return "", true
	}
	name := strings.ToLower(path.Base(fields[0]))
	if language = interpreters[name]; language == "" {
		if version := strings.IndexAny(name, "0123456789"); version > 0 {
			name = strings.TrimRight(name[:version], "-.")
		}
		language = interpreters[name]
	}
	return language, true
}
