package house_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoInDocumentsIsAnExample holds each block of Go in a document to be a part
// of one of the programs in examples, line by line, and that
// program to compile.
func TestGoInDocumentsIsAnExample(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*/main.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	programs := map[string]string{} // text -> its folder
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		programs[string(raw)] = "./examples/" + filepath.Base(filepath.Dir(f))
	}
	var shown []string // the folders
	for name, text := range documents(t) {
		for _, m := range goBlock.FindAllStringSubmatch(text, -1) {
			folder := ""
			for text, of := range programs {
				if strings.Contains(text, "\n"+m[1]) {
					folder = of
				}
			}
			if folder == "" {
				t.Errorf("%s shows Go that is no part of an example:\n%s", name, m[1])
				continue
			}
			shown = append(shown, folder)
		}
	}
	if len(shown) == 0 {
		t.Fatal("no document shows Go")
	}
	cmd := exec.Command("go", append([]string{"list", "-export"}, shown...)...) // compiles, and links nothing
	cmd.Dir = "../../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("documents show what does not compile: %v\n%s", err, out)
	}
}
