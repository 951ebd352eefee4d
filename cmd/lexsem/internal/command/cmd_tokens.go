package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lexsem/lexsem/engine"
)

var cmdTokens = command{
	name:    "tokens",
	summary: "keep the state of every token, for comparison word by word",
	about: `
The model computes a state for every token of a passage before it computes the vector of the passage.
This command keeps these states, 26 bytes each, for all documents that lack them; punctuation has none.
Documents that are added later get theirs as well. Searches then compare
each word of a query with the words of the passages that they have found, and explain shows which word
answers which.

Every text is encoded once more, unless the states of its tokens are in the cache folder (--state-cache).
Vectors stay as they are, and other commands can search and write meanwhile. Ctrl-C, a kill
or an error loses nothing: the same command continues. Models behind a URL give no token states.`,
	examples: []string{"lexsem tokens --db notes.db", "lexsem tokens --db notes.db --json"},
	declare:  func(f *flags) action { return keeping(f, runTokens) },
}

// tokensSummary is the output of tokens --json.
type tokensSummary struct {
	DB        string  `json:"db"`
	Documents int     `json:"documents"` // that got token states
	Already   int     `json:"already"`   // that had them
	Left      int     `json:"left"`      // that have none: without text, or too few of them
	Chunks    int     `json:"chunks"`    // with token states now
	Bytes     int64   `json:"bytes"`     // that these take
	Seconds   float64 `json:"seconds"`
}

func runTokens(ctx context.Context, a *app, _ []string, asJSON bool) (err error) {
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	p := a.progress()
	defer p.done()
	e, err := a.openDB(ctx, dir, engine.Options{MustExist: true, Logger: a.warnings(), Progress: func(s engine.Progress) {
		if s.Stage == "tokens" {
			p.update(step{stage: "encoding", done: s.Done, total: s.Total, unit: "documents"})
			return
		}
		p.update(step{stage: s.Stage, done: s.Done, total: s.Total})
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	begin := time.Now()
	r, err := e.KeepTokenStates(ctx)
	p.done()
	if err != nil {
		goOn := "run the same command again to continue"
		if errors.Is(err, context.Canceled) {
			return hinted(&interrupted{"interrupted; " + count(r.Documents, "document has", "documents have") + " token states now"}, goOn)
		}
		if r.Documents > 0 {
			return hinted(err, goOn)
		}
		return err
	}
	s, err := e.Stats(ctx)
	if err != nil {
		return err
	}
	sum := tokensSummary{DB: dir, Documents: r.Documents, Already: r.Already, Left: r.Left, Chunks: s.TokenStates.Chunks, Bytes: s.TokenStates.Bytes, Seconds: time.Since(begin).Seconds()}
	if asJSON {
		return json.NewEncoder(a.Stdout).Encode(sum)
	}
	fmt.Fprintf(a.Stdout, "%s: %s token states in %s; all take %s\n", dir, count(r.Documents, "document got", "documents got"), short(time.Since(begin)), bytesOf(sum.Bytes))
	if r.Left > 0 {
		why := "without text"
		if s.TokenStates.Note != "" {
			why = s.TokenStates.Note
		}
		fmt.Fprintf(a.Stdout, "%s none: %s\n", count(r.Left, "document has", "documents have"), why)
	}
	return nil
}
