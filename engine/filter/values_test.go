package filter

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestValues: each value of a path has one fact, which names a filter that the document meets and no document
// with another value does.
func TestValues(t *testing.T) {
	values := []string{`"en"`, `"de"`, `""`, `"a\u0000b\u0001"`, "true", "false", "0", "7", "-7", "7.5", "70", "2020", "0.05", "-0.0005", "1e30", "-1e-30", "123456789012345678901234567890", "0.1e-400"}
	var facts [][]string
	for _, v := range values {
		raw := `{"other":1,"a":{"b":` + v + `},"ab":3,"a.":2}`
		f, err := Facts([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		of := Values(f, "a.b")
		if len(of) != 1 {
			t.Fatalf("%s has values %q", v, of)
		}
		facts = append(facts, of)
	}
	for i, v := range values {
		f, err := Value(facts[i][0])
		if err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		again, err := Parse(f.String())
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		d, err := again.Demanded("a.b")
		if err != nil || !slices.Equal(d, facts[i]) {
			t.Errorf("%s, as %s, demands %q, has %q, %v", v, f, d, facts[i], err)
		}
		for j, w := range values {
			var x any
			dec := json.NewDecoder(strings.NewReader(w))
			dec.UseNumber()
			if err := dec.Decode(&x); err != nil {
				t.Fatal(err)
			}
			if met, err := f.Match(map[string]any{"a": map[string]any{"b": x}}); err != nil || met != (i == j) {
				t.Errorf("%s meets %s: %v, %v", w, f, met, err)
			}
		}
	}
	several, err := Facts([]byte(`{"tag":["x","y",null,{"z":1}, 3]}`))
	if err != nil || len(Values(several, "tag")) != 3 || len(Values(several, "ta")) != 0 || len(Values(several, "tag.z")) != 1 {
		t.Errorf("%q, %v", Values(several, "tag"), err)
	}
	long, err := Facts([]byte(`{"tag":"` + strings.Repeat("x", longFact+1) + `"}`))
	if err != nil || len(Values(long, "tag")) != 0 {
		t.Errorf("a long text is a value: %v", err)
	}
	for _, bad := range []string{"", "a", "a\x00", "a\x00e", "a\x000", "a\x00n", "a\x00n2", "a\x00n2zzzzzzzzzzzzzzzz1", "a\x00n0zzzzzzzzzzzzzzzz1~", "a\x00n28000000000000001x"} {
		if f, err := Value(bad); err == nil {
			t.Errorf("%q is %s", bad, f)
		}
	}
}

func TestDemanded(t *testing.T) {
	for expr, want := range map[string]string{
		`lang = "en"`:                                    `lang = "en"`,
		`year > 3 and (lang = "en" and x = 1)`:           `lang = "en"`,
		`lang in ["en"]`:                                 `lang = "en"`,
		`lang in ["en", "de"]`:                           "",
		`lang in ["en", "en"]`:                           `lang = "en"`,
		`lang in []`:                                     "",
		`lang = "en" or lang = "de"`:                     "",
		`lang = "en" and x = 1 or lang = "en" and y = 2`: `lang = "en"`,
		`not lang = "en"`:                                "",
		`not not lang = "en"`:                            "",
		`lang != "en"`:                                   "",
		`lang >= "en"`:                                   "",
		`lang exists`:                                    "",
		`other = "en"`:                                   "",
		`true`:                                           "",
		`lang = "de" and lang = "en"`:                    `lang = "de"; lang = "en"`,
	} {
		f, err := Parse(expr)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		facts, err := f.Demanded("lang")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, fact := range facts {
			v, err := Value(fact)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v.String())
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s demands %q, want %q", expr, s, want)
		}
	}
}
