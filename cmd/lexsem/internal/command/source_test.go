package command

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// fakeSource is the last server of vectors that a script has started.
type fakeSource struct {
	t *testing.T
	*encoders.API
}

type sourceKey struct{} // of a script's values

func sourceOf(ts *testscript.TestScript) *fakeSource { return ts.Value(sourceKey{}).(*fakeSource) }

// start is "api VARIABLE DIM PATH": it starts a server of vectors and sets the
// variable to its URL and the path.
func startSource(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: api VARIABLE DIM PATH")
	}
	dim, err := strconv.Atoi(args[1])
	ts.Check(err)
	f := sourceOf(ts)
	f.API = encoders.NewAPI(f.t, dim)
	ts.Setenv(args[0], f.URL+args[2])
}

// called is "apicalls N": so many calls the last server got.
func sourceCalls(ts *testscript.TestScript, neg bool, args []string) {
	if n, _ := sourceOf(ts).Calls(); neg || len(args) != 1 || strconv.Itoa(n) != args[0] {
		ts.Fatalf("%d calls, want %v", n, args)
	}
}

// texts is "apitexts N": so many texts the last server answered.
func sourceTexts(ts *testscript.TestScript, neg bool, args []string) {
	n := 0
	for _, times := range sourceOf(ts).Served() {
		n += times
	}
	if neg || len(args) != 1 || strconv.Itoa(n) != args[0] {
		ts.Fatalf("%d texts, want %v", n, args)
	}
}

// turn makes the last server answer like another model from then on.
func turnSource(ts *testscript.TestScript, _ bool, _ []string) {
	sourceOf(ts).Next = func(int, []string) encoders.Fault {
		return encoders.Fault{Spoil: func(vectors [][]float32) [][]float32 {
			for _, v := range vectors {
				v[0] += .1
			}
			return vectors
		}}
	}
}

// vectorsAlone is "vectors DIR [N]": it makes a database of one document with a vector,
// or N more, without an encoder.
func vectorsAlone(ts *testscript.TestScript, neg bool, args []string) {
	n := 0
	if len(args) == 2 {
		var err error
		n, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: vectors DIR [N]")
	}
	ctx := context.Background()
	e, err := engine.Open(ctx, ts.MkAbs(args[0]), nil, engine.Options{Dim: 8})
	ts.Check(err)
	docs := []engine.Document{{ID: "garden", Text: "The garden is full of flowers in spring."}}
	for i := range n {
		docs = append(docs, engine.Document{ID: fmt.Sprint("more", i), Text: fmt.Sprint("number", i) + strings.Repeat(fmt.Sprint(" ", i), 1000)})
	}
	for i := range docs {
		out, err := encoder.NewHash(8).Encode(ctx, encoder.Passage, encoder.Texts(docs[i].Text), encoder.NeedDense)
		ts.Check(err)
		docs[i].Vector = out[0].Dense
	}
	_, err = e.Add(ctx, docs)
	ts.Check(err)
	ts.Check(e.Close())
}

// unname GLOB damages the record in tables that names a database's encoder.
func unname(ts *testscript.TestScript, neg bool, args []string) {
	found := false
	changeFiles(ts, args[0], func(data []byte) {
		for {
			i := bytes.Index(data, []byte(`"encoder":`))
			if i < 0 {
				return
			}
			data[i+1], found = 'u', true
		}
	})
	if !found {
		ts.Fatalf("no table of %s names an encoder", args[0])
	}
}
