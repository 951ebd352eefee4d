// Package image measures retrieval of images: of the same class, and of images by their parts. Start with
// Run. "lexsem bench image" is its command.
package image

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/memo"
	"github.com/lexsem/lexsem/internal/bench/random"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/regular"
	"github.com/lexsem/lexsem/internal/visual"
)

// Options are the options of Run.
type Options struct {
	// Data is a folder with images and their classes. It has one of three layouts: labels.tsv or
	// labels.csv (file, class, and optionally query or corpus), CUB-200-2011 as distributed, or a
	// subfolder for each class. If the data define no split into queries and corpus, every image is a
	// query against all others.
	Data string
	// Withhold, if not 0, is the share of images of each class that are queries only and not in the
	// corpus. It applies to data without a split.
	Withhold float64
	// Vectors is an .fbin file with one row for each image in the order of the data, for vision
	// encoders that run elsewhere.
	Vectors string
	// Tasks are names of tasks; nil means class. "class" seeks images of the query's class. "part:N" seeks
	// the image from which N percent of its area were cropped. "patches:N" seeks the image that keeps N
	// percent of its 64 cells in the query.
	Tasks []string
	// Words is the number of visual words; 0 means visual.DefaultWords.
	Words int
	// Labels lets fits use other images of the same class as training queries, in addition to parts.
	// Only images of the corpus are used.
	Labels  bool
	Systems []string // nil means dense
	Setting bench.SettingOptions
	Version string
}

// Metrics are the names of the metrics of Run.
var Metrics = []string{"ndcg@1", "ndcg@10", "mrr@10", "recall@10", "precision@10"}

// Run measures retrieval of images of the same class (LexSemBridge Sec. 4.5), with nDCG@1 as the
// first metric, and of images by their parts.
//
// enc is an encoder of images. The words of a codebook over the corpus serve as tokens (Eq. 11, 12),
// so every system for texts also works on images. An encoder of texts gets the file names. enc may be
// nil if Vectors is given; without both, the error is encoder.ErrUnavailable. An image is never a hit
// for itself as a whole.
func Run(ctx context.Context, enc encoder.Encoder, o Options) (*bench.Report, error) {
	if !(o.Withhold >= 0 && o.Withhold < 1) {
		return nil, fmt.Errorf("%w: a share of %v of the images is withheld; it lies in [0, 1)", bench.ErrOption, o.Withhold)
	}
	images, err := readImages(o.Data, o.Withhold, o.Setting.Seed)
	if err != nil {
		return nil, err
	}
	if o.Vectors != "" {
		if enc, err = vectorsAsEncoder(o.Vectors, images); err != nil {
			return nil, err
		}
	}
	if enc == nil {
		return nil, fmt.Errorf("%w: there is no vision encoder; name the folder of one (--model), or give vectors as an .fbin file with a row for each image", encoder.ErrUnavailable)
	}
	if o.Systems == nil {
		o.Systems = []string{"dense"}
	}
	for _, name := range o.Systems {
		if _, err := bench.ParseSystem(name); err != nil {
			return nil, err
		}
	}
	targets := bench.NewTargets(passages(images))
	if o.Tasks == nil {
		o.Tasks = []string{"class"}
	}
	var tasks []*bench.Task
	for _, name := range o.Tasks {
		t, err := taskOf(name, images, targets, o.Setting.Seed)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	if enc.Fingerprint().Media == encoder.MediaImages {
		words, err := codebook(ctx, enc, targets, o)
		if err != nil {
			return nil, err
		}
		enc = imagesIn(o.Data, words)
		o.Setting.Spell = words.Text
		if o.Labels {
			o.Setting.Mates = matesOf(images, targets)
		}
	}
	abs, err := filepath.Abs(o.Data)
	if err != nil {
		return nil, fmt.Errorf("resolving the data folder: %w", err)
	}
	probe := bench.Probe{Data: filepath.Base(abs), Targets: targets, Tasks: tasks, Systems: o.Systems, Metrics: Metrics, OthersOnly: true, Version: o.Version, Setting: o.Setting}
	return probe.Run(ctx, memo.New(enc))
}

// matesOf returns, for a target, the other images of its class in the corpus.
func matesOf(images []labelled, targets *bench.Targets) func(int) []string {
	class, of := map[string]string{}, map[string][]string{}
	for _, i := range images {
		if i.corpus {
			class[i.file], of[i.class] = i.class, append(of[i.class], visual.Reference(i.file, picture.View{}))
		}
	}
	return func(target int) []string {
		self := targets.Texts[target]
		return slices.DeleteFunc(slices.Clone(of[class[targets.ID(target)]]), func(s string) bool { return s == self })
	}
}

// imagesIn is an encoder of references to the images of a folder.
func imagesIn(dir string, enc encoder.Encoder) encoder.Encoder {
	return visual.NewReferences(enc, func(_ context.Context, name string) (encoder.Input, error) {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return encoder.Input{}, fmt.Errorf("%w: image %q lies outside of %s", bench.ErrBrokenLine, name, dir)
		}
		b, err := regular.ReadFile(filepath.Join(dir, filepath.FromSlash(name)), picture.MaxBytes)
		return encoder.Input{Media: encoder.MediaImages + "*", Data: b}, err
	})
}

// codebook gives enc the words of a codebook over the patches of the targets.
func codebook(ctx context.Context, enc encoder.Encoder, targets *bench.Targets, o Options) (*visual.Words, error) {
	size := o.Words
	size = cmp.Or(size, visual.DefaultWords)
	words, err := visual.New(enc, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", bench.ErrOption, err)
	}
	refs, dim := imagesIn(o.Data, enc), enc.Fingerprint().States()
	var states []float32
	for n, i := range random.New(o.Setting.Seed, "codebook").Perm(targets.Len()) {
		if visual.Enough(len(states)/dim/4, size) {
			break
		}
		out, err := refs.Encode(ctx, encoder.Passage, encoder.Texts(targets.Texts[i]), encoder.NeedHidden)
		if err != nil {
			return nil, fmt.Errorf("encoding for the codebook: %w", err)
		}
		states = append(states, out[0].Hidden...)
		if o.Setting.Progress != nil {
			o.Setting.Progress(bench.Progress{Stage: "codebook", Done: n + 1, Total: targets.Len()})
		}
	}
	book, err := visual.FitCodebook(ctx, states, dim, size, max(1, o.Setting.Seed), runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, fmt.Errorf("fitting the codebook: %w", err)
	}
	return words, words.Set(book)
}

// passages returns the images of the corpus.
func passages(images []labelled) (out []bench.Passage) {
	for _, i := range images {
		if i.corpus {
			out = append(out, bench.Passage{ID: i.file, Body: visual.Reference(i.file, picture.View{})})
		}
	}
	return out
}

// taskOf makes the task with a given name.
func taskOf(name string, images []labelled, targets *bench.Targets, seed uint64) (*bench.Task, error) {
	kind, arg, _ := strings.Cut(name, ":")
	percent, err := strconv.Atoi(arg)
	switch {
	case name == "class":
		return classTask(images), nil
	case parts[kind] != nil && err == nil && percent >= 1 && percent <= 99:
		return partTask(kind, percent, targets, seed), nil
	}
	return nil, fmt.Errorf("%w: task %q; known are class, part:N, a part of N percent of the area, and patches:N, N percent of 64 cells where they are, 1 to 99", bench.ErrUnknownName, name)
}

// classTask uses each query image to find the other images of its class. Queries of a class without other
// images are left out and counted.
func classTask(images []labelled) *bench.Task {
	classes := map[string][]string{}
	for _, i := range images {
		if i.corpus {
			classes[i.class] = append(classes[i.class], i.file)
		}
	}
	t := &bench.Task{Name: "class", Qrels: bench.Qrels{}}
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
		t.Queries = append(t.Queries, bench.Query{ID: i.file, Text: visual.Reference(i.file, picture.View{})})
		t.Qrels[i.file] = judged
	}
	slices.SortFunc(t.Queries, func(a, b bench.Query) int { return strings.Compare(a.ID, b.ID) })
	return t
}

// partOf is the prefix of a query id: a part of an image is named after that image.
const partOf = "part of "

// parts draw a part of an image with the given percentage of its area.
var parts = map[string]func(r *rand.Rand, percent int) picture.View{
	"part": func(r *rand.Rand, percent int) picture.View { // in the shape of the image; a model sees it larger
		side := int(1000 * math.Sqrt(float64(percent)/100))
		return picture.View{X: r.IntN(1001 - side), Y: r.IntN(1001 - side), W: side, H: side}
	},
	"patches": func(r *rand.Rand, percent int) (v picture.View) { // cells, where they are
		for _, cell := range r.Perm(64)[:64-(64*percent+50)/100] {
			v.Hide |= 1 << cell
		}
		return v
	},
}

// partTask uses a part of each image to find the image.
func partTask(kind string, percent int, targets *bench.Targets, seed uint64) *bench.Task {
	t := bench.PerTarget("image "+kind, bench.TaskInput{Corpus: &bench.Corpus{}, Targets: targets, Seed: seed}, func(r *rand.Rand, i int) string {
		return visual.Part(targets.Texts[i], parts[kind](r, percent))
	})
	t.Name = fmt.Sprintf("%s:%d", kind, percent)
	qrels := bench.Qrels{}
	for i := range t.Queries {
		id := t.Queries[i].ID
		t.Queries[i].ID, qrels[partOf+id] = partOf+id, map[string]int{id: 1}
	}
	t.Qrels = qrels
	return t
}
