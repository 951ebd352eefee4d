package qdrant

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// standIn answers the part of Qdrant's REST interface that this package uses, as the OpenAPI description of
// Qdrant 1.16 has it. It computes real answers, and is stricter than a server: a field that it does not know is an
// error, and so is a filter on a field without an index.
type standIn struct {
	*httptest.Server
	version string // that GET / tells
	key     string // that calls must bring; "" for none

	mu          sync.Mutex
	collections map[string]*collection
	operations  int
	// before is asked of each request, by its method and its path behind the collection's; true cuts the connection
	// instead of doing it, and after does it and cuts the connection then. nil for none.
	before, after func(call string) bool
	calls         map[string]int // how many of each were done
	largest       int            // bytes of a request
}

type collection struct {
	size    int
	idf     bool
	params  createCollection
	indexes map[string]indexSchema
	points  map[pointID]*stored
}

type stored struct {
	version int
	dense   []float32
	sparse  map[uint32]float32
	payload map[string]any
}

// pointID is a number, or a UUID. Numbers are in front.
type pointID struct {
	uuid string // in its canonical form; "" for a number
	n    uint64
}

func (p pointID) compare(o pointID) int {
	return cmp.Or(cmp.Compare(p.uuid, o.uuid), cmp.Compare(p.n, o.n))
}

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func (p *pointID) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &p.n) == nil {
		return nil
	}
	if err := json.Unmarshal(b, &p.uuid); err != nil || !uuidForm.MatchString(p.uuid) {
		return fmt.Errorf("%s is neither an unsigned integer nor a UUID", b)
	}
	return nil
}

func (p pointID) MarshalJSON() ([]byte, error) {
	if p.uuid == "" {
		return json.Marshal(p.n)
	}
	return json.Marshal(p.uuid)
}

func newStandIn(t testing.TB) *standIn {
	s := &standIn{version: "1.16.3", collections: map[string]*collection{}, calls: map[string]int{}, largest: 32 << 20}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// cut sets what is asked of each request; nil for nothing.
func (s *standIn) cut(before, after func(call string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.after = before, after
}

// fresh is a Backend over a collection of the stand-in's that is not there.
func (s *standIn) fresh(t testing.TB, name string) *Backend {
	t.Helper()
	b, err := Open(Options{Nodes: []string{s.URL}, Collection: name, Key: s.key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// refused is an error with its status.
type refused struct {
	status int
	why    string
}

func (r *refused) Error() string { return r.why }

func bad(format string, args ...any) error {
	return &refused{http.StatusBadRequest, "Wrong input: " + fmt.Sprintf(format, args...)}
}

func (s *standIn) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.key != "" && r.Header.Get("Authorization") != "Bearer "+s.key {
		http.Error(w, "Invalid API key or JWT", http.StatusUnauthorized)
		return
	}
	what := r.URL.Path
	name, rest := "", ""
	if under, ok := strings.CutPrefix(what, "/collections/"); ok {
		name, rest, _ = strings.Cut(under, "/")
		what = "/collections/_/" + rest
	}
	call := r.Method + " /" + rest
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before != nil && s.before(call) {
		panic(http.ErrAbortHandler)
	}
	result, err := s.answer(r.Method+" "+what, name, r.URL.Query(), body)
	s.calls[call]++
	if s.after != nil && s.after(call) {
		panic(http.ErrAbortHandler)
	}
	answer := map[string]any{"time": 0.001, "status": "ok", "result": result, "usage": nil}
	status := http.StatusOK
	if what == "/" {
		answer = map[string]any{"title": "stand-in", "version": s.version, "commit": "none"}
	}
	if err != nil {
		status = http.StatusBadRequest
		var f *refused
		if errors.As(err, &f) {
			status = f.status
		}
		answer["status"], answer["result"] = map[string]any{"error": err.Error()}, nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // nobody may be there to hear it
}

// read decodes the body of a request, and knows every field of it.
func read[T any](body []byte) (in T, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, bad("Format error in JSON body: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return in, bad("more than one value")
	}
	return in, nil
}

// settings checks the part of a URL behind the question mark.
func settings(q url.Values, known map[string][]string) error {
	for name, vs := range q {
		if len(vs) != 1 || !slices.Contains(known[name], vs[0]) {
			return bad("setting %s=%q", name, vs)
		}
	}
	return nil
}

var ofWrites = map[string][]string{"wait": {"true", "false"}, "ordering": {"weak", "medium", "strong"}}

type createCollection struct {
	Vectors map[string]struct {
		Size     int    `json:"size"`
		Distance string `json:"distance"`
	} `json:"vectors"`
	Sparse map[string]struct {
		Modifier string `json:"modifier"`
	} `json:"sparse_vectors"`
	Shards   *int           `json:"shard_number"`
	Replicas *int           `json:"replication_factor"`
	Copies   *int           `json:"write_consistency_factor"`
	Metadata map[string]any `json:"metadata"`
}

type indexSchema struct {
	Type   string `json:"type"`
	Lookup *bool  `json:"lookup,omitempty"`
	Range  *bool  `json:"range,omitempty"`
}

func (i *indexSchema) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &i.Type) == nil {
		return nil
	}
	type plain indexSchema
	in, err := read[plain](b)
	*i = indexSchema(in)
	return err
}

func (s *standIn) answer(call, name string, q url.Values, body []byte) (any, error) {
	if len(body) > s.largest {
		return nil, &refused{http.StatusRequestEntityTooLarge, "Payload error: JSON payload is larger than allowed"}
	}
	if call == "GET /" {
		return nil, nil
	}
	c := s.collections[name]
	if call == "PUT /collections/_/" {
		return true, s.create(name, c, body)
	}
	if c == nil {
		return nil, &refused{http.StatusNotFound, "Not found: Collection `" + name + "` doesn't exist!"}
	}
	switch call {
	case "GET /collections/_/":
		schema := map[string]any{}
		for field, i := range c.indexes {
			schema[field] = map[string]any{"data_type": i.Type, "params": i, "points": len(c.points)}
		}
		return map[string]any{"status": "green", "optimizer_status": "ok", "segments_count": 1, "points_count": len(c.points), "payload_schema": schema,
			"config": map[string]any{"metadata": c.params.Metadata, "params": map[string]any{"shard_number": c.params.Shards, "replication_factor": c.params.Replicas, "write_consistency_factor": c.params.Copies}}}, nil
	case "DELETE /collections/_/":
		delete(s.collections, name)
		return true, nil
	case "PUT /collections/_/index":
		in, err := read[struct {
			Field  string      `json:"field_name"`
			Schema indexSchema `json:"field_schema"`
		}](body)
		if err = cmp.Or(err, settings(q, ofWrites)); err != nil {
			return nil, err
		}
		if in.Field == "" || !slices.Contains([]string{"keyword", "integer"}, in.Schema.Type) {
			return nil, bad("an index of %+v", in)
		}
		c.indexes[in.Field] = in.Schema
		return s.done(), nil
	case "PUT /collections/_/points":
		if err := settings(q, ofWrites); err != nil {
			return nil, err
		}
		return s.upsert(c, body)
	case "POST /collections/_/points/delete":
		in, err := read[struct {
			Points []pointID `json:"points"`
		}](body)
		if err = cmp.Or(err, settings(q, ofWrites)); err != nil || in.Points == nil {
			return nil, cmp.Or(err, bad("no points"))
		}
		for _, id := range in.Points {
			delete(c.points, id)
		}
		return s.done(), nil
	}
	if err := settings(q, nil); err != nil {
		return nil, err
	}
	switch call {
	case "POST /collections/_/points":
		return c.retrieve(body)
	case "POST /collections/_/points/scroll":
		return c.scroll(body)
	case "POST /collections/_/points/count":
		return c.count(body)
	case "POST /collections/_/points/query":
		return c.query(body)
	case "POST /collections/_/facet":
		return c.facet(body)
	}
	return nil, &refused{http.StatusNotFound, ""}
}

func (s *standIn) done() any {
	s.operations++
	return map[string]any{"operation_id": s.operations, "status": "completed"}
}

func (s *standIn) create(name string, before *collection, body []byte) error {
	if before != nil {
		return &refused{http.StatusConflict, "Wrong input: Collection `" + name + "` already exists!"}
	}
	in, err := read[createCollection](body)
	if err != nil {
		return err
	}
	c := &collection{params: in, indexes: map[string]indexSchema{}, points: map[pointID]*stored{}}
	v, ok := in.Vectors[dense]
	if !ok || len(in.Vectors) != 1 || v.Size < 1 || v.Size > 65536 || v.Distance != "Dot" {
		return bad("vectors %+v", in.Vectors)
	}
	m, ok := in.Sparse[sparse]
	if !ok || len(in.Sparse) != 1 || m.Modifier != "idf" && m.Modifier != "none" {
		return bad("sparse vectors %+v", in.Sparse)
	}
	for _, n := range []*int{in.Shards, in.Replicas, in.Copies} {
		if n != nil && *n < 1 {
			return bad("%d shards or copies", *n)
		}
	}
	c.size, c.idf = v.Size, m.Modifier == "idf"
	s.collections[name] = c
	return nil
}

// float32s are numbers read as the server may read them: as float64, and then as float32.
func float32s(ns []float64) []float32 {
	out := make([]float32, len(ns))
	for i, n := range ns {
		out[i] = float32(n)
	}
	return out
}

type sparseVector struct {
	Indices []uint32  `json:"indices"`
	Values  []float64 `json:"values"`
}

func (v sparseVector) weights() (map[uint32]float32, error) {
	if len(v.Indices) != len(v.Values) {
		return nil, bad("%d indices of %d values", len(v.Indices), len(v.Values))
	}
	m := map[uint32]float32{}
	for i, x := range v.Indices {
		m[x] = float32(v.Values[i])
	}
	if len(m) != len(v.Indices) {
		return nil, bad("indices must be unique")
	}
	return m, nil
}

func (s *standIn) upsert(c *collection, body []byte) (any, error) {
	in, err := read[struct {
		Points []struct {
			ID      *pointID                   `json:"id"`
			Vector  map[string]json.RawMessage `json:"vector"`
			Payload json.RawMessage            `json:"payload"`
		} `json:"points"`
	}](body)
	if err != nil {
		return nil, err
	}
	news := map[pointID]*stored{}
	for _, p := range in.Points {
		if p.ID == nil || p.Vector == nil {
			return nil, bad("a point lacks its id, or its vector")
		}
		n := &stored{version: s.operations + 1}
		for name, raw := range p.Vector {
			switch name {
			case dense:
				v, err := read[[]float64](raw)
				if err != nil {
					return nil, err
				}
				if n.dense = float32s(v); len(v) != c.size {
					return nil, bad("Vector dimension error: expected dim: %d, got %d", c.size, len(v))
				}
			case sparse:
				v, err := read[sparseVector](raw)
				if err != nil {
					return nil, err
				}
				if n.sparse, err = v.weights(); err != nil {
					return nil, err
				}
			default:
				return nil, bad("Not existing vector name error: %s", name)
			}
		}
		d := json.NewDecoder(bytes.NewReader(p.Payload))
		d.UseNumber()
		if err := d.Decode(&n.payload); err != nil {
			return nil, bad("payload: %v", err)
		}
		news[*p.ID] = n
	}
	maps.Copy(c.points, news)
	return s.done(), nil
}

// selector is what of a payload, or which vectors, are wanted.
type selector struct {
	all              bool
	include, exclude []string
}

func (s *selector) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &s.all) == nil || json.Unmarshal(b, &s.include) == nil {
		return nil
	}
	in, err := read[struct {
		Include []string `json:"include"`
		Exclude []string `json:"exclude"`
	}](b)
	if err == nil && (in.Include == nil) == (in.Exclude == nil) {
		err = bad("a selector of %s", b)
	}
	s.include, s.exclude = in.Include, in.Exclude
	return err
}

// of are the values that are wanted; nil where none are.
func (s *selector) of(values map[string]any) map[string]any {
	if s == nil || !s.all && s.include == nil && s.exclude == nil {
		return nil
	}
	out := map[string]any{}
	for k, v := range values {
		if s.all || s.include != nil && slices.Contains(s.include, k) || s.exclude != nil && !slices.Contains(s.exclude, k) {
			out[k] = v
		}
	}
	return out
}

type answered struct {
	ID      pointID        `json:"id"`
	Version *int           `json:"version,omitempty"`
	Score   *float32       `json:"score,omitempty"`
	Payload map[string]any `json:"payload,omitempty"`
	Vector  map[string]any `json:"vector,omitempty"`
}

func (p *stored) answered(id pointID, payload, vector *selector) answered {
	a := answered{ID: id, Payload: payload.of(p.payload)}
	vs := map[string]any{}
	if p.dense != nil {
		vs[dense] = p.dense
	}
	if p.sparse != nil {
		vs[sparse] = sparseOf(p.sparse)
	}
	a.Vector = vector.of(vs)
	return a
}

func (c *collection) retrieve(body []byte) (any, error) {
	in, err := read[struct {
		IDs     []pointID `json:"ids"`
		Payload *selector `json:"with_payload"`
		Vector  *selector `json:"with_vector"`
	}](body)
	if err != nil || in.IDs == nil {
		return nil, cmp.Or(err, bad("no ids"))
	}
	out := []answered{}
	for id, p := range c.points { // in no order
		if slices.Contains(in.IDs, id) {
			out = append(out, p.answered(id, in.Payload, in.Vector))
		}
	}
	return out, nil
}

func (c *collection) scroll(body []byte) (any, error) {
	in, err := read[struct {
		Offset  *pointID        `json:"offset"`
		Limit   *int            `json:"limit"`
		Filter  json.RawMessage `json:"filter"`
		Payload *selector       `json:"with_payload"`
		Vector  *selector       `json:"with_vector"`
	}](body)
	if err != nil {
		return nil, err
	}
	if in.Limit == nil || *in.Limit < 1 {
		return nil, bad("limit")
	}
	ids, err := c.matching(in.Filter)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(ids, pointID.compare)
	out := []answered{}
	var next *pointID
	for _, id := range ids {
		if in.Offset != nil && id.compare(*in.Offset) < 0 {
			continue
		}
		if len(out) == *in.Limit {
			next = &id
			break
		}
		out = append(out, c.points[id].answered(id, in.Payload, in.Vector))
	}
	return map[string]any{"points": out, "next_page_offset": next}, nil
}

func (c *collection) count(body []byte) (any, error) {
	in, err := read[struct {
		Filter json.RawMessage `json:"filter"`
		Exact  bool            `json:"exact"`
	}](body)
	if err != nil {
		return nil, err
	}
	ids, err := c.matching(in.Filter)
	return map[string]any{"count": len(ids)}, err
}

func (c *collection) facet(body []byte) (any, error) {
	in, err := read[struct {
		Key    string          `json:"key"`
		Limit  *int            `json:"limit"`
		Filter json.RawMessage `json:"filter"`
		Exact  bool            `json:"exact"`
	}](body)
	if err != nil {
		return nil, err
	}
	i, ok := c.indexes[in.Key]
	if !ok || i.Type != "keyword" && (i.Lookup == nil || !*i.Lookup) {
		return nil, bad("No appropriate index for faceting: `%s`", in.Key)
	}
	ids, err := c.matching(in.Filter)
	if err != nil {
		return nil, err
	}
	counts := map[any]int{}
	for _, id := range ids {
		for _, v := range valuesOf(c.points[id].payload, in.Key) {
			counts[v]++
		}
	}
	type hit struct {
		Value any `json:"value"`
		Count int `json:"count"`
	}
	hits := []hit{}
	for v, n := range counts {
		hits = append(hits, hit{v, n})
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(b.Count, a.Count) })
	limit := 10
	if in.Limit != nil {
		limit = *in.Limit
	}
	return map[string]any{"hits": hits[:min(limit, len(hits))]}, nil
}

func (c *collection) query(body []byte) (any, error) {
	in, err := read[struct {
		Query   json.RawMessage `json:"query"`
		Using   string          `json:"using"`
		Limit   *int            `json:"limit"`
		Filter  json.RawMessage `json:"filter"`
		Payload *selector       `json:"with_payload"`
		Vector  *selector       `json:"with_vector"`
		Params  struct {
			Ef    *int `json:"hnsw_ef"`
			Exact bool `json:"exact"`
		} `json:"params"`
	}](body)
	if err != nil {
		return nil, err
	}
	if in.Limit == nil || *in.Limit < 1 {
		return nil, bad("limit")
	}
	ids, err := c.matching(in.Filter)
	if err != nil {
		return nil, err
	}
	scores := map[pointID]float32{}
	switch in.Using {
	case dense:
		v, err := read[[]float64](in.Query)
		if err != nil {
			return nil, err
		}
		if len(v) != c.size {
			return nil, bad("Vector dimension error: expected dim: %d, got %d", c.size, len(v))
		}
		q := float32s(v)
		for _, id := range ids {
			if p := c.points[id]; p.dense != nil {
				var sum float32
				for i, x := range p.dense {
					sum += x * q[i]
				}
				scores[id] = sum
			}
		}
	case sparse:
		v, err := read[sparseVector](in.Query)
		if err != nil {
			return nil, err
		}
		q, err := v.weights()
		if err != nil {
			return nil, err
		}
		for x := range q {
			with, having := 0, 0
			for _, p := range c.points {
				if p.sparse == nil {
					continue
				}
				with++
				if _, ok := p.sparse[x]; ok {
					having++
				}
			}
			if c.idf {
				q[x] *= float32(math.Log((float64(with)-float64(having)+.5)/(float64(having)+.5) + 1))
			}
		}
		for _, id := range ids {
			var sum float32
			met := false
			for x, w := range c.points[id].sparse {
				if asked, ok := q[x]; ok {
					sum += asked * w
					met = true
				}
			}
			if met {
				scores[id] = sum
			}
		}
	default:
		return nil, bad("Not existing vector name error: %s", in.Using)
	}
	best := slices.SortedFunc(maps.Keys(scores), func(a, b pointID) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), a.compare(b)) })
	out := []answered{}
	for _, id := range best[:min(*in.Limit, len(best))] {
		p := c.points[id]
		a := p.answered(id, in.Payload, in.Vector)
		score := scores[id]
		a.Version, a.Score = &p.version, &score
		out = append(out, a)
	}
	return map[string]any{"points": out}, nil
}

// test says whether a point meets a condition.
type test func(id pointID, payload map[string]any) bool

// matching are the points that meet a filter, in no order.
func (c *collection) matching(filter json.RawMessage) (ids []pointID, err error) {
	meets := func(pointID, map[string]any) bool { return true }
	if filter != nil {
		if meets, err = c.filter(filter); err != nil {
			return nil, err
		}
	}
	for id, p := range c.points {
		if meets(id, p.payload) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// filter reads a filter.
func (c *collection) filter(raw json.RawMessage) (test, error) {
	in, err := read[struct {
		Must    []json.RawMessage `json:"must"`
		Should  []json.RawMessage `json:"should"`
		MustNot []json.RawMessage `json:"must_not"`
	}](raw)
	if err != nil {
		return nil, err
	}
	var must, should, mustNot []test
	for _, x := range []struct {
		of []json.RawMessage
		to *[]test
	}{{in.Must, &must}, {in.Should, &should}, {in.MustNot, &mustNot}} {
		for _, raw := range x.of {
			one, err := c.condition(raw)
			if err != nil {
				return nil, err
			}
			*x.to = append(*x.to, one)
		}
	}
	return func(id pointID, payload map[string]any) bool {
		meets := func(t test) bool { return t(id, payload) }
		return !slices.ContainsFunc(must, func(t test) bool { return !meets(t) }) && !slices.ContainsFunc(mustNot, meets) && (len(should) == 0 || slices.ContainsFunc(should, meets))
	}, nil
}

func (c *collection) condition(raw json.RawMessage) (test, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, bad("condition %s", raw)
	}
	switch {
	case fields["has_id"] != nil && len(fields) == 1:
		in, err := read[[]pointID](fields["has_id"])
		return func(id pointID, _ map[string]any) bool { return slices.Contains(in, id) }, err
	case fields["key"] == nil:
		return c.filter(raw)
	}
	in, err := read[struct {
		Key   string `json:"key"`
		Match *struct {
			Value json.RawMessage   `json:"value"`
			Any   []json.RawMessage `json:"any"`
		} `json:"match"`
		Range *struct {
			Gt  *float64 `json:"gt"`
			Gte *float64 `json:"gte"`
			Lt  *float64 `json:"lt"`
			Lte *float64 `json:"lte"`
		} `json:"range"`
	}](raw)
	if err != nil {
		return nil, err
	}
	index, ok := c.indexes[in.Key]
	if !ok {
		return nil, bad("Index required but not found for \"%s\"", in.Key)
	}
	yes := func(b *bool) bool { return b == nil || *b }
	switch r := in.Range; {
	case in.Match != nil && r == nil && (in.Match.Value != nil) != (in.Match.Any != nil):
		if index.Type == "integer" && !yes(index.Lookup) {
			return nil, bad("%s has no lookup", in.Key)
		}
		raws := in.Match.Any
		if in.Match.Value != nil {
			raws = append(raws, in.Match.Value)
		}
		wanted := map[any]bool{}
		for _, raw := range raws {
			d := json.NewDecoder(bytes.NewReader(raw))
			d.UseNumber()
			var want any
			if err := d.Decode(&want); err != nil {
				return nil, bad("match %s", raw)
			}
			if _, text := want.(string); text != (index.Type == "keyword") {
				return nil, bad("match of %s in a field of %s", raw, index.Type)
			}
			wanted[want] = true
		}
		return func(_ pointID, payload map[string]any) bool {
			return slices.ContainsFunc(valuesOf(payload, in.Key), func(v any) bool { return wanted[v] })
		}, nil
	case r != nil && in.Match == nil && index.Type == "integer" && yes(index.Range):
		return func(_ pointID, payload map[string]any) bool {
			return slices.ContainsFunc(valuesOf(payload, in.Key), func(v any) bool {
				number, _ := v.(json.Number)
				n, err := number.Float64() // as the server reads bounds
				return err == nil && (r.Gt == nil || n > *r.Gt) && (r.Gte == nil || n >= *r.Gte) && (r.Lt == nil || n < *r.Lt) && (r.Lte == nil || n <= *r.Lte)
			})
		}, nil
	}
	return nil, bad("condition %s", raw)
}

// valuesOf are those of a field, which may have several.
func valuesOf(payload map[string]any, key string) []any {
	switch v := payload[key].(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}
