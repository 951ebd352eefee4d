package native

// names are a family's names of its weights, without the suffixes ".weight" and ".bias".
// Names of a layer also lack the common prefix of the layer. An empty name means that the
// family has no such weights; weights that a checkpoint may lack are marked as optional.
type names struct {
	before []string // what may stand before all names, the usual first

	words, places, kinds, distances string
	embedded                        string // normalisation
	layer                           string // before the number of a layer
	qkv                             []string
	mix                             string
	inner                           []string // the gate first, if there is one
	fused                           order    // how the halves of one inner product of a gated family lie
	outer                           string
	last                            string // normalisation

	// Normalisations: of the inputs and the outputs of attention and feed-forward; of
	// queries and keys, head by head.
	attentionIn, attentionOut, feedIn, feedOut string
	queries, keys                              string

	firstBare bool // the first layer's attention has no normalisation before it

	sums   bool // the normalisations of what comes out are of its sum with what went in
	biases bool // all products and layer normalisations have biases; else those that the file has
	head   heading
}

// heading has the names of a masked-language-model head: a layer, its normalisation, the matrix of all words if the
// embeddings do not serve as it, and its bias.
type heading struct{ dense, norm, words, bias string }

// lm is the head of RoBERTa and those after it.
var lm = heading{"lm_head.dense", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias"}

// order is the order of the halves of a fused inner product.
type order uint8

const (
	gateFirst order = iota
	gateLast
)

var bertNames = names{
	before: []string{"", "bert."},
	words:  "embeddings.word_embeddings", places: "embeddings.position_embeddings", kinds: "embeddings.token_type_embeddings",
	embedded: "embeddings.LayerNorm", layer: "encoder.layer.",
	qkv: []string{"attention.self.query", "attention.self.key", "attention.self.value"}, mix: "attention.output.dense",
	attentionOut: "attention.output.LayerNorm", inner: []string{"intermediate.dense"}, outer: "output.dense", feedOut: "output.LayerNorm",
	sums: true, biases: true,
	head: heading{"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.decoder", "cls.predictions.bias"},
}

// decoder are the tensor names in families made from decoders.
var decoder = names{
	before: []string{"", "model."}, words: "embed_tokens", layer: "layers.",
	qkv: []string{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, mix: "self_attn.o_proj",
	inner: []string{"mlp.gate_proj", "mlp.up_proj"}, outer: "mlp.down_proj", last: "norm",
	attentionIn: "input_layernorm", feedIn: "post_attention_layernorm",
	queries: "self_attn.q_norm", keys: "self_attn.k_norm",
}

// named are the names of each family, by model_type.
var named = map[string]names{
	"bert":        bertNames,
	"roberta":     with(bertNames, func(n *names) { n.before, n.head = []string{"", "roberta."}, lm }),
	"xlm-roberta": with(bertNames, func(n *names) { n.before, n.head = []string{"", "roberta."}, lm }),
	"camembert":   with(bertNames, func(n *names) { n.before, n.head = []string{"", "roberta."}, lm }),
	"distilbert": with(bertNames, func(n *names) {
		n.before, n.kinds, n.layer = []string{"", "distilbert."}, "", "transformer.layer."
		n.head = heading{"vocab_transform", "vocab_layer_norm", "vocab_projector", "vocab_projector.bias"}
		n.qkv, n.mix, n.attentionOut = []string{"attention.q_lin", "attention.k_lin", "attention.v_lin"}, "attention.out_lin", "sa_layer_norm"
		n.inner, n.outer, n.feedOut = []string{"ffn.lin1"}, "ffn.lin2", "output_layer_norm"
	}),
	"mpnet": with(bertNames, func(n *names) {
		n.before, n.kinds, n.distances, n.head = []string{"", "mpnet."}, "", "encoder.relative_attention_bias", lm
		n.qkv, n.mix = []string{"attention.attn.q", "attention.attn.k", "attention.attn.v"}, "attention.attn.o"
		n.attentionOut = "attention.LayerNorm"
	}),
	"nomic_bert": {
		before: []string{"", "bert."}, words: bertNames.words, kinds: bertNames.kinds, embedded: "emb_ln", layer: "encoder.layers.",
		qkv: []string{"attn.Wqkv"}, mix: "attn.out_proj", attentionOut: "norm1",
		inner: []string{"mlp.fc12", "mlp.fc11"}, outer: "mlp.fc2", feedOut: "norm2", sums: true,
	},
	"new": gteNames, "gte": gteNames,
	"modernbert": {
		before: []string{"", "model."}, words: "embeddings.tok_embeddings", embedded: "embeddings.norm", layer: "layers.",
		attentionIn: "attn_norm", firstBare: true, qkv: []string{"attn.Wqkv"}, mix: "attn.Wo",
		feedIn: "mlp_norm", inner: []string{"mlp.Wi"}, outer: "mlp.Wo", last: "final_norm",
		head: heading{"head.dense", "head.norm", "decoder", "decoder.bias"},
	},
	"gemma3_text": with(decoder, func(n *names) {
		n.attentionOut, n.feedIn, n.feedOut = "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"
	}),
	"qwen3": decoder,
}

var gteNames = names{
	before: []string{"", "new."}, words: bertNames.words, kinds: bertNames.kinds, embedded: bertNames.embedded, layer: "encoder.layer.",
	qkv: []string{"attention.qkv_proj"}, mix: "attention.o_proj", attentionOut: "attn_ln",
	inner: []string{"mlp.up_gate_proj"}, fused: gateLast, outer: "mlp.down_proj", feedOut: "mlp_ln", sums: true,
}

func with(n names, change func(*names)) names {
	change(&n)
	return n
}
