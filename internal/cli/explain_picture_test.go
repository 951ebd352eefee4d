package cli

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder/picture"
	"github.com/lexsem/lexsem/engine"
)

// The picture shows the query, and the image that was found with the patches light whose words gave something.
func TestDrawExplanation(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, picture.ConfigFile), []byte(`{"image_processor_type": "ViTImageProcessor", "size": 8}`), 0o644); err != nil {
		t.Fatal(err)
	}
	white := picture.New(8, 8)
	for i := range white.Pix {
		white.Pix[i] = 255
	}
	b, err := white.Encode()
	if err != nil {
		t.Fatal(err)
	}
	// Words v0001 v0002 in the first row, v0001 v0003 in the second.
	x := engine.Explanation{
		Words:   []engine.WordShare{{Term: "v0001", Count: 2, BM25: 4}, {Term: "v0003", Count: 1, BM25: 1}, {Term: "v0009"}},
		Matches: []engine.Match{{Field: "text", Start: 0, Term: "v0001"}, {Field: "text", Start: 12, Term: "v0001"}, {Field: "text", Start: 18, Term: "v0003"}, {Field: "title", Start: 6, Term: "v0001"}},
	}
	if w := patchWeights(x, 4); w[0] != 2 || w[1] != 0 || w[2] != 2 || w[3] != 1 {
		t.Errorf("weights %v", w)
	}
	name := filepath.Join(dir, "why.png")
	if err := drawExplanation(name, dir, b, b, x, [2]int{2, 2}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil || m.Bounds().Dx() != 448+8+448 || m.Bounds().Dy() != 448 {
		t.Fatalf("%v, %v", m.Bounds(), err)
	}
	light := func(x, y int) uint32 { r, _, _, _ := m.At(x, y).RGBA(); return r >> 8 }
	if a, b, c, d := light(456+10, 10), light(456+440, 10), light(456+10, 440), light(456+440, 440); light(10, 10) != 255 || a != 255 || b != 64 || c != 255 || d != 159 {
		t.Errorf("patches of light %d %d, %d %d", a, b, c, d)
	}
	if err := drawExplanation(name, dir, b[:100], b, x, [2]int{2, 2}); err == nil {
		t.Error("a damaged query was drawn")
	}
}
