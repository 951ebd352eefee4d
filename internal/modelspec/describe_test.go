package modelspec

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/pooling"
)

// write puts files into a new folder named m.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "m")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// modules is a modules.json of modules as KIND or KIND=PATH.
func modules(kinds ...string) string {
	var parts []string
	for _, k := range kinds {
		kind, path, _ := strings.Cut(k, "=")
		parts = append(parts, `{"idx":0,"name":"0","path":"`+path+`","type":"sentence_transformers.models.`+kind+`"}`)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// pylate is modules where pylate.KIND is a module of PyLate.
func pylate(kinds ...string) string {
	return strings.ReplaceAll(modules(kinds...), "sentence_transformers.models.pylate.", "pylate.models.Dense.")
}

func TestDescribe(t *testing.T) {
	base := func(change func(*Spec)) Spec {
		s := Spec{Model: "m", Precision: "fp32", Pooling: pooling.Mean, MaxTokens: 256}
		change(&s)
		return s
	}
	flags := func(on string) string { return `{"word_embedding_dimension":8,"pooling_mode_` + on + `":true}` }
	for _, c := range []struct {
		name  string
		files map[string]string
		want  Spec
		notes int
	}{
		{"nothing", map[string]string{"config.json": `{}`}, base(func(*Spec) {}), 2},
		{"cls without modules.json", map[string]string{"1_Pooling/config.json": flags("cls_token"), "sentence_bert_config.json": `{"max_seq_length":512}`},
			base(func(s *Spec) { s.Pooling, s.MaxTokens = pooling.CLS, 512 }), 0},
		{"max", map[string]string{"1_Pooling/config.json": flags("max_tokens")}, base(func(s *Spec) { s.Pooling = pooling.Max }), 1},
		{"last", map[string]string{"1_Pooling/config.json": flags("lasttoken")}, base(func(s *Spec) { s.Pooling = pooling.Last }), 1},
		{"weighted", map[string]string{"1_Pooling/config.json": flags("weightedmean_tokens")}, base(func(s *Spec) { s.Pooling = pooling.Weighted }), 1},
		{"root", map[string]string{"1_Pooling/config.json": flags("mean_sqrt_len_tokens")}, base(func(s *Spec) { s.Pooling = pooling.Sqrt }), 1},
		{"a mode by name", map[string]string{"1_Pooling/config.json": `{"embedding_dimension":8,"pooling_mode":"lasttoken","include_prompt":false}`},
			base(func(s *Spec) { s.Pooling, s.LeavePrompt = pooling.Last, true }), 1},
		{"modes of one", map[string]string{"1_Pooling/config.json": `{"pooling_mode":["cls"],"include_prompt":true}`}, base(func(s *Spec) { s.Pooling = pooling.CLS }), 1},
		{"modules", map[string]string{"modules.json": modules("Transformer", "Pooling=p", "Dense=2_Dense", "Dense=3_Dense", "Normalize=4_Normalize"), "p/config.json": flags("cls_token"), "1_Pooling/config.json": flags("max_tokens")},
			base(func(s *Spec) { s.Pooling, s.Dense = pooling.CLS, []string{"2_Dense", "3_Dense"} }), 1},
		{"newer names of modules", map[string]string{"modules.json": strings.ReplaceAll(modules("Transformer", "Pooling=1_Pooling", "Normalize=2"), ".models.", ".sentence_transformer.modules.x."), "1_Pooling/config.json": flags("cls_token")},
			base(func(s *Spec) { s.Pooling = pooling.CLS }), 1},
		{"of PyLate", map[string]string{"modules.json": pylate("Transformer", "pylate.Dense=1_Dense", "pylate.Dense=2_Dense"), "config.json": `{"max_position_embeddings":128}`,
			"config_sentence_transformers.json": `{"prompts":{"query":"seek: ","document":""},"query_prefix":"[Q] ","document_prefix":"","query_length":256,"skiplist_words":["a"]}`},
			base(func(s *Spec) {
				s.Dense, s.MaxTokens, s.QueryPrefix = []string{"1_Dense", "2_Dense"}, 128, "seek: "
				s.Late = &Late{QueryMark: "[Q] ", QueryTokens: 128, Skip: []string{"a"}}
			}), 0},
		{"of SPLADE", map[string]string{"modules.json": strings.ReplaceAll(modules("MLMTransformer", "SpladePooling=1"), ".models.", ".sparse_encoder.models."), "1/config.json": `{"pooling_strategy":"max","activation_function":"log1p_relu"}`},
			base(func(s *Spec) { s.Splade = &Splade{Twice: true} }), 2},
		{"of ColBERT", map[string]string{"config.json": `{"architectures":["HF_ColBERT"]}`, "artifact.metadata": `{"doc_token_id":"[D]","query_maxlen":48,"doc_maxlen":220}`},
			base(func(s *Spec) {
				s.Dense, s.MaxTokens = []string{"."}, 220
				s.Late = &Late{QueryMark: "[unused0]", PassageMark: "[D]", QueryTokens: 48, Skip: strings.Split(punctuation, "")}
			}), 0},
		{"prompts", map[string]string{"config_sentence_transformers.json": `{"prompts":{"query":"q: ","corpus":"c: ","passage":"p: "},"default_prompt_name":"query"}`, "config.json": `{}`},
			base(func(s *Spec) { s.QueryPrefix, s.PassagePrefix = "q: ", "p: " }), 2},
		{"the document first", map[string]string{"config_sentence_transformers.json": `{"prompts":{"document":"d: ","passage":"p: "},"default_prompt_name":null}`},
			base(func(s *Spec) { s.PassagePrefix = "d: " }), 2},
		{"an empty document", map[string]string{"config_sentence_transformers.json": `{"prompts":{"query":"q: ","document":"","passage":"p: "}}`},
			base(func(s *Spec) { s.QueryPrefix = "q: " }), 2},
		{"a default for both", map[string]string{"config_sentence_transformers.json": `{"prompts":{"any":"a: "},"default_prompt_name":"any"}`},
			base(func(s *Spec) { s.QueryPrefix, s.PassagePrefix = "a: ", "a: " }), 3},
		{"no prompts", map[string]string{"config_sentence_transformers.json": `{"prompts":{},"default_prompt_name":null,"similarity_fn_name":"cosine"}`}, base(func(*Spec) {}), 2},
		{"dot products", map[string]string{"config_sentence_transformers.json": `{"similarity_fn_name":"dot"}`}, base(func(*Spec) {}), 3},
		{"dot products of length 1", map[string]string{"config_sentence_transformers.json": `{"similarity_fn_name":"dot"}`, "modules.json": modules("Transformer", "Pooling=p", "Normalize=2"), "p/config.json": flags("mean_tokens")}, base(func(*Spec) {}), 1},
		{"of the tokenizer", map[string]string{"tokenizer_config.json": `{"model_max_length":384}`, "sentence_bert_config.json": `{"max_seq_length":null}`}, base(func(s *Spec) { s.MaxTokens = 384 }), 1},
		{"a tokenizer without a limit", map[string]string{"tokenizer_config.json": `{"model_max_length":1000000000000000019884624838656}`}, base(func(*Spec) {}), 2},
		{"no more than positions", map[string]string{"tokenizer_config.json": `{"model_max_length":384}`, "config.json": `{"max_position_embeddings":128}`}, base(func(s *Spec) { s.MaxTokens = 128 }), 1},
		{"positions of nomic", map[string]string{"tokenizer_config.json": `{"model_max_length":8192}`, "config.json": `{"model_type":"nomic_bert","n_positions":2048}`}, base(func(s *Spec) { s.MaxTokens = 2048 }), 1},
		{"positions behind padding", map[string]string{"sentence_bert_config.json": `{"max_seq_length":514}`, "config.json": `{"model_type":"xlm-roberta","max_position_embeddings":514,"pad_token_id":1}`}, base(func(s *Spec) { s.MaxTokens = 512 }), 1},
	} {
		dir := write(t, c.files)
		got, notes, err := Describe(dir)
		if err != nil || !reflect.DeepEqual(got, c.want) || len(notes) != c.notes {
			t.Errorf("%s: %+v, %v, notes %q; want %+v and %d notes", c.name, got, err, notes, c.want, c.notes)
		}
		if _, plain := c.files["config.json"]; plain || c.files["modules.json"] != "" {
			if loaded, err := LoadSpec(dir); err != nil || !reflect.DeepEqual(loaded, got) {
				t.Errorf("%s: loaded %+v, %v; described %+v", c.name, loaded, err, got)
			}
		}
	}
}

func TestDescribeRefuses(t *testing.T) {
	cls := `{"pooling_mode_cls_token":true}`
	for _, c := range []struct {
		name  string
		files map[string]string
		text  string
	}{
		{"an unknown module", map[string]string{"modules.json": modules("Transformer", "LSTM=1")}, "LSTM"},
		{"a module of another library", map[string]string{"modules.json": `[{"path":"","type":"custom_st.Transformer"}]`}, "custom_st.Transformer"},
		{"a Pooling in PyLate", map[string]string{"modules.json": pylate("Transformer", "Pooling=1_Pooling", "pylate.Dense=2"), "1_Pooling/config.json": cls}, "Pooling stands where"},
		{"PyLate without a transformer", map[string]string{"modules.json": pylate("pylate.Dense=2")}, "Dense stands where"},
		{"another module of PyLate", map[string]string{"modules.json": pylate("Transformer", "pylate.Sparse=2")}, "Sparse"},
		{"SPLADE by sums", map[string]string{"modules.json": modules("MLMTransformer", "SpladePooling=1"), "1/config.json": `{"pooling_strategy":"sum"}`}, `"sum"`},
		{"SPLADE without scores", map[string]string{"modules.json": modules("Transformer", "SpladePooling=1")}, "SpladePooling stands where"},
		{"scores of words that are pooled", map[string]string{"modules.json": modules("MLMTransformer", "Pooling=1"), "1/config.json": cls}, "Pooling stands where"},
		{"no pooling", map[string]string{"modules.json": modules("Transformer")}, "no Pooling"},
		{"no modules", map[string]string{"modules.json": `[]`}, "no Pooling"},
		{"pooling first", map[string]string{"modules.json": modules("Pooling=1_Pooling", "Transformer"), "1_Pooling/config.json": cls}, "stands where"},
		{"dense before pooling", map[string]string{"modules.json": modules("Transformer", "Dense=2")}, "Dense stands where"},
		{"dense behind the end", map[string]string{"modules.json": modules("Transformer", "Pooling=1_Pooling", "Normalize=2", "Dense=3"), "1_Pooling/config.json": cls}, "Dense stands where"},
		{"two transformers", map[string]string{"modules.json": modules("Transformer", "Transformer")}, "stands where"},
		{"the transformer elsewhere", map[string]string{"modules.json": modules("Transformer=0_Transformer")}, "0_Transformer"},
		{"a folder outside", map[string]string{"modules.json": modules("Transformer", "Pooling=../x")}, "../x"},
		{"an absolute folder", map[string]string{"modules.json": modules("Transformer", "Pooling=/etc")}, "/etc"},
		{"two modes", map[string]string{"1_Pooling/config.json": `{"pooling_mode_cls_token":true,"pooling_mode_max_tokens":true}`}, "2 ways"},
		{"two modes by name", map[string]string{"1_Pooling/config.json": `{"pooling_mode":["cls","max"]}`}, "2 ways"},
		{"no mode", map[string]string{"1_Pooling/config.json": `{"pooling_mode_cls_token":false}`}, "no way of pooling"},
		{"an unknown mode", map[string]string{"1_Pooling/config.json": `{"pooling_mode_attention":true}`}, "pooling_mode_attention"},
		{"an unknown mode by name", map[string]string{"1_Pooling/config.json": `{"pooling_mode":"median"}`}, "median"},
		{"a prompt flag of another kind", map[string]string{"1_Pooling/config.json": `{"pooling_mode":"cls","include_prompt":7}`}, "include_prompt"},
		{"an unknown default prompt", map[string]string{"config_sentence_transformers.json": `{"prompts":{},"default_prompt_name":"x"}`}, `"x"`},
		{"damaged modules", map[string]string{"modules.json": `{`}, "modules.json"},
		{"damaged prompts", map[string]string{"config_sentence_transformers.json": `[]`}, "config_sentence_transformers.json"},
		{"a limit of one", map[string]string{"sentence_bert_config.json": `{"max_seq_length":1}`}, "max_tokens"},
	} {
		_, _, err := Describe(write(t, c.files))
		if !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v; want ErrSpec that says %q", c.name, err, c.text)
		}
	}
	if _, _, err := Describe(write(t, map[string]string{"modules.json": modules("Transformer", "Pooling=1_Pooling")})); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a module without its file: %v", err)
	}
}
