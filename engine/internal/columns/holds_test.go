package columns

import "testing"

// TestHolds: a document has its own metadata, however they are written, and no
// others, as edited, compacted and opened from a file.
func TestHolds(t *testing.T) {
	const own = `{"a": 1, "b": {"c": ["x", true, null], "d": {}}, "e": "1"}`
	c := New()
	e := c.Edit()
	for i, raw := range []string{own, "", `{"a": 2}`} {
		if err := e.Add(uint64(i+1), []byte(raw)); err != nil {
			t.Fatal(err)
		}
	}
	e.Remove(3)
	c = e.Done()
	compact, err := c.Compacted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Columns{"edited": c, "compacted": compact, "opened": reload(t, c)} {
		k := c.Checker()
		for _, x := range []struct {
			ord  uint64
			raw  string
			want bool
		}{
			{1, own, true}, {1, `{"e":"1","b":{"d":{},"c":[true,"x",null]},"a":1,"a":1}`, true},
			{1, `{"a": 1, "b": {"c": ["x", true, null], "d": {}}}`, false}, {1, `{"a": 2, "b": {"c": ["x", true, null], "d": {}}, "e": "1"}`, false},
			{1, `{"a": 1, "b": {"c": ["x", true, null], "d": {}}, "e": 1}`, false}, {1, `{"a": 1, "b": {"c": ["x", true, null, 7], "d": {}}, "e": "1"}`, false},
			{1, `{"a": 1, "b": {"c": ["x", true, null], "f": {}}, "e": "1"}`, false}, {1, "", false},
			{2, "", true}, {2, "{}", true}, {2, own, false}, {3, `{"a": 2}`, false}, {4, "", false},
		} {
			if got, err := k.Holds(x.ord, []byte(x.raw)); got != x.want || err != nil {
				t.Errorf("%s: document %d, %s: %t, %v", name, x.ord, x.raw, got, err)
			}
		}
		if _, err := k.Holds(1, []byte("{")); err == nil {
			t.Errorf("%s: metadata that are none", name)
		}
	}
}
