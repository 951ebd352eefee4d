package text

import (
	"slices"
	"testing"
)

func TestUnread(t *testing.T) {
	const de, en, tr = "Wer hat die Brücke über den Fluss gebaut?", "Who has built the bridge across the river?", "Köprüyü ırmağın üzerine kim kurdu?"
	for _, c := range []struct {
		model, text string
		want        bool
	}{
		{"all-MiniLM-L6-v2", de, true}, {"all-MiniLM-L6-v2", tr, true}, {"static:all-MiniLM-L6-v2", "Кто построил мост?", true}, {"all-MiniLM-L6-v2", en, false},
		{"all-MiniLM-L6-v2", "who is Recep Tayyip Erdoğan", false}, {"all-MiniLM-L6-v2", "Novak Đoković wins Wimbledon", false}, // a name
		{"all-MiniLM-L6-v2", "UK records project integrated care services health care social care", false}, // a word of two languages
		{"all-MiniLM-L6-v2", "bridge", false}, {"all-MiniLM-L6-v2", "", false}, {"multilingual-e5-small-q4", de, false}, {"mine", de, false},
	} {
		if got := Unread(c.model, c.text); got != c.want {
			t.Errorf("%s, %q: %v", c.model, c.text, got)
		}
	}
}

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
