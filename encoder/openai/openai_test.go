package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/encoder/openai"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

const (
	dim = 24
	key = "sk-secret-1234567890"
)

func opened(t *testing.T, o openai.Options) encoder.Encoder {
	t.Helper()
	t.Setenv("OPENAI_API_KEY", key)
	e, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// fake is an encoder of a server that misbehaves as it is told.
func fake(t *testing.T, o openai.Options) (*encoders.API, encoder.Encoder) {
	t.Helper()
	api := encoders.NewAPI(t, dim)
	o.BaseURL, o.Model, o.Dim = api.URL+"/v1", "m", dim
	return api, opened(t, o)
}

func encode(e encoder.Encoder, texts ...string) ([]encoder.Output, error) {
	return e.Encode(context.Background(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
}

func numbered(n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprint("text number ", i))
	}
	return texts
}

func TestConformance(t *testing.T) {
	encodertest.Run(t, func(t *testing.T) encoder.Encoder {
		_, e := fake(t, openai.Options{})
		return e
	})
}

// TestExchange holds requests and answers to the form that OpenAI documents.
func TestExchange(t *testing.T) {
	var path, auth, kind string
	var body map[string]any
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, auth, kind = r.Method+" "+r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type")
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		// 1, 0, 0 and 0, 3, 4, out of order.
		io.WriteString(w, `{"object":"list","data":[
			{"object":"embedding","index":1,"embedding":"AAAAAAAAQEAAAIBA"},
			{"object":"embedding","index":0,"embedding":[1,0,0]}],
			"model":"text-embedding-3-small","usage":{"prompt_tokens":8,"total_tokens":8}}`)
	}))
	defer s.Close()
	e := opened(t, openai.Options{Model: "text-embedding-3-small", Dim: 3, BaseURL: s.URL + "/v1/"})
	out, err := encode(e, "one", "")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"model": "text-embedding-3-small", "input": []any{"one", " "}, "encoding_format": "base64", "dimensions": 3.}
	if path != "POST /v1/embeddings" || auth != "Bearer "+key || kind != "application/json" || !reflect.DeepEqual(body, want) {
		t.Errorf("%s, %s, %s, %v", path, auth, kind, body)
	}
	if !reflect.DeepEqual(out[0].Dense, []float32{1, 0, 0}) || !reflect.DeepEqual(out[1].Dense, []float32{0, .6, .8}) {
		t.Errorf("%v, %v", out[0].Dense, out[1].Dense)
	}
	if f := e.Fingerprint(); f.Model != "openai:text-embedding-3-small" || f.Dim != 3 || f.MaxTokens != 8191 || f.Probed() {
		t.Errorf("%+v", f)
	}
	if e = opened(t, openai.Options{Model: "text-embedding-3-large"}); e.Dim() != 3072 {
		t.Errorf("dimension %d", e.Dim())
	}
}

// A model whose vectors are too long is asked for shorter ones, by one more call; one that refuses is told.
func TestDimensions(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		var asked []int
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in struct {
				Input      []string
				Dimensions int
			}
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				t.Error(err)
			}
			asked = append(asked, in.Dimensions)
			if in.Dimensions > 0 && refuses {
				http.Error(w, `{"error":"no such parameter"}`, http.StatusBadRequest)
				return
			}
			v := []float32{3, 4, 5, 6}
			if in.Dimensions > 0 {
				v = v[:in.Dimensions]
			}
			data := make([]map[string]any, len(in.Input))
			for i := range data {
				data[i] = map[string]any{"index": i, "embedding": v}
			}
			json.NewEncoder(w).Encode(map[string]any{"data": data})
		}))
		defer s.Close()
		e := opened(t, openai.Options{Model: "matryoshka", Dim: 2, BaseURL: s.URL, Concurrency: 1})
		for range 2 {
			out, err := encode(e, "one", "two")
			switch {
			case refuses && (err == nil || !strings.Contains(err.Error(), "matryoshka gives vectors of 4 numbers, and refuses to give 2")):
				t.Errorf("refused: %v", err)
			case !refuses && (err != nil || !reflect.DeepEqual(out[1].Dense, []float32{.6, .8})):
				t.Errorf("%+v, %v", out, err)
			}
		}
		if want := map[bool][]int{false: {0, 2, 2}, true: {0, 2, 0, 2}}[refuses]; !reflect.DeepEqual(asked, want) {
			t.Errorf("refuses %v: asked for %v, want %v", refuses, asked, want)
		}
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]openai.Options{
		"no model":          {},
		"unknown dimension": {Model: "other"},
		"negative":          {Model: "other", Dim: -1},
		"too long":          {Model: "text-embedding-3-small", Dim: 1537},
		"cannot be shorter": {Model: "text-embedding-ada-002", Dim: 100},
		"batches":           {Model: "other", Dim: 3, BatchTexts: 3000},
		"concurrency":       {Model: "other", Dim: 3, Concurrency: -1},
		"scheme":            {Model: "other", Dim: 3, BaseURL: "ftp://x/"},
		"no scheme":         {Model: "other", Dim: 3, BaseURL: "localhost:80/v1"},
		"password":          {Model: "other", Dim: 3, BaseURL: "http://me:" + key + "@localhost/v1"},
		"no URL":            {Model: "other", Dim: 3, BaseURL: "http://[::1" + key},
		"query":             {Model: "other", Dim: 3, BaseURL: "http://x/v1?key=" + key},
		"two keys":          {Model: "other", Dim: 3, Key: key, KeyEnv: "OTHER_KEY"},
		"a key for a name":  {Model: "other", Dim: 3, KeyEnv: key},
	} {
		if _, err := openai.New(o); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv("OTHER_KEY", "sk-two\nlines-of-secret")
	if _, err := openai.New(openai.Options{Model: "other", Dim: 3, KeyEnv: "OTHER_KEY"}); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "OTHER_KEY") {
		t.Errorf("a key of two lines: %v", err)
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	t.Setenv("OTHER_KEY", "x")
	e, err := openai.New(openai.Options{Model: "other", Dim: 3, KeyEnv: "OTHER_KEY"})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	_, err = encode(e, "text")
	if !errors.Is(err, encoder.ErrSource) || !strings.Contains(err.Error(), "http://127.0.0.1:1/v1/embeddings") || !strings.Contains(err.Error(), "OPENAI_BASE_URL") || time.Since(begin) > 5*time.Second {
		t.Errorf("nobody there: %v after %s", err, time.Since(begin))
	}
}

// TestFaults: what can pass is tried again, what cannot is an error at once that says
// what is wrong, and none holds the key.
func TestFaults(t *testing.T) {
	echo := `{"error":{"message":"Incorrect API key provided: ` + key + `.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`
	fast := "0.001"
	for name, c := range map[string]struct {
		fault encoders.Fault
		calls int    // until it is given up, for a fault that stays
		says  string // "" if the fault only comes once and must be made good
		is    error
	}{
		"rate limit":       {encoders.Fault{Status: 429, After: fast}, 2, "", nil},
		"unavailable":      {encoders.Fault{Status: 503, After: fast, Body: "<html>"}, 2, "", nil},
		"broken answer":    {encoders.Fault{Cut: true}, 2, "", nil},
		"numbers":          {encoders.Fault{Floats: true}, 1, "", nil},
		"rate limit stays": {encoders.Fault{Status: 429, After: fast, Body: `{"error":{"message":"Rate limit reached"}}`}, 3, "status 429: Rate limit reached; gave up after 3 tries", encoder.ErrSource},
		"long wait":        {encoders.Fault{Status: 429, After: "4000"}, 1, "asks to wait 1h6m40s", encoder.ErrSource},
		"no means":         {encoders.Fault{Status: 429, Body: `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`}, 1, "exceeded your current quota", encoder.ErrSource},
		"bad request":      {encoders.Fault{Status: 400, Body: `{"error":{"message":"maximum context length\u001b[2J is 8192 tokens","param":"input"}}`}, 1, "text 0: source of vectors: POST", encoder.ErrSource},
		"plain error":      {encoders.Fault{Status: 404, Body: `{"error":"no such model"}`}, 1, "status 404: no such model", encoder.ErrSource},
		"wrong key":        {encoders.Fault{Status: 401, Body: echo}, 1, "Incorrect API key provided: [key].; set OPENAI_API_KEY", encoder.ErrSource},
		"redirection":      {encoders.Fault{Status: 307}, 1, "status 307", encoder.ErrSource},
		"no JSON":          {encoders.Fault{Body: "hello"}, 1, "not what it should be", encoder.ErrSource},
		"NaN in JSON":      {encoders.Fault{Body: `{"data":[{"index":0,"embedding":[NaN]}]}`}, 1, "not what it should be", encoder.ErrSource},
		"endless":          {encoders.Fault{Body: strings.Repeat(" ", 2<<20)}, 1, "more than", encoder.ErrSource},
		"fewer vectors":    {encoders.Fault{Spoil: func(v [][]float32) [][]float32 { return v[1:] }}, 1, "0 vectors for 1 texts", encoder.ErrContract},
		"more vectors":     {encoders.Fault{Spoil: func(v [][]float32) [][]float32 { return append(v, v...) }}, 1, "2 vectors for 1 texts", encoder.ErrContract},
		"NaN":              {encoders.Fault{Spoil: func(v [][]float32) [][]float32 { v[0][1] = float32(math.NaN()); return v }}, 1, "text 0: the encoder breaks its contract: a vector with a NaN", encoder.ErrContract},
		"wrong dimension":  {encoders.Fault{Spoil: func(v [][]float32) [][]float32 { v[0] = v[0][:7]; return v }}, 1, "a vector of length 7 instead of 24", encoder.ErrContract},
		"zeros":            {encoders.Fault{Spoil: func(v [][]float32) [][]float32 { clear(v[0]); return v }}, 1, "zeros", encoder.ErrContract},
		"wrong index":      {encoders.Fault{Edit: func(a map[string]any) { a["data"].([]map[string]any)[0]["index"] = 5 }}, 1, "said to be that of text 5", encoder.ErrContract},
		"no vector":        {encoders.Fault{Edit: func(a map[string]any) { delete(a["data"].([]map[string]any)[0], "embedding") }}, 1, "length 0", encoder.ErrContract},
		"odd base64":       {encoders.Fault{Edit: func(a map[string]any) { a["data"].([]map[string]any)[0]["embedding"] = "AAAA" }}, 1, "3 bytes", encoder.ErrSource},
		"not base64":       {encoders.Fault{Edit: func(a map[string]any) { a["data"].([]map[string]any)[0]["embedding"] = "%" }}, 1, "no base64", encoder.ErrSource},
		"empty answer":     {encoders.Fault{Body: "{}"}, 1, "0 vectors for 1 texts", encoder.ErrContract},
	} {
		t.Run(name, func(t *testing.T) {
			api, e := fake(t, openai.Options{Retries: 2})
			api.Next = func(n int, _ []string) encoders.Fault {
				if c.says == "" && n > 0 {
					return encoders.Fault{}
				}
				return c.fault
			}
			out, err := encode(e, "a text")
			if calls, _ := api.Calls(); calls != c.calls {
				t.Errorf("%d calls, want %d", calls, c.calls)
			}
			if c.says == "" {
				if err != nil || len(out) != 1 || len(out[0].Dense) != dim {
					t.Errorf("%v, %v", out, err)
				}
				return
			}
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), key) || strings.ContainsRune(err.Error(), '\x1b') {
				t.Errorf("%v", err)
			}
			if c.fault.Status != 0 && !strings.Contains(err.Error(), "req-1") {
				t.Errorf("no request id: %v", err)
			}
		})
	}
}

// TestBatches: texts go out in batches by number and by tokens, and come back in
// their order; an error names the texts.
func TestBatches(t *testing.T) {
	api, e := fake(t, openai.Options{BatchTexts: 10, BatchTokens: 40, Concurrency: 3})
	texts := append(numbered(35), strings.Repeat("long ", 100), "end", strings.Repeat("long ", 90))
	got, err := encode(e, texts...)
	if err != nil {
		t.Fatal(err)
	}
	h := encoder.NewHash(dim)
	want, err := h.Encode(t.Context(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	for i := range texts {
		for j := range dim {
			if math.Abs(float64(got[i].Dense[j]-want[i].Dense[j])) > 1e-5 {
				t.Fatalf("text %d has another's vector", i)
			}
		}
	}
	calls, most := api.Calls()
	if most > 3 || calls < 8 {
		t.Errorf("%d calls, %d at a time", calls, most)
	}
	for _, b := range api.Bodies() {
		var in struct{ Input []string }
		if err := json.Unmarshal([]byte(b), &in); err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, s := range in.Input {
			size += len(s)/3 + 1
		}
		if len(in.Input) > 10 || len(in.Input) > 1 && size > 40 {
			t.Errorf("a batch of %d texts, %d tokens", len(in.Input), size)
		}
	}
	api.Next = func(_ int, texts []string) encoders.Fault {
		for i, s := range texts {
			if s == "text number 17" {
				return encoders.Fault{Spoil: func(v [][]float32) [][]float32 { clear(v[i]); return v }}
			}
		}
		return encoders.Fault{}
	}
	var one *encoder.TextError
	if _, err := encode(e, texts...); !errors.As(err, &one) || one.Text != 17 {
		t.Errorf("%v", err)
	}
	api.Next = func(_ int, texts []string) encoders.Fault {
		if texts[0] == "text number 0" {
			return encoders.Fault{Status: 400}
		}
		return encoders.Fault{}
	}
	if _, err := encode(e, texts...); err == nil || !strings.Contains(err.Error(), "texts 0 to ") {
		t.Errorf("%v", err)
	}
}

// The limit of tokens holds for all calls together: nothing is sent beyond it.
func TestTokenLimit(t *testing.T) {
	api, e := fake(t, openai.Options{TokenLimit: 40, BatchTexts: 2, Concurrency: 1})
	if _, err := encode(e, "one two three", "four"); err != nil {
		t.Fatal(err)
	}
	_, err := encode(e, numbered(12)...)
	if !errors.Is(err, encoder.ErrSource) || !strings.Contains(err.Error(), "limit of 40") {
		t.Errorf("%v", err)
	}
	if calls, _ := api.Calls(); calls < 2 || calls > 5 {
		t.Errorf("%d calls", calls)
	}
	// What the server charges counts, not the estimate.
	api, e = fake(t, openai.Options{TokenLimit: 40})
	api.Next = func(int, []string) encoders.Fault {
		return encoders.Fault{Edit: func(a map[string]any) { a["usage"] = map[string]int{"total_tokens": 40} }}
	}
	if _, err := encode(e, "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := encode(e, "two"); err == nil || !strings.Contains(err.Error(), "40 of the limit of 40 are used") {
		t.Errorf("%v", err)
	}
	// What failed was not charged.
	api, e = fake(t, openai.Options{TokenLimit: 12, Retries: -1})
	api.Next = func(n int, _ []string) encoders.Fault {
		if n == 0 {
			return encoders.Fault{Status: 500}
		}
		return encoders.Fault{}
	}
	if _, err := encode(e, "some words stand here"); err == nil {
		t.Error("no error of the first call")
	}
	if _, err := encode(e, "some words stand here"); err != nil {
		t.Error(err)
	}
}

// A certificate that is not trusted does not become so: one call, no other.
func TestUntrusted(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewUnstartedServer(nil)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, c http.ConnState) {
		if c == http.StateNew {
			n.Add(1)
		}
	}
	s.StartTLS()
	defer s.Close()
	e := opened(t, openai.Options{Model: "m", Dim: 2, BaseURL: s.URL})
	if _, err := encode(e, "a"); !errors.Is(err, encoder.ErrSource) || n.Load() != 1 {
		t.Errorf("%d connections, %v", n.Load(), err)
	}
}

// A call that hangs is tried again after its time; a caller whose context ends does
// not wait for it.
func TestSlow(t *testing.T) {
	var n atomic.Int64
	var hangs atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) > 1 && !hangs.Load() {
			io.WriteString(w, `{"data":[{"index":0,"embedding":[1,2]}]}`)
			return
		}
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer s.Close()
	e := opened(t, openai.Options{Model: "m", Dim: 2, BaseURL: s.URL, Timeout: 50 * time.Millisecond, Retries: 4}) // a busy machine may need more than one
	if _, err := encode(e, "a"); err != nil {
		t.Error(err)
	}
	hangs.Store(true)
	_, err := encode(e, "a")
	if !errors.Is(err, encoder.ErrSource) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("%v", err)
	}
	e = opened(t, openai.Options{Model: "m", Dim: 2, BaseURL: s.URL})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := e.Encode(ctx, encoder.Query, encoder.Texts("a"), encoder.NeedDense); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 2*time.Second {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
}

// TestIndexThroughFaults: a database is filled through a server of which a third of
// the calls fail, each document once, with its own vector, and within the time that
// the calls take.
func TestIndexThroughFaults(t *testing.T) {
	const documents = 1000
	var docs []engine.Document
	for i := range documents {
		docs = append(docs, engine.Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("document %d of item%d", i, i*i)})
	}
	fill := func(t *testing.T, api *encoders.API, e encoder.Encoder) (*engine.Engine, time.Duration) {
		db, err := engine.Open(t.Context(), t.TempDir(), e, engine.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		if calls, _ := api.Calls(); calls != 0 {
			t.Error("the server was asked when the database was opened")
		}
		begin := time.Now()
		if r, err := db.Add(t.Context(), docs); err != nil || r.Added != documents {
			t.Fatalf("%+v, %v", r, err)
		}
		return db, time.Since(begin)
	}
	t.Run("faults", func(t *testing.T) {
		api, e := fake(t, openai.Options{BatchTexts: 20, Retries: 20})
		failed := 0
		api.Next = func(n int, _ []string) encoders.Fault {
			if n%10 < 3 {
				failed++
				return encoders.Fault{Status: []int{429, 503}[n%2], After: "0.002"}
			}
			return encoders.Fault{}
		}
		db, _ := fill(t, api, e)
		for text, n := range api.Served() {
			if n != 1 {
				t.Errorf("%q was encoded %d times", text, n)
			}
		}
		if failed < 15 || len(api.Served()) != documents+len(encoder.ProbeTexts)+64 { // those that measure the encoder (encoder.Unrelated)
			t.Errorf("%d calls failed, %d texts were encoded", failed, len(api.Served()))
		}
		h := encoder.NewHash(dim)
		for i := 0; i < documents; i += 7 {
			d, err := db.Get(t.Context(), fmt.Sprint(i))
			if err != nil {
				t.Fatal(err)
			}
			want, err := h.Encode(t.Context(), encoder.Passage, encoder.Texts(docs[i].Text), encoder.NeedDense)
			if err != nil {
				t.Fatal(err)
			}
			for j := range dim {
				if math.Abs(float64(d.Vector[j]-want[0].Dense[j])) > 1e-4 {
					t.Fatalf("document %d has another's vector", i)
				}
			}
		}
		if s, err := db.Stats(t.Context()); err != nil || s.Documents != documents {
			t.Errorf("%d documents, %v", s.Documents, err)
		}
	})
	t.Run("time", func(t *testing.T) {
		api, e := fake(t, openai.Options{})
		api.Delay = 200 * time.Millisecond
		_, took := fill(t, api, e)
		ideal := 3 * api.Delay // 16 calls of 64 texts, 8 at a time, and one that measures the encoder
		calls, most := api.Calls()
		t.Logf("%d calls, %d at a time, in %s; ideal %s", calls, most, took.Round(time.Millisecond), ideal)
		if calls != 17 || most != 8 {
			t.Errorf("%d calls, %d at a time, want 17 and 8", calls, most)
		}
		if trial.Long() && took > ideal*6/5 { // which asks for a machine that is not busy
			t.Errorf("took %s, %.2f times the ideal", took, float64(took)/float64(ideal))
		}
	})
}

// TestRefusedTexts: a server that takes fewer texts in a call gets smaller calls, and a text that it does not take alone is named,
// while the others are encoded once.
func TestRefusedTexts(t *testing.T) {
	api, e := fake(t, openai.Options{})
	api.Next = func(_ int, texts []string) encoders.Fault {
		if len(texts) > 10 {
			return encoders.Fault{Status: 413, Body: `{"error":"batch size > maximum allowed batch size 10"}`}
		}
		return encoders.Fault{}
	}
	texts := numbered(150)
	out, err := encode(e, texts...)
	if err != nil || len(out) != len(texts) {
		t.Fatal(err)
	}
	for _, i := range []int{0, 31, 149} {
		if one, err := encode(e, texts[i]); err != nil || !reflect.DeepEqual(one[0].Dense, out[i].Dense) {
			t.Errorf("text %d has another vector alone, %v", i, err)
		}
	}
	refused := 0
	api.Next = func(_ int, texts []string) encoders.Fault {
		if len(texts) > 10 {
			refused++
			return encoders.Fault{Status: 413}
		}
		return encoders.Fault{}
	}
	if _, err := encode(e, numbered(150)...); err != nil || refused > 0 {
		t.Errorf("%d batches that are known to be too large, %v", refused, err)
	}

	long := strings.Repeat("long ", 100)
	api, e = fake(t, openai.Options{})
	api.Next = func(_ int, texts []string) encoders.Fault {
		for _, s := range texts {
			if len(s) > 100 {
				return encoders.Fault{Status: 400, Body: `{"error":{"message":"maximum context length is 512 tokens"}}`}
			}
		}
		return encoders.Fault{}
	}
	texts = numbered(150)
	texts[7], texts[100], texts[101] = long, long+"er", long+"est"
	out, err = encode(e, texts...)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range out {
		if cut := o.Tokens.Truncated; (cut > 0) != (i == 7 || i == 100 || i == 101) || cut > 0 && (cut < 133 || cut > 145) { // of 500 bytes 80 to 100 are taken
			t.Errorf("of text %d %d tokens are cut off", i, cut)
		}
	}
	before, _ := api.Calls()
	again, err := encode(e, long)
	if calls, _ := api.Calls(); err != nil || calls-before > 4 || !reflect.DeepEqual(again[0].Dense, out[7].Dense) {
		t.Errorf("once more: %d calls, %v", calls-before, err)
	}
	dense := strings.Repeat("я", 60) // the limit may lie within a character
	if out, err := encode(e, dense); err != nil || out[0].Tokens.Truncated == 0 {
		t.Errorf("%+v, %v", out, err)
	}

	// A text that is not taken however short it is made is refused by its place, and known afterwards.
	api.Next = func(_ int, texts []string) encoders.Fault {
		for _, s := range texts {
			if strings.HasPrefix(s, "bad") {
				return encoders.Fault{Status: 400, Body: `{"error":{"message":"content policy"}}`}
			}
		}
		return encoders.Fault{}
	}
	texts = numbered(150)
	texts[7], texts[100] = "bad"+long, "bad beyond repair"
	for _, at := range []int{7, 99} {
		before, _ := api.Calls()
		var one *encoder.TextError
		if _, err := encode(e, texts...); !errors.As(err, &one) || one.Text != at || !strings.Contains(err.Error(), "content policy") || !strings.Contains(err.Error(), "--chunk-tokens") {
			t.Fatalf("%v; want text %d", err, at)
		}
		if calls, _ := api.Calls(); at != 7 && calls != before {
			t.Errorf("%d calls for a text that is known to be refused", calls-before)
		}
		texts = append(texts[:at], texts[at+1:]...)
	}
	if out, err := encode(e, texts...); err != nil || len(out) != 148 {
		t.Errorf("the others: %v", err)
	}

	// Where nothing is taken it is not for the texts, and no other calls are made.
	api, e = fake(t, openai.Options{Concurrency: 1})
	api.Next = func(int, []string) encoders.Fault { return encoders.Fault{Status: 400} }
	var one *encoder.TextError
	if _, err := encode(e, numbered(60)...); err == nil || errors.As(err, &one) || !strings.Contains(err.Error(), "texts 0 to 59: ") {
		t.Errorf("%v", err)
	}
	if calls, _ := api.Calls(); calls != 2 {
		t.Errorf("%d calls", calls)
	}
}

// A text that the server cut is not kept, so that it is counted each time; the others are.
func TestCacheCountsCuts(t *testing.T) {
	api, e := fake(t, openai.Options{})
	api.Next = func(_ int, texts []string) encoders.Fault {
		if slices.ContainsFunc(texts, func(s string) bool { return len(s) > 200 }) {
			return encoders.Fault{Status: 400}
		}
		return encoders.Fault{}
	}
	c, err := encoder.NewCache(e, t.TempDir(), encoder.CacheOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	long := strings.Repeat("long ", 100)
	for range 3 {
		out, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts("short", long), encoder.NeedDense)
		if err != nil {
			t.Fatal(err)
		}
		if out[0].Tokens.Truncated != 0 || out[1].Tokens.Truncated < 90 || len(out[1].Dense) != dim {
			t.Errorf("%d and %d tokens are cut off", out[0].Tokens.Truncated, out[1].Tokens.Truncated)
		}
	}
	before, _ := api.Calls()
	if _, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts("short"), encoder.NeedDense); err != nil {
		t.Error(err)
	}
	if calls, _ := api.Calls(); calls != before {
		t.Errorf("a text that was not cut is asked for again: %d calls", calls-before)
	}
}
