package qdrant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/backendtest"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/points"
	"github.com/lexsem/lexsem/internal/servertest"
)

// TestConformance: in front of the stand-in, which has read Qdrant's description, a database answers as an
// embedded one does.
func TestConformance(t *testing.T) {
	s := newStandIn(t)
	s.key = "s3cret"
	var n atomic.Int32
	backendtest.Run(t, func(t *testing.T) engine.Backend { return s.fresh(t, fmt.Sprint("test-", n.Add(1))) })
}

// TestMigrateKilled: the program moves documents there and back, however often it is killed.
func TestMigrateKilled(t *testing.T) {
	if testing.Short() || os.Getenv("LEXSEM_ROUNDS") == "" {
		t.Skip("NOT TESTED: lexsem migrate, killed there and back (builds the program); LEXSEM_ROUNDS=1 runs it, as .ci/run does")
	}
	s := newStandIn(t)
	servertest.MigrateKilled(t, "qdrant://"+strings.TrimPrefix(s.URL, "http://")+"/moved", "?shards=2")
	if got := *s.collections["moved"].params.Shards; got != 2 {
		t.Errorf("%d shards", got)
	}
}

func info(dim int) engine.BackendInfo {
	return engine.BackendInfo{Dim: dim, Language: "en", Analysis: "a test"}
}

// made is a Backend over a collection that is there.
func (s *standIn) made(t testing.TB, dim int) *Backend {
	t.Helper()
	b := s.fresh(t, "made")
	if err := b.Create(t.Context(), info(dim)); err != nil {
		t.Fatal(err)
	}
	return b
}

func document(t testing.TB, id, terms, metadata string, vector []float32, more ...[]float32) []engine.Passage {
	t.Helper()
	facts, err := filter.Facts([]byte(metadata))
	if err != nil {
		t.Fatal(err)
	}
	var ps []engine.Passage
	for i, v := range append([][]float32{vector}, more...) {
		ps = append(ps, engine.Passage{PassageID: engine.PassageID{ID: id, Chunk: i}, Chunks: 1 + len(more), Text: terms, Line: 1, Metadata: metadata, Facts: facts,
			Vector: v, Terms: terms, Length: len(strings.Fields(terms))})
	}
	return ps
}

func TestParse(t *testing.T) {
	o, err := Parse("qdrant://a:1,b:2/notes?shards=3&replicas=2&copies=1&tls=true")
	want := Options{Nodes: []string{"https://a:1", "https://b:2"}, Collection: "notes", Shards: 3, Replicas: 2, Copies: 1}
	if err != nil || !reflect.DeepEqual(o, want) {
		t.Fatalf("%+v, %v, want %+v", o, err, want)
	}
	for replicas, copies := range map[int]int{0: 1, 1: 1, 2: 2, 3: 2, 4: 3} {
		if b, err := Open(Options{Nodes: o.Nodes, Collection: "n", Replicas: replicas}); err != nil || b.o.Copies != copies {
			t.Errorf("%d replicas: %+v, %v", replicas, b, err)
		}
	}
	for _, s := range []string{"", "http://a:1/n", "qdrant://a:1", "qdrant://a:1/", "qdrant:///n", "qdrant://u:secret@a:1/n", "qdrant://a:1/n?shards=x", "qdrant://a:1/n?shards=-1",
		"qdrant://a:1/n?replicas=18", "qdrant://a:1/n?copies=2", "qdrant://a:1/n?tls=perhaps", "qdrant://a:1/n?other=1", "qdrant://a:1/n m", "qdrant://a:1/n/m", "qdrant://a:1/" + strings.Repeat("n", 201)} {
		o, err := Parse(s)
		if err == nil {
			_, err = Open(o)
		}
		if !errors.Is(err, engine.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// TestCreate: what is made is made for its info, at once or after a call that broke off; collections of others are
// neither read nor removed.
func TestCreate(t *testing.T) {
	s := newStandIn(t)
	ctx := t.Context()
	for cut := range 1 + len(indexes) {
		b := s.fresh(t, fmt.Sprint("cut-", cut))
		n := 0
		s.cut(func(call string) bool {
			if strings.HasPrefix(call, "PUT") {
				n++
			}
			return n > cut
		}, nil)
		broken, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		if err := b.Create(broken, info(4)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cut %d: %v", cut, err)
		}
		cancel()
		s.cut(nil, nil)
		if _, err := b.Info(ctx); !errors.Is(err, engine.ErrNoDatabase) {
			t.Errorf("cut %d: %v", cut, err)
		}
		if err := b.Create(ctx, info(4)); err != nil {
			t.Errorf("cut %d: %v", cut, err)
		}
		if got, err := b.Info(ctx); err != nil || !reflect.DeepEqual(got, info(4)) {
			t.Errorf("cut %d: %+v, %v", cut, got, err)
		}
		if err := b.Create(ctx, info(4)); !errors.Is(err, engine.ErrExists) {
			t.Errorf("cut %d: made twice: %v", cut, err)
		}
	}
	// Another has begun it for other vectors.
	b := s.fresh(t, "begun")
	if err := b.Create(ctx, info(4)); err != nil {
		t.Fatal(err)
	}
	delete(s.collections["begun"].indexes, "words")
	if err := b.Create(ctx, info(5)); !errors.Is(err, engine.ErrExists) {
		t.Errorf("for other vectors: %v", err)
	}
	for _, dim := range []int{0, -1, mostDim + 1} {
		if err := s.fresh(t, "none").Create(ctx, info(dim)); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%d dimensions: %v", dim, err)
		}
	}
	for _, v := range []string{"1.15.5", "0.11.7", "", "x", "1"} {
		s.version = v
		if err := s.fresh(t, "old").Create(ctx, info(4)); !errors.Is(err, ErrServer) || !strings.Contains(err.Error(), "1.16") || s.collections["old"] != nil {
			t.Errorf("version %q: %v", v, err)
		}
	}
	s.version = "2.0.0"
	if err := s.fresh(t, "new").Create(ctx, info(4)); err != nil {
		t.Error(err)
	}
	for what, metadata := range map[string]map[string]any{
		"none": nil, "another's": {"a": 1}, "no text": {mark: 1}, "no JSON": {mark: "{"}, "another layout": {mark: `{"layout": 2}`},
	} {
		s.collections["other"] = &collection{params: createCollection{Metadata: metadata}, points: map[pointID]*stored{{n: 1}: {}}}
		b := s.fresh(t, "other")
		_, err := b.Info(ctx)
		for _, err := range []error{err, b.Create(ctx, info(4)), b.Drop(ctx)} {
			if !errors.Is(err, engine.ErrForeign) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if c := s.collections["other"]; c == nil || len(c.points) != 1 {
			t.Errorf("%s: it was changed", what)
		}
	}
	for range 2 {
		if err := b.Drop(ctx); err != nil || s.collections["begun"] != nil {
			t.Errorf("drop: %v", err)
		}
	}
	if _, err := b.Count(ctx, engine.Filter{}); !errors.Is(err, engine.ErrNoDatabase) {
		t.Errorf("nothing there: %v", err)
	}
}

// TestCreateOfSeveral: when a collection is made, each node knows it, be it late.
func TestCreateOfSeveral(t *testing.T) {
	s := newStandIn(t)
	var unknown atomic.Int32
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		creates := r.Method == http.MethodPut && !strings.HasSuffix(r.URL.Path, "/index")
		if r.URL.Path != "/" && !creates && unknown.Add(-1) >= 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		s.serve(w, r)
	}))
	t.Cleanup(late.Close)
	for begin := range 2 {
		for n := range 8 {
			b, err := Open(Options{Nodes: []string{s.URL, late.URL}, Collection: fmt.Sprintf("late-%d-%d", begin, n)})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if begin == 1 { // the other one is the first
				if err := b.checkVersion(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			unknown.Store(int32(n))
			if err := b.Create(t.Context(), info(4)); err != nil {
				t.Errorf("%d, %d: %v", begin, n, err)
			}
		}
	}
}

// TestUnheard: a call whose answer was lost, after its work was done or before, ends as if it had been heard: no
// document is taken for somebody else's, and no write is counted twice.
func TestUnheard(t *testing.T) {
	for _, before := range []bool{true, false} {
		s := newStandIn(t)
		ctx := t.Context()
		b := s.made(t, 2)
		docs := [][]engine.Passage{document(t, "a", "x", `{"a": 1}`, []float32{1, 0}), document(t, "b", "x y", "", []float32{0, 1}, []float32{1, 0})}
		less := [][]engine.Passage{docs[0], document(t, "b", "y", "", []float32{0, 1})}
		for i, do := range []func() error{
			func() error { return b.Put(ctx, docs, true) },
			func() error { return b.Put(ctx, less, false) },
			func() error {
				n, err := b.Delete(ctx, []string{"b", "a", "nobody", "a"})
				if err == nil && n != 2 {
					err = fmt.Errorf("deleted %d, not 2", n)
				}
				return err
			},
		} {
			seen := map[string]int{}
			cut := func(call string) bool { // each call, and not when it is made again
				seen[call]++
				return seen[call]%2 == 1
			}
			if before {
				s.cut(cut, nil)
			} else {
				s.cut(nil, cut)
			}
			if err := do(); err != nil {
				t.Errorf("call %d: %v", i, err)
			}
			s.cut(nil, nil)
			if len(seen) < 2 || seen["PUT /points"] < 2 {
				t.Errorf("call %d: only %v were cut", i, seen)
			}
			want := []engine.BackendStatus{{Documents: 2, Passages: 3, Terms: 5, Writes: 3}, {Documents: 2, Passages: 2, Terms: 2, Writes: 6}, {Writes: 8}}[i]
			if got, err := b.Status(ctx); err != nil || got != want {
				t.Errorf("call %d: %+v, %v; want %+v", i, got, err, want)
			}
		}
	}
}

// TestNotes: writers beside each other lose no count, and need no more notes than there were at once; a note whose
// write failed is not written again.
func TestNotes(t *testing.T) {
	s := newStandIn(t)
	b := s.made(t, 1)
	var g sync.WaitGroup
	const writers, each = 4, 25
	for w := range writers {
		g.Go(func() {
			for i := range each {
				if err := b.Put(t.Context(), [][]engine.Passage{document(t, fmt.Sprint(w, i), "x", "", []float32{1})}, true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	g.Wait()
	notes := func() (n int) {
		for id := range s.collections["made"].points {
			if id.uuid == "" {
				n++
			}
		}
		return n
	}
	if st, err := b.Status(t.Context()); err != nil || st.Writes != writers*each || st.Passages != writers*each || notes() > writers {
		t.Errorf("%+v, %v, %d notes", st, err, notes())
	}
	lost := b.free[len(b.free)-1]
	ended, cancel := context.WithCancel(t.Context())
	s.cut(nil, func(string) bool { cancel(); return true })
	if err := b.note(ended, 7); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.cut(nil, nil)
	if err := b.note(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if st, err := b.Status(t.Context()); err != nil || st.Writes != writers*each+8 || slices.ContainsFunc(b.free, func(n note) bool { return n.id == lost.id }) {
		t.Errorf("%+v, %v, %v free, %d lost", st, err, b.free, lost.id)
	}
}

// TestBytes: ids and texts of any bytes come back as they were, and so do vectors, bit for bit.
func TestBytes(t *testing.T) {
	s := newStandIn(t)
	b := s.made(t, 3)
	r := rand.New(rand.NewPCG(1, 2))
	var docs [][]engine.Passage
	for i, id := range []string{"plain", "\x00", "a\x00b", "\xff", "\xff\xfe", "\xef\xbf\xbd", "\u2028<&>", strings.Repeat("x", 5000), "日本"} {
		v := []float32{float32(r.NormFloat64()), math.SmallestNonzeroFloat32 * float32(1+i), float32(math.Copysign(0, -1))}
		ps := document(t, id, "x \xfe y "+strings.Repeat("z", 300), "", v, []float32{1, 0, 0})
		ps[0].Whole, ps[0].Title, ps[0].Text, ps[0].Tokens, ps[0].Truncated = "w\xff", "\x00\xfe", "\xff"+id, []int32{1, 2}, 3
		ps[1].Start, ps[1].Line = 7, 9
		docs = append(docs, ps)
	}
	if err := b.Put(t.Context(), docs, true); err != nil {
		t.Fatal(err)
	}
	same := func(got, want []engine.Passage) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%d passages, want %d", len(got), len(want))
		}
		for i, p := range got {
			w := want[i]
			if !slices.EqualFunc(p.Vector, w.Vector, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
				t.Errorf("%q: vector %v, want %v", w.ID, p.Vector, w.Vector)
			}
			p.Vector, w.Vector = nil, nil
			if p.Facts = nil; !reflect.DeepEqual(p, w) {
				t.Errorf("%+v\nwant %+v", p, w)
			}
		}
	}
	for _, d := range docs {
		id := d[0].ID
		got, err := b.Documents(t.Context(), []string{id})
		if err != nil {
			t.Fatal(err)
		}
		same(got[0], d)
		cs, err := b.Nearest(t.Context(), []float32{1, 0, 0}, 100, engine.Filter{})
		if err != nil || !slices.ContainsFunc(cs, func(c engine.Candidate) bool { return c.ID == id && c.Terms == d[0].Terms }) {
			t.Errorf("%q is not among %v, %v", id, cs, err)
		}
	}
	var all []engine.Passage
	for p, err := range b.Scan(t.Context(), engine.Filter{}, engine.ScanOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	slices.SortFunc(docs, func(a, b []engine.Passage) int {
		return strings.Compare(points.ID(a[0].PassageID), points.ID(b[0].PassageID))
	})
	same(all, slices.Concat(docs...))
	if n, err := b.Having(t.Context(), []string{"x", "\xfe", strings.Repeat("z", 300), strings.Repeat("z", 301), "nobody"}); err != nil || !slices.Equal(n, []int{18, 18, 18, 0, 0}) {
		t.Errorf("having: %v, %v", n, err)
	}
	twice, err := b.Fetch(t.Context(), []engine.PassageID{{ID: "\xff"}, {ID: "\xff", Chunk: 2}, {ID: "\xff"}}, false)
	if err != nil || twice[1] != nil || twice[0] == nil || twice[2] == nil || twice[0].Whole != "" || twice[0].Tokens != nil || twice[0].Vector != nil || twice[0].Title != "\x00\xfe" {
		t.Errorf("one passage twice: %+v, %v", twice, err)
	}
	near, err := b.Cosines(t.Context(), []float32{1, 0, 0}, []engine.PassageID{{ID: "\xff", Chunk: 1}, {ID: "\xff", Chunk: 1}, {ID: "nobody"}})
	if err != nil || near[0] != 1 || near[1] != 1 || !math.IsNaN(near[2]) {
		t.Errorf("cosines: %v, %v", near, err)
	}
}

// TestPages: more points than a page, or a request, has.
func TestPages(t *testing.T) {
	s := newStandIn(t)
	s.largest = bulk + bulk/2
	b := s.made(t, 1)
	var docs [][]engine.Passage
	var ids []string
	for i := range page + 50 {
		d := document(t, fmt.Sprint(i), "x", fmt.Sprintf(`{"n": %d}`, i), []float32{1})
		d[0].Text = strings.Repeat("long ", 2000)
		docs, ids = append(docs, d), append(ids, fmt.Sprint(i))
	}
	if err := b.Put(t.Context(), docs, true); err != nil || s.calls["PUT /points"] < 3 {
		t.Fatalf("%v, %v", err, s.calls)
	}
	n := 0
	for _, err := range b.Scan(t.Context(), engine.Filter{}, engine.ScanOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if got, err := b.Documents(t.Context(), ids); err != nil || n != len(ids) || slices.ContainsFunc(got, func(ps []engine.Passage) bool { return len(ps) != 1 }) {
		t.Errorf("scanned %d, %v", n, err)
	}
	if n, err := b.Delete(t.Context(), ids); err != nil || n != len(ids) {
		t.Errorf("deleted %d, %v", n, err)
	}
	if st, err := b.Status(t.Context()); err != nil || st != (engine.BackendStatus{Writes: uint64(2 * len(ids))}) {
		t.Errorf("%+v, %v", st, err)
	}
	// One that the server does not take names the remedy's limit.
	s.largest = 1000
	if err := b.Put(t.Context(), docs[:1], true); !errors.Is(err, ErrServer) || !strings.Contains(err.Error(), "larger than allowed") {
		t.Errorf("too large: %v", err)
	}
}

// TestErrors: what does not pass is told at once, with the server's words and without the key; what passes is tried
// again.
func TestErrors(t *testing.T) {
	var calls atomic.Int32
	answering := func(f http.HandlerFunc) *Backend {
		calls.Store(0)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { calls.Add(1); f(w, r) }))
		t.Cleanup(s.Close)
		b, err := Open(Options{Nodes: []string{s.URL}, Collection: "c", Key: "s3cret", Patience: 200 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	says := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	ctx := t.Context()
	for what, c := range map[string]struct {
		status int
		body   string
		once   bool
		want   string
	}{
		"refused":        {400, `{"status":{"error":"Wrong input: no\nsuch"},"time":0}`, true, "Wrong input: no such"},
		"without a key":  {401, "Must provide an API key", true, "Must provide an API key; give an API key"},
		"not there":      {404, `{"status":{"error":"Not found: Collection c"}}`, true, "Not found: Collection c"},
		"a page of HTML": {413, "<html>", true, "<html>"},
		"internal":       {500, `{"status":{"error":"Service internal error: no active replica"}}`, false, "no active replica; gave up after"},
		"a timeout":      {408, `{"status":{"error":"Timeout"}}`, false, "gave up after"},
		"no JSON":        {200, "no", true, "not what it should be"},
		"another shape":  {200, `{"result":{"count":"many"}}`, true, "not what it should be"},
		"no result":      {200, `{"status":"ok"}`, true, "no count"},
	} {
		b := answering(says(c.status, c.body))
		_, err := b.Count(ctx, engine.Filter{})
		if err == nil || !errors.Is(err, engine.ErrBackend) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") || c.once != (calls.Load() == 1) {
			t.Errorf("%s: %v after %d calls", what, err, calls.Load())
		}
	}
	if err := answering(says(200, `{"result":{"status":"wait_timeout"}}`)).store(ctx, nil); !errors.Is(err, ErrServer) || !strings.Contains(err.Error(), "wait_timeout") || calls.Load() < 2 {
		t.Errorf("a write that was not done: %v after %d calls", err, calls.Load())
	}
	// Answers that are none of ours.
	foreign := `{"id":"00000000-0000-0000-0000-000000000001","score":1,"payload":{"id":"a"}}`
	for what, c := range map[string]struct {
		body string
		call func(*Backend) error
		want error
	}{
		"a candidate": {`{"result":{"points":[` + foreign + `]}}`, func(b *Backend) error { _, err := b.Nearest(ctx, []float32{1}, 1, engine.Filter{}); return err }, engine.ErrCorrupt},
		"a passage":   {`{"result":[` + foreign + `]}`, func(b *Backend) error { _, err := b.Fetch(ctx, []engine.PassageID{{ID: "a"}}, false); return err }, engine.ErrCorrupt},
		"a scan": {`{"result":{"points":[` + foreign + `]}}`, func(b *Backend) (err error) {
			for _, err = range b.Scan(ctx, engine.Filter{}, engine.ScanOptions{}) {
			}
			return err
		}, engine.ErrCorrupt},
		"a page again": {`{"result":{"points":[],"next_page_offset":"00000000-0000-0000-0000-000000000000"}}`, func(b *Backend) (err error) {
			for _, err = range b.Scan(ctx, engine.Filter{}, engine.ScanOptions{}) {
			}
			return err
		}, ErrServer},
		"metadata": {`{"result":[{"id":"` + points.ID(engine.PassageID{ID: "a"}) + `","payload":{"id":"a","metadata":"{"}}]}`, func(b *Backend) error { _, err := b.Documents(ctx, []string{"a"}); return err }, engine.ErrCorrupt},
	} {
		if err := c.call(answering(says(200, c.body))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestFloats: a vector's text is the same float32 to a reader that rounds to float64 first, be that off by its last bit.
func TestFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	v := make(floats, 100_000)
	for i := range v {
		for {
			if v[i] = math.Float32frombits(r.Uint32()); v[i]-v[i] == 0 {
				break
			}
		}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var read []float64
	if err := json.Unmarshal(raw, &read); err != nil || len(read) != len(v) {
		t.Fatal(err)
	}
	for i, x := range read {
		for _, near := range []float64{x, math.Nextafter(x, math.Inf(1)), math.Nextafter(x, math.Inf(-1))} {
			if math.Float32bits(float32(near)) != math.Float32bits(v[i]) && near != 0 {
				t.Fatalf("%v came back as %v", v[i], float32(near))
			}
		}
	}
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		if _, err := json.Marshal(floats{x}); err == nil {
			t.Errorf("%v was written", x)
		}
	}
}

// TestParts: the parts of a scan are beside each other, and together all ids.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, parts := range []int{0, 1, 2, 3, 7, 256} {
		for range 300 {
			id := points.ID(engine.PassageID{ID: fmt.Sprint(r.Int64()), Chunk: r.IntN(3)})
			in := 0
			for part := range max(parts, 1) {
				if from, end := points.Between(engine.ScanOptions{Part: part, Parts: parts}); id >= from && (end == "" || id < end) {
					in++
				}
			}
			if in != 1 {
				t.Fatalf("%d of %d parts have %s", in, parts, id)
			}
		}
	}
}

// FuzzAnswers: whatever a server answers, a call ends with an answer or an error that says whose it is.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"result":{"points":[{"id":"x","score":1,"payload":{"id":"a","chunk":-1}}],"next_page_offset":null}}`))
	f.Add([]byte(`{"result":[{"id":"x","payload":{"id":"a","id_bytes":"!"}}]}`))
	f.Add([]byte(`{"result":{"hits":[{"value":1e99,"count":-1}]}}`))
	f.Add([]byte(`{"result":{"config":{"metadata":{"lexsem":"{}"}}}}`))
	f.Add([]byte(`{"result":null}`))
	var body atomic.Pointer[[]byte]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(*body.Load()) }))
	f.Cleanup(s.Close)
	b, err := Open(Options{Nodes: []string{s.URL}, Collection: "c", Patience: time.Nanosecond})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		body.Store(&answer)
		ctx := t.Context()
		known := func(err error) {
			t.Helper()
			if err != nil && !errors.Is(err, engine.ErrBackend) && !errors.Is(err, engine.ErrCorrupt) && !errors.Is(err, engine.ErrForeign) && !errors.Is(err, engine.ErrNoDatabase) {
				t.Fatal(err)
			}
		}
		_, err := b.Info(ctx)
		known(err)
		_, err = b.Status(ctx)
		known(err)
		_, err = b.Nearest(ctx, []float32{1}, 1, engine.Filter{})
		known(err)
		_, err = b.Cosines(ctx, []float32{1}, []engine.PassageID{{ID: "a"}})
		known(err)
		_, err = b.Documents(ctx, []string{"a"})
		known(err)
		_, err = b.Having(ctx, []string{"a"})
		known(err)
		for _, err := range b.Scan(ctx, engine.Filter{}, engine.ScanOptions{}) {
			known(err)
		}
		known(b.store(ctx, nil))
	})
}

// FuzzParse: every text is a URL of this kind or an error.
func FuzzParse(f *testing.F) {
	f.Add("qdrant://a:1,b:2/name?shards=3&tls=true")
	f.Fuzz(func(t *testing.T, s string) {
		o, err := Parse(s)
		if err == nil {
			_, err = Open(o)
		}
		if err != nil && !errors.Is(err, engine.ErrInvalid) {
			t.Fatal(err)
		}
	})
}
