// Package train fits a bridge of package modulate to a corpus without labels. Start with [Fit]. It draws
// queries from the passages (samplers, one file each), encodes them with the frozen encoder, and trains W of
// Eq. 8 to move each query vector towards its passage: cross-entropy over cos(q_out, p)/τ, Adam, from W = 0.
// Encoder and passage vectors do not change.
//
// What holds: the result depends only on corpus, encoder and options. A fit ends soon after its context. With
// Options.Checkpoint the same fit continues where it stopped, even after a kill, and reaches the same
// weights. A corpus that cannot be fitted is ErrCorpus. The corpus must not change meanwhile.
package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/modulate"
)

// Errors of this package, to be tested with errors.Is.
var (
	// ErrCorpus: no bridge can be fitted to this corpus.
	ErrCorpus = errors.New("corpus cannot be fitted")
	// ErrOptions: an option is out of its range.
	ErrOptions = errors.New("bad option")
	// errDiverged: the loss is no longer finite.
	errDiverged = errors.New("fit diverged")
)

// Corpus holds the passages that a bridge is fitted to. It must not change during Fit. Text is called from
// one goroutine at a time, Vector from several.
type Corpus interface {
	// Len is the number of passages.
	Len() int
	// Text is the text of passage i as it was encoded.
	Text(i int) (string, error)
	// Vector is the unit vector [d] of passage i. Fit does not change it.
	Vector(i int) []float32
}

// Labelled is a Corpus whose passages have labels.
type Labelled interface {
	// Mates returns the texts of the other passages with the label of passage i, or nil if it has no label.
	// The caller must not change them.
	Mates(i int) []string
}

// Options configure Fit. The zero value is the default.
type Options struct {
	// Stack is what to fit, with at least one multiplicative part; "" means "rlr+slr".
	Stack string
	// Sums are the statistics of the same corpus, for variants that read them. They must not change. nil
	// means that Fit makes them if needed.
	Sums *ridge.Sums
	// RLR are the options of RLR in the stack. An Alpha of 0 means 0.7, or 0.6 if Centred.
	RLR modulate.RLROptions
	// Seed makes the fit reproducible, for any number of Workers; 0 means 1.
	Seed uint64
	// QueriesPerPassage is how many queries are drawn from each passage; 0 means 10. Short passages
	// give fewer.
	QueriesPerPassage int
	// MaxQueries limits all queries, spread evenly over the passages; 0 means no limit.
	MaxQueries int
	// Epochs is the number of passes over the queries; 0 means 3.
	Epochs int
	// Batch is the number of queries in a step; 0 means 256.
	Batch int
	// LearningRate of Adam at the start, in (0, 10], falling linearly to 0; 0 means 0.02.
	LearningRate float64
	// Tau is the temperature τ of the loss, in [0.001, 10]; 0 means 0.05.
	Tau float64
	// Workers is the number of goroutines that compute; 0 means GOMAXPROCS.
	Workers int
	// AllCandidates is the largest number of distinct passages for which every query is contrasted
	// with all of them; 0 means 20,000. In a larger corpus the candidates of a step are its own
	// targets and Negatives for each query.
	AllCandidates int
	// Negatives is the number of negatives for each query beyond AllCandidates; 0 means 15.
	Negatives int
	// HardNegatives returns the passages at ranks [from, to) of the dense search for the unit vector
	// query, rank 0 being the nearest; it may return fewer. Negatives are drawn from ranks 20 to 200
	// (Sec. 4.2). Called from up to Workers goroutines. nil means random passages.
	HardNegatives func(ctx context.Context, query []float32, from, to int) ([]int, error)
	// Spread bounds the standard deviation of the logits W·w + b over the dimensions (fuse.Bound),
	// at least 0.001; 0 means 0.6, +Inf no bound.
	Spread float64
	// Bias also fits b of Eq. 8, which is 0 otherwise.
	Bias bool
	// Alone fits the lexical side without the dense vector (modulate.Parts.Alone).
	Alone bool
	// Side says what is modulated: "" queries, PassageSide passages, BothSides both by one bridge. The last
	// two are for measurements (the paper's Table 5); an engine modulates queries. They need AllCandidates
	// passages or fewer, and modulate all of them at each step.
	Side string
	// StateBytes limits the memory for hidden states of the training queries, 2·d bytes a token, for
	// variants that learn from them. Queries beyond it are dropped. 0 means 2 GiB.
	StateBytes int64
	// Reserve is for measurements. It leaves out the Reserved part of each passage, and chooses the
	// epoch by queries of the reserved parts of the passages that Selects names. Neither training nor
	// that choice has then seen the reserved parts of the other passages.
	Reserve bool
	// Steps, if not 0, ends the fit after that many steps and keeps the weights it then has, as a
	// longer fit has them at that moment.
	Steps int
	// Seq is recorded in the weights as the state of the corpus.
	Seq uint64
	// Media is the modality of the passages, for Draw; Fit takes that of its encoder. Texts of images
	// are references of package visual, which the encoder must resolve. Images need Sums if the stack reads them
	// and cannot be reserved.
	Media string
	// Base, if not nil, is the bridge of the same stack and encoder to continue from. It is not changed. The
	// passages from Fresh on are new to it. QueriesPerPassage queries are drawn from each of these, and in
	// total Replay times as many from the others (0 means 1; at most 1000), so that the bridge does not
	// forget.
	Base   *modulate.Weights
	Fresh  int
	Replay float64
	// Checkpoint, if not empty, is a file for the state of the fit, written every CheckpointEvery (0
	// means 30 s): 16·d bytes for each token in use. A fit of the same corpus, encoder and options
	// continues from it, also after a kill, and ends with the same weights. A file of another fit or a
	// damaged file is replaced. The caller removes the file. Queries are encoded again; an
	// encoder.Cache makes that cheap.
	Checkpoint      string
	CheckpointEvery time.Duration
	// Progress, if not nil, is called from the goroutine of Fit. Stages are "sample" (passages),
	// "encode queries" (queries), "encode probes" (held-out queries), "fit" (steps) and "evaluate"
	// (held-out queries). loss is the mean loss of the epoch so far, in nats, during "fit", else 0.
	Progress func(stage string, done, total int, loss float64)
}

// Report describes a fit.
type Report struct {
	Stack    string
	Passages int // passages of the corpus
	Distinct int // passages with distinct texts, the targets
	Queries  int // training queries
	Tokens   int // tokens that have a row in W
	Steps    int
	// Losses are the mean training losses of the epochs, in nats. Held are the losses of the held-out queries
	// at the end of each epoch. Best is the epoch, from 1, whose weights were kept: the one with the lowest
	// held-out loss, or the one in which Options.Steps ended the fit. A fit stops after the first epoch whose
	// held-out loss is higher than that of the epoch before.
	Losses, Held []float64
	Best         int
	// Probes are the results on held-out queries, without and with the bridge.
	Probes []modulate.ProbeScore
	// Encode and Descent are the times for encoding queries and for gradient descent. Took is the time
	// of the whole fit.
	Encode, Descent, Took time.Duration
}

// defaults fills in the zero fields and checks the others.
func (o Options) defaults() (Options, error) {
	fill := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	o.Stack = cmp.Or(o.Stack, "rlr+slr")
	o.Seed = cmp.Or(o.Seed, 1)
	fill(&o.QueriesPerPassage, 10)
	fill(&o.Epochs, 3)
	fill(&o.Batch, 256)
	fill(&o.Workers, runtime.GOMAXPROCS(0))
	fill(&o.AllCandidates, 20_000)
	fill(&o.Negatives, 15)
	o.CheckpointEvery = cmp.Or(o.CheckpointEvery, 30*time.Second)
	o.StateBytes = cmp.Or(o.StateBytes, 2<<30)
	o.LearningRate = cmp.Or(o.LearningRate, 2e-2)
	o.Replay = cmp.Or(o.Replay, 1)
	switch {
	case o.RLR.Alpha == 0 && o.RLR.Centred:
		o.RLR.Alpha = 0.6
	case o.RLR.Alpha == 0:
		o.RLR.Alpha = 0.7
	}
	o.Spread = cmp.Or(o.Spread, 0.6)
	o.Tau = cmp.Or(o.Tau, 0.05)
	if o.Progress == nil {
		o.Progress = func(string, int, int, float64) {}
	}
	for _, f := range []struct {
		name  string
		value int
	}{
		{"queries per passage", o.QueriesPerPassage}, {"epochs", o.Epochs}, {"batch", o.Batch},
		{"workers", o.Workers}, {"all candidates", o.AllCandidates}, {"negatives", o.Negatives},
		{"query limit", o.MaxQueries + 1}, {"step limit", o.Steps + 1},
	} {
		if f.value <= 0 || f.value > 1<<30 {
			return o, fmt.Errorf("%w: %s must be positive; leave it 0 for the default", ErrOptions, f.name)
		}
	}
	if !(o.LearningRate > 0 && o.LearningRate <= 10) || !(o.Tau >= 1e-3 && o.Tau <= 10) {
		return o, fmt.Errorf("%w: learning rate %v and temperature %v; they must lie in (0, 10] and [0.001, 10]", ErrOptions, o.LearningRate, o.Tau)
	}
	if !(o.Spread >= 1e-3) {
		return o, fmt.Errorf("%w: a spread of %v; it is 0.001 or more, +Inf for no bound", ErrOptions, o.Spread)
	}
	if o.Side != "" && o.Side != PassageSide && o.Side != BothSides {
		return o, fmt.Errorf("%w: side %q; modulate %q, %q, or queries (\"\")", ErrOptions, o.Side, PassageSide, BothSides)
	}
	if len(samplersOf(o.Media, false)) == 0 || o.Reserve && o.Media != "" {
		return o, fmt.Errorf("%w: passages of the modality %q have no samplers, or no reserved parts; draw from texts, or from images without Reserve", ErrOptions, o.Media)
	}
	if !(o.Replay > 0 && o.Replay <= 1000) || o.Fresh < 0 {
		return o, fmt.Errorf("%w: replay of %v and fresh passages from %d; replay lies in (0, 1000], fresh passages start at 0 or later", ErrOptions, o.Replay, o.Fresh)
	}
	return o, nil
}

// Fit fits the bridge of one stack to corpus, with queries drawn from it. The result depends only on corpus,
// encoder and options. It stops soon after ctx is done, with its error. Other errors: ErrCorpus, ErrOptions,
// errDiverged, and those of the encoder. Memory is about 4·d bytes for each training query, 12·d for each
// token in one, 4·d for each distinct passage up to AllCandidates, and Options.StateBytes for variants that
// learn from hidden states.
func Fit(ctx context.Context, corpus Corpus, enc encoder.Encoder, o Options) (*modulate.Weights, *Report, error) {
	start := time.Now()
	o.Media = enc.Fingerprint().Media
	o, err := o.defaults()
	if err != nil {
		return nil, nil, err
	}
	stack, err := fittable(o.Stack)
	if err != nil {
		return nil, nil, err
	}
	set, err := readPassages(ctx, corpus, enc.Dim(), o)
	if err != nil {
		return nil, nil, err
	}
	parts := modulate.Parts{Sums: o.Sums, RLR: o.RLR, Alone: o.Alone}
	if parts.Sums == nil && stack.ReadsSums() && o.Media != "" {
		return nil, nil, fmt.Errorf("%w: a fit of %s to images needs the sums over them; give Sums", ErrOptions, stack.Name())
	}
	if parts.Sums == nil && stack.ReadsSums() {
		if parts.Sums, err = sumsOf(ctx, corpus, enc); err != nil {
			return nil, nil, err
		}
	}
	if stack.ReadsSums() && (parts.Sums.Dim() != enc.Dim() || parts.Sums.VocabSize() != enc.VocabSize()) {
		return nil, nil, fmt.Errorf("%w: the corpus sums are of dimension %d, the encoder of %d; use the encoder of this corpus", ErrCorpus, parts.Sums.Dim(), enc.Dim())
	}
	shift, err := stack.Shifters(parts)
	if err != nil {
		return nil, nil, err
	}
	length, err := stateLength(ctx, enc, stack, set)
	if err != nil {
		return nil, nil, err
	}
	w, err := begin(stack, enc, length, parts, o)
	if err != nil {
		return nil, nil, err
	}
	w.Spread = spread(o)
	parts.Weights = w
	bridge, err := stack.Bridge(parts)
	if err != nil {
		return nil, nil, err
	}
	m, err := modulate.NewStack(w.Stack, parts)
	if err != nil {
		return nil, nil, err
	}
	base := ""
	if o.Base != nil {
		base = fmt.Sprint(o.Base.Data, o.Base.Loss, o.Base.Queries, o.Fresh, o.Replay)
	}
	if o.Side != "" && len(set.reps) > o.AllCandidates {
		return nil, nil, fmt.Errorf("%w: %d distinct passages to modulate at each step where all candidates are %d at most; raise that, or fit to fewer", ErrOptions, len(set.reps), o.AllCandidates)
	}
	drawn, err := set.draw(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	queries, err := encodeQueries(ctx, enc, stack, bridge, drawn, o)
	if err != nil {
		return nil, nil, err
	}
	if o.Side != "" {
		if err := queries.takePassages(ctx, enc, stack, bridge, set, o); err != nil {
			return nil, nil, err
		}
	}
	queries.length = length
	held, err := drawProbes(ctx, enc, set, stack.Need(), o)
	if err != nil {
		return nil, nil, err
	}
	encoded := time.Now()
	key := fitKey(set, queries, w.Stack, enc.Fingerprint().Digest(), base, o)
	done, err := descend(ctx, queries, set, shift, bridge, w.Projection, held, m, key, o)
	if err != nil {
		return nil, nil, err
	}
	w.Projection.Round() // before the probes, which are to measure what is saved
	fitted := time.Now()
	w.Encoder, w.Seed, w.Data, w.Seq = enc.Fingerprint(), o.Seed, set.digest, o.Seq
	w.Passages, w.Queries, w.Loss = corpus.Len(), queries.len(), done.loss(o)
	if o.Base != nil {
		w.Queries += o.Base.Queries
	}
	for _, s := range shift {
		if r, ok := s.(*modulate.Regression); ok {
			w.RLR = r.Options()
		}
	}
	if w.Probes, err = held.scores(ctx, set, m, o); err != nil {
		return nil, nil, err
	}
	return w, &Report{
		Stack: w.Stack, Passages: corpus.Len(), Distinct: len(set.reps), Queries: queries.len(),
		Tokens: len(w.Projection.Tokens()), Steps: done.Step, Losses: done.Losses, Held: done.Held, Best: done.Best, Probes: w.Probes,
		Encode: encoded.Sub(began), Descent: fitted.Sub(encoded), Took: time.Since(start),
	}, nil
}

// begin returns the initial weights of the fit: a copy of the base, or the start of the stack.
func begin(stack modulate.Stack, enc encoder.Encoder, length float64, parts modulate.Parts, o Options) (*modulate.Weights, error) {
	if o.Base == nil {
		return stack.Start(enc.Dim(), enc.VocabSize(), length, parts)
	}
	if o.Base.Stack != stack.Name() {
		return nil, fmt.Errorf("%w: the bridge to go on from is one of %s, not of %s; fit that stack, or without a base", ErrOptions, o.Base.Stack, stack.Name())
	}
	if err := o.Base.CheckEncoder("the bridge to go on from", enc.Fingerprint()); err != nil {
		return nil, err
	}
	return o.Base.Clone()
}

// fittable returns the stack called name, which must have a multiplicative part.
func fittable(name string) (modulate.Stack, error) {
	s, err := modulate.ParseStack(name)
	if err != nil {
		return s, err
	}
	if !s.Fitted() {
		return s, fmt.Errorf("%w: stack %s has no part that can be fitted; fit one that has, such as rlr+slr", ErrOptions, s.Name())
	}
	return s, nil
}

// learns reports whether the lexical vectors of b have trainable parameters.
func learns(b *modulate.Bridge) bool {
	return slices.ContainsFunc(b.Heads(), func(h *modulate.Head) bool { return h != nil })
}

// sumsOf computes the sums over the corpus.
func sumsOf(ctx context.Context, corpus Corpus, enc encoder.Encoder) (*ridge.Sums, error) {
	return ridge.SumsOf(ctx, enc.Dim(), enc.VocabSize(), corpus.Len(), corpus.Vector, func(i int) ([]int32, error) {
		text, err := corpus.Text(i)
		if err != nil {
			return nil, fmt.Errorf("read passage %d: %w", i, err)
		}
		return enc.Tokenize(encoder.Passage, text).Lexical(nil), nil
	})
}
