package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lexsem/lexsem/internal/bench/process"
	"github.com/lexsem/lexsem/modulate"
)

// Filtered measures searches with a filter: in a union of folders, each question searches only the
// passages of its own folder. The stack's sufficient statistics are those of all passages, or with
// "/own" those of that folder, like a bridge per field value (remote.BridgeOptions.By).
var _ = RegisterSystem(SystemKind{
	Name:  "filtered",
	Usage: "filtered:STACK[/own]",
	Doc:   "a search within the folder of the question, by the sums of all folders, or of its own",
	Make: func(arg string) (System, error) {
		name, own := strings.CutSuffix(arg, "/own")
		stack, err := stackNamed("filtered", name)
		if err != nil {
			return System{}, err
		}
		return System{
			Name: "filtered:" + stack.Name() + arg[len(name):],
			Need: stack.Need(),
			Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
				began, cpu := time.Now(), process.CPUTime()
				var m modulate.Modulator
				fit := &Fit{Passages: s.Targets.Len()}
				if !own {
					var err error
					if m, fit, err = s.modulator(ctx, stack); err != nil {
						return nil, nil, err
					}
				}
				r := &filteredRetriever{parts: map[string]*filteredPart{}}
				for i, members := range s.Targets.Members {
					seen := map[string]bool{}
					for _, id := range members {
						name := folderOf(id)
						if seen[name] {
							continue
						}
						seen[name] = true
						p := r.parts[name]
						if p == nil {
							p = &filteredPart{}
							r.parts[name] = p
						}
						p.targets = append(p.targets, i)
					}
				}
				for _, p := range r.parts {
					within, err := s.within(p.targets)
					if err != nil {
						return nil, nil, err
					}
					by := m
					if own {
						var f *Fit
						if by, f, err = within.modulator(ctx, stack); err != nil {
							return nil, nil, err
						}
						fit.Bytes, fit.Queries, fit.EncodeSeconds = fit.Bytes+f.Bytes, fit.Queries+f.Queries, fit.EncodeSeconds+f.EncodeSeconds
					}
					p.Retriever = stackRetriever(within, by, fit)
				}
				fit.Seconds, fit.CPUSeconds = time.Since(began).Seconds(), (process.CPUTime() - cpu).Seconds()
				return r, fit, nil
			},
		}, nil
	},
})

// folderOf is the folder prefix of an id in a union of folders (ReadCorpora); "" in a single corpus.
func folderOf(id string) string {
	name, _, ok := strings.Cut(id, ":")
	if !ok {
		return ""
	}
	return name
}

// within returns a setting of some of the targets, with an exact index.
func (s *Setting) within(targets []int) (*Setting, error) {
	o := s.SettingOptions
	o.Asked, o.LeftOut = nil, nil
	t := &Targets{}
	out := &Setting{Encoder: s.Encoder, Targets: t, SettingOptions: o, Constants: s.Constants, fitted: map[string]*modulate.Weights{}}
	for _, i := range targets {
		t.Texts, t.Members, t.first = append(t.Texts, s.Targets.Texts[i]), append(t.Members, s.Targets.Members[i]), append(t.first, s.Targets.first[i])
		out.Passages = append(out.Passages, s.Passages[i])
	}
	var err error
	if out.Index, err = newExact(s.Encoder.Dim()); err != nil {
		return nil, err
	}
	return out, out.fill(out.Index)
}

// filteredRetriever searches only the part of the targets that is in the question's folder.
type filteredRetriever struct{ parts map[string]*filteredPart }

type filteredPart struct {
	Retriever
	targets []int // in the whole
}

func (r *filteredRetriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	of := map[string][]int{}
	for i, q := range questions {
		name := folderOf(q.ID)
		if r.parts[name] == nil {
			return nil, fmt.Errorf("%w: filtered: query %q is of no folder of the corpus; name several folders in --data", ErrOption, q.ID)
		}
		of[name] = append(of[name], i)
	}
	out := make([][]Hit, len(questions))
	for name, at := range of {
		asked := make([]Question, len(at))
		for i, q := range at {
			asked[i] = questions[q]
		}
		p := r.parts[name]
		found, err := p.Retrieve(ctx, asked, k)
		if err != nil {
			return nil, err
		}
		for i, hits := range found {
			for j := range hits {
				hits[j].Target = p.targets[hits[j].Target]
			}
			out[at[i]] = hits
		}
	}
	return out, nil
}
