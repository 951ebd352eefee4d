//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/serve/mcp"
)

// TestDeadlines calls tools over a stream with arguments of 4 MB that are hard to read, to cut or to compare, and cancels
// each call after 200 ms. It ends within 50 ms after that, or 150 ms on a busy machine. The long form makes all calls,
// the short form some. A test of package httpapi does the same over HTTP.
func TestDeadlines(t *testing.T) {
	const size, deadline, goal = 4 << 20, 200 * time.Millisecond, 50 * time.Millisecond
	most := time.Second // other tests run in this process
	if trial.Long() {
		most = 150 * time.Millisecond
	} else {
		t.Parallel()
	}
	db, err := engine.Open(t.Context(), "", encoder.NewHash(64), engine.Options{InMemory: true, TokenStates: engine.TokenStatesOn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	texts := trial.HardTexts(size)
	var docs []engine.Document
	for kind, text := range texts {
		docs = append(docs, engine.Document{ID: kind, Text: text[:size/64/6*6]})
	}
	if _, err := db.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	values, fields, many := make([]string, size/25), object{}, make([]object, 1024)
	for i := range values {
		values[i] = fmt.Sprintf("%q", fmt.Sprintf("value of number %d", i))
		fields[fmt.Sprint("field", i)] = i
	}
	for i := range many {
		many[i] = object{"id": fmt.Sprint("many", i), "text": texts["of distinct words"][i*(size/1024) : (i+1)*(size/1024)]}
	}
	expr := "s in [" + strings.Join(values, ", ") + "]"
	type call struct {
		tool string
		args object
	}
	calls := map[string]call{
		"many documents": {"index", object{"documents": many}},
		"much metadata":  {"index", object{"documents": []object{{"id": "x", "text": "x", "metadata": object{"list": values}}}}},
		"many fields":    {"index", object{"documents": []object{{"id": "x", "text": "x", "metadata": fields}}}},
		"unknown":        {"search", object{"query": "a", "more": values}},
		"filter":         {"search", object{"query": "a", "filter": expr}},
		"list":           {"list", object{"filter": expr}},
		"like":           {"search", object{"like": []string{"of distinct words", "of quotes"}}},
		"all":            {"search", object{"query": "a apples w7 x q", "k": 100, "budget": 100_000}},
		"places":         {"search", object{"query": "a", "places": true, "k": 100, "budget": 100_000}},
		"get":            {"get", object{"id": "of new lines", "line": 100_000, "limit": 200_000}},
	}
	for kind, text := range texts {
		calls["document "+kind] = call{"index", object{"documents": []object{{"id": kind, "text": text}}}}
		calls["title "+kind] = call{"index", object{"documents": []object{{"id": kind, "title": text[:size/8/6*6], "text": "x"}}}}
		calls["query "+kind] = call{"search", object{"query": text}}
		calls["long query "+kind] = call{"search", object{"query": strings.ToValidUTF8(text[:engine.MaxQuery], "")}}
		calls["explain "+kind] = call{"explain", object{"query": "a x w7 q b", "id": kind}}
	}
	n := 0
	for name, c := range calls { // in an order of chance
		if n++; n > 8 && !trial.Long() {
			break
		}
		t.Run(name, func(t *testing.T) {
			args, err := json.Marshal(c.args)
			if err != nil {
				t.Fatal(err)
			}
			message := fmt.Sprintf(hello+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", c.tool, args)
			late, err := trial.Overrun(t, deadline, goal, func(ctx context.Context) error {
				in, toServer := io.Pipe()
				fromServer, out := io.Pipe()
				answered := make(chan struct{})
				go func() { // the client
					defer toServer.Close()
					if _, err := io.WriteString(toServer, message); err != nil {
						t.Error(err)
					}
					select {
					case <-answered:
					case <-ctx.Done():
						if _, err := io.WriteString(toServer, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`+"\n"); err != nil {
							t.Error(err)
						}
					}
				}()
				go func() {
					for r := bufio.NewReader(fromServer); ; {
						line, err := r.ReadString('\n')
						if strings.Contains(line, `"id":2`) {
							close(answered)
						}
						if err != nil {
							return
						}
					}
				}()
				defer out.Close()
				return mcp.New(db, mcp.Options{}).Serve(t.Context(), in, out) // it waits for its calls when the input ends
			})
			t.Logf("%v after the call was cancelled, %v", late.Round(time.Millisecond), err)
			if late > most || err != nil {
				t.Error("too late, or a broken session")
			}
		})
	}
}
