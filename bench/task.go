package bench

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/modulate/train"
)

// Task is one set of questions and what counts as an answer.
type Task struct {
	Name    string // "query", "keyword", "part:16"
	Queries []Query
	// Qrels judge the queries. In a task made from the passages they name
	// targets (Targets.ID), in a judged one passages.
	Qrels Qrels
	// Judged tells that Qrels come with the corpus and name every passage by
	// its own id, also where several share a text.
	Judged bool
	// LeftOut counts the targets, or the judged queries, that gave no query:
	// too short for the span, too few words, no positive judgement. Those of
	// the other half (TaskInput.Half) do not count, nor those that a clean probe
	// never asks (TaskInput.Clean).
	LeftOut int
}

// TaskInput is what a task is made from.
type TaskInput struct {
	Corpus  *Corpus
	Targets *Targets
	Seed    uint64
	Limit   int  // most queries wanted; 0 for all
	Half    Half // which of the queries are wanted, see Asks; the zero value is all
	// Clean asks of a task made from passages what a clean fit has not seen, see
	// Options.Clean.
	Clean bool
	Read  ReadOptions
}

// TaskKind is a family of tasks. Add one by a file with
// "var X = RegisterTask(TaskKind{…})".
type TaskKind struct {
	Name  string // "part"
	Usage string // how it is asked for: "part:N"
	Doc   string // one line
	// Make builds the task; arg is what stands behind the colon, "" without.
	Make func(arg string, in TaskInput) (*Task, error)
}

var taskKinds = map[string]TaskKind{}

// RegisterTask adds a kind of task under its name, which must be free, while
// packages are initialised: the registry is not locked.
func RegisterTask(k TaskKind) TaskKind {
	if _, dup := taskKinds[k.Name]; dup {
		panic("task registered twice: " + k.Name)
	}
	taskKinds[k.Name] = k
	return k
}

// TaskKinds lists the registered tasks by name.
func TaskKinds() []TaskKind { return sortedByName(taskKinds) }

// MakeTask builds the task called name, for example "part:16". It is the same
// for the same corpus, seed, limit and half. A task without any query is
// ErrNoQueries.
func MakeTask(name string, in TaskInput) (*Task, error) {
	family, arg, colon := strings.Cut(name, ":")
	kind, ok := taskKinds[family]
	if !ok || colon && arg == "" {
		var known []string
		for _, k := range TaskKinds() {
			known = append(known, k.Usage)
		}
		return nil, fmt.Errorf("%w: task %q; known are %s", ErrUnknownName, name, strings.Join(known, ", "))
	}
	t, err := kind.Make(arg, in)
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", name, err)
	}
	t.Name = name
	if len(t.Queries) == 0 && t.LeftOut == 0 {
		part := "the corpus"
		if h := in.Half.Label(); h != "" {
			part = "the " + h + " of the corpus"
		}
		return nil, fmt.Errorf("task %s on %s: %w: %s has none (judged ones stand in queries.jsonl and qrels/test.tsv); choose tasks that are made from passages, such as keyword,part:16",
			name, in.Corpus.Name, ErrNoQueries, part)
	}
	if len(t.Queries) == 0 {
		return nil, fmt.Errorf("task %s on %s: %w: all %d candidates were left out; choose another task or corpus",
			name, in.Corpus.Name, ErrNoQueries, t.LeftOut)
	}
	return t, nil
}

// perTarget makes at most one query for each target, at most in.Limit in all,
// the targets drawn without regard to their order. draw answers "" for a
// target that cannot give one; those are counted over the whole corpus, also
// where the limit is reached. The random numbers of a target depend on task,
// seed and the target's id alone, so a query is the same whatever the limit.
func perTarget(task string, in TaskInput, draw func(rng *rand.Rand, target int) string) *Task {
	t := &Task{Qrels: Qrels{}}
	order := newRand(in.Seed, task, "order").Perm(in.Targets.Len())
	for _, i := range order {
		id := in.Targets.ID(i)
		if !in.Asks(id) || in.Clean && train.Selects(in.Targets.Texts[i]) {
			continue
		}
		text := draw(newRand(in.Seed, task, id), i)
		if text == "" {
			t.LeftOut++
			continue
		}
		if in.Limit > 0 && len(t.Queries) >= in.Limit {
			continue
		}
		t.Queries = append(t.Queries, Query{ID: id, Text: text})
		t.Qrels[id] = map[string]int{id: 1}
	}
	sortQueries(t.Queries)
	return t
}

func sortQueries(q []Query) {
	slices.SortFunc(q, func(a, b Query) int { return strings.Compare(a.ID, b.ID) })
}

// newRand returns a generator of its own for a purpose. The purposes start
// with "bench", so no stream here is one of the trainer's.
func newRand(seed uint64, purpose ...string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte("bench"))
	for _, p := range purpose {
		h.Write([]byte{0})
		h.Write([]byte(p))
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func noArgument(arg string) error {
	if arg != "" {
		return fmt.Errorf("%w: takes nothing behind the colon, got %q", ErrUnknownName, arg)
	}
	return nil
}
