package metadata

import "testing"

func TestNumbersThatNoFilterReads(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`: "", `{"a": 1.7e308, "b": -9007199254740993, "c": 1e-999, "d": "1e999", "e": [null, true, {}]}`: "",
		`{"a": 1e309}`: "1e309", `{"a": {"b": -1e999}}`: "-1e999", `{"a": [1, {"b": [2, 1e400]}], "c": 3}`: "1e400",
	} {
		m, err := Parse([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := Unreadable(m); ok != (want != "") || ok && n.String() != want {
			t.Errorf("%s: %q %v", raw, n, ok)
		}
	}
}
