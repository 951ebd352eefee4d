package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/bench/random"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/train"
)

// Task is a set of queries with their relevance judgements.
type Task struct {
	Name    string // for example "query", "keyword", "part:16"
	Queries []Query
	// Qrels judge the queries. Tasks made from passages judge targets (Targets.ID); judged tasks judge
	// passages.
	Qrels Qrels
	// Judged reports that Qrels come with the corpus. They then name every passage by its own id, even
	// if several share a text.
	Judged bool
	// LeftOut counts the targets or judged queries that gave no query: too short for the span, too
	// few words, or no positive judgement. It excludes the other half (TaskInput.Half) and passages
	// for which clean tasks make no query (TaskInput.Clean).
	LeftOut int
	// Absent counts the judgements of passages that are not in the corpus. They count as not found.
	Absent int
	// NoPositive counts the queries of LeftOut that are judged and have no positive. trec_eval and BEIR count them 0.
	NoPositive int
	// Own holds the ids of queries that stand in the corpus themselves (see Options.KeepSelf). The
	// passage of that id is left out of the query's ranking, unless KeepSelf is true.
	Own map[string]struct{}
	// KeepSelf is Options.KeepSelf.
	KeepSelf bool
}

// TaskInput is the input for making a task.
type TaskInput struct {
	Corpus  *Corpus
	Targets *Targets
	Seed    uint64
	Limit   int  // maximum number of queries; 0 for all
	Half    Half // half of the queries to use, see Asks; the zero value is all
	// Clean makes queries only from text that a clean fit has not seen, see Options.Clean.
	Clean bool
	// KeepSelf is Options.KeepSelf.
	KeepSelf bool
	Read     ReadOptions
	Language string // see Options
}

// stop tells the function words of the language.
func (in TaskInput) stop() (func(word string) bool, error) {
	if in.Language == "" || in.Language == "en" {
		return text.Stop, nil
	}
	a, err := text.For(in.Language)
	if err != nil {
		return nil, err
	}
	words := map[string]bool{}
	for w := range a.FunctionWords() {
		words[w] = true
	}
	return func(w string) bool { return words[w] }, nil
}

// TaskKind is a family of tasks. To add one, write a file with "var _ = RegisterTask(TaskKind{…})".
type TaskKind struct {
	Name  string // for example "part"
	Usage string // syntax of its names, such as "part:N"
	Doc   string // one-line description
	// Make returns the task. arg is the part of the name after the colon, or "".
	Make func(arg string, in TaskInput) (*Task, error)
}

var taskKinds = map[string]TaskKind{}

// RegisterTask adds a kind of task under its name, which must be unused. Call it only during package
// initialisation, since the registry has no lock.
func RegisterTask(k TaskKind) TaskKind {
	if _, dup := taskKinds[k.Name]; dup {
		panic("task registered twice: " + k.Name)
	}
	taskKinds[k.Name] = k
	return k
}

// TaskKinds lists the registered tasks, sorted by name.
func TaskKinds() []TaskKind { return sortedByName(taskKinds) }

// MakeTask makes the task called name, such as "part:16". The same corpus, seed, limit and half give
// the same task. A task without queries is ErrNoQueries.
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
	if len(t.Queries) == 0 && t.Judged && in.Corpus.lacks != "" {
		return nil, fmt.Errorf("task %s on %s: %w with judgements: %s", name, in.Corpus.Name, ErrNoQueries, in.Corpus.lacks)
	}
	if len(t.Queries) == 0 {
		return nil, fmt.Errorf("task %s on %s: %w: all %d candidates were left out; choose another task or corpus",
			name, in.Corpus.Name, ErrNoQueries, t.LeftOut)
	}
	return t, nil
}

// PerTarget makes at most one query for each target, and at most in.Limit in all; the targets are
// drawn independently of their order. draw returns "" for a target that cannot give a query. Such
// targets are counted over the whole corpus, even after the limit is reached. The random numbers of
// a target depend on task, seed and the target's id alone, so a query is the same whatever the
// limit.
func PerTarget(task string, in TaskInput, draw func(rng *rand.Rand, target int) string) *Task {
	t := &Task{Qrels: Qrels{}}
	order := random.New(in.Seed, task, "order").Perm(in.Targets.Len())
	for _, i := range order {
		id := in.Targets.ID(i)
		if !in.Asks(id) || in.Clean && train.Selects(in.Targets.Texts[i]) {
			continue
		}
		text := draw(random.New(in.Seed, task, id), i)
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

func noArgument(arg string) error {
	if arg != "" {
		return fmt.Errorf("%w: takes nothing after the colon, got %q", ErrUnknownName, arg)
	}
	return nil
}
