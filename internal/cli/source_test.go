package cli

import (
	"context"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/engine"
)

// fakeSources are servers of vectors for scripts.
type fakeSources struct {
	t    *testing.T
	last *encodertest.API
}

// start is "api VARIABLE DIM PATH": it starts a server of vectors and sets the
// variable to its URL and the path.
func (f *fakeSources) start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: api VARIABLE DIM PATH")
	}
	dim, err := strconv.Atoi(args[1])
	ts.Check(err)
	f.last = encodertest.NewAPI(f.t, dim)
	ts.Setenv(args[0], f.last.URL+args[2])
}

// called is "apicalls N": so many calls the last server got.
func (f *fakeSources) called(ts *testscript.TestScript, neg bool, args []string) {
	if n, _ := f.last.Calls(); neg || len(args) != 1 || strconv.Itoa(n) != args[0] {
		ts.Fatalf("%d calls, want %v", n, args)
	}
}

// turn makes the last server answer like another model from then on.
func (f *fakeSources) turn(*testscript.TestScript, bool, []string) {
	f.last.Next = func(int, []string) encodertest.Fault {
		return encodertest.Fault{Spoil: func(vectors [][]float32) [][]float32 {
			for _, v := range vectors {
				v[0] += .1
			}
			return vectors
		}}
	}
}

// vectorsAlone is "vectors DIR": it makes a database of vectors without an encoder.
func vectorsAlone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: vectors DIR")
	}
	ctx := context.Background()
	e, err := engine.Open(ctx, ts.MkAbs(args[0]), nil, engine.Options{Dim: 8})
	ts.Check(err)
	text := "The garden is full of flowers in spring."
	out, err := encoder.NewHash(8).Encode(ctx, encoder.Passage, []string{text}, encoder.NeedDense)
	ts.Check(err)
	_, err = e.Add(ctx, []engine.Document{{ID: "garden", Text: text, Vector: out[0].Dense}})
	ts.Check(err)
	ts.Check(e.Close())
}
