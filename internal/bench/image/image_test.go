package image

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/vectors"
)

// images writes labels.tsv and vectors of two classes: c0 along one axis, c1
// along the other, the third of each nearer to the other class.
func images(t *testing.T, labels string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	v := &vectors.Set{Dim: 2, Data: []float32{1, .1, 2, .2, .3, 1, .1, 1, .2, 2, 1, .3}}
	var b bytes.Buffer
	if err := vectors.Write(&b, v); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "beit.fbin")
	for name, text := range map[string][]byte{"labels.tsv": []byte(labels), "beit.fbin": b.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, file
}

const sixImages = "image-id\tlabel\na.jpg\tc0\nb.jpg\tc0\nc.jpg\tc0\nd.jpg\tc1\ne.jpg\tc1\nf.jpg\tc1\n"

func TestImages(t *testing.T) {
	dir, file := images(t, sixImages)
	rep, err := Run(context.Background(), nil, Options{Data: dir, Vectors: file, Setting: bench.SettingOptions{Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	r := rep.Results[0]
	// a and b find each other, d and e do; c and f lie in the other class.
	if r.Queries != 6 || math.Abs(r.Metrics["ndcg@1"]-4./6) > 1e-9 || rep.Encoder != "beit" || r.Task != "class" {
		t.Errorf("%+v of %+v", r, rep)
	}
	// With a split, only what is in the corpus is found.
	dir, file = images(t, "a.jpg\tc0\tcorpus\nb.jpg\tc0\tquery\nc.jpg\tc0\tcorpus\nd.jpg\tc1\tcorpus\ne.jpg\tc1\tquery\nf.jpg\tc2\tquery\n")
	rep, err = Run(context.Background(), nil, Options{Data: dir, Vectors: file, Setting: bench.SettingOptions{Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if r := rep.Results[0]; rep.Documents != 3 || r.Queries != 2 || r.LeftOut != 1 || r.Metrics["ndcg@1"] != 1 {
		t.Errorf("%+v of %+v", r, rep)
	}
}

// TestImagesWithAnEncoder: any encoder of file names will do, and its patches
// are tokens for the systems that modulate.
func TestImagesWithAnEncoder(t *testing.T) {
	dir, _ := images(t, sixImages)
	rep, err := Run(context.Background(), encoder.NewHash(32), Options{Data: dir, Systems: []string{"dense", "rlr"}, Setting: bench.SettingOptions{Seed: 1}})
	if err != nil || len(rep.Results) != 2 || rep.Results[1].VsDense == nil {
		t.Errorf("%+v, %v", rep, err)
	}
}

func TestImagesRefused(t *testing.T) {
	dir, file := images(t, sixImages)
	if _, err := Run(context.Background(), nil, Options{Data: dir}); !errors.Is(err, encoder.ErrUnavailable) {
		t.Errorf("without an encoder: %v", err)
	}
	if _, err := Run(context.Background(), nil, Options{Data: dir, Vectors: file, Systems: []string{"dense", "nothing"}}); !errors.Is(err, bench.ErrUnknownName) {
		t.Errorf("an unknown system: %v", err)
	}
	var line *bench.LineError
	for labels, want := range map[string]error{
		"a.jpg":                      bench.ErrBrokenLine,
		"a.jpg\tx\ttrain":            bench.ErrBrokenLine,
		"a.jpg\tx\na.jpg\ty":         bench.ErrDuplicateID,
		"":                           bench.ErrBrokenLine,
		"image-id\tlabel\na.jpg\t\n": bench.ErrBrokenLine,
	} {
		if err := os.WriteFile(filepath.Join(dir, "labels.tsv"), []byte(labels), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), nil, Options{Data: dir, Vectors: file}); !errors.Is(err, want) || !errors.As(err, &line) {
			t.Errorf("%q: %v", labels, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "labels.tsv"), []byte("a.jpg\tx\nb.jpg\tx\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), nil, Options{Data: dir, Vectors: file}); !errors.Is(err, vectors.ErrFile) {
		t.Errorf("two images, six vectors: %v", err)
	}
}
