package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/explain"
	"github.com/lexsem/lexsem/internal/problems"
	"github.com/lexsem/lexsem/serve/mcp"
)

// shelf is a database of a few documents: three short ones, one of many lines, and one
// whose id must be encoded in a URI.
func shelf(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), t.TempDir(), encoder.NewHash(64), engine.Options{NoSync: true, ChunkTokens: 64})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	var long strings.Builder
	for i := range 200 {
		fmt.Fprintf(&long, "Line %d speaks of lanterns. Grüße, 日本!\n", i+1)
	}
	_, err = e.Upsert(t.Context(), []engine.Document{
		{ID: "keys.md", Title: "Signing keys", Text: "Rotate the signing keys every ninety days.", Metadata: map[string]any{"lang": "en", "year": 2024, "big": json.Number("9007199254740993")}},
		{ID: "backup.md", Title: "Backups", Text: "Backups run at night and are checked in the morning.", Metadata: map[string]any{"lang": "en", "year": 2020}},
		{ID: "schluessel.md", Text: "Die Schlüssel werden alle neunzig Tage gewechselt.", Metadata: map[string]any{"lang": "de"}},
		{ID: "long.txt", Text: long.String()},
		{ID: "a/b %41?#ü", Text: "An odd name for a text about otters.", Metadata: map[string]any{"heavy": strings.Repeat("x", 10_000)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// connect joins the SDK's client with a server over memory.
func connect(t testing.TB, db mcp.Database, o mcp.Options) *sdk.ClientSession {
	t.Helper()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), serve(t, db, o), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// call calls a tool, and returns the text and, decoded into out, the value, which a second call requests.
func call(t testing.TB, c *sdk.ClientSession, name string, args any, out any) (text string, failed bool) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	if len(res.Content) != 1 {
		t.Fatalf("%s: %d contents, want a text", name, len(res.Content))
	}
	text = res.Content[0].(*sdk.TextContent).Text
	if res.IsError {
		return text, true
	}
	if res.StructuredContent != nil {
		t.Errorf("%s %v gives its answer twice", name, args)
	}
	if out == nil {
		return text, false
	}
	given := object{"json": true}
	if args, ok := args.(object); ok {
		maps.Copy(given, args)
	}
	if res, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: given}); err != nil || res.IsError {
		t.Fatalf("%s %v: %+v, %v", name, given, res, err)
	}
	if said := res.Content[0].(*sdk.TextContent).Text; len(said) > 60 {
		t.Errorf("%s %v gives its answer twice: %s", name, given, said)
	}
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if out != nil {
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		if err := d.Decode(out); err != nil {
			t.Fatal(err)
		}
	}
	return text, false
}

func inputSchema(t testing.TB, c *sdk.ClientSession, name string) *jsonschema.Resolved {
	t.Helper()
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if tool.Name != name {
			continue
		}
		data, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		r, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Fatalf("no tool %s", name)
	return nil
}

// object writes arguments.
type object = map[string]any

func TestToolsAreDescribed(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		c := connect(t, shelf(t), mcp.Options{ReadOnly: readOnly, Version: "1.2.3"})
		if got := c.InitializeResult().ServerInfo; got.Name != "lexsem" || got.Version != "1.2.3" {
			t.Errorf("server %+v", got)
		}
		if !strings.Contains(c.InitializeResult().Instructions, "search") {
			t.Error("no instructions")
		}
		seen := map[string]bool{}
		for tool, err := range c.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			seen[tool.Name] = true
			if tool.Title == "" || len(tool.Description) < 80 || tool.OutputSchema != nil || tool.Annotations == nil {
				t.Errorf("%s lacks a title, a description or annotations, or promises values", tool.Name)
			}
			a := tool.Annotations
			if writes := tool.Name == "index"; a.ReadOnlyHint == writes || !a.IdempotentHint || *a.OpenWorldHint || writes && !*a.DestructiveHint {
				t.Errorf("%s: annotations %+v", tool.Name, a)
			}
			for name, p := range tool.InputSchema.(map[string]any)["properties"].(map[string]any) {
				if p.(map[string]any)["description"] == nil {
					t.Errorf("%s: the argument %s has no description", tool.Name, name)
				}
			}
		}
		for _, name := range []string{"search", "get", "list", "explain"} {
			if !seen[name] {
				t.Errorf("no tool %s", name)
			}
		}
		if seen["index"] == readOnly {
			t.Errorf("read-only %v, index %v", readOnly, seen["index"])
		}
		if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "index", Arguments: object{"documents": []object{{"id": "x", "text": "y"}}}}); (err != nil) != readOnly {
			t.Errorf("read-only %v, index answers %v", readOnly, err)
		}
	}
}

type answer struct {
	Mode, Variant, Meaning string
	Documents, Matching    int
	NextOffset             int `json:"next_offset"`
	Unlikely               bool
	Hits                   []struct {
		ID, Title, Text string
		Rank            int
		Score           float64
		Probability     float64
		LeftOut         int   `json:"left_out"`
		TextStart       int   `json:"text_start"`
		BestLines       []int `json:"best_lines"`
		Chunk, Chunks   int
		Start, End      int
		Path            string
		Lines           []int
		Metadata        map[string]any
		MoreBytes       int `json:"metadata_left_out"`
	}
}

func TestSearch(t *testing.T) {
	c := connect(t, shelf(t), mcp.Options{})
	var a answer
	text, failed := call(t, c, "search", object{"query": "rotate signing keys", "k": 2}, &a)
	if failed || len(a.Hits) != 2 || a.Hits[0].ID != "keys.md" || a.Hits[0].Rank != 1 || a.Mode != "hybrid" || a.Documents != 5 || a.NextOffset != 2 {
		t.Fatalf("%v %+v", failed, a)
	}
	for _, want := range []string{`"big":9007199254740993`, "1. keys.md  score ", "words 100 %", "Signing keys", "  Rotate the signing keys every ninety days.", "5 of 5 documents", "offset=2"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	first := a
	if strings.Contains(text, "Probably not here") || a.Unlikely || a.Hits[0].Probability < 0.5 {
		t.Errorf("%s %+v", text, a)
	}
	a = answer{}
	if text, failed = call(t, c, "search", object{"query": "qqqq zzzz"}, &a); failed || !strings.HasPrefix(text, "Probably not here: ") || !a.Unlikely || a.Hits[0].Probability >= 0.1 {
		t.Errorf("%v %s %+v", failed, text, a)
	}

	a = answer{}
	if _, failed = call(t, c, "search", object{"query": "rotate signing keys", "offset": 1, "k": 4}, &a); failed || len(a.Hits) != 4 || a.Hits[0].Rank != 2 || a.Hits[0].ID != first.Hits[1].ID || a.NextOffset != 0 {
		t.Errorf("second page: %+v", a)
	}
	a = answer{}
	var read struct {
		Hits               []struct{ ID string }
		Required, Excluded []string
	}
	if _, failed = call(t, c, "search", object{"query": "keys -signing +rotate"}, &read); failed || len(read.Hits) != 0 && read.Hits[0].ID == first.Hits[0].ID || len(read.Excluded) != 1 || read.Required[0] != "rotate" {
		t.Errorf("operators: %+v", read)
	}
	var by struct {
		Total  int
		Facets []struct{ Count int }
	}
	if text, failed = call(t, c, "list", object{"by": "year", "limit": 1}, &by); failed || by.Total != 5 || len(by.Facets) != 1 || !strings.Contains(text, "5 documents by year") {
		t.Errorf("facets: %+v, %s", by, text)
	}
	if text, failed = call(t, c, "list", object{"by": "year", "offset": 1}, nil); !failed || !strings.Contains(text, "offset") {
		t.Errorf("facets with an offset: %s", text)
	}
	if _, failed = call(t, c, "search", object{"like": []string{first.Hits[0].ID}, "unlike": []string{first.Hits[1].ID + ":1"}}, &read); failed || len(read.Hits) != 3 {
		t.Errorf("like: %+v", read)
	}
	if text, failed = call(t, c, "explain", object{"id": "long.txt", "like": []string{first.Hits[0].ID}, "unlike": []string{first.Hits[1].ID}}, nil); failed || !strings.Contains(text, "rank ") {
		t.Errorf("explain of like: %s", text)
	}
	if text, failed = call(t, c, "explain", object{"id": "long.txt", "unlike": []string{first.Hits[1].ID}}, nil); !failed || !strings.Contains(text, "query is empty") {
		t.Errorf("explain of nothing: %s", text)
	}
	years := func(args object) string {
		read.Hits = nil
		if text, failed := call(t, c, "search", args, &read); failed {
			t.Error(text)
		}
		return fmt.Sprint(read.Hits)
	}
	up, down := years(object{"query": "keys", "sort": "year", "k": 9}), years(object{"query": "keys", "sort": "year desc", "k": 9})
	if up == down || years(object{"query": "keys", "group_by": "nope"}) == up || len(read.Hits) != 1 || years(object{"query": "keys", "group_by": "nope", "per_group": 2}) == up || len(read.Hits) != 2 {
		t.Errorf("by year %s, downwards %s, in groups %v", up, down, read.Hits)
	}
	if text, failed = call(t, c, "explain", object{"query": "keys", "id": first.Hits[0].ID, "boost": "field(year, 1)"}, nil); failed || !strings.Contains(text, "field(year, 1)") {
		t.Errorf("boost: %s", text)
	}
	for _, odd := range []string{`"`, `-"keys`, "-", "*", "title:", "- -", "🔑", "\u202ekeys\u202c", "e\u0301tude", "\x00", "the", "IT", "=the", "-keys", strings.Repeat("🔑", 7<<10), strings.Repeat("-x ", 10<<10)} {
		for _, mode := range []string{"hybrid", "dense", "lexical"} {
			if text, failed := call(t, c, "search", object{"query": odd, "mode": mode}, &read); failed {
				t.Errorf("%.20q, %s: %s", odd, mode, text)
			}
		}
	}
	if _, failed = call(t, c, "explain", object{"query": "rotate -signing", "id": first.Hits[0].ID}, nil); !failed {
		t.Error("an excluded document is explained")
	}
	if _, failed = call(t, c, "explain", object{"query": "rotate -signing", "id": first.Hits[0].ID, "plain": true}, nil); failed {
		t.Error("plain is not read")
	}
	call(t, c, "search", object{"query": "rotate signing keys", "min_score": first.Hits[0].Score - 1e-4}, &a)
	if len(a.Hits) != 1 || a.NextOffset != 0 {
		t.Errorf("min_score keeps %d hits", len(a.Hits))
	}
	a = answer{}
	call(t, c, "search", object{"query": "Schlüssel", "filter": `lang = "en"`}, &a)
	if a.Matching != 2 || len(a.Hits) != 2 {
		t.Errorf("filter: %+v", a)
	}
	a = answer{}
	text, _ = call(t, c, "search", object{"query": "lanterns", "mode": "lexical", "per_chunk": true, "k": 3, "max_text": 30}, &a)
	if len(a.Hits) != 3 || a.Hits[1].ID != "long.txt" || a.Hits[1].Chunks < 3 || a.Mode != "lexical" {
		t.Fatalf("passages: %+v", a)
	}
	if strings.Contains(text, "more passages") {
		t.Errorf("passages are asked for already:\n%s", text)
	}
	var more struct {
		MorePassages bool `json:"more_passages"`
	}
	if whole, _ := call(t, c, "search", object{"query": "lanterns", "mode": "lexical"}, &more); !more.MorePassages || !strings.Contains(whole, "; per_chunk=true shows more passages of them") {
		t.Errorf("more passages of a long text: %+v\n%s", more, whole)
	}
	h := a.Hits[0]
	if len(h.Text) > 30 || h.LeftOut != h.End-h.Start-len(h.Text) || h.LeftOut == 0 {
		t.Errorf("text %q, %d left out of %d", h.Text, h.LeftOut, h.End-h.Start)
	}
	if want := fmt.Sprintf("[%d bytes more: get id=%q offset=%d]", h.LeftOut, "long.txt", h.Start+len(h.Text)); !strings.Contains(text, want) {
		t.Errorf("%q is not in:\n%s", want, text)
	}
	a = answer{}
	call(t, c, "search", object{"query": "otters", "k": 1}, &a)
	if a.Hits[0].Metadata != nil || a.Hits[0].MoreBytes < 10_000 {
		t.Errorf("heavy metadata: %d bytes left out", a.Hits[0].MoreBytes)
	}
	for _, none := range []struct {
		args object
		want string
	}{
		{object{"query": "zebra", "mode": "lexical"}, "no document contains a word"},
		{object{"query": "keys", "filter": `lang = "fr"`}, "no document matches the filter"},
		{object{"query": "keys", "offset": 50}, "no more hits after"},
		{object{"query": "keys", "min_score": 1e9}, "min_score"},
	} {
		a = answer{}
		if text, failed := call(t, c, "search", none.args, &a); failed || len(a.Hits) != 0 || !strings.Contains(text, none.want) {
			t.Errorf("%v: %q", none.args, text)
		}
	}
}

// TestSearchPages reads a search by next_offset: no hit comes twice, and where the pages end the refusal says what to do.
func TestSearchPages(t *testing.T) {
	e := shelf(t)
	var docs []engine.Document
	for i := range 400 {
		docs = append(docs, engine.Document{ID: fmt.Sprint("p", i), Text: fmt.Sprintf("Lantern %d is lit by keeper %d.", i, i%7)})
	}
	if _, err := e.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	c := connect(t, e, mcp.Options{})
	for mode, want := range map[string]int{"hybrid": 100, "dense": 405} {
		seen := map[string]bool{}
		for offset := 0; ; {
			var a answer
			text, failed := call(t, c, "search", object{"query": "lantern of keeper 3", "mode": mode, "k": 20, "offset": offset}, &a)
			if failed {
				if mode != "hybrid" || !strings.Contains(text, "pages of this search end at hit 100") || offset != 100 {
					t.Errorf("%s at %d: %s", mode, offset, text)
				}
				break
			}
			for _, h := range a.Hits {
				if seen[h.ID] {
					t.Errorf("%s: %s is on two pages", mode, h.ID)
				}
				seen[h.ID] = true
			}
			if offset = a.NextOffset; offset == 0 {
				break
			}
		}
		if len(seen) != want {
			t.Errorf("%s: %d hits, want %d", mode, len(seen), want)
		}
	}
}

// Words of other scripts, signs and function words are found as they are typed.
func TestSearchWordsAsTyped(t *testing.T) {
	e := shelf(t)
	if _, err := e.Upsert(t.Context(), []engine.Document{{ID: "cat", Text: "猫が寝ている 🚀"}, {ID: "air", Text: "CO₂ rose in the Straße."}, {ID: "band", Text: "The Who played."}}); err != nil {
		t.Fatal(err)
	}
	c := connect(t, e, mcp.Options{})
	for query, want := range map[string]string{"猫": "cat", "🚀": "cat", "co2": "air", "strasse": "air", "the who": "band"} {
		var a struct{ Hits []struct{ ID string } }
		if text, failed := call(t, c, "search", object{"query": query, "mode": "lexical"}, &a); failed || len(a.Hits) == 0 || a.Hits[0].ID != want {
			t.Errorf("%s: %s", query, text)
		}
	}
}

// What was searched for besides what was typed is told, by search and by explain.
func TestSearchRepairs(t *testing.T) {
	c := connect(t, shelf(t), mcp.Options{})
	for _, x := range []struct {
		query string
		exact bool
		want  string
	}{
		{"rotate sigining keys", false, "rotate signing keys"},
		{"rotate sigining keys", true, ""},
		{`rotate "sigining" keys`, false, ""},
	} {
		for tool, args := range map[string]object{"search": {}, "explain": {"id": "keys.md"}} {
			args["query"], args["exact"] = x.query, x.exact
			var a struct{ For string }
			text, failed := call(t, c, tool, args, &a)
			if told := strings.Contains(text, "for: "+x.want); failed || a.For != x.want || told != (x.want != "") {
				t.Errorf("%s, exact %v: %s was for %q, want %q:\n%s", x.query, x.exact, tool, a.For, x.want, text)
			}
		}
	}
}

// Hits of files say where they stand there, others in which lines of their document.
func TestSearchNamesPlaces(t *testing.T) {
	c := connect(t, shelf(t), mcp.Options{Place: func(h engine.Hit) (string, [2]int, bool) {
		return "/notes/" + h.ID, [2]int{h.Lines[0] + 10, h.Lines[1] + 10}, h.ID == "keys.md"
	}})
	var a answer
	text, _ := call(t, c, "search", object{"query": "signing keys", "k": 1}, &a)
	if h := a.Hits[0]; h.Path != "/notes/keys.md" || len(h.Lines) != 2 || h.Lines[0] != 11 || h.Lines[1] != 11 || !strings.Contains(text, "below /notes\n\n1. keys.md:11-11  score") {
		t.Errorf("%+v\n%s", h, text)
	}
	a = answer{}
	text, _ = call(t, c, "search", object{"query": "lanterns", "per_chunk": true, "mode": "lexical", "k": 2}, &a)
	for _, h := range a.Hits {
		if h.Path != "" || len(h.Lines) != 2 || h.Lines[1]-h.Lines[0] != strings.Count(strings.TrimSuffix(h.Text, "\n"), "\n") || !strings.Contains(text, fmt.Sprintf("lines %d-%d", h.Lines[0], h.Lines[1])) {
			t.Errorf("%+v\n%s", h, text)
		}
	}
}

// A passage that is cut shows what answers the query, and says where that stands.
func TestSearchShowsTheSpan(t *testing.T) {
	db := shelf(t)
	d, err := db.Get(t.Context(), "long.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []mcp.Options{{}, {Place: func(h engine.Hit) (string, [2]int, bool) {
		return "/notes/" + h.ID, [2]int{h.Lines[0] + 10, h.Lines[1] + 10}, true
	}}} {
		c := connect(t, db, o)
		later := 0
		if o.Place != nil {
			later = 10
		}
		away := 0
		for line := 60; line < 80; line++ {
			var a answer
			text, _ := call(t, c, "search", object{"query": fmt.Sprint("line ", line), "mode": "lexical", "k": 1, "max_text": 60}, &a)
			h := a.Hits[0]
			if !slices.Equal(h.BestLines, []int{line + later, line + later}) || !strings.Contains(h.Text, fmt.Sprintf("Line %d ", line)) || len(h.Text) > 60 {
				t.Fatalf("line %d: %+v", line, h)
			}
			if d.Text[h.TextStart:h.TextStart+len(h.Text)] != h.Text || h.LeftOut != h.End-h.Start-len(h.Text) {
				t.Errorf("text of %d stands at %d, %d left out", line, h.TextStart, h.LeftOut)
			}
			first := 1 + strings.Count(d.Text[:h.TextStart], "\n") + later
			last := first + strings.Count(h.Text[:len(h.Text)-1], "\n")
			if o.Place != nil {
				if want := fmt.Sprintf("1. long.txt:%d-%d  score", first, last); !strings.Contains(text, want) || strings.Contains(text, "get id") {
					t.Errorf("want %q:\n%s", want, text)
				}
				var read struct{ Text string }
				if call(t, c, "get", object{"id": "long.txt", "line": line + later, "limit": 20}, &read); !strings.HasPrefix(read.Text, fmt.Sprintf("Line %d ", line)) {
					t.Errorf("line %d begins with %q", line+later, read.Text)
				}
				away++
				continue
			}
			if want := fmt.Sprintf("1. long.txt  lines %d-%d  score", first, last); !strings.Contains(text, want) {
				t.Errorf("want %q:\n%s", want, text)
			}
			if before := h.TextStart - h.Start; before > 0 {
				away++
				if !strings.Contains(text, fmt.Sprintf("[%d bytes before: get id=%q offset=%d]", before, "long.txt", h.Start)) {
					t.Errorf("what is before is not told:\n%s", text)
				}
			}
			if end := h.TextStart + len(h.Text); end < h.End && !strings.Contains(text, fmt.Sprintf("[%d bytes more: get id=%q offset=%d]", h.End-end, "long.txt", end)) {
				t.Errorf("what is behind is not told:\n%s", text)
			}
		}
		if away < 8 {
			t.Errorf("only %d spans stand behind the beginning", away)
		}
	}
}

// What an error says of the machine is for the log alone.
func TestErrorsOfTheMachineAreLogged(t *testing.T) {
	var log bytes.Buffer
	for err, want := range map[error]string{
		errors.New("open /home/me/secret: input/output error"):     "see the log of the server",
		fmt.Errorf("%w: /home/me/secret", engine.ErrCorrupt):       "try again",
		fmt.Errorf("%w: /home/me/secret", engine.ErrNoSpace):       "free space",
		fmt.Errorf("%w: secret.example:443", encoder.ErrSource):    "mode lexical",
		fmt.Errorf("search: secret: %w", context.DeadlineExceeded): "took too long",
	} {
		log.Reset()
		c := connect(t, failing{err: err}, mcp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		text, failed := call(t, c, "search", object{"query": "x"}, nil)
		if !failed || strings.Contains(text, "secret") || !strings.Contains(text, want) {
			t.Errorf("%v: told %q", err, text)
		}
		c.Close()
		if !strings.Contains(log.String(), "secret") {
			t.Errorf("%v: logged %q", err, log.String())
		}
	}
}

// What all hits of an answer have of text is bounded; what is left out of each is counted.
func TestAnswersAreBounded(t *testing.T) {
	big := make([]engine.Hit, 40)
	for i := range big {
		big[i] = engine.Hit{ID: fmt.Sprint(i), Rank: i + 1, Text: strings.Repeat("word ", 10_000), End: 50_000}
	}
	c := connect(t, fixed{res: engine.Result{Hits: big}}, mcp.Options{})
	var a answer
	if text, failed := call(t, c, "search", object{"query": "x", "k": 40, "max_text": 20_000}, &a); failed || len(text) > 300_000 {
		t.Fatalf("%d bytes", len(text))
	}
	sum := 0
	for _, h := range a.Hits {
		sum += len(h.Text)
		if len(h.Text)+h.LeftOut != 50_000 {
			t.Errorf("%d bytes and %d left out of 50000", len(h.Text), h.LeftOut)
		}
	}
	if len(a.Hits) != 40 || sum > 256<<10 || sum < 200<<10 {
		t.Errorf("%d hits with %d bytes", len(a.Hits), sum)
	}
}

// A token adds what shift and scale give together; those that give most come first.
func TestExplainAddsUpTokens(t *testing.T) {
	x := engine.Explanation{Hit: engine.Hit{Probability: .25}, Attributed: true, Tokens: []explain.Token{{Token: "small", Shift: 0.25, Scale: -0.125}, {Token: "big", Shift: -0.25, Scale: -0.5}}}
	var got struct {
		Probability float64
		Tokens      []struct {
			Token string
			Adds  float64
		}
	}
	text, _ := call(t, connect(t, fixed{x: x}, mcp.Options{}), "explain", object{"query": "x", "id": "a"}, &got)
	if len(got.Tokens) != 2 || got.Tokens[0].Token != "big" || got.Tokens[0].Adds != -0.75 || got.Tokens[1].Adds != 0.125 || !strings.Contains(text, "big  -0.7500") {
		t.Errorf("%+v\n%s", got, text)
	}
	if got.Probability != .25 || !strings.Contains(text, "\nrelevant with a probability of about 0.25\n") {
		t.Errorf("%+v\n%s", got, text)
	}
}

// Ties are told where there are some, and no more of them than a reader can use.
func TestExplainTies(t *testing.T) {
	x := engine.Explanation{Ties: []explain.Tie{{Word: "brakes", Match: "wheel\nshoe", Cosine: 0.625, Weight: 1}}}
	var got struct {
		Ties []struct {
			Word, Match string
			Cosine      float64
		}
	}
	text, _ := call(t, connect(t, fixed{x: x}, mcp.Options{}), "explain", object{"query": "x", "id": "a"}, &got)
	if len(got.Ties) != 1 || got.Ties[0].Word != "brakes" || got.Ties[0].Match != "wheel\nshoe" || got.Ties[0].Cosine != 0.625 || !strings.Contains(text, "brakes  wheel shoe  0.6") {
		t.Errorf("%+v\n%s", got, text)
	}
	x.Ties[0].Match = strings.Repeat("漢", 1<<20)
	if text, _ := call(t, connect(t, fixed{x: x}, mcp.Options{}), "explain", object{"query": "x", "id": "a"}, &got); len(text) > 2000 || got.Ties[0].Match != strings.Repeat("漢", 26)+"…" {
		t.Errorf("%d bytes with the word %.100q", len(text), got.Ties[0].Match)
	}
	x.Ties = slices.Repeat(x.Ties, 1000)
	if call(t, connect(t, fixed{x: x}, mcp.Options{}), "explain", object{"query": "x", "id": "a"}, &got); len(got.Ties) != 64 {
		t.Errorf("%d ties", len(got.Ties))
	}
	x.Ties, got.Ties = nil, nil
	if text, _ := call(t, connect(t, fixed{x: x}, mcp.Options{}), "explain", object{"query": "x", "id": "a"}, &got); got.Ties != nil || strings.Contains(text, "answers") {
		t.Errorf("%+v\n%s", got, text)
	}
}

// fixed is a database with one answer.
type fixed struct {
	mcp.Database
	res engine.Result
	x   engine.Explanation
}

func (f fixed) Search(context.Context, engine.Query) (engine.Result, error) { return f.res, nil }
func (f fixed) Explain(context.Context, engine.Query, string) (engine.Explanation, error) {
	return f.x, nil
}

// failing is a database whose searches fail.
type failing struct {
	mcp.Database
	err error
}

func (f failing) Search(context.Context, engine.Query) (engine.Result, error) {
	return engine.Result{}, f.err
}

func TestEmptyDatabase(t *testing.T) {
	e, err := engine.Open(t.Context(), t.TempDir(), encoder.NewHash(64), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c := connect(t, e, mcp.Options{})
	for name, args := range map[string]object{"search": {"query": "keys"}, "list": {}} {
		if text, failed := call(t, c, name, args, nil); failed || !strings.Contains(text, "empty") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

func TestGetReadsAllInParts(t *testing.T) {
	e := shelf(t)
	c := connect(t, e, mcp.Options{})
	want, err := e.Get(t.Context(), "long.txt")
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		Text, Title string
		Start, End  int
		Bytes       int
		FirstLine   int `json:"first_line"`
		NextOffset  int `json:"next_offset"`
		Metadata    map[string]any
	}
	for _, limit := range []int{1, 97, 1000, 200_000} { // 1 is less than some characters have
		var got strings.Builder
		for offset, n := 0, 0; n == 0 || offset > 0; n++ {
			if limit == 1 && n == 60 {
				got.WriteString(want.Text[offset:])
				break
			}
			var p part
			if text, failed := call(t, c, "get", object{"id": "long.txt", "offset": offset, "limit": limit}, &p); failed {
				t.Fatal(text)
			}
			if p.Start != offset || p.End != p.Start+len(p.Text) || p.Bytes != len(want.Text) || p.FirstLine != 1+strings.Count(want.Text[:p.Start], "\n") {
				t.Fatalf("limit %d: %+v", limit, p)
			}
			got.WriteString(p.Text)
			offset = p.NextOffset
		}
		if got.String() != want.Text {
			t.Errorf("limit %d: the parts do not make the text", limit)
		}
	}
	var p part
	text, _ := call(t, c, "get", object{"id": "keys.md"}, &p)
	if p.Title != "Signing keys" || p.Metadata["lang"] != "en" || !strings.Contains(text, `metadata: {"big":9007199254740993`) {
		t.Errorf("%+v\n%s", p, text)
	}
}

func TestList(t *testing.T) {
	e := shelf(t)
	if _, err := e.Upsert(t.Context(), []engine.Document{{ID: "z\xff", Text: "not UTF-8"}, {ID: "z\xff2", Text: "likewise"}}); err != nil {
		t.Fatal(err)
	}
	c := connect(t, e, mcp.Options{})
	type page struct {
		Total      int
		NextAfter  string `json:"next_after"`
		NextOffset int    `json:"next_offset"`
		Documents  []struct{ ID, Beginning string }
	}
	want := "a/b %41?#ü backup.md keys.md long.txt schluessel.md z\ufffd z\ufffd2"
	for _, by := range []string{"after", "offset"} {
		var ids []string
		args, seen, total := object{"limit": 2}, 0, 0
		for more := true; more; {
			var l page
			text, failed := call(t, c, "list", args, &l)
			if failed {
				t.Fatal(text)
			}
			for i, d := range l.Documents {
				ids = append(ids, d.ID)
				number := i + 1
				if by == "offset" {
					number += seen
				}
				if want := fmt.Sprintf("%d. %s  (", number, d.ID); !strings.Contains(text, want) || !strings.Contains(text, d.Beginning) {
					t.Errorf("%q is not in:\n%s", want, text)
				}
			}
			if more = l.NextAfter != ""; more != strings.Contains(text, fmt.Sprintf("after=%q", l.NextAfter)) || (by == "offset" || seen == 0) && more != (l.NextOffset > 0) {
				t.Errorf("%s: %+v\n%s", by, l, text)
			}
			seen, total = seen+len(l.Documents), l.Total
			if args = (object{"limit": 2, "after": l.NextAfter}); by == "offset" {
				args = object{"limit": 2, "offset": l.NextOffset}
			}
			if seen > 20 {
				t.Fatalf("%s: the list does not end: %q", by, ids)
			}
		}
		if got := strings.Join(ids, " "); total != 7 || got != want {
			t.Errorf("%s: %d documents: %s", by, total, got)
		}
	}
	for _, args := range []object{{"after": "keys.md", "offset": 1}, {"after": "\x00x"}} {
		if text, failed := call(t, c, "list", args, nil); !failed || !strings.Contains(text, "next_after") {
			t.Errorf("%v: %s", args, text)
		}
	}
	if text, failed := call(t, c, "list", object{"filter": "year >= 2024"}, nil); failed || !strings.Contains(text, "1 documents match") && !strings.Contains(text, "1 document matches") {
		t.Errorf("%v %s", failed, text)
	}
	var l page
	if text, failed := call(t, c, "list", object{"filter": `id ^= "k" or id = "backup.md"`}, &l); failed || l.Total != 2 || l.Documents[0].ID != "backup.md" {
		t.Errorf("%+v %s", l, text)
	}
}

func TestIndexStores(t *testing.T) {
	e := shelf(t)
	c := connect(t, e, mcp.Options{})
	var r struct{ Unchanged int }
	docs := []object{
		{"id": "new", "title": "T", "text": "A text about quokkas.", "metadata": object{"n": json.Number("9007199254740993"), "nested": object{"a": []any{1, "x", nil}}}},
		{"id": "keys.md", "text": "Keys are now rotated by a machine."},
	}
	if text, failed := call(t, c, "index", object{"documents": docs}, &r); failed || r.Unchanged != 2 || !strings.Contains(text, "1 added, 1 replaced, 0 unchanged") {
		t.Fatalf("%+v %s", r, text)
	}
	d, err := e.Get(context.Background(), "new")
	if err != nil || fmt.Sprint(d.Metadata["n"]) != "9007199254740993" || d.Title != "T" {
		t.Errorf("%+v %v", d, err)
	}
	var a answer
	call(t, c, "search", object{"query": "quokkas", "k": 1}, &a)
	if a.Hits[0].ID != "new" {
		t.Errorf("the new document is not found first: %+v", a.Hits)
	}
	// All or none.
	if text, failed := call(t, c, "index", object{"documents": []object{{"id": "good", "text": "good"}, {"id": "", "text": "bad"}}}, nil); !failed || !strings.Contains(text, "document 1") {
		t.Errorf("%v %s", failed, text)
	}
	if _, failed := call(t, c, "get", object{"id": "good"}, nil); !failed {
		t.Error("half of a refused call is stored")
	}
}

func TestExplain(t *testing.T) {
	c := connect(t, shelf(t), mcp.Options{})
	var x struct {
		ID, Mode string
		Rank     int
		Score    float64
		Terms    []struct{ Weight, Value float64 }
		Words    []struct {
			Word  string
			Count int
		}
		Tokens []struct{ Adds float64 }
	}
	text, failed := call(t, c, "explain", object{"id": "keys.md", "query": "signing keys zebra"}, &x)
	if failed || x.ID != "keys.md" || x.Rank != 1 || len(x.Words) != 3 || len(x.Tokens) == 0 {
		t.Fatalf("%+v %s", x, text)
	}
	sum := 0.0
	for _, term := range x.Terms {
		sum += term.Weight * term.Value
	}
	if d := sum - x.Score; d > 1e-4 || d < -1e-4 {
		t.Errorf("the terms add up to %v, the score is %v", sum, x.Score)
	}
	for _, want := range []string{"rank 1", "score ", "cosine", "zebra  ", "missing", "tokens"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

func TestResources(t *testing.T) {
	e := shelf(t)
	if _, err := e.Upsert(t.Context(), []engine.Document{{ID: "x%41", Text: "An id that looks encoded."}}); err != nil {
		t.Fatal(err)
	}
	c := connect(t, e, mcp.Options{})
	templates, err := c.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 1 || !strings.HasPrefix(templates.ResourceTemplates[0].URITemplate, "lexsem://documents/") {
		t.Fatalf("%+v %v", templates, err)
	}
	for uri, want := range map[string]string{
		"lexsem://documents/keys.md":                   "Signing keys\n\nRotate the signing keys every ninety days.",
		"lexsem://documents/a%2Fb%20%2541%3F%23%C3%BC": "An odd name for a text about otters.",
		"lexsem://documents/x%41":                      "An id that looks encoded.",
		"lexsem://documents/a/b%20%2541?#%C3%BC":       "An odd name for a text about otters.",
	} {
		r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil || len(r.Contents) != 1 || r.Contents[0].Text != want || r.Contents[0].URI != uri {
			t.Errorf("%s: %+v %v", uri, r, err)
		}
	}
	for _, uri := range []string{"lexsem://documents/none", "lexsem://documents/%zz", "lexsem://documents/", "file:///etc/passwd"} {
		if r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s is answered with %+v", uri, r)
		}
	}
}

func TestRefusalsNameTheRemedy(t *testing.T) {
	c := connect(t, shelf(t), mcp.Options{})
	for _, r := range []struct {
		tool string
		args any
		want []string
	}{
		{"search", object{}, []string{"query is empty"}},
		{"search", object{"query": "  "}, []string{"query is empty"}},
		{"search", object{"query": 7}, []string{"query", "number", "text"}},
		{"search", object{"query": "x", "limit": 3}, []string{`"limit"`, "k"}},
		{"search", object{"query": "x", "k": 0}, []string{"k is 0", "1 to 100"}},
		{"search", object{"query": "x", "k": 2.5}, []string{"k", "whole number"}},
		{"search", object{"query": "x", "k": "5"}, []string{"k", "string", "whole number"}},
		{"search", object{"query": "x", "offset": -1}, []string{"offset is -1"}},
		{"search", object{"query": "x", "offset": 1 << 40}, []string{"offset"}},
		{"search", object{"query": "x", "max_text": -1}, []string{"max_text"}},
		{"search", object{"query": "x", "mode": "semantic"}, []string{`"semantic"`, "dense"}},
		{"search", object{"query": "x", "variant": "nope"}, []string{"nope"}},
		{"search", object{"query": "x", "variant": "slr"}, []string{"slr", "leave variant out"}},
		{"search", object{"query": "x", "filter": "year >"}, []string{"character", "operators"}},
		{"search", object{"query": "x", "boost": "recency(year)"}, []string{"boost, character 13", "recency(year)"}},
		{"search", object{"query": "x", "sort": "year up"}, []string{"sort, character 6"}},
		{"search", object{"query": "x", "per_group": 2}, []string{"group"}},
		{"search", object{"query": strings.Repeat("x ", 40_000)}, []string{"80000 bytes", "65536"}},
		{"search", object{"like": []string{"nope"}}, []string{"nope", "ID:LINE"}},
		{"search", object{"unlike": []string{"keys.md"}}, []string{"query is empty"}},
		{"get", object{"id": "nope"}, []string{"nope", "search or list"}},
		{"get", object{"id": ""}, []string{"ids have 1 to 1024"}},
		{"get", object{"id": strings.Repeat("i", 1025)}, []string{"ids have 1 to 1024"}},
		{"get", object{"id": "keys.md", "offset": 1000}, []string{"offset is 1000", "0 to 42"}},
		{"get", object{"id": "keys.md", "limit": 0}, []string{"limit is 0"}},
		{"list", object{"limit": -1}, []string{"limit is -1"}},
		{"list", object{"filter": "year 7"}, []string{"character", "operators"}},
		{"explain", object{"id": "nope", "query": "x"}, []string{"nope", "search or list"}},
		{"explain", object{"id": "keys.md"}, []string{"query is empty"}},
		{"index", object{}, []string{"needs documents"}},
		{"index", object{"documents": []any{}}, []string{"1 to 1024"}},
		{"index", object{"documents": make([]object, 1025)}, []string{"1025", "1 to 1024"}},
		{"index", object{"documents": []object{{"id": "a", "text": " "}}}, []string{"document 0", `"a"`}},
		{"index", object{"documents": []object{{"id": "a", "body": "x"}}}, []string{"body"}},
		{"index", object{"documents": "x"}, []string{"documents", "array"}},
	} {
		text, failed := call(t, c, r.tool, r.args, nil)
		if !failed {
			t.Errorf("%s %.80v is answered: %s", r.tool, r.args, text)
		}
		for _, want := range r.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s %.80v: %q is not in %q", r.tool, r.args, want, text)
			}
		}
	}
}

// TestWholeNumbers: an integer may be written as a float, as clients do that know no other numbers; a fraction may not.
func TestWholeNumbers(t *testing.T) {
	c := connect(t, shelf(t), mcp.Options{})
	n := 0
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		schema := tool.InputSchema.(map[string]any)
		for name, p := range schema["properties"].(map[string]any) {
			if p.(map[string]any)["type"] != "integer" {
				continue
			}
			n++
			for number, whole := range map[string]bool{"5.0": true, "1e1": true, "-2.0": true, "5.5": false, "1e300": false} {
				args := object{name: json.RawMessage(number), "query": "keys", "id": "keys.md"}
				for given := range args {
					if schema["properties"].(map[string]any)[given] == nil {
						delete(args, given)
					}
				}
				text, _ := call(t, c, tool.Name, args, nil)
				if refused := strings.Contains(text, "whole number"); refused == whole {
					t.Errorf("%s, %s %s: %.200s", tool.Name, name, number, text)
				}
			}
		}
	}
	if n < 5 {
		t.Errorf("%d integers", n)
	}
	if text, failed := call(t, c, "list", object{"json": "true"}, nil); !failed || text != "json: got string, want true or false" {
		t.Errorf("a text for true: %s", text)
	}
}

// The schemas must not allow what the tools refuse, nor refuse what they allow.
func TestSchemasSayWhatIsRefused(t *testing.T) {
	c := connect(t, shelf(t), mcp.Options{})
	in := func(tool string) *jsonschema.Resolved {
		return inputSchema(t, c, tool)
	}
	for _, r := range []struct {
		tool string
		args string
		good bool
	}{
		{"search", `{"query":"x"}`, true},
		{"search", `{"query":"x","k":100,"offset":0,"mode":"auto","variant":"","filter":"","min_score":0.5,"per_chunk":true,"max_text":0}`, true},
		{"search", `{"query":""}`, false},
		{"search", `{"query":"x","k":101}`, false},
		{"search", `{"query":"x","mode":"semantic"}`, false},
		{"search", `{"query":"x","max_text":20001}`, false},
		{"search", `{"query":"x","limit":1}`, false},
		{"get", `{"id":"x","limit":200000}`, true},
		{"get", `{"id":"x","limit":200001}`, false},
		{"list", `{"limit":0}`, true},
		{"list", `{"limit":501}`, false},
		{"index", `{"documents":[{"id":"a","text":"b","metadata":{"x":[1,null,{}]}}]}`, true},
		{"index", `{"documents":null}`, false},
		{"index", `{"documents":[]}`, false},
		{"index", `{"documents":[{"text":"b"}]}`, false},
		{"explain", `{"query":"x"}`, false},
	} {
		var v any
		if err := json.Unmarshal([]byte(r.args), &v); err != nil {
			t.Fatal(err)
		}
		if err := in(r.tool).Validate(v); (err == nil) != r.good {
			t.Errorf("%s %s: the schema says %v", r.tool, r.args, err)
		}
	}
}

// TestListTellsProblems: list says what the database lacks of its files, without a filter.
func TestListTellsProblems(t *testing.T) {
	e := shelf(t)
	c := connect(t, e, mcp.Options{})
	var l struct {
		Lacks   int
		Lacking []struct{ State, Path, Reason, Since string }
	}
	if text, failed := call(t, c, "list", object{}, &l); failed || l.Lacks != 0 || strings.Contains(text, "lacks") {
		t.Errorf("nothing is wrong: %s, %+v", text, l)
	}
	stats, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := []problems.Problem{{State: problems.Failed, Path: "a/b.md", Line: 3, Reason: "why"}, {State: problems.Stale, Path: "c.txt", Documents: 1, Reason: "no text"}}
	if err := problems.Write(stats.Dir, "/home/me/notes", problems.LeftOut{}, list); err != nil {
		t.Fatal(err)
	}
	text, failed := call(t, c, "list", object{}, &l)
	if failed || l.Lacks != 2 || len(l.Lacking) != 2 || l.Lacking[0].Path != "notes/a/b.md" || l.Lacking[1].State != "stale" {
		t.Errorf("%+v", l)
	}
	if !strings.Contains(text, "2 in all") || !strings.Contains(text, ": notes/a/b.md:3: why") || strings.Contains(text, "/home/me") {
		t.Errorf("text: %s", text)
	}
	if text, failed := call(t, c, "list", object{"filter": "year >= 2024"}, nil); failed || strings.Contains(text, "lacks") {
		t.Errorf("with a filter: %s", text)
	}
	other, err := engine.Open(t.Context(), t.TempDir(), encoder.NewHash(64), engine.Options{NoSync: true, Language: "bg"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	if _, err := other.Add(t.Context(), []engine.Document{{ID: "ru", Text: "Поезд опоздал на сорок минут из-за снега."}}); err != nil {
		t.Fatal(err)
	}
	var noted struct{ Note string }
	if text, failed := call(t, connect(t, other, mcp.Options{}), "list", object{}, &noted); failed || !strings.HasPrefix(noted.Note, "most text is Russian; ") || !strings.Contains(text, "Note: most text is Russian; ") {
		t.Errorf("another language: %q, %s", noted.Note, text)
	}
}
