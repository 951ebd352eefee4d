package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

// Question is an encoded query, the input of every system.
type Question struct {
	ID     string         // id of the query
	Text   string         // words of the query; visual words of an image
	Output encoder.Output // Tokens, Dense, and other tensors that the systems need
}

// Hit is one target of a result. A higher score is better.
type Hit struct {
	Target      int // position in Targets
	Score       float64
	Probability float64 // see Ranked
}

// Retriever searches the targets of a Setting.
type Retriever interface {
	// Retrieve returns up to k hits for each question, best first, ties by target. It may use all
	// cores and stops soon after ctx is cancelled.
	Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error)
}

// sized is a Retriever that reports the memory that its answers need: vectors, words, and what
// modulates queries. The encoder and the texts are not counted.
type sized interface{ bytes() int64 }

// bytesOf is the memory of r, 0 if r does not report it.
func bytesOf(r Retriever) int64 {
	if s, ok := r.(sized); ok {
		return s.bytes()
	}
	return 0
}

// System is a named way to search.
type System struct {
	Name string
	// Need names the tensors of a Question that the system reads.
	Need encoder.Need
	// Constants are the names in internal/bench/constants that affect the system's results.
	Constants []string
	// Prepare makes the system ready on a corpus. It returns a Fit if the system is fitted to the
	// corpus, else nil.
	Prepare func(ctx context.Context, s *Setting) (Retriever, *Fit, error)
	// Reranks reports that the system requires Setting.Reranker.
	Reranks bool

	fuses bool // it ranks known candidates again by other constants of its fusion
}

// SystemKind is a family of systems. To add one, write a file with "var _ =
// RegisterSystem(SystemKind{…})".
type SystemKind struct {
	Name  string // for example "dense"
	Usage string // syntax of its names
	Doc   string // one-line description
	// Make returns the system. arg is the part of the name after the first colon, or "".
	Make func(arg string) (System, error)
}

var systemKinds = map[string]SystemKind{}

// RegisterSystem adds a kind of system under its name, which must be unused. Call it only during
// package initialisation, since the registry has no lock.
func RegisterSystem(k SystemKind) SystemKind {
	if _, dup := systemKinds[k.Name]; dup {
		panic("system registered twice: " + k.Name)
	}
	systemKinds[k.Name] = k
	return k
}

// SystemKinds lists the registered systems, sorted by name. Every stack of modulate.Variants, such as
// "rlr+slr", is also a system.
func SystemKinds() []SystemKind { return sortedByName(systemKinds) }

// ParseSystem returns the system called name: a registered one, else a stack of modulation variants.
func ParseSystem(name string) (System, error) {
	family, arg, colon := strings.Cut(name, ":")
	if kind, ok := systemKinds[family]; ok && (!colon || arg != "") {
		return kind.Make(arg)
	}
	stack, err := modulate.ParseStack(name)
	if err != nil {
		var known []string
		for _, k := range SystemKinds() {
			known = append(known, k.Usage)
		}
		for _, v := range modulate.Variants() {
			known = append(known, v.Name)
		}
		return System{}, fmt.Errorf("%w: system %q (%w); known are %s, and variants joined by +", ErrUnknownName, name, err, strings.Join(known, ", "))
	}
	return stackSystem(stack), nil
}
