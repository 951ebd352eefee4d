package command

import (
	"os"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/reranktest"
)

// fakeReranker is the last server of scores that a script has started.
type fakeReranker struct {
	t *testing.T
	*reranktest.API
}

type rerankerKey struct{} // of a script's values

func rerankerOf(ts *testscript.TestScript) *fakeReranker {
	return ts.Value(rerankerKey{}).(*fakeReranker)
}

// startReranker is "rerankapi VARIABLE": it starts a server that reranks and sets the
// variable to its URL.
func startReranker(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: rerankapi VARIABLE")
	}
	f := rerankerOf(ts)
	f.API = reranktest.NewAPI(f.t)
	ts.Setenv(args[0], f.URL)
}

// rerankerCalls is "rerankcalls N [KEY]": so many calls the last server got, each with
// that key.
func rerankerCalls(ts *testscript.TestScript, neg bool, args []string) {
	calls, _ := rerankerOf(ts).Calls()
	if neg || len(args) < 1 || strconv.Itoa(len(calls)) != args[0] {
		ts.Fatalf("%d calls, want %v", len(calls), args)
	}
	for _, c := range calls {
		if len(args) == 2 && c.Auth != "Bearer "+args[1] {
			ts.Fatalf("a call with the header %q", c.Auth)
		}
	}
}

// breakReranker is "rerankbreak STATUS": the last server refuses with it from then on.
func breakReranker(ts *testscript.TestScript, neg bool, args []string) {
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	rerankerOf(ts).Next = func(int) reranktest.Fault {
		return reranktest.Fault{Status: status, Body: `{"message":"not today"}`}
	}
}

// writeCross is "cross DIR FAMILY": it writes a tiny cross-encoder.
func writeCross(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: cross DIR FAMILY")
		}
		ts.Check(os.CopyFS(ts.MkAbs(args[0]), os.DirFS(encoders.Crosses(t)[args[1]])))
	}
}
