package command

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/engine"
)

// minDocWords is the minimum length of a doc comment that is worth searching.
const minDocWords = 6

// goroot returns the root of the installed Go tree, whose src folder the demo
// reads.
func goroot(getenv func(string) string) (string, error) {
	var tried []string
	candidates := []func() string{
		func() string { return getenv("GOROOT") },
		func() string {
			out, err := exec.Command("go", "env", "GOROOT").Output()
			if err != nil {
				return ""
			}
			return strings.TrimSpace(string(out))
		},
		func() string { return build.Default.GOROOT },
	}
	for _, root := range candidates {
		r := root()
		if r == "" {
			continue
		}
		if info, err := os.Stat(filepath.Join(r, "src", "net", "http")); err == nil && info.IsDir() {
			return r, nil
		}
		tried = append(tried, r)
	}
	return "", hinted(fmt.Errorf("the demo needs the doc comments of Go's standard library, and no Go source tree was found (looked in: %s)",
		orNone(tried)), "install Go from go.dev, or set GOROOT to a tree with its src folder; `lexsem index` indexes your own texts")
}

func orNone(s []string) string {
	if len(s) == 0 {
		return "nothing, GOROOT is unset and there is no go command"
	}
	return strings.Join(slices.Compact(s), ", ")
}

// goVersion returns the version of the Go tree at root, such as "go1.26.1".
func goVersion(root string) string {
	data, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return runtime.Version()
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}

// docPassages returns the documentation of the standard library at root as passages, in
// the order of import paths and names: one for each documented exported symbol, and one
// for each section of a package comment. Equal texts are kept once. The platform is fixed
// to linux/amd64, so the passages are the same on every machine with the same Go tree.
func docPassages(root string) ([]engine.Document, error) {
	// Debian's src is a link, which a walk would not enter.
	src, err := filepath.EvalSymlinks(filepath.Join(root, "src"))
	if err != nil {
		return nil, err
	}
	ctx := build.Default
	ctx.GOOS, ctx.GOARCH, ctx.CgoEnabled = "linux", "amd64", true
	p := passages{seen: map[string]bool{}, ids: map[string]bool{}}
	err = filepath.WalkDir(src, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() || name == src {
			return nil
		}
		switch base := d.Name(); {
		case base == "internal", base == "vendor", base == "testdata", base == "cmd", strings.HasPrefix(base, "."), strings.HasPrefix(base, "_"):
			return fs.SkipDir
		}
		rel, err := filepath.Rel(src, name)
		if err != nil {
			return err
		}
		return p.addPackage(&ctx, name, filepath.ToSlash(rel))
	})
	if err != nil {
		return nil, err
	}
	if len(p.docs) == 0 {
		return nil, errors.New("no doc comments below " + src)
	}
	return p.docs, nil
}

type passages struct {
	docs []engine.Document
	seen map[string]bool // texts
	ids  map[string]bool
}

func (p *passages) addPackage(ctx *build.Context, dir, importPath string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if ok, err := ctx.MatchFile(dir, name); err != nil || !ok {
			continue // another platform's file, or none of Go's
		}
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			return fmt.Errorf("reading the documentation of %s: %w", importPath, err)
		}
		if f.Name.Name != "main" && f.Name.Name != "documentation" {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil
	}
	var mode doc.Mode
	if importPath == "builtin" {
		mode = doc.AllDecls
	}
	pkg, err := doc.NewFromFiles(fset, files, importPath, mode)
	if err != nil {
		return fmt.Errorf("reading the documentation of %s: %w", importPath, err)
	}
	w := packageWriter{passages: p, fset: fset, pkg: pkg}
	w.sections()
	w.values(pkg.Consts)
	w.values(pkg.Vars)
	w.funcs(pkg.Funcs)
	for _, t := range pkg.Types {
		w.symbol(t.Name, t.Doc, w.head(t.Decl, t.Name))
		w.values(t.Consts)
		w.values(t.Vars)
		w.funcs(t.Funcs)
		for _, m := range t.Methods {
			w.symbol(t.Name+"."+m.Name, m.Doc, w.signature(m.Decl))
		}
	}
	return nil
}

// packageWriter turns one package's documentation into passages.
type packageWriter struct {
	*passages
	fset *token.FileSet
	pkg  *doc.Package
}

// sections adds the package's own documentation, a passage for each heading.
func (w packageWriter) sections() {
	parsed := w.pkg.Parser().Parse(w.pkg.Doc)
	id, title := w.pkg.ImportPath, "package "+w.pkg.ImportPath
	var blocks []comment.Block
	flush := func() {
		w.add(id, title, w.text(&comment.Doc{Content: blocks}))
		blocks = nil
	}
	for _, b := range parsed.Content {
		h, ok := b.(*comment.Heading)
		if !ok {
			blocks = append(blocks, b)
			continue
		}
		flush()
		id = w.pkg.ImportPath + "#" + strings.TrimPrefix(h.DefaultID(), "hdr-")
		title = "package " + w.pkg.ImportPath + ": " + strings.TrimSpace(w.text(&comment.Doc{Content: []comment.Block{&comment.Paragraph{Text: h.Text}}}))
	}
	flush()
}

// values adds groups of constants or variables, and the members that have a
// comment of their own.
func (w packageWriter) values(groups []*doc.Value) {
	for _, v := range groups {
		if len(v.Names) == 0 {
			continue
		}
		w.symbol(v.Names[0], v.Doc, v.Decl.Tok.String()+" "+strings.Join(v.Names, ", "))
		for _, spec := range v.Decl.Specs {
			s, ok := spec.(*ast.ValueSpec)
			if !ok || s.Doc == nil {
				continue
			}
			for _, n := range s.Names {
				if n.IsExported() {
					w.symbol(n.Name, s.Doc.Text(), v.Decl.Tok.String()+" "+n.Name)
					break
				}
			}
		}
	}
}

func (w packageWriter) funcs(list []*doc.Func) {
	for _, f := range list {
		w.symbol(f.Name, f.Doc, w.signature(f.Decl))
	}
}

func (w packageWriter) symbol(name, doc, head string) {
	w.add(w.pkg.ImportPath+"."+name, w.pkg.ImportPath+": "+head, w.text(w.pkg.Parser().Parse(doc)))
}

func (w packageWriter) text(d *comment.Doc) string {
	pr := w.pkg.Printer()
	pr.TextWidth = -1
	return strings.TrimSpace(string(pr.Text(d)))
}

// signature prints a function's declaration without its body on one line.
func (w packageWriter) signature(f *ast.FuncDecl) string {
	bare := *f
	bare.Body, bare.Doc = nil, nil
	var b bytes.Buffer
	if err := printer.Fprint(&b, w.fset, &bare); err != nil {
		return "func " + f.Name.Name
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// head names a type and its kind: "type Client struct".
func (w packageWriter) head(decl *ast.GenDecl, name string) string {
	for _, spec := range decl.Specs {
		s, ok := spec.(*ast.TypeSpec)
		if !ok || s.Name.Name != name {
			continue
		}
		switch s.Type.(type) {
		case *ast.StructType:
			return "type " + name + " struct"
		case *ast.InterfaceType:
			return "type " + name + " interface"
		case *ast.FuncType:
			return "type " + name + " func"
		}
	}
	return "type " + name
}

func (p *passages) add(id, title, text string) {
	key := strings.Join(strings.Fields(text), " ")
	if len(strings.Fields(key)) < minDocWords || p.seen[key] || p.ids[id] {
		return
	}
	p.seen[key], p.ids[id] = true, true
	p.docs = append(p.docs, engine.Document{
		ID: id, Title: clipColumns(title, 160), Text: text,
		Metadata: map[string]any{"package": importPathOf(id)},
	})
}

// importPathOf cuts the symbol or section off a passage's id.
func importPathOf(id string) string {
	id, _, _ = strings.Cut(id, "#")
	dir, base := path.Split(id)
	base, _, _ = strings.Cut(base, ".")
	return dir + base
}
