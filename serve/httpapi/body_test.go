package httpapi

import (
	"fmt"
	"strings"
	"testing"
)

// TestWholeNumbers: an integer may be written as a float, as JSON Schema allows and as clients do whose numbers are all floats.
func TestWholeNumbers(t *testing.T) {
	type body struct {
		K    int              `json:"k"`
		List []int64          `json:"list"`
		In   struct{ N uint } `json:"in"`
	}
	for in, want := range map[string]string{
		`{"k":5.0}`: "{5 [] {0}}", `{"k":1e1,"list":[2.0, 3,-4.00],"in":{"n":5.0E0}}`: "{10 [2 3 -4] {5}}", `{"k":-0.0}`: "{0 [] {0}}",
		`{"k":5.5}`: "number 5.5 instead of an integer", `{"k":1e300}`: "number 1e300 instead of", `{"in":{"n":-2.0}}`: "number -2 instead of", `{"k":"5.0"}`: "string instead of an integer",
		`{"list":[` + strings.Repeat("1.0,", mostFloats) + `1.0]}`: "number 1.0 instead of",
	} {
		var got body
		err := decode([]byte(in), &got)
		if text := fmt.Sprint(got); err == nil && text != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v; want %s", in, text, err, want)
		}
	}
}
