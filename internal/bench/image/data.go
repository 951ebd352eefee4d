package image

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/random"
)

// labelled is an image with its class, and whether it is a query, a passage or both.
type labelled struct {
	file, class   string // file is the path below the folder of the data, with slashes
	query, corpus bool
}

// readImages reads the images of a folder from the first of these that exists: labels.tsv, labels.csv, the lists of
// CUB-200-2011 (images.txt), those of Stanford Cars, or a folder for each class. If the data do not split the images,
// the share withhold of each class become queries only; 0 keeps all images as both.
func readImages(dir string, withhold float64, seed uint64) ([]labelled, error) {
	for _, known := range []struct {
		name string
		read func(dir, name string) ([]labelled, error)
	}{{"labels.tsv", readLabels}, {"labels.csv", readLabelsCSV}, {"images.txt", readCUB}, {"cars_annos.mat", readCars}, {filepath.Join("devkit", "cars_train_annos.mat"), readCarsSplit}} {
		name := filepath.Join(dir, known.name)
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		images, err := known.read(dir, name)
		if err == nil && len(images) == 0 {
			err = &bench.LineError{File: name, Err: fmt.Errorf("%w: holds no image", bench.ErrBrokenLine)}
		}
		return withheld(images, withhold, seed), err
	}
	images, err := readClasses(dir)
	return withheld(images, withhold, seed), err
}

// withheld makes a share of the images of each class queries only, drawn by the seed, and the others corpus
// only. It does not change images that are already split.
func withheld(images []labelled, share float64, seed uint64) []labelled {
	if share == 0 || slices.ContainsFunc(images, func(i labelled) bool { return !i.query || !i.corpus }) {
		return images
	}
	classes := map[string][]int{}
	for i, m := range images {
		classes[m.class] = append(classes[m.class], i)
	}
	for class, of := range classes {
		n := int(share*float64(len(of)) + 0.5)
		for k, at := range random.New(seed, "withhold", class).Perm(len(of)) {
			images[of[at]].query, images[of[at]].corpus = k < n, k >= n
		}
	}
	return images
}

// splitImage makes an image of the fields of a line: file, class, and query or corpus.
func splitImage(fields []string, seen map[string]bool) (labelled, error) {
	if len(fields) < 2 || len(fields) > 3 || fields[0] == "" || fields[1] == "" {
		return labelled{}, fmt.Errorf("%w: want file and class, and query or corpus", bench.ErrBrokenLine)
	}
	if seen[fields[0]] {
		return labelled{}, fmt.Errorf("%w: image %q stood earlier in the file", bench.ErrDuplicateID, fields[0])
	}
	seen[fields[0]] = true
	i := labelled{file: fields[0], class: fields[1], query: true, corpus: true}
	if len(fields) == 3 {
		if fields[2] != "query" && fields[2] != "corpus" {
			return i, fmt.Errorf("%w: %q is neither query nor corpus", bench.ErrBrokenLine, fields[2])
		}
		i.query, i.corpus = fields[2] == "query", fields[2] == "corpus"
	}
	return i, nil
}

// readLabels reads one image a line: file and class, and query or corpus if the data split them, separated by
// tabs, under an optional heading.
func readLabels(_, name string) ([]labelled, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []labelled
	seen := map[string]bool{}
	err = bench.EachLine(f, name, bench.ReadOptions{}, func(line int, b []byte) error {
		fields := strings.Split(string(b), "\t")
		if line == 1 && len(fields) > 1 && fields[1] == "label" {
			return nil
		}
		i, err := splitImage(fields, seen)
		if err == nil {
			out = append(out, i)
		}
		return err
	})
	return out, err
}

// readLabelsCSV reads the same fields separated by commas (RFC 4180).
func readLabelsCSV(_, name string) ([]labelled, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	var out []labelled
	seen := map[string]bool{}
	for {
		fields, err := r.Read()
		if err == io.EOF {
			return out, nil
		}
		line, _ := r.FieldPos(0)
		if err == nil && line == 1 && len(fields) > 1 && fields[1] == "label" {
			continue
		}
		var i labelled
		if err != nil {
			err = fmt.Errorf("%w: %w", bench.ErrBrokenLine, err)
		} else if i, err = splitImage(fields, seen); err == nil {
			out = append(out, i)
			continue
		}
		return nil, &bench.LineError{File: name, Line: line, Err: err}
	}
}

// readCUB reads CUB-200-2011 as distributed: images.txt, image_class_labels.txt, classes.txt and train_test_split.txt,
// each with a number and a value a line, and the folder images. Test images are queries, training images the corpus.
func readCUB(dir, name string) ([]labelled, error) {
	values := func(file string) (map[string]string, []string, error) {
		out := map[string]string{}
		var order []string
		f, err := os.Open(filepath.Join(dir, file))
		if err != nil {
			return nil, nil, err
		}
		defer f.Close()
		err = bench.EachLine(f, file, bench.ReadOptions{}, func(_ int, b []byte) error {
			id, value, ok := strings.Cut(strings.TrimSpace(string(b)), " ")
			if !ok {
				return fmt.Errorf("%w: want a number and a value", bench.ErrBrokenLine)
			}
			out[id], order = value, append(order, id)
			return nil
		})
		return out, order, err
	}
	files, order, err1 := values(filepath.Base(name))
	labels, _, err2 := values("image_class_labels.txt")
	classes, _, err3 := values("classes.txt")
	training, _, err4 := values("train_test_split.txt")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	var out []labelled
	for _, id := range order {
		class, train := classes[labels[id]], training[id]
		if class == "" || train != "0" && train != "1" {
			return nil, &bench.LineError{File: name, Err: fmt.Errorf("%w: image %s has no class, or is neither of training nor of test", bench.ErrBrokenLine, id)}
		}
		out = append(out, labelled{file: "images/" + files[id], class: class, query: train == "0", corpus: train == "1"})
	}
	return out, nil
}

// extensions are the name endings of image files.
var extensions = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff"}

// readClasses treats each folder below dir as a class. If dir has folders "train" and "test" with such
// folders, images of test are queries and images of train the corpus.
func readClasses(dir string) ([]labelled, error) {
	var out []labelled
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || !slices.Contains(extensions, strings.ToLower(filepath.Ext(path))) {
			return err
		}
		file := filepath.ToSlash(rel)
		parts := strings.Split(file, "/")
		if len(parts) < 2 {
			return nil
		}
		i := labelled{file: file, class: parts[0], query: true, corpus: true}
		if top := strings.ToLower(parts[0]); len(parts) > 2 && (top == "train" || top == "test") {
			i.class, i.query, i.corpus = parts[1], top == "test", top == "train"
		}
		out = append(out, i)
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%w: %s has neither labels.tsv, labels.csv, images.txt nor a folder for each class with images in it", bench.ErrBrokenLine, dir)
	}
	slices.SortFunc(out, func(a, b labelled) int { return cmp.Compare(a.file, b.file) })
	return out, err
}
