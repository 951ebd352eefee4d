package image

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/bench"
)

// cars lays out files as Stanford Cars are distributed, from those that SciPy has written.
func cars(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for to, from := range files {
		b, err := os.ReadFile(filepath.Join("..", "..", "matfile", "testdata", from))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const carsAll, carsMeta, carsTrain, carsTest = "cars_annos.mat", "cars_meta.mat", "cars_train_annos.mat", "cars_test_annos_withlabels.mat"

func TestCars(t *testing.T) {
	const hummer, octavia, smart = "AM General Hummer SUV 2000", "Škoda Octavia 2011", "smart fortwo 2012"
	split := []labelled{
		{"cars_train/00001.jpg", octavia, false, true}, {"cars_train/00002.jpg", hummer, false, true}, {"cars_train/00003.jpg", octavia, false, true},
		{"cars_test/00001.jpg", hummer, true, false}, {"cars_test/00002.jpg", smart, true, false},
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  []labelled
	}{
		"in one": {map[string]string{carsAll: carsAll}, []labelled{
			{"car_ims/000001.jpg", smart, false, true}, {"car_ims/000002.jpg", hummer, true, false}, {"car_ims/000003.jpg", smart, true, false}}},
		"in two":                 {map[string]string{"devkit/" + carsMeta: carsMeta, "devkit/" + carsTrain: carsTrain, carsTest: carsTest}, split},
		"in two, all in devkit/": {map[string]string{"devkit/" + carsMeta: carsMeta, "devkit/" + carsTrain: carsTrain, "devkit/" + carsTest: carsTest}, split},
	} {
		if got, err := readImages(cars(t, c.files), 0, 1); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := readImages(cars(t, map[string]string{"devkit/" + carsMeta: carsMeta, "devkit/" + carsTrain: carsTrain}), 0, 1); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "file of their own") {
		t.Errorf("without the classes of the test images: %v", err)
	}
	for name, files := range map[string]map[string]string{
		"names of classes alone": {carsAll: carsMeta},
		"no names":               {carsAll: carsTrain},
		"complex":                {carsAll: "complex.mat"},
		"no MATLAB file":         {carsAll: "record.py"},
		"no names of classes":    {"devkit/" + carsMeta: carsTrain, "devkit/" + carsTrain: carsTrain, carsTest: carsTest},
	} {
		var line *bench.LineError
		if got, err := readImages(cars(t, files), 0, 1); !errors.Is(err, bench.ErrBrokenLine) || !errors.As(err, &line) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
