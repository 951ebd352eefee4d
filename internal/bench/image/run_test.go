package image

import (
	"context"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// drawClasses draws n images of each of some classes: marks of a pattern of the class's own, at places by the
// number of the image, on a ground that the classes share.
func drawClasses(t *testing.T, classes, n int, name func(class, i int) string) string {
	t.Helper()
	dir := t.TempDir()
	for c := range classes {
		for i := range n {
			m := picture.New(32, 32)
			for j := range m.Pix {
				m.Pix[j] = uint8(90 + j*7%17)
			}
			for mark := range 3 {
				x, y := (i*5+mark*3+c)%8*4, (i*7+mark*2)%8*4
				for dy := range 4 {
					for dx := range 4 {
						if (dx*(c%3)+dy*(c/3+1))%3 != 0 {
							copy(m.Pix[3*((y+dy)*32+x+dx):], []uint8{uint8(255 - c*20), uint8(40 + c*25), 250})
						}
					}
				}
			}
			path := filepath.Join(dir, filepath.FromSlash(name(c, i)))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(png.Encode(f, m.Std()), f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func classFolder(class, i int) string { return fmt.Sprintf("kind %d/%02d.png", class, i) }

// With an encoder of images every system works, on visual words: BM25 finds by them, bridges are fitted to parts of
// images, and a part finds its image.
func TestRunImages(t *testing.T) {
	dir := drawClasses(t, 8, 6, classFolder)
	rep, err := Run(t.Context(), encoders.NewPixels(24), Options{
		Data: dir, Words: 64, Withhold: 0.3, Tasks: []string{"class", "part:40", "patches:30"},
		Systems: []string{"dense", "bm25", "rlr", "slr", "rlr+slr", "hybrid"}, Setting: bench.SettingOptions{Seed: 3, QueriesPerPassage: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Documents != 8*4 || len(rep.Results) != 18 {
		t.Fatalf("%d documents, %d results", rep.Documents, len(rep.Results))
	}
	for _, r := range rep.Results {
		want, chance := 16, 1.0/8
		if r.Task != "class" {
			want, chance = 32, 1.0/32
		}
		if r.System == "bm25" && r.Task == "part:40" {
			chance = 0 // a cut moves the patches, and so the words of an encoder that sees nothing between them
		}
		if r.Queries != want || r.LeftOut != 0 || r.Metrics["ndcg@1"] < 2*chance {
			t.Errorf("%s on %s: %d queries, %d left out, nDCG@1 %.3f", r.System, r.Task, r.Queries, r.LeftOut, r.Metrics["ndcg@1"])
		}
	}
	if f := rep.Fit["rlr+slr"]; f.Queries == 0 || f.Loss == 0 {
		t.Errorf("fit of rlr+slr: %+v", f)
	}
}

func TestImageLayouts(t *testing.T) {
	write := func(dir, name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shape := func(images []labelled) (out []string) {
		for _, i := range images {
			s := i.file + " " + i.class
			if i.query {
				s += " q"
			}
			if i.corpus {
				s += " c"
			}
			out = append(out, s)
		}
		return out
	}
	split := drawClasses(t, 2, 1, func(c, i int) string { return fmt.Sprintf("test/k%d/%d.png", c, i) })
	if err := os.CopyFS(filepath.Join(split, "train"), os.DirFS(filepath.Join(split, "test"))); err != nil {
		t.Fatal(err)
	}
	cub := t.TempDir()
	write(cub, "images.txt", "1 001.Black/a b.jpg\n2 002.White/c.jpg\n")
	write(cub, "image_class_labels.txt", "1 1\n2 2\n")
	write(cub, "classes.txt", "1 001.Black\n2 002.White\n")
	write(cub, "train_test_split.txt", "1 1\n2 0\n")
	table := t.TempDir()
	write(table, "labels.csv", "file,label\n\"a,b.png\",x,query\nc.png,x,corpus\n")
	for _, c := range []struct {
		dir  string
		want []string
	}{
		{drawClasses(t, 2, 1, classFolder), []string{"kind 0/00.png kind 0 q c", "kind 1/00.png kind 1 q c"}},
		{split, []string{"test/k0/0.png k0 q", "test/k1/0.png k1 q", "train/k0/0.png k0 c", "train/k1/0.png k1 c"}},
		{cub, []string{"images/001.Black/a b.jpg 001.Black c", "images/002.White/c.jpg 002.White q"}},
		{table, []string{"a,b.png x q", "c.png x c"}},
	} {
		images, err := readImages(c.dir, 0, 1)
		if err != nil || !slices.Equal(shape(images), c.want) {
			t.Errorf("%q, %v; want %q", shape(images), err, c.want)
		}
	}
	write(cub, "train_test_split.txt", "1 1\n")
	write(table, "labels.csv", "a.png\n")
	for _, dir := range []string{cub, table, t.TempDir()} {
		if _, err := readImages(dir, 0, 1); !errors.Is(err, bench.ErrBrokenLine) {
			t.Errorf("%v", err)
		}
	}
}

// Withheld images ask alone, as many of each class, and others by another seed.
func TestWithheld(t *testing.T) {
	dir := drawClasses(t, 3, 8, classFolder)
	var first []labelled
	for seed := range uint64(2) {
		images, err := readImages(dir, 0.25, seed)
		if err != nil {
			t.Fatal(err)
		}
		asks := map[string]int{}
		for _, i := range images {
			if i.query == i.corpus {
				t.Errorf("%+v asks and is asked for", i)
			}
			if i.query {
				asks[i.class]++
			}
		}
		if len(asks) != 3 || asks["kind 0"] != 2 || asks["kind 2"] != 2 {
			t.Errorf("%v", asks)
		}
		if seed > 0 && slices.Equal(images, first) {
			t.Error("two seeds withhold the same images")
		}
		first = images
	}
}

func TestRunImagesRefused(t *testing.T) {
	dir := drawClasses(t, 2, 3, classFolder)
	enc := encoders.NewPixels(8)
	for name, c := range map[string]struct {
		o    Options
		want error
	}{
		"unknown task":     {Options{Data: dir, Tasks: []string{"colour"}}, bench.ErrUnknownName},
		"part of nothing":  {Options{Data: dir, Tasks: []string{"part:0"}}, bench.ErrUnknownName},
		"all withheld":     {Options{Data: dir, Withhold: 1}, bench.ErrOption},
		"two words":        {Options{Data: dir, Words: 2}, bench.ErrOption},
		"a missing folder": {Options{Data: filepath.Join(dir, "none")}, os.ErrNotExist},
	} {
		if _, err := Run(t.Context(), enc, c.o); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "kind 0", "99.png"), []byte("none"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), enc, Options{Data: dir, Words: 32}); !errors.Is(err, picture.ErrImage) || !strings.Contains(err.Error(), "kind 0/99.png") {
		t.Errorf("a damaged image: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "labels.tsv"), []byte("../a.png\tx\n../b.png\tx\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), enc, Options{Data: dir}); !errors.Is(err, bench.ErrBrokenLine) {
		t.Errorf("an image outside of the folder: %v", err)
	}
}
