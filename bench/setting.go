package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/modulate"
)

// Progress reports the state of long work. Done counts up to Total.
type Progress struct {
	Stage string // for example "encode", "encode questions", "fit rlr+slr", "search dense keyword"
	Done  int
	Total int
	Loss  float64 // current training loss, or 0
}

// Setting holds what all systems of a run share: the corpus, encoded once, and one index over it,
// which is exact by default. Prepare systems one after another.
type Setting struct {
	Encoder encoder.Encoder
	// Targets are what systems search: the texts, or the chunks of all where some are cut. Each chunk is
	// named as its text is.
	Targets  *Targets
	Passages []encoder.Output // Tokens and Dense of each target
	// Index holds the vector of target i under the id i, so its ties by id are ties by target.
	Index index.Index

	SettingOptions

	// Constants replace shipped constants. They take effect when a system is prepared.
	Constants constants.Values

	alone     bool                         // stacks are fitted and asked without the dense vector, see LexicalOnly
	side      string                       // what stacks are fitted to modulate, see Side
	sums      *ridge.Sums                  // see corpusSums
	asked     *Setting                     // see teacher
	others    *Setting                     // see leftOut
	words     *lexicon                     // see lexicon
	fitted    map[string]*modulate.Weights // see fitStack
	unrelated float64                      // see measure
	ends      []func() error               // see Close

	databases map[engineSystem]*database // see database

	splitter chunk.Splitter
	texts    *Targets // that were given
	of       []int    // text of each target; nil where the texts are the targets
}

// SettingOptions are the options of a Setting.
type SettingOptions struct {
	Seed              uint64
	QueriesPerPassage int // see Options
	MaxFitQueries     int
	FitSteps          int     // see Options
	FitRate           float64 // see Options
	FitPassages       int     // see Options
	Clean             bool    // see Options
	ChunkTokens       int     // see Options
	Language          string  // see Options
	CacheDir          string
	Index             string
	Ef                int
	Asked             *Targets        // targets that bridges are fitted to; nil for all
	LeftOut           func() *Targets // returns the passages that are neither searched nor sought; nil for none
	Known             func(int) bool  // reports whether a target counts in corpus statistics and BM25; nil for all
	Progress          func(Progress)
	Reranker          engine.Reranker                // for systems that rerank; else nil
	RerankDepth       int                            // see Options
	Over              func() (remote.Backend, error) // see Options

	// Spell returns the words of targets and queries that have tokens alone, such as images. nil for texts.
	Spell func(tokens []int32) string
	// Mates returns the texts of other targets with the label of a target. Fits use them as training
	// queries. nil means none.
	Mates func(target int) []string
}

// NewSetting cuts the texts of targets into chunks, encodes them and indexes their vectors. enc may come
// from Cached. Words serve as tokens of an encoder that has none (see ByTerms). The caller closes the setting.
func NewSetting(ctx context.Context, enc encoder.Encoder, targets *Targets, o SettingOptions) (*Setting, error) {
	s := &Setting{Encoder: enc, SettingOptions: o, fitted: map[string]*modulate.Weights{}}
	if !o.Clean {
		s.splitter = chunk.New(enc, o.ChunkTokens, 0)
	}
	err := errors.Join(checkLanguage(o.Language), checkChunks(o.ChunkTokens, o.Clean))
	if err != nil {
		return nil, err
	}
	if err := s.split(ctx, targets); err != nil {
		return nil, err
	}
	if enc.VocabSize() == 0 {
		if s.Encoder, err = byTermsOf(enc, o.Language); err != nil {
			return nil, err
		}
	}
	if s.Index, err = newIndex(o.Index, enc.Dim(), o.Seed); err != nil {
		return nil, err
	}
	if s.Passages, err = s.encodeAll(ctx, encoder.Passage, s.Targets.Texts, encoder.NeedDense, "encode"); err != nil {
		return nil, err
	}
	if err := s.fill(s.Index); err != nil {
		return nil, err
	}
	return s, nil
}

// fill adds the vectors of the passages to an empty index, target i under the
// id i.
func (s *Setting) fill(ix index.Index) error {
	ids, vectors := make([]uint64, len(s.Passages)), make([]float32, 0, len(s.Passages)*ix.Dim())
	for i, out := range s.Passages {
		ids[i] = uint64(i)
		vectors = append(vectors, out.Dense...)
	}
	if err := ix.Add(ids, vectors); err != nil {
		return fmt.Errorf("indexing the passages: %w", err)
	}
	return nil
}

// beside is a setting of the same encoder and options over other targets. It
// has no index.
func (s *Setting) beside(ctx context.Context, targets *Targets, stage string) (*Setting, error) {
	o := s.SettingOptions
	o.Asked, o.LeftOut, o.Known = nil, nil, nil
	out := &Setting{Encoder: s.Encoder, SettingOptions: o, Constants: s.Constants, fitted: map[string]*modulate.Weights{}, splitter: s.splitter}
	if err := out.split(ctx, targets); err != nil {
		return nil, err
	}
	var err error
	out.Passages, err = out.encodeAll(ctx, encoder.Passage, out.Targets.Texts, encoder.NeedDense, stage)
	return out, err
}

// measure determines once which cosine unrelated texts have with the encoder, as a database does.
func (s *Setting) measure(ctx context.Context) (err error) {
	if s.unrelated == 0 && s.Spell == nil {
		s.unrelated, err = encoder.Unrelated(ctx, s.Encoder)
	}
	return err
}

// teacher is the setting that bridges are fitted in: s, or, if the task uses only some of its
// targets, a setting of those, made at the first call.
func (s *Setting) teacher(ctx context.Context) (*Setting, error) {
	if s.Asked == nil {
		return s, nil
	}
	if s.asked == nil {
		asked, err := s.beside(ctx, s.Asked, "encode what is asked for")
		if err != nil {
			return nil, err
		}
		s.asked = asked
	}
	s.asked.alone, s.asked.side = s.alone, s.side // systems share it, and are prepared one after another
	return s.asked, nil
}

// Questions encodes texts as queries, with the tensors of need.
func (s *Setting) Questions(ctx context.Context, texts []string, need encoder.Need) ([]Question, error) {
	out, err := s.encodeAll(ctx, encoder.Query, texts, need, "encode questions")
	if err != nil {
		return nil, err
	}
	questions := make([]Question, len(out))
	for i, o := range out {
		o.Tokens.Unread = text.Unread(s.Encoder.Fingerprint().Model, texts[i])
		questions[i] = Question{Text: s.spelled(texts[i], o), Output: o}
	}
	return questions, nil
}

// spelled is the text that words are read from: the text itself, or for an image the text of its
// tokens.
func (s *Setting) spelled(text string, o encoder.Output) string {
	if s.Spell != nil {
		return s.Spell(o.Tokens.IDs)
	}
	return text
}

// Truncated returns the number of passages that were cut at the encoder's limit.
func (s *Setting) Truncated() int {
	n := 0
	for _, out := range s.Passages {
		if out.Tokens.Truncated > 0 {
			n++
		}
	}
	return n
}

// readsWords reports whether words serve as tokens.
func (s *Setting) readsWords() bool {
	_, ok := s.Encoder.(*byTerms)
	return ok
}

// Report passes p to SettingOptions.Progress.
func (s *Setting) Report(p Progress) {
	if s.Progress != nil {
		s.Progress(p)
	}
}

// eachPassages passes the passages to take in parts, with the tensors in need. Apart from tokens and
// vectors, these are too large to keep for every passage.
func (s *Setting) eachPassages(ctx context.Context, need encoder.Need, take func(at int, part []encoder.Output) error) error {
	for at := 0; at < len(s.Passages); at += encodeBatch {
		part := s.Passages[at:min(at+encodeBatch, len(s.Passages))]
		if need != encoder.NeedDense {
			var err error
			if part, err = s.Encoder.Encode(ctx, encoder.Passage, encoder.Texts(s.Targets.Texts[at:at+len(part)]...), need); err != nil {
				return fmt.Errorf("encoding passages: %w", err)
			}
		}
		if err := take(at, part); err != nil {
			return err
		}
	}
	return nil
}

// encodeBatch is the number of texts between two reports of progress.
const encodeBatch = 256

// encodeAll encodes texts in one role, in batches, reporting after each.
func (s *Setting) encodeAll(ctx context.Context, role encoder.Role, texts []string, need encoder.Need, stage string) ([]encoder.Output, error) {
	out := make([]encoder.Output, 0, len(texts))
	for at := 0; at < len(texts); at += encodeBatch {
		part, err := s.Encoder.Encode(ctx, role, encoder.Texts(texts[at:min(at+encodeBatch, len(texts))]...), need)
		if err != nil {
			return nil, fmt.Errorf("encoding %s texts: %w", role, err)
		}
		out = append(out, part...)
		s.Report(Progress{Stage: stage, Done: len(out), Total: len(texts)})
	}
	return out, nil
}

// vectorRetriever answers a question by the exact nearest neighbours of a
// vector that is made from it.
type vectorRetriever struct {
	setting *Setting
	// vector appends the query vector [d] to dst. Safe for concurrent use.
	vector func(dst []float32, q Question) []float32
	held   int64 // bytes that vector reads
}

func (r vectorRetriever) bytes() int64 { return r.setting.indexBytes() + r.held }

// indexBytes is the memory of the index.
func (s *Setting) indexBytes() int64 {
	if ix, ok := s.Index.(interface{ Bytes() index.Memory }); ok {
		return ix.Bytes().Total()
	}
	return 0
}

// retrieveBatch is the number of questions answered between two looks at ctx.
const retrieveBatch = 1024

// Retrieve makes the query vectors and searches on all cores.
func (r vectorRetriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	d := r.setting.Index.Dim()
	out := make([][]Hit, 0, len(questions))
	near := make([][]index.Neighbor, retrieveBatch)
	vectors := make([]float32, retrieveBatch*d)
	for len(out) < len(questions) {
		batch := questions[len(out):min(len(out)+retrieveBatch, len(questions))]
		err := parallel.Each(ctx, len(batch), func(i int) error {
			v := r.vector(vectors[i*d:i*d:(i+1)*d], batch[i])
			if len(v) != d {
				return fmt.Errorf("the query vector of %q has length %d, the index %d", batch[i].Text, len(v), d)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		near := near[:len(batch)]
		if err := r.setting.Index.SearchBatch(near, vectors[:len(batch)*d], index.SearchOptions{K: k, Ef: r.setting.Ef}); err != nil {
			return nil, fmt.Errorf("searching: %w", err)
		}
		for _, answer := range near {
			hits := make([]Hit, len(answer))
			for j, n := range answer {
				hits[j] = Hit{Target: int(n.ID), Score: 1 - float64(n.Distance)}
			}
			out = append(out, hits)
		}
	}
	return out, nil
}

// scores implements denseRetriever.
func (r vectorRetriever) scores(dst []float32, q Question, ids []uint64) error {
	if err := r.setting.Index.Scores(dst, r.vector(nil, q), ids); err != nil {
		return err
	}
	for i, d := range dst {
		dst[i] = 1 - d
	}
	return nil
}

// newExact makes an empty exact index by cosine.
func newExact(dim int) (index.Index, error) { return newIndex("", dim, 0) }

// newIndex makes an empty index by cosine; "" is the exact one.
func newIndex(kind string, dim int, seed uint64) (index.Index, error) {
	kind = cmp.Or(kind, index.KindFlat)
	if !slices.Contains(index.Kinds(), kind) {
		return nil, fmt.Errorf("%w: index %q; known are %s", ErrUnknownName, kind, strings.Join(index.Kinds(), ", "))
	}
	ix, err := index.New(kind, index.Options{Dim: dim, Seed: seed})
	if err != nil {
		return nil, fmt.Errorf("making the index: %w", err)
	}
	return ix, nil
}
