package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/modelname"
	"github.com/lexsem/lexsem/internal/safetensors/safetensorstest"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

func TestMain(m *testing.M) {
	trial.InMemory()
	trial.Parallel() // scripts wait for processes
	testscript.Main(m, map[string]func(){
		"lexsem": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			freshFor = time.Minute
			os.Exit(Run(ctx, System()))
		},
		"hold": hold,
	})
}

// hold keeps the database named by its first argument open until the file
// named by the second one goes away; with a third one it only reads.
func hold() {
	e, err := engine.Open(context.Background(), os.Args[1], encoder.NewHash(384), engine.Options{ReadOnly: len(os.Args) > 3})
	if err == nil {
		err = os.WriteFile(os.Args[2], nil, 0o644)
	}
	for deadline := time.Now().Add(time.Minute); err == nil && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, gone := os.Stat(os.Args[2]); gone != nil {
			break
		}
	}
	if e != nil {
		err = errors.Join(err, e.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestScripts runs testdata/*.txtar: the command as users see it, in processes
// of its own.
func TestScripts(t *testing.T) {
	cache, err := (&app{Env: Env{Getenv: os.Getenv}}).cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			path, err := exec.LookPath("lexsem")
			e.Setenv("LEXSEM_BIN", path)
			e.Setenv("LEXSEM_CACHE", filepath.Join(e.WorkDir, "empty-cache"))
			e.Setenv("REAL_CACHE", cache)
			e.Setenv("REAL_PATH", os.Getenv("PATH"))
			e.Setenv("ELSEWHERE", fmt.Sprintf("elasticsearch://%s/test-%d", strings.TrimPrefix(os.Getenv("LEXSEM_ELASTICSEARCH_URL"), "http://"), time.Now().UnixNano()))
			e.Values[sourceKey{}] = &fakeSource{t: t}
			e.Values[rerankerKey{}] = &fakeReranker{t: t}
			return err
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "cgo":
				return modelname.CGO, nil
			case "elasticsearch":
				return os.Getenv("LEXSEM_ELASTICSEARCH_URL") != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "says": says, "waitfor": waitFor, "damage": damage, "flip": flip, "repeat": repeatLine, "bridge-file": bridgeFile,
			"api": startSource, "apicalls": sourceCalls, "apitexts": sourceTexts, "turn": turnSource, "vectors": vectorsAlone, "unname": unname, "gotree": goTree, "older": older,
			"rerankapi": startReranker, "rerankcalls": rerankerCalls, "rerankbreak": breakReranker, "cross": writeCross(t),
			"tinysplade": func(ts *testscript.TestScript, _ bool, args []string) { // DIR, to write a SparseEncoder into
				encoders.NewTiny(2, encoders.Tiny{Positions: 64, Prefix: "bert."}).WriteSplade(t, ts.MkAbs(args[0]), "relu")
			},
			"tinymodel": func(ts *testscript.TestScript, _ bool, args []string) { // DIR, to write a model of two layers into
				encoders.NewTiny(1, encoders.Tiny{Positions: 64}).Write(t, ts.MkAbs(args[0]))
			},
		},
	})
}

// older FILE… makes files an hour old: a change within the second of the one before cannot be told by the time.
func older(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: older FILE…")
	}
	at := time.Now().Add(-time.Hour)
	for _, name := range args {
		ts.Check(os.Chtimes(ts.MkAbs(name), at, at))
	}
}

// exits CODE COMMAND… runs a command and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// says CODE [ARG…] runs lexsem in this process and checks its exit code. The
// process is not in the script's folder: name files by $WORK, or none.
func says(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: says CODE [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := Run(context.Background(), Env{Args: args[1:], Stdout: ts.Stdout(), Stderr: ts.Stderr(), Getenv: ts.Getenv}); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// waitfor FILE waits until a file is there.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not appear", args[0])
		}
	}
}

// damage GLOB flips a bit in every 64th byte of the files.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	changeFiles(ts, args[0], func(data []byte) {
		for i := 0; i < len(data); i += 64 {
			data[i] ^= 1
		}
	})
}

// flip GLOB flips one bit at each of nine places in the middle half of the files. One place may hold records
// that no document needs.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	changeFiles(ts, args[0], func(data []byte) {
		for i := 4; i <= 12; i++ {
			data[len(data)*i/16] ^= 1
		}
	})
}

// changeFiles changes the bytes of all files that match glob, of which there must be one.
func changeFiles(ts *testscript.TestScript, glob string, change func(data []byte)) {
	names, err := filepath.Glob(ts.MkAbs(glob))
	ts.Check(err)
	if len(names) == 0 {
		ts.Fatalf("no file matches %s", glob)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		ts.Check(err)
		change(data)
		ts.Check(os.WriteFile(name, data, 0o644))
	}
}

// goTree DIR PACKAGE… makes a Go tree of these packages of the one that is installed.
func goTree(ts *testscript.TestScript, neg bool, args []string) {
	from, err := goroot(os.Getenv)
	ts.Check(err)
	version, err := os.ReadFile(filepath.Join(from, "VERSION"))
	if err == nil {
		ts.Check(os.MkdirAll(ts.MkAbs(args[0]), 0o755))
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), "VERSION"), version, 0o644))
	}
	for _, p := range args[1:] {
		files, err := filepath.Glob(filepath.Join(from, "src", p, "*.go"))
		ts.Check(err)
		to := filepath.Join(ts.MkAbs(args[0]), "src", p)
		ts.Check(os.MkdirAll(to, 0o755))
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			b, err := os.ReadFile(f)
			ts.Check(err)
			ts.Check(os.WriteFile(filepath.Join(to, filepath.Base(f)), b, 0o644))
		}
	}
}

// repeat N FILE writes N JSONL documents with the ids 1 to N.
func repeatLine(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"_id\": \"%d\", \"text\": \"document %d speaks of number%d and of colour%d\"}\n", i+1, i+1, i+1, i%7)
	}
	ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(args[1])), 0o755))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o644))
}

// bridgeFile FILE writes a bridge for the hash encoder as a safetensors file:
// W = 1 for token 5, else 0.
func bridgeFile(ts *testscript.TestScript, neg bool, args []string) {
	enc := encoder.NewHash(384)
	d, vocab := enc.Dim(), enc.VocabSize()
	w := make([]float32, d*vocab)
	for i := range d {
		w[i*vocab+5] = float32(i) / float32(d)
	}
	f := safetensorstest.New(nil)
	f.Add("linear.weight", w, d, vocab)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), f.Bytes(), 0o644))
}
