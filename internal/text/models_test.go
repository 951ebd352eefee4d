package text

import (
	"slices"
	"testing"
)

func TestModelLanguages(t *testing.T) {
	for name, want := range map[string][]string{
		"all-MiniLM-L6-v2": {"en"}, "all-MiniLM-L6-v2+splade:multilingual": {"en"}, "all-MiniLM-L6-v2-q": {"en"}, "all-minilm-l6-v2-int8": {"en"}, "ollama:nomic-embed-text:v1.5": {"en"},
		"multilingual-e5-small": {"mul"}, "multilingual-e5-small-q4-int8": {"mul"}, "hash-384": nil, "openai:text-embedding-3-small": nil, "": nil, "mine": nil,
	} {
		if got := ModelLanguages(name); !slices.Equal(got, want) {
			t.Errorf("%s reads %v, want %v", name, got, want)
		}
	}
}
