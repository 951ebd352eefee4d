package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/modelspec"
	lines "github.com/lexsem/lexsem/internal/testkit/recorded"
)

// Pairs are those of the reference, cut at any limit.
func TestRecordedPairs(t *testing.T) {
	r := readRecording(t, "testdata/recorded.gz")
	type pair struct {
		Family, Name, First, Second string
		Max                         int
		IDs, Types                  []int32
		Post                        json.RawMessage `json:"post_processor"`
	}
	pairs, err := lines.Lines[pair]("testdata/pairs.gz")
	if err != nil || len(pairs) < 400 {
		t.Fatalf("%d pairs, %v", len(pairs), err)
	}
	var tok encoder.Tokenizer
	cuts := 0
	for i, p := range pairs {
		if p.Post != nil {
			var file map[string]json.RawMessage
			if err := json.Unmarshal(r.files[slices.Index(r.names, p.Family)], &file); err != nil {
				t.Fatal(err)
			}
			file["post_processor"] = p.Post
			raw, err := json.Marshal(file)
			if err != nil {
				t.Fatal(err)
			}
			if tok, err = Parse(bytes.NewReader(raw)); err != nil {
				t.Fatalf("%s, %s: %v", p.Family, p.Name, err)
			}
		}
		frame, err := tok.(modelspec.PairTokenizer).PairFrame()
		if err != nil {
			t.Fatalf("%s, %s: %v", p.Family, p.Name, err)
		}
		most := p.Max
		if most == 0 {
			most = 1000
		}
		if most <= frame.Len() { // of which nothing is left
			if _, err := modelspec.NewPairs(tok, most); !errors.Is(err, encoder.ErrTokenizer) {
				t.Errorf("%d tokens for %d special ones: %v", most, frame.Len(), err)
			}
			continue
		}
		both, err := modelspec.NewPairs(tok, most)
		if err != nil {
			t.Fatal(err)
		}
		ids, types := both.Join(both.Part(p.First), both.Part(p.Second))
		if len(ids) == most {
			cuts++
		}
		if !slices.Equal(ids, p.IDs) || !slices.Equal(types, p.Types) {
			t.Errorf("pair %d, %s, %s, at most %d: %q and %q\nids   %v\nwant  %v\ntypes %v\nwant  %v", i, p.Family, p.Name, p.Max, p.First, p.Second, ids, p.IDs, types, p.Types)
		}
	}
	if cuts < 100 {
		t.Errorf("%d pairs were cut, too few to tell", cuts)
	}
}

// A template that is no frame around two texts is refused when pairs are asked for, and
// by then alone.
func TestPairTemplates(t *testing.T) {
	file := func(pair string) string {
		return `{"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
			"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3}},
			"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}}],
			"pair":` + pair + `,"special_tokens":{"[CLS]":{"id":"[CLS]","ids":[1],"tokens":["[CLS]"]},"[SEP]":{"id":"[SEP]","ids":[2],"tokens":["[SEP]"]}}}}`
	}
	bert := strings.NewReplacer(`"normalizer":null`, `"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}`,
		`"pre_tokenizer":null`, `"pre_tokenizer":{"type":"BertPreTokenizer"}`)
	a, b := `{"Sequence":{"id":"A","type_id":0}}`, `{"Sequence":{"id":"B","type_id":1}}`
	for pair, says := range map[string]string{
		`[` + a + `,` + b + `]`: "",
		`null`:                  "missing",
		`{}`:                    "cannot be read",
		`[` + b + `,` + a + `]`: "no frame",
		`[` + a + `]`:           "no frame",
		`[` + a + `,` + a + `]`: "no frame",
		`[` + a + `,` + b + `,{"SpecialToken":{"id":"[X]","type_id":0}}]`:                            `"[X]", which has no id`,
		`[` + a + `,` + b + `,{"SpecialToken":{"id":"[SEP]","type_id":-1}}]`:                         "type -1",
		`[` + a + `,{"Sequence":{"id":"B","type_id":99999}}]`:                                        "type 99999",
		`[` + strings.Repeat(`{"SpecialToken":{"id":"[SEP]","type_id":0}},`, 70) + a + `,` + b + `]`: "72 parts",
	} {
		for kind, text := range map[string]string{"generic": file(pair), "BERT": bert.Replace(file(pair))} {
			tok, err := Parse(strings.NewReader(text))
			if err != nil {
				t.Fatalf("%s, %s: %v", kind, pair, err)
			}
			_, err = modelspec.NewPairs(tok, 10)
			if says == "" && err != nil || says != "" && (!errors.Is(err, encoder.ErrTokenizer) || !strings.Contains(err.Error(), says)) {
				t.Errorf("%s, %.200s: %v, want %q", kind, pair, err, says)
			}
		}
	}
}
