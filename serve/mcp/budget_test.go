package mcp_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/serve/mcp"
)

// repository is a database of files of source code, each with functions of many lines.
func repository(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), t.TempDir(), encoder.NewHash(64), engine.Options{NoSync: true, ChunkTokens: 256})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	var docs []engine.Document
	for i := range 15 {
		var b strings.Builder
		fmt.Fprintf(&b, "package zoo\n\n")
		for j := range 6 {
			fmt.Fprintf(&b, "func (z *Zoo%d) feed%d(walrus int) error {\n", i, j)
			for n := range 12 {
				fmt.Fprintf(&b, "\tif err := z.store.Write(walrus, %d*n+%d); err != nil {\n\t\treturn fmt.Errorf(\"walrus %%d: %%w\", walrus, err)\n\t}\n", i, n)
			}
			b.WriteString("}\n\n")
		}
		path := fmt.Sprintf("zoo/feed%d.go", i)
		metadata := map[string]any{"kind": "code", "path": path, "root": "/src", "time": "2026-01-02T03:04:05Z", "line": 1}
		if i%2 == 0 { // the others are of an earlier build
			metadata = map[string]any{"_file": metadata}
		}
		metadata["language"], metadata["owner"] = "go", "me"
		docs = append(docs, engine.Document{ID: path, Title: path, Text: b.String(), Metadata: metadata})
	}
	if _, err := e.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	return e
}

// words are what a tokenizer of some hundred thousand entries has at most as tokens in source code.
var words = regexp.MustCompile(`[A-Za-z]{1,6}|[0-9]{1,3}|[^\sA-Za-z0-9]{1,2}|\n\s*`)

func TestSearchBudget(t *testing.T) {
	db := repository(t)
	c := connect(t, db, mcp.Options{Place: func(h engine.Hit) (string, [2]int, bool) { return "/src/" + h.ID, h.Lines, true }})
	was := 0
	for _, budget := range []int{0, 200, 800, 1500, 3000, 6000} {
		args := object{"query": "walrus store write error", "k": 10}
		if budget > 0 {
			args["budget"] = budget
		}
		text, failed := call(t, c, "search", args, nil)
		n := len(words.FindAllString(text, -1))
		if most := max(budget, 400); failed || n > most && budget > 0 || budget == 0 && n > 1500 {
			t.Errorf("budget %d: %d tokens\n%s", budget, n, text)
		}
		if budget > 200 && n < budget/3 || budget > 0 && n < was {
			t.Errorf("budget %d: only %d tokens", budget, n)
		}
		if budget > 0 {
			was = n
		}
		if strings.Count(text, "/src") != 1 || strings.Count(text, "zoo/feed") != 10 || strings.Contains(text, `"root"`) || strings.Count(text, `{"owner":"me"}`) != 10 {
			t.Errorf("budget %d: what hits say is not said once:\n%s", budget, text)
		}
	}
	text, _ := call(t, c, "search", object{"query": "feed3 walrus", "k": 3, "max_text": 150}, nil)
	head := regexp.MustCompile(`(?m)^\d+\. (zoo/feed\d+\.go):(\d+)-(\d+)  Zoo\d+\.feed\d+  score [0-9.]+, words \d+ %$`)
	if n := len(head.FindAllString(text, -1)); n != 3 {
		t.Errorf("%d of 3 hits say where they are:\n%s", n, text)
	}
	for _, m := range head.FindAllStringSubmatchIndex(text, -1) {
		d, err := db.Get(t.Context(), text[m[2]:m[3]])
		if err != nil {
			t.Fatal(err)
		}
		var from, to int
		fmt.Sscan(text[m[4]:m[5]], &from)
		fmt.Sscan(text[m[6]:m[7]], &to)
		shown, _, _ := strings.Cut(text[m[1]+1:], "\n\n")
		_, shown, _ = strings.Cut(shown, "\n") // behind the metadata
		shown = strings.ReplaceAll(shown[2:], "\n  ", "\n")
		if lines := strings.Split(d.Text, "\n"); strings.Join(lines[from-1:to], "\n") != shown {
			t.Errorf("lines %d to %d are not\n%s", from, to, shown)
		}
	}
	for _, bad := range []int{0, 199, 100_001} {
		if text, failed := call(t, c, "search", object{"query": "x", "budget": bad}, nil); !failed || !strings.Contains(text, fmt.Sprintf("budget is %d; use a number from 200 to 100000", bad)) {
			t.Errorf("budget %d: %s", bad, text)
		}
	}
	for _, bad := range []int{-1, 1_000_000} {
		if text, failed := call(t, c, "get", object{"id": "zoo/feed1.go", "line": bad}, nil); !failed || !strings.Contains(text, fmt.Sprintf("line is %d; the text of \"zoo/feed1.go\" has the lines 1 to ", bad)) {
			t.Errorf("line %d: %s", bad, text)
		}
	}
	var a struct {
		Hits []struct{ Symbol, Path string }
	}
	call(t, c, "search", object{"query": "feed3 walrus", "k": 3}, &a)
	for _, h := range a.Hits {
		if !strings.HasPrefix(h.Symbol, "Zoo") || !strings.HasPrefix(h.Path, "/src/") {
			t.Errorf("%+v", h)
		}
	}
}
