package bench

import (
	"context"
	"errors"
	"slices"

	"github.com/lexsem/lexsem/encoder"
)

// Probe measures systems with targets and tasks of the caller's own, such as images. Run makes both from
// a corpus instead. Texts stay whole.
type Probe struct {
	Data    string // name of the data in the report
	Targets *Targets
	Tasks   []*Task
	Systems []string
	Metrics []string
	// OthersOnly drops the target with the query's own id from every answer.
	OthersOnly bool
	Version    string // see Options
	Setting    SettingOptions
}

// Run encodes the targets, prepares the systems and runs every task on them. Setting.Seed determines the
// fits and the paired test.
func (b Probe) Run(ctx context.Context, enc encoder.Encoder) (report *Report, err error) {
	p := &plan{Options: Options{Systems: b.Systems, Metrics: b.Metrics, Seed: b.Setting.Seed, Version: b.Version}, targets: b.Targets, tasks: b.Tasks}
	if err := p.parse(); err != nil {
		return nil, err
	}
	if b.OthersOnly {
		p.depth++ // for the query itself
		for i, s := range p.systems {
			p.systems[i].Prepare = func(ctx context.Context, setting *Setting) (Retriever, *Fit, error) {
				r, fit, err := s.Prepare(ctx, setting)
				return othersOnly{r, b.Targets}, fit, err
			}
		}
	}
	b.Setting.ChunkTokens = -1
	setting, err := NewSetting(ctx, enc, b.Targets, b.Setting)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, setting.Close()) }()
	questions, err := p.encodeQuestions(ctx, setting)
	if err != nil {
		return nil, err
	}
	report = &Report{Data: b.Data, Documents: b.Targets.Len(), Distinct: b.Targets.Len(), Encoder: enc.Fingerprint().Model, Seed: p.Seed, Version: b.Version, Words: setting.readsWords(), Fit: map[string]Fit{}, BytesPerPassage: map[string]float64{}}
	return report, p.answer(ctx, setting, questions, nil, report)
}

// othersOnly removes the query itself from its answer.
type othersOnly struct {
	Retriever
	targets *Targets
}

func (r othersOnly) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	answers, err := r.Retriever.Retrieve(ctx, questions, k)
	for i, a := range answers {
		answers[i] = slices.DeleteFunc(a, func(h Hit) bool { return r.targets.ID(h.Target) == questions[i].ID })
	}
	return answers, err
}
