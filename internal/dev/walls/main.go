// Command walls measures the shape of the repository: the amount of code and text, how much of it is public,
// the dependencies of packages, and how the files of package engine call each other. Run it in the root of
// the repository; it prints a table with a goal for each figure.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// row is one figure and its goal.
type row struct{ what, now, goal string }

func main() {
	rows, err := measure()
	if err != nil {
		fmt.Fprintln(os.Stderr, "walls:", err)
		os.Exit(1)
	}
	for _, r := range rows {
		fmt.Printf("%-58s %10s   goal %s\n", r.what, r.now, r.goal)
	}
}

func measure() ([]row, error) {
	listed, err := output("git", "ls-files")
	if err != nil {
		return nil, err
	}
	files := strings.Fields(listed)
	code, docs, err := sizes(files)
	if err != nil {
		return nil, err
	}
	public, err := publicNames(files)
	if err != nil {
		return nil, err
	}
	shape, err := shapeOf("engine")
	if err != nil {
		return nil, err
	}
	program, err := readme()
	if err != nil {
		return nil, err
	}
	rows := []row{
		{"lines of Go without tests", fmt.Sprint(code), "<= 122000"},
		{"package engine: files", fmt.Sprint(shape.files), "<= 32"},
		{"package engine: exported names", fmt.Sprint(public["engine"]), "<= 75"},
		{"package engine: calls among files, those against the order", fmt.Sprintf("%d/%d", shape.against, shape.calls), "<= 5 %"},
		{"names importable from outside", fmt.Sprint(total(public)), "<= 600"},
	}
	for _, p := range []struct{ path, goal string }{{"./engine", "<= 330"}, {"./serve/httpapi", "<= 420"}} {
		deps, err := output("go", "list", "-deps", p.path)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{"packages that " + p.path + " brings", fmt.Sprint(len(strings.Fields(deps))), p.goal})
		if p.path == "./serve/httpapi" {
			heavy := len(regexp.MustCompile(`(?m)^.*(wazero|parquet).*$`).FindAllString(deps, -1))
			rows = append(rows, row{"of them wazero and Parquet", fmt.Sprint(heavy), "0"})
		}
	}
	return append(rows,
		row{"the README's program: imports of this module, lines", program, "1, <= 14"},
		row{"bytes of documents", fmt.Sprint(docs), "<= 200000"},
	), nil
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return string(out), nil
}

// sizes returns the number of lines of Go without tests, and the bytes of Markdown.
func sizes(files []string) (code, docs int, err error) {
	for _, f := range files {
		isCode := strings.HasSuffix(f, ".go") && !strings.HasSuffix(f, "_test.go")
		if !isCode && !strings.HasSuffix(f, ".md") {
			continue
		}
		raw, err := os.ReadFile(f)
		if err != nil {
			return 0, 0, err
		}
		if isCode {
			code += strings.Count(string(raw), "\n")
		} else {
			docs += len(raw)
		}
	}
	return code, docs, nil
}

// readme counts the imports of this module and the lines, from "func main" on, in the first program of README.
func readme() (string, error) {
	raw, err := os.ReadFile("README.md")
	if err != nil {
		return "", err
	}
	block := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(raw)
	if block == nil {
		return "", fmt.Errorf("README.md has no block of Go")
	}
	imports := regexp.MustCompile(`(?m)^\s+"github\.com/lexsem/lexsem[^"]*"$`).FindAll(block[1], -1)
	_, body, found := strings.Cut(string(block[1]), "func main")
	if !found {
		return "", fmt.Errorf("the program of README.md has no func main")
	}
	return fmt.Sprintf("%d, %d", len(imports), strings.Count(body, "\n")), nil
}

// importable reports whether another module may import the package of a file.
func importable(file string) bool {
	dir := filepath.Dir(file)
	return strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") &&
		!regexp.MustCompile(`(^|/)(internal|testdata)(/|$)|^examples/|^tools/|^cmd/`).MatchString(dir)
}

func total(names map[string]int) (n int) {
	for _, of := range names {
		n += of
	}
	return n
}
