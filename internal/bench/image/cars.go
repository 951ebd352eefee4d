package image

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/matfile"
	"github.com/lexsem/lexsem/internal/regular"
)

// readCars reads Stanford Cars as distributed in one piece: cars_annos.mat next to the folder car_ims. Test
// images are queries, training images the corpus.
func readCars(dir, name string) ([]labelled, error) {
	vars, err := readMAT(name)
	if err != nil {
		return nil, err
	}
	return carsOf(vars["annotations"], vars["class_names"], name, "relative_im_path", func(file string, test bool) labelled {
		return labelled{file: file, query: test, corpus: !test}
	})
}

// readCarsSplit reads Stanford Cars as distributed in two pieces: cars_train, cars_test, the folder devkit,
// and cars_test_annos_withlabels.mat inside devkit or next to it.
func readCarsSplit(dir, name string) ([]labelled, error) {
	devkit := filepath.Dir(name)
	meta, err := readMAT(filepath.Join(devkit, "cars_meta.mat"))
	if err != nil {
		return nil, err
	}
	const labels = "cars_test_annos_withlabels.mat"
	tests := filepath.Join(dir, labels)
	test, err := readMAT(tests)
	if errors.Is(err, fs.ErrNotExist) {
		tests = filepath.Join(devkit, labels)
		if test, err = readMAT(tests); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w; the classes of the test images come in a file of their own: put it there", err)
		}
	}
	if err != nil {
		return nil, err
	}
	train, err := readMAT(name)
	if err != nil {
		return nil, err
	}
	var out []labelled
	for _, part := range []struct {
		annotations matfile.Value
		name, dir   string
		query       bool
	}{{train["annotations"], name, "cars_train/", false}, {test["annotations"], tests, "cars_test/", true}} {
		images, err := carsOf(part.annotations, meta["class_names"], part.name, "fname", func(file string, _ bool) labelled {
			return labelled{file: part.dir + file, query: part.query, corpus: !part.query}
		})
		if err != nil {
			return nil, err
		}
		out = append(out, images...)
	}
	return out, nil
}

// readMAT reads a file of MATLAB's.
func readMAT(name string) (map[string]matfile.Value, error) {
	b, err := regular.ReadFile(name, 64<<20)
	if err != nil {
		return nil, err
	}
	vars, err := matfile.Read(b)
	if err != nil {
		return nil, &bench.LineError{File: name, Err: fmt.Errorf("%w: %w", bench.ErrBrokenLine, err)}
	}
	return vars, nil
}

// carsOf makes an image of each annotation. The field path names its file; names gives the name of its class.
func carsOf(annotations, names matfile.Value, name, path string, as func(file string, test bool) labelled) ([]labelled, error) {
	var out []labelled
	seen := map[string]bool{}
	for i := range annotations.Structs {
		file, _ := annotations.Field(i, path)
		class, _ := annotations.Field(i, "class")
		test, _ := annotations.Field(i, "test")
		c, ok := class.Number()
		if !ok || file.Text == "" || !filepath.IsLocal(filepath.FromSlash(file.Text)) || c != float64(int(c)) || c < 1 || int(c) > len(names.Cells) {
			return nil, &bench.LineError{File: name, Err: fmt.Errorf("%w: annotation %d has no %s, or no class of the %d that have a name", bench.ErrBrokenLine, i+1, path, len(names.Cells))}
		}
		if seen[file.Text] {
			return nil, &bench.LineError{File: name, Err: fmt.Errorf("%w: image %q stands in two annotations", bench.ErrDuplicateID, file.Text)}
		}
		seen[file.Text] = true
		t, _ := test.Number()
		img := as(file.Text, t == 1)
		img.class = names.Cells[int(c)-1].Text
		out = append(out, img)
	}
	return out, nil
}
