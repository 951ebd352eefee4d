package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestFeaturesNameTests: a feature is shown by a test that is there.
func TestFeaturesNameTests(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/FEATURES.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z/]+): ((?:Test|Example)[A-Za-z0-9_]+)`").FindAllStringSubmatch(string(raw), -1)
	if len(named) < 40 {
		t.Fatalf("only %d tests are named", len(named))
	}
	for _, m := range named {
		files, err := filepath.Glob(filepath.Join("../../..", m[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			code, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || regexp.MustCompile(`(?m)^func `+m[2]+`\(`).Match(code)
		}
		if !found {
			t.Errorf("docs/FEATURES.md names %s of %s, which is not there", m[2], m[1])
		}
	}
}
