package text

import (
	"slices"
	"strings"
)

// englishModels lists the models that read only English.
var englishModels = []string{
	"all-MiniLM-L6-v2", "bge-small-en-v1.5", "e5-small-v2",
	"all-MiniLM-L12-v2", "all-mpnet-base-v2", "all-distilroberta-v1", "multi-qa-MiniLM-L6-cos-v1", "bge-base-en-v1.5", "bge-large-en-v1.5",
	"e5-base-v2", "e5-large-v2", "gte-small", "gte-base", "gte-large", "gte-base-en-v1.5", "gte-large-en-v1.5", "nomic-embed-text-v1", "nomic-embed-text-v1.5",
	"ollama:all-minilm", "ollama:mxbai-embed-large", "ollama:nomic-embed-text", "ollama:snowflake-arctic-embed",
}

// Unread reports whether the language of a text is known to be one that the model does not read.
func Unread(model, s string) bool {
	reads := ModelLanguages(model)
	if len(reads) == 0 || slices.Contains(reads, "mul") {
		return false
	}
	code := LanguageOf(s)
	return code != "" && !slices.Contains(reads, code)
}

// ModelLanguages returns the languages that a model reads, as ISO 639 codes ("mul" for very many), nil if they are not
// known. The name is that of its encoder.Fingerprint, in which the suffixes -q, -q4 and -int8, the tags of Ollama, "static:"
// before the name and a model of words after it (encoder.WithSparse) change nothing.
func ModelLanguages(model string) []string {
	model, _, _ = strings.Cut(model, "+splade:")
	name := strings.TrimSuffix(strings.TrimPrefix(model, "static:"), "-int8")
	name = strings.TrimSuffix(strings.TrimSuffix(name, "-q"), "-q4")
	if kind, rest, ok := strings.Cut(name, ":"); ok {
		rest, _, _ = strings.Cut(rest, ":")
		name = kind + ":" + rest
	}
	for _, m := range englishModels {
		if strings.EqualFold(m, name) {
			return []string{"en"}
		}
	}
	if strings.Contains(strings.ToLower(name), "multilingual") {
		return []string{"mul"}
	}
	return nil
}
