package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
)

// Question is an encoded query: what every system gets to answer it with.
type Question struct {
	ID     string         // of the query
	Text   string         // its words; of an image, its visual words
	Output encoder.Output // Tokens and Dense, and what else the systems need
}

// Hit is one target of an answer; a higher score is better.
type Hit struct {
	Target int // position in Targets
	Score  float64
}

// Retriever answers questions over the targets of a Setting.
type Retriever interface {
	// Retrieve returns up to k hits for each question, best first, ties by
	// target. It may use all cores and stops soon after ctx is cancelled.
	Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error)
}

// sized is a Retriever that tells the memory it answers from: vectors, words,
// and what modulates queries. The encoder and the texts are not counted.
type sized interface{ bytes() int64 }

// bytesOf is the memory of r, 0 where it does not tell.
func bytesOf(r Retriever) int64 {
	if s, ok := r.(sized); ok {
		return s.bytes()
	}
	return 0
}

// System is one way to answer questions, by name.
type System struct {
	Name string
	// Need names the tensors of a Question that it reads.
	Need encoder.Need
	// Constants are those of AllConstants that its answers depend on.
	Constants []string
	// Prepare makes it ready on a corpus. A system that is fitted to the
	// corpus reports what that took, others return a nil Fit.
	Prepare func(ctx context.Context, s *Setting) (Retriever, *Fit, error)
	// Reranks says that it asks Setting.Reranker, which then must be there.
	Reranks bool

	codes  []codesKind // of token states, those that it reads
	scales bool        // its stack modulates the query and gives factors to single tokens
}

// SystemKind is a family of systems. Add one by a file with
// "var X = RegisterSystem(SystemKind{…})".
type SystemKind struct {
	Name  string // "dense"
	Usage string // how it is asked for
	Doc   string // one line
	// Make builds the system; arg is what stands behind the first colon, ""
	// without.
	Make func(arg string) (System, error)
}

var systemKinds = map[string]SystemKind{}

// RegisterSystem adds a kind of system under its name, which must be free, while
// packages are initialised: the registry is not locked.
func RegisterSystem(k SystemKind) SystemKind {
	if _, dup := systemKinds[k.Name]; dup {
		panic("system registered twice: " + k.Name)
	}
	systemKinds[k.Name] = k
	return k
}

// SystemKinds lists the registered systems by name. Every stack of
// modulate.Variants is a system besides, for example "rlr+slr".
func SystemKinds() []SystemKind { return sortedByName(systemKinds) }

// ParseSystem finds the system called name: a registered one, else a stack of
// modulation variants.
func ParseSystem(name string) (System, error) {
	if system, options, ok := cutTokens(name); ok {
		return tokensBehind(name, system, options)
	}
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
