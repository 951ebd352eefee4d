package modelspec

import (
	"errors"
	"strings"
	"testing"
)

// TestCapitals: a folder is refused whose libraries would lower capitals that tokenizer.json keeps, or keep those that it
// lowers, and one whose weights an adapter changes.
func TestCapitals(t *testing.T) {
	const (
		keeps  = `{"version":"1.0","added_tokens":[{"id":0,"normalizer":{"type":"Lowercase"}}],"normalizer":{"type":"BertNormalizer","lowercase":false},"model":{}}`
		lowers = `{"version":"1.0","normalizer":{"type":"BertNormalizer","lowercase":true},"model":{}}`
		other  = `{"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"}]}}`
		none   = `{"normalizer":null,"model":{}}`
	)
	for _, c := range []struct{ tokenizer, config, sentence, says string }{
		{keeps, `{}`, `{}`, ""},
		{keeps, `{"do_lower_case":false}`, `{"do_lower_case":false}`, ""},
		{lowers, `{"do_lower_case":true}`, `{"do_lower_case":true}`, ""},
		{lowers, `{"do_lower_case":true}`, `{"do_lower_case":null}`, ""},
		{other, `{"do_lower_case":true}`, `{"do_lower_case":true}`, ""},
		{none, `{"do_lower_case":true}`, `{}`, ""}, // no tokenizer of BERT: the library does not look at it
		{keeps, `{}`, `{"do_lower_case":true}`, "do_lower_case is true in sentence_bert_config.json and false in tokenizer.json"},
		{none, `{"do_lower_case":false}`, `{"do_lower_case":true}`, "do_lower_case is true in sentence_bert_config.json and false"},
		{lowers, `{"do_lower_case":false}`, `{}`, "do_lower_case is false in tokenizer_config.json and true in tokenizer.json"},
		{keeps, `{"do_lower_case":true}`, `{}`, "do_lower_case is true in tokenizer_config.json and false"},
		{`{"normalizer":7}`, `{"do_lower_case":true}`, `{}`, "tokenizer.json"},
		{`{"version"`, `{"do_lower_case":true}`, `{}`, "tokenizer.json"},
		{`[]`, `{"do_lower_case":true}`, `{}`, "tokenizer.json"},
	} {
		_, _, err := Describe(write(t, map[string]string{"config.json": `{}`, "tokenizer.json": c.tokenizer, "tokenizer_config.json": c.config, "sentence_bert_config.json": c.sentence}))
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s, %s, %s: %v", c.tokenizer, c.config, c.sentence, err)
		}
	}
	if _, _, err := Describe(write(t, map[string]string{"config.json": `{}`, "adapter_config.json": `{}`})); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), "merge_and_unload") {
		t.Errorf("an adapter: %v", err)
	}
	s, _, err := Describe(write(t, map[string]string{"config.json": `{}`, "sentence_roberta_config.json": `{"max_seq_length":77}`}))
	if err != nil || s.MaxTokens != 77 {
		t.Errorf("the file of an older version: %d tokens, %v", s.MaxTokens, err)
	}
	if _, _, err := Describe(write(t, map[string]string{"modules.json": modules("Transformer", "Pooling=1_Pooling"), "sentence_bert_config.json": `{"transformer_task":"text-generation"}`})); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), "text-generation") {
		t.Errorf("another task: %v", err)
	}
}
