package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
)

// ImageOptions say what RunImages measures.
type ImageOptions struct {
	// Data is a folder with labels.tsv: a line for each image with its file
	// name below the folder and its class, tab-separated, under an optional
	// heading; a third field "query" or "corpus" splits them. Without it every
	// image asks for the others.
	Data string
	// Vectors is an .fbin file with a row for each line of labels.tsv, for
	// vision encoders that run elsewhere.
	Vectors string
	Systems []string // nil means dense
	Setting SettingOptions
	Version string
}

// ImageMetrics are what RunImages measures, by name.
var ImageMetrics = []string{"ndcg@1", "ndcg@10", "mrr@10", "recall@10", "precision@10"}

// RunImages measures retrieval of images of the same class (LexSemBridge Sec.
// 4.5): query image → images of its class, nDCG@1 first. A vision encoder is
// an encoder.Encoder whose texts are names of image files and whose tokens are
// patches (Eq. 11, 12), so every system that works on texts works on it; enc
// may be nil where Vectors are given. Without either the error is
// encoder.ErrUnavailable. An image is no answer to itself.
func RunImages(ctx context.Context, enc encoder.Encoder, o ImageOptions) (report *Report, err error) {
	images, err := readImages(o.Data)
	if err != nil {
		return nil, err
	}
	if o.Vectors != "" {
		if enc, err = vectorsAsEncoder(o.Vectors, images); err != nil {
			return nil, err
		}
	}
	if enc == nil {
		return nil, fmt.Errorf("%w: there is no vision encoder; give the vectors of one as an .fbin file with a row for each line of labels.tsv", encoder.ErrUnavailable)
	}
	if o.Systems == nil {
		o.Systems = []string{"dense"}
	}
	p := &plan{Options: Options{Systems: o.Systems, Metrics: ImageMetrics, Seed: o.Setting.Seed, Version: o.Version}}
	if err := p.parse(); err != nil {
		return nil, err
	}
	passages, task := imageTask(images)
	p.targets, p.tasks = NewTargets(passages), []*Task{task}
	p.depth++ // for the image itself
	for i, s := range p.systems {
		p.systems[i].Prepare = func(ctx context.Context, setting *Setting) (Retriever, *Fit, error) {
			r, fit, err := s.Prepare(ctx, setting)
			return othersOnly{r, p.targets, task}, fit, err
		}
	}
	setting, err := NewSetting(ctx, newMemo(enc), p.targets, o.Setting)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, setting.Close()) }()
	questions, err := p.encodeQuestions(ctx, setting)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(o.Data)
	if err != nil {
		return nil, fmt.Errorf("resolving the data folder: %w", err)
	}
	report = &Report{Data: filepath.Base(abs), Documents: len(passages), Distinct: p.targets.Len(), Encoder: enc.Fingerprint().Model,
		Seed: p.Seed, Version: o.Version, Fit: map[string]Fit{}}
	return report, p.answer(ctx, setting, questions, report)
}

// image is a line of labels.tsv.
type image struct {
	file, class   string
	query, corpus bool
}

func readImages(dir string) ([]image, error) {
	name := filepath.Join(dir, "labels.tsv")
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("classes of images stand in labels.tsv: %w", err)
	}
	defer f.Close()
	var out []image
	seen := map[string]bool{}
	err = EachLine(f, name, ReadOptions{}, func(line int, b []byte) error {
		fields := strings.Split(string(b), "\t")
		if line == 1 && len(fields) > 1 && fields[1] == "label" {
			return nil
		}
		if len(fields) < 2 || len(fields) > 3 || fields[0] == "" || fields[1] == "" {
			return fmt.Errorf("%w: want file and class, and query or corpus, separated by tabs", ErrBrokenLine)
		}
		if seen[fields[0]] {
			return fmt.Errorf("%w: image %q stood earlier in the file", ErrDuplicateID, fields[0])
		}
		seen[fields[0]] = true
		i := image{file: fields[0], class: fields[1], query: true, corpus: true}
		if len(fields) == 3 {
			if fields[2] != "query" && fields[2] != "corpus" {
				return fmt.Errorf("%w: %q is neither query nor corpus", ErrBrokenLine, fields[2])
			}
			i.query, i.corpus = fields[2] == "query", fields[2] == "corpus"
		}
		out = append(out, i)
		return nil
	})
	if err == nil && len(out) == 0 {
		err = &LineError{File: name, Err: fmt.Errorf("%w: holds no image", ErrBrokenLine)}
	}
	return out, err
}

// imageTask makes the passages and the one task: for each query image those of
// its class but itself. Queries without any are left out and counted.
func imageTask(images []image) ([]Passage, *Task) {
	var passages []Passage
	classes := map[string][]string{}
	for _, i := range images {
		if i.corpus {
			passages = append(passages, Passage{ID: i.file, Body: i.file})
			classes[i.class] = append(classes[i.class], i.file)
		}
	}
	t := &Task{Name: "image", Qrels: Qrels{}}
	for _, i := range images {
		if !i.query {
			continue
		}
		judged := map[string]int{}
		for _, other := range classes[i.class] {
			if other != i.file {
				judged[other] = 1
			}
		}
		if len(judged) == 0 {
			t.LeftOut++
			continue
		}
		t.Queries = append(t.Queries, Query{ID: i.file, Text: i.file})
		t.Qrels[i.file] = judged
	}
	sortQueries(t.Queries)
	return passages, t
}

// othersOnly drops the query itself from its answer.
type othersOnly struct {
	Retriever
	targets *Targets
	task    *Task
}

func (r othersOnly) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	answers, err := r.Retriever.Retrieve(ctx, questions, k)
	for i, a := range answers {
		answers[i] = slices.DeleteFunc(a, func(h Hit) bool { return r.targets.ID(h.Target) == r.task.Queries[i].ID })
	}
	return answers, err
}

// fileVectors is an encoder whose texts are names with vectors known before;
// it has no tokens, so that modulation passes them by.
type fileVectors struct {
	name string
	dim  int
	at   map[string][]float32
}

var errNoVector = errors.New("no vector of this name was given")

func vectorsAsEncoder(file string, images []image) (encoder.Encoder, error) {
	v, err := ReadVectors(file)
	if err != nil {
		return nil, err
	}
	if v.Len() != len(images) {
		return nil, fmt.Errorf("%w: %s holds %d vectors, labels.tsv %d images; give one row a line", ErrVectorFile, file, v.Len(), len(images))
	}
	e := &fileVectors{name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), dim: v.Dim, at: map[string][]float32{}}
	for i, img := range images {
		row := slices.Clone(v.Row(i))
		normalize(row) // one without a direction stays as it is
		e.at[img.file] = row
	}
	return e, nil
}

func (e *fileVectors) Encode(_ context.Context, _ encoder.Role, in []encoder.Input, _ encoder.Need) ([]encoder.Output, error) {
	texts, err := encoder.TextsOf(in)
	if err != nil {
		return nil, err
	}
	out := make([]encoder.Output, len(texts))
	for i, t := range texts {
		v, ok := e.at[t]
		if !ok {
			return nil, fmt.Errorf("%q: %w", t, errNoVector)
		}
		out[i].Dense = slices.Clone(v)
	}
	return out, nil
}

func (e *fileVectors) Tokenize(encoder.Role, string) encoder.Tokens { return encoder.Tokens{} }
func (e *fileVectors) Dim() int                                     { return e.dim }
func (e *fileVectors) VocabSize() int                               { return 1 }
func (e *fileVectors) Close() error                                 { return nil }
func (e *fileVectors) Fingerprint() encoder.Fingerprint {
	return encoder.Fingerprint{Model: e.name, Dim: e.dim}
}
