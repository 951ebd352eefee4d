package elastic

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzHits: what package json writes is read as it was, whatever stands beside it; and nothing panics.
func FuzzHits(f *testing.F) {
	f.Add("é\x00\"x", "a b  c", 3, 0.75, []byte(`{"a":[1,-2.5e3,null,true,"\\u00e9"]}`))
	f.Add("", "", 0, -1e300, []byte(`[[],{},"x"]`))
	f.Add("", "", 1<<53, -0.0, []byte(`[1e400,-1E+999,5e-999]`))
	f.Add("\u2028<&>", "\\", -1, 0.0, []byte(`{"hits":{"hits":[{}]}}`))
	f.Fuzz(func(t *testing.T, id, terms string, chunk int, score float64, other []byte) {
		_ = new(candidates).Decode(other)
		if math.IsNaN(score) || math.IsInf(score, 0) || chunk != int(float64(chunk)) || !utf8.ValidString(id) || !utf8.ValidString(terms) {
			return
		}
		beside := json.RawMessage(other)
		if !json.Valid(other) {
			beside = json.RawMessage("null")
		}
		one := object{"_aside": beside, "_id": terms, "_score": score, "fields": object{"chunk": []int{chunk}, "else": beside, "id": []string{id}, "terms": []string{terms}}}
		raw, err := json.Marshal(object{"aside": beside, "hits": object{"max": beside, "hits": []object{one, one}}})
		if err != nil {
			t.Fatal(err)
		}
		var c candidates
		if err := c.Decode(raw); err != nil || len(c.hits) != 2 {
			t.Fatalf("%s: %d hits, %v", raw, len(c.hits), err)
		}
		for _, h := range c.hits {
			if got := h.candidate(); got.ID != id || got.Chunk != chunk || got.Terms != terms || h.Score != score || h.ID != terms {
				t.Fatalf("%s: %+v", raw, h)
			}
		}
	})
}

func TestHits(t *testing.T) {
	var c candidates
	if err := c.Decode([]byte(`{"took":3,"_shards":{"x":[1,-2.5e3,null,true,false,"a\"b",{},[]]},"hits":{"max_score":null,"hits":[{"_index":"i","_id":"a.0","_score":0.75,"fields":{"id":["\u00e9\u0000\"x"],"chunk":[3],"terms":["a b  c"]}}, {"_id":"b","_score":1,"fields":{"chunk":[0],"id":["日本"],"more":[1]},"sort":[1,{}]}]}}`)); err != nil {
		t.Fatal(err)
	}
	if len(c.hits) != 2 || c.hits[0].Score != .75 || c.hits[0].ID != "a.0" {
		t.Fatalf("%+v", c.hits)
	}
	a, b := c.hits[0].candidate(), c.hits[1].candidate()
	if a.ID != "é\x00\"x" || a.Chunk != 3 || a.Terms != "a b  c" || b.ID != "日本" || b.Chunk != 0 || b.Terms != "" {
		t.Errorf("%+v, %+v", a, b)
	}
	for _, bad := range []string{``, `[]`, `{"hits":`, `{"hits":{"hits":[{}]}}`, `{"hits":{"hits":[{"fields":{"id":["x"]}}]}}`, `{}x`, `{"a":tru}`, "{\"a\":\"\n\"}", `{"a":1 2}`, `{"a":"b`, `{"a":"b\`, `{"a":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `,"hits":{"hits":[]}}`,
		`{"hits":{"hits":[{"_id":"\x","fields":{"id":["x"],"chunk":[0]}}]}}`, "{\"hits\":{\"hits\":[{\"_id\":\"\xff\",\"fields\":{\"id\":[\"x\"],\"chunk\":[0]}}]}}", `{"hits":{"hits":[{"_score":"x","fields":{"id":["x"],"chunk":[0]}}]}}`} {
		if err := new(candidates).Decode([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
