package mcp

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// FuzzArguments: whatever a client sends is read or refused with a reason, and what is read is
// written again as something that is read as the same.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{"", "null", "{}", `{"query":"x"}`, `{"query":"x","k":5,"offset":1,"min_score":-0.5,"per_chunk":true}`, `{"query":7}`, `{"Query":"x"}`,
		`{"documents":[{"id":"a","text":"b","metadata":{"n":1e400,"x":[null,{}]}}]}`, `{"documents":null}`, `{"id":"a","limit":1.5}`, `[1]`, `{"a":1}{`, `{"query":"\ud800"}`,
		`{"documents":[{"` + strings.Repeat("\xdc", 9000) + `":1}]}`, `{"documents":[{"id":1` + strings.Repeat("0", 9000) + `}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read[searchArgs](t, searchTool(), data)
		read[getArgs](t, getTool(), data)
		read[listArgs](t, listTool(), data)
		read[indexArgs](t, indexTool(), data)
		read[explainArgs](t, explainTool(), data)
	})
}

func read[In any](t *testing.T, tool *sdk.Tool, data []byte) {
	in, err := arguments[In](t.Context(), tool, data)
	if err != nil {
		if err.Error() == "" || len(err.Error()) > 4096 {
			t.Errorf("%q is refused with %q", data, err)
		}
		return
	}
	written, err := json.Marshal(in)
	if err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	again, err := arguments[In](t.Context(), tool, written)
	if err != nil {
		t.Fatalf("%q is read, and refused as %q: %v", data, written, err)
	}
	twice, err := json.Marshal(again)
	if err != nil || string(twice) != string(written) {
		t.Errorf("%q is read as %q, then as %q (%v)", data, written, twice, err)
	}
}

// FuzzClip: what is cut is a beginning of at most so many bytes, and no character is cut in two.
func FuzzClip(f *testing.F) {
	f.Add("Grüße, 日本!", 5)
	f.Add("a b c d e f g", 9)
	f.Add("\u008c", 1) // the first character
	f.Add("\xff\xfe\x80\x80\x80", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		got, left := clip(s, n)
		if len(got) > max(n, 0) || len(got)+left != len(s) || s[:len(got)] != got {
			t.Fatalf("clip(%q, %d) = %q, %d", s, n, got, left)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Fatalf("clip(%q, %d) = %q cuts a character", s, n, got)
		}
		from := runeStart(s, len(s)/2)
		part, at, left := clipAround(s, from, len(s)-len(s)/4, n)
		if len(part) > max(n, 0) || len(part)+left != len(s) || s[at:at+len(part)] != part || at > from {
			t.Fatalf("clipAround(%q, %d) = %q, %d, %d", s, n, part, at, left)
		}
		if utf8.ValidString(s) && !utf8.ValidString(part) {
			t.Fatalf("clipAround(%q, %d) = %q cuts a character", s, n, part)
		}
		if at := runeStart(s, max(n, 0)); at > len(s) || at > max(n, 0) || n < len(s) && n >= 0 && at < n-3 {
			t.Fatalf("runeStart(%q, %d) = %d", s, n, at)
		}
	})
}
