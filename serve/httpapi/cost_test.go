package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/yield"
)

// allocated is how many bytes f allocates. Where that is more than bound it is called again, for
// others may be at work.
func allocated(bound int64, f func()) (n int64) {
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		if n = int64(after.TotalAlloc - before.TotalAlloc); n <= bound {
			break
		}
	}
	return n
}

// repeated is a body of about n bytes, unit after unit, with commas between.
func repeated(begin, unit, end string, n int) string {
	return begin + strings.Repeat(unit+",", max(n-len(begin)-len(unit)-len(end), 0)/(len(unit)+1)) + unit + end
}

func numbered(begin, format, end string, n int) string {
	b := []byte(begin)
	for i := 0; len(b) < n; i++ {
		b = append(fmt.Appendf(b, format, i), ',')
	}
	return string(bytes.TrimSuffix(b, []byte(","))) + end
}

// bombs are bodies of about n bytes for a form, whose values would take much more: arrays in each
// field that may have one, written in several ways, and what no form knows.
func bombs(f *form, n int) (all []string) {
	for _, unit := range []string{`{}`, `0`, `""`, `{"a":0}`, `[[]]`} {
		for _, x := range f.fields {
			if len(x.form.fields) > 0 || x.form.of != nil || x.form.free {
				all = append(all, repeated(`{"`+x.name+`":[`, unit, `]}`, n), repeated(`{`, `"`+x.name+`":[`+unit+`]`, `}`, n), repeated(`{"`+x.name+`":{"a":[`, unit, `]}}`, n), repeated(`{"`+x.name+`":[{"metadata":{"a":[`, unit, `]}}]}`, n))
			}
		}
		all = append(all, repeated(`{"x":[`, unit, `]}`, n), repeated(`{`, `"x":`+unit, `}`, n), repeated(`[`, unit, `]`, n))
	}
	for _, x := range f.fields {
		folded := strings.Replace(strings.ToUpper(x.name), "S", "ſ", 1)
		all = append(all, repeated(`{"`+folded+`":[`, `{}`, `]}`, n), repeated(fmt.Sprintf(`{"\u%04x%s":[`, x.name[0], x.name[1:]), `{}`, `]}`, n))
	}
	return append(all, numbered(`{"metadata":{`, `"%d":0`, `}}`, n), numbered(`{"documents":[{"metadata":{`, `"%d":{}`, `}}]}`, n), numbered(`{`, `"%d":0`, `}`, n),
		strings.Repeat(`[`, n), strings.Repeat(`{"a":`, n/5), `{"`+strings.Repeat("k", n)+`":0}`, `"`+strings.Repeat("k", n)+`"`, repeated(`{"documents":[`, `{}`, ``, n), repeated(`{"documents":[`, `{}`, `]}{"documents":[`, n))
}

// TestBodiesTakeBoundedMemory sends bombs to every route that takes a body, and to /mcp and as
// lines: each is answered, and the server allocates no more for it than its share of the memory for
// values and some copies of the body. They are of 16 KiB, and that memory is as many times as
// much as it is by default.
func TestBodiesTakeBoundedMemory(t *testing.T) {
	const size = 16 << 10
	const most = buffersPerLimit * size
	enc := encoder.NewHash(8)
	db := literal{database(t, enc, engine.Options{}), new([]string)}
	swallow := func(func(*http.Request) bool) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var v any
			if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
				t.Log(err)
			}
		})
	}
	o, err := Options{Encoder: enc, MaxBody: 2 * size, MaxBulk: 8 * size, Collections: literalSets{db}, MCP: swallow}.filled()
	if err != nil {
		t.Fatal(err)
	}
	c := clientOf(t, db, o)
	c.s.values = newValues(most, o.QueueTime)
	sent := map[int]int{}
	send := func(method, path, kind, body string, bound int64) {
		t.Helper()
		var w *httptest.ResponseRecorder
		once := func() {
			r := c.request(method, strings.NewReplacer("{name}", "notes", "{id...}", "keys").Replace(path), body)
			r.Header.Set("Content-Type", kind)
			w = httptest.NewRecorder()
			c.s.ServeHTTP(w, r)
		}
		if got := allocated(bound, once); got > bound || w.Code >= 500 || w.Code == 429 {
			t.Errorf("%s %s: %d and %d KiB, %d at most, for %.60s: %.200s", method, path, w.Code, got>>10, bound>>10, body, w.Body)
		}
		sent[w.Code]++
		if n, m := c.s.buffers.taken(), c.s.values.used.Load(); n != 0 || m != 0 {
			t.Fatalf("%s %s: %d and %d bytes are still held", method, path, n, m)
		}
	}
	for _, rt := range routes() {
		if rt.in == nil {
			continue
		}
		for i, body := range bombs(formOf(reflect.TypeOf(rt.in()), o.MaxTexts), size) {
			if i%5 > 0 && strings.HasPrefix(rt.path, collectionPrefix) {
				continue // as without
			}
			send(rt.method, rt.path, kindJSON, body, most+12*size)
		}
	}
	for _, body := range bombs(message, size) {
		send("POST", "/mcp", kindJSON, body, most+12*size)
	}
	for _, body := range bombs(c.s.line, size) {
		send("POST", "/v1/documents", kindNDJSON, body, most+12*size)
		send("POST", "/v1/documents?on_error=skip", kindNDJSON, body+"\n"+body+"\n"+body, 3*(most+12*size))
	}
	for _, status := range []int{200, 400, 413} { // the bombs are of several kinds
		if sent[status] < 10 {
			t.Errorf("%d answers with %d", sent[status], status)
		}
	}
}

// bodiesOf calls f with each type that a route takes, and its form.
func bodiesOf(f func(rt *route, in *form)) {
	for _, rt := range routes() {
		if rt.in != nil && !strings.HasPrefix(rt.path, collectionPrefix) {
			f(rt, formOf(reflect.TypeOf(rt.in()), defaultTexts))
		}
	}
}

// TestCostIsEnough decodes what the forms let through: it takes what they said, or less.
func TestCostIsEnough(t *testing.T) {
	decoded := 0
	bodiesOf(func(rt *route, in *form) {
		for _, body := range append(bombs(in, 8<<10), bombs(in, 800)...) {
			raw := []byte(body)
			cost, err := in.check(raw, rt.strict)
			if err != nil {
				continue
			}
			decoded++
			bound := cost + 2*costCopies*int64(len(raw)) + 32<<10 // and the words of an error
			if got := allocated(bound, func() { _ = decode(raw, rt.in()) }); got > bound {
				t.Errorf("%s: %d bytes, of which the form tells %d, for %d of %.60s", rt.path, got, cost, len(raw), raw)
			}
			if n := testing.AllocsPerRun(1, func() { _, _ = in.check(raw, rt.strict) }); n > 0 {
				t.Errorf("%s: the look before takes %v allocations for %.60s", rt.path, n, raw)
			}
		}
	})
	if decoded < 100 {
		t.Errorf("%d decoded", decoded)
	}
}

// TestLargeBodiesHaveRoom: bodies as long as they may be, as clients send them, fit into the
// memory for values, here a quarter of what they are by default.
func TestLargeBodiesHaveRoom(t *testing.T) {
	const most = defaultBody / 4
	vector := func(number string) string { return `[` + strings.Repeat(number+",", 767) + number + `]` }
	fields := `{"year":2024,"author":"A. Writer","lang":"en","tags":["ops","keys"],"url":"https://docs.example/a/b","draft":false,"size":12034,"updated":"2024-05-06T07:08:09Z"}`
	text := strings.Repeat("Signing keys are rotated every ninety days.\\n", 300)
	lines := formOf(reflect.TypeFor[documentRequest](), defaultTexts)
	documents := formOf(reflect.TypeFor[documentsRequest](), defaultTexts)
	for what, x := range map[string]struct {
		in               *form
		begin, unit, end string
	}{
		"vectors":                  {documents, `{"documents":[`, `{"id":"doc-0001","text":"","vector":` + vector("0.0123,-0.0456") + `}`, `]}`},
		"long numbers":             {documents, `{"documents":[`, `{"id":"doc-0001","vector":` + vector("-0.012345678901234567") + `}`, `]}`},
		"vectors of 65,536 digits": {documents, `{"documents":[`, `{"id":"doc-0001","vector":[` + strings.Repeat("0,", maxVector-1) + `0]}`, `]}`},
		"texts":                    {documents, `{"documents":[`, `{"id":"doc-0001","text":"` + text + `","metadata":` + fields + `}`, `]}`},
		"a text":                   {lines, `{"id":"a",`, `"text":"` + strings.Repeat(text, most/len(text)) + `"`, `}`},
		"a file":                   {lines, `{"id":"a",`, `"data":"` + strings.Repeat("A", most) + `"`, `}`},
		"metadata":                 {lines, `{"id":"a","metadata":{"all":[`, fields, `]}}`},
		"embeddings":               {formOf(reflect.TypeFor[embeddingsRequest](), defaultTexts), `{"input":[`, `"` + text + text + `"`, `]}`},
		"searches":                 {formOf(reflect.TypeFor[batchRequest](), defaultTexts), `{"searches":[`, `{"query":"` + text + `","vector":` + vector("0.123") + `}`, `]}`},
		"an agent's texts":         {message, `{"params":{"arguments":{"documents":[`, `{"id":"doc-0001","text":"` + text + `","metadata":` + fields + `}`, `]}}}`},
	} {
		size := most
		if x.in == documents {
			size = min(size, defaultTexts*(len(x.unit)+1)) // as many as may be
		}
		raw := []byte(repeated(x.begin, x.unit, x.end, size))
		copies := int64(costCopies)
		cost, err := x.in.weigh(raw, x.in != message)
		if x.in == message {
			copies = agentCopies
		}
		if err != nil || cost+copies*int64(len(raw)) > buffersPerLimit*most {
			t.Errorf("%s of %d bytes would take %d MiB: %v", what, len(raw), (cost+copies*int64(len(raw)))>>20, err)
		}
	}
	if o := (engine.Options{Dim: maxVector}); o.Validate() != nil {
		t.Error("no database has vectors as long as may be sent")
	}
	if o := (engine.Options{Dim: maxVector + 1}); o.Validate() == nil {
		t.Error("a database may have vectors that cannot be sent")
	}
}

// TestMemoryForValuesIsWaitedFor: where others hold it, large bodies wait for it as long as
// requests wait, and small ones are served.
func TestMemoryForValuesIsWaitedFor(t *testing.T) {
	c := newClient(t, Options{QueueTime: 20 * time.Millisecond, MCP: tellMayWrite})
	large := `{"query": "keys", "filter": "` + strings.Repeat(" ", 1<<20) + `"}`
	doc := `{"id": "new", "text": "` + strings.Repeat("x", 1<<20) + `"}`
	agent := func(body string) int {
		w := httptest.NewRecorder()
		c.s.ServeHTTP(w, c.request("POST", "/mcp", body))
		return w.Code
	}
	others := holding{of: c.s.values}
	if err := others.take(t.Context(), c.s.values.most); err != nil {
		t.Fatal(err)
	}
	got := c.ask("POST", "/v1/search", large)
	c.want(got, 429, "overloaded")
	c.want(c.ask("POST", "/v1/documents", `{"documents": [`+doc+`]}`), 429, "overloaded")
	c.want(c.ask("POST", "/v1/documents", lines(doc)), 429, "overloaded")
	c.want(c.ask("POST", "/v1/documents?on_error=skip", lines(doc)), 429, "overloaded")
	c.want(c.ask("POST", "/v1/search", `{"query": "keys"}`), 200, "")
	c.want(c.ask("PUT", "/v1/documents/small", `{"text": "small"}`), 200, "")
	if a, b := agent(large), agent(`{}`); a != 429 || b != 200 {
		t.Errorf("agents are answered with %d and %d", a, b)
	}
	if c.count() != len(corpus)+1 || c.s.buffers.taken() != 0 || c.s.values.used.Load() != c.s.values.most {
		t.Errorf("%d documents, %d and %d bytes held", c.count(), c.s.buffers.taken(), c.s.values.used.Load())
	}

	// A bulk that finds no memory stores what it has first, and then waits.
	others.keep(c.s.values.most - 8<<10)
	short := `{"id": "s%d", "text": "x", "metadata": {"a": 1}}` + "\n"
	bulk := fmt.Sprintf(short, 1) + fmt.Sprintf(short, 2) + doc + "\n" + fmt.Sprintf(short, 3)
	got = c.ask("POST", "/v1/documents", lines(bulk))
	c.want(got, 429, "overloaded")
	if got.at(t, "error", "at") != 3.0 || got.at(t, "error", "stored", "added") != 2.0 {
		t.Error(got.raw)
	}
	c.s.values.patient = time.Hour
	waits := make(chan response, 1)
	go func() { waits <- c.ask("POST", "/v1/documents", lines(bulk)) }()
	for range 100 {
		runtime.Gosched()
	}
	others.keep(0)
	if got := <-waits; got.status != 200 || got.at(t, "added") != 2.0 || got.at(t, "unchanged") != 2.0 {
		t.Error(got.raw)
	}
	if n := c.s.values.used.Load(); n != 0 {
		t.Errorf("%d bytes are still held", n)
	}
	c.want(c.ask("POST", "/v1/search", large), 400, "invalid_filter")
}

// TestLargeBodiesTakeTurns: of each way in, a large body waits for a turn among large ones, and ends with its request
// while it waits.
func TestLargeBodiesTakeTurns(t *testing.T) {
	c := newClient(t, Options{MCP: tellMayWrite, LoadTimeout: time.Minute})
	fill := strings.Repeat(" ", largeBody)
	for _, body := range []string{"search", "batch", "documents", "mcp"} {
		path, raw := "/v1/"+body, `{"query": "keys"}`
		switch body {
		case "batch":
			path, raw = "/v1/search/batch", `{"searches": [{"query": "keys"}]}`
		case "documents":
			raw = `{"documents": [{"id": "a", "text": "keys"}]}`
		case "mcp":
			path, raw = "/mcp", "{}"
		}
		for range cap(c.s.values.large) {
			c.s.values.large <- struct{}{}
		}
		ask := func(ctx context.Context) int {
			w := httptest.NewRecorder()
			c.s.ServeHTTP(w, c.request("POST", path, raw+fill).WithContext(ctx))
			return w.Code
		}
		ended, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if got := ask(ended); got == 200 {
			t.Errorf("%s: done without a turn", path)
		}
		cancel()
		answered := make(chan int)
		go func() { answered <- ask(t.Context()) }()
		<-c.s.values.large
		if got := <-answered; got != 200 {
			t.Errorf("%s: %d in its turn", path, got)
		}
		for range cap(c.s.values.large) - 1 {
			<-c.s.values.large
		}
		c.s.running.Wait()
		if n := len(c.s.values.large) + len(c.s.slots.free); n != 0 {
			t.Errorf("%s: %d turns are still held", path, n)
		}
	}
}

// TestLargeMessageLeaves: the handler of /mcp holds the turn of a large message until it has decoded it, and that of a
// batch until its end.
func TestLargeMessageLeaves(t *testing.T) {
	var c *client
	held := 0
	c = newClient(t, Options{MCP: func(func(*http.Request) bool) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			before := len(c.s.values.large)
			yield.EndTurn(r.Context())
			held = 10*before + len(c.s.values.large)
		})
	}})
	fill := strings.Repeat(" ", largeBody)
	for raw, want := range map[string]int{"{}": 0, "{}" + fill: 10, fill + "[{}, {}]": 11} {
		w := httptest.NewRecorder()
		if c.s.ServeHTTP(w, c.request("POST", "/mcp", raw)); w.Code != 200 || held != want || len(c.s.values.large) != 0 {
			t.Errorf("%.10q: status %d, turns held before and after decoding: %02d, want %02d; %d at the end", raw, w.Code, held, want, len(c.s.values.large))
		}
	}
}

// TestLargeBodiesKeepNoSmallOneOut: where large bodies hold all memory for bodies and all turns for large ones, small
// requests of every kind are served, and a large one is refused or waits.
func TestLargeBodiesKeepNoSmallOneOut(t *testing.T) {
	c := newClient(t, Options{MCP: tellMayWrite})
	b := c.s.buffers
	if err := b.grow(firstBody, b.most); err != nil {
		t.Fatal(err)
	}
	for range cap(c.s.values.large) {
		c.s.values.large <- struct{}{}
	}
	small := func() {
		t.Helper()
		c.want(c.ask("POST", "/v1/search", `{"query": "keys", "filter": "`+strings.Repeat(" ", firstBody/2)+`"}`), 400, "invalid_filter")
		c.want(c.ask("POST", "/v1/search", `{"query": "keys"}`), 200, "")
		c.want(c.ask("POST", "/v1/documents", lines(`{"id": "line", "text": "small"}`)), 200, "")
		c.want(c.ask("PUT", "/v1/documents/small", `{"text": "small"}`), 200, "")
		w := httptest.NewRecorder()
		if c.s.ServeHTTP(w, c.request("POST", "/mcp", `{}`)); w.Code != 200 {
			t.Errorf("an agent is answered with %d", w.Code)
		}
	}
	small()
	large := `{"query": "` + strings.Repeat("keys ", largeBody/4) + `", "k": 0}`
	c.want(c.ask("POST", "/v1/search", large), 429, "overloaded")
	c.want(c.ask("POST", "/v1/documents", lines(`{"id": "line", "text": "`+strings.Repeat("x", 2*firstBody)+`"}`)), 429, "overloaded")
	b.used.Add(-b.most)

	waits := make(chan response, 1)
	go func() { waits <- c.ask("POST", "/v1/search", large) }()
	small()
	select {
	case got := <-waits:
		t.Errorf("a large body has no turn: %.200s", got.raw)
	default:
	}
	for range cap(c.s.values.large) {
		<-c.s.values.large
	}
	if got := <-waits; got.status == 429 || got.status >= 500 {
		t.Errorf("a large body after its turn: %.200s", got.raw)
	}
	if b.taken() != 0 || b.used.Load() != 0 || len(c.s.values.large) != 0 {
		t.Errorf("%d bytes and %d turns are still held", b.taken(), len(c.s.values.large))
	}
	b.firsts.Store(b.most / 4) // ends, too
	c.want(c.ask("POST", "/v1/search", `{"query": "keys"}`), 429, "overloaded")
}

// TestSlowBodyTakesNoTurn: while a client sends, others are served, where one is served at a time.
func TestSlowBodyTakesNoTurn(t *testing.T) {
	c := newClient(t, Options{Concurrency: 1, Queue: 1, QueueTime: time.Millisecond, MCP: tellMayWrite})
	for _, path := range []string{"/v1/search", "/mcp"} {
		body, send := io.Pipe()
		ended := make(chan int, 1)
		go func() {
			w := httptest.NewRecorder()
			c.s.ServeHTTP(w, c.request("POST", path, body))
			ended <- w.Code
		}()
		if _, err := io.WriteString(send, `{"query": `); err != nil { // returns when it is read
			t.Fatal(err)
		}
		c.want(c.ask("POST", "/v1/search", `{"query": "keys"}`), 200, "")
		if n, m := len(c.s.slots.free), c.s.values.used.Load(); n != 0 || m != 0 {
			t.Errorf("%s: %d turns and %d bytes are taken", path, n, m)
		}
		if _, err := io.WriteString(send, `"keys"}`); err != nil {
			t.Fatal(err)
		}
		if err := send.Close(); err != nil {
			t.Fatal(err)
		}
		if code := <-ended; code != 200 {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// FuzzCheck holds the look before decoding to package json: what passes has no more elements
// than it may, and the fields that are not known are the same.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"searches":[{"k":1},{"Query":"x"}]}`, `{"documents":[{"id":"a","vector":[1,2],"metadata":{"a":{"b":[1]}}}]}`, `{"INPUT":["a","b","c"]}`, `{"\u0069nput":"a"}`, `{"query":"\"]}","documents":[{"text":"\\"}]}`,
		`{"k":1}`, `{"data":[1,2]}`, `[{"a":1}]`, `{"a":1 "b":2}`, `{"query" : [ ] , "x" : { "y" : [ {} ] } }`, `{"ſearches":[{}]}`, `"`, `{"a`, `{"a\u00`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		raw := []byte(body)
		bodiesOf(func(rt *route, _ *form) {
			_, err := formOf(reflect.TypeOf(rt.in()), 2).check(raw, rt.strict)
			in := rt.in()
			if err == nil && decode(raw, in) == nil {
				arraysWithin(t, reflect.ValueOf(in), 2, body)
			}
			dec := json.NewDecoder(bytes.NewReader(raw))
			dec.DisallowUnknownFields()
			unknown := dec.Decode(rt.in())
			refused := err != nil && strings.HasPrefix(err.Error(), "invalid: unknown field")
			if rt.strict && err == nil && unknown != nil && strings.HasPrefix(unknown.Error(), "json: unknown field") || refused && unknown == nil && json.Valid(raw) {
				t.Errorf("%s: %v, and package json: %v, for %q", rt.path, err, unknown, body)
			}
		})
	})
}

// arraysWithin fails where an array that is no vector has more elements than it may.
func arraysWithin(t *testing.T, v reflect.Value, most int, body string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			arraysWithin(t, v.Elem(), most, body)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			arraysWithin(t, v.Field(i), most, body)
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k != reflect.Uint8 && k != reflect.Float32 && v.Len() > most {
			t.Errorf("%d elements of %v from %q", v.Len(), v.Type(), body)
		}
		for i := range v.Len() {
			arraysWithin(t, v.Index(i), most, body)
		}
	}
}
