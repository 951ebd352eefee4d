"""Records what transformers computes for tiny models of each family.

For each family a folder as it lies on a model hub (config.json and
model.safetensors) with random weights, and the states of the last layer for
texts of several lengths, beyond the sliding windows. All goes into one tar.gz:

    FAMILY/config.json
    FAMILY/model.safetensors     weights in bfloat16
    FAMILY/cases.json            [{"ids": [...], "at": [...], "states": [...]}]

To keep the file small, weights are multiples of 1/16, and the states of three
tokens are kept of each text: the first, the middle and the last one. The
reference computes in float32, text by text, without padding.

    pip install torch==2.8.0 transformers==5.23.0 safetensors
    python record_families.py families.tar.gz      (-v lists names and shapes)
"""

import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path

import safetensors.torch
import torch
import transformers as t

VOCAB = 40
LENGTHS = [1, 2, 3, 12, 33, 70, 150]


def model(name):
    small = dict(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=40)
    bert = dict(small, max_position_embeddings=160, num_hidden_layers=2)
    roberta = dict(bert, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5)
    rope = dict(small, max_position_embeddings=256)
    grouped = dict(rope, num_key_value_heads=2, head_dim=12, num_hidden_layers=3)
    return {
        "bert": lambda: t.BertModel(t.BertConfig(**bert), add_pooling_layer=False),
        "bert-tanh": lambda: t.BertModel(t.BertConfig(**bert, hidden_act="gelu_new"), add_pooling_layer=False),
        "roberta": lambda: t.RobertaModel(t.RobertaConfig(**roberta), add_pooling_layer=False),
        "xlm-roberta": lambda: t.XLMRobertaModel(t.XLMRobertaConfig(**roberta), add_pooling_layer=True),
        "camembert": lambda: t.CamembertModel(t.CamembertConfig(**roberta), add_pooling_layer=False),
        "distilbert": lambda: t.DistilBertModel(t.DistilBertConfig(
            vocab_size=VOCAB, dim=32, hidden_dim=40, n_layers=2, n_heads=4, max_position_embeddings=160)),
        "mpnet": lambda: t.MPNetModel(t.MPNetConfig(**bert), add_pooling_layer=False),
        "nomic_bert": lambda: t.NomicBertModel(t.NomicBertConfig(**rope)),
        "gte": lambda: t.GteModel(t.GteConfig(**rope, type_vocab_size=1)),
        "new": lambda: t.GteModel(t.GteConfig(**rope, type_vocab_size=0, rope_parameters=ntk(10000, 2.0, 8))),
        "modernbert": lambda: t.ModernBertModel(t.ModernBertConfig(
            **dict(rope, num_hidden_layers=4), local_attention=16, pad_token_id=0, bos_token_id=1, eos_token_id=2,
            cls_token_id=1, sep_token_id=2)),
        "modernbert-biased": lambda: t.ModernBertModel(t.ModernBertConfig(
            **dict(rope, num_hidden_layers=2), local_attention=16, pad_token_id=0, bos_token_id=1, eos_token_id=2,
            cls_token_id=1, sep_token_id=2, attention_bias=True, mlp_bias=True, norm_bias=True)),
        "gemma3_text": lambda: t.Gemma3TextModel(t.Gemma3TextConfig(
            **grouped, query_pre_attn_scalar=20, sliding_window=18, use_bidirectional_attention=True,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"])),
        "gemma3_text-causal": lambda: t.Gemma3TextModel(t.Gemma3TextConfig(
            **grouped, query_pre_attn_scalar=20, sliding_window=18,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"])),
        "qwen3": lambda: t.Qwen3Model(t.Qwen3Config(**grouped, rope_parameters={"rope_type": "default", "rope_theta": 1e6})),
        "qwen3-window": lambda: t.Qwen3Model(t.Qwen3Config(
            **grouped, use_sliding_window=True, sliding_window=9, max_window_layers=1)),
    }[name]()


def ntk(theta, factor, width):
    """NTK scaling as the makers of gte have it, in terms that transformers knows: the
    base times the factor, and all frequencies divided by factor^(2/width)."""
    return {"rope_type": "linear", "rope_theta": theta * factor, "factor": factor ** (2 / width)}


def hub(name, config, tensors):
    """Returns config and weights as the family's makers publish them."""
    if name == "nomic_bert":
        c = config
        config = {
            "model_type": "nomic_bert", "n_embd": c["hidden_size"], "n_layer": c["num_hidden_layers"],
            "n_head": c["num_attention_heads"], "n_inner": c["intermediate_size"], "n_positions": c["max_position_embeddings"],
            "layer_norm_epsilon": c["layer_norm_eps"], "activation_function": "swiglu", "vocab_size": c["vocab_size"],
            "type_vocab_size": c["type_vocab_size"], "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0,
            "rotary_emb_interleaved": False, "rotary_emb_scale_base": None, "rotary_scaling_factor": None, "prenorm": False,
            "use_rms_norm": False, "parallel_block": False, "causal": False, "qkv_proj_bias": False,
            "mlp_fc1_bias": False, "mlp_fc2_bias": False,
        }
    if name == "new":
        keep = ["vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act",
                "max_position_embeddings", "type_vocab_size", "layer_norm_eps"]
        config = {k: config[k] for k in keep}
        config |= {"model_type": "new", "position_embedding_type": "rope", "rope_theta": 10000.0,
                   "rope_scaling": {"type": "ntk", "factor": 2.0}, "layer_norm_type": "layer_norm", "pack_qkv": True,
                   "logn_attention_scale": False, "logn_attention_clip1": False}
        tensors = {"new." + k: v for k, v in tensors.items()}
    if name == "modernbert":  # as version 4 wrote it
        config = {k: v for k, v in config.items() if k not in ("layer_types", "rope_parameters")}
        config |= {"global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0}
        tensors = {"model." + k: v for k, v in tensors.items()}
    if name == "gemma3_text":
        config = {k: v for k, v in config.items() if k != "rope_parameters"}
        config |= {"rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "rope_scaling": None}
    if name == "xlm-roberta":
        tensors = {"roberta." + k: v for k, v in tensors.items()}
    return config, tensors


def record(name, archive):
    torch.manual_seed(len(name) * 131 + sum(map(ord, name)))
    m = model(name).eval()
    m.set_attn_implementation("eager")
    with torch.no_grad():
        for key, p in m.named_parameters():
            if p.dim() < 2 and "bias" not in key and not name.startswith("gemma"):
                p.copy_(1 + 0.3 * torch.randn_like(p))
            elif "embeddings" in key or "embed_tokens" in key or "relative" in key:
                p.copy_(torch.randn_like(p))
            else:
                p.copy_(0.25 * torch.randn_like(p))
            p.copy_((p * 16).round() / 16)  # few digits, so that the file is small; bfloat16 has them all
        rng = torch.Generator().manual_seed(1)
        cases = []
        for n in LENGTHS:
            ids = torch.randint(3, VOCAB, (1, n), generator=rng)
            x = m(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]
            assert x.isfinite().all()
            kept = sorted({0, n // 2, n - 1})
            cases.append({"ids": ids[0].tolist(), "at": kept, "states": [[round(float(v), 5) for v in x[i]] for i in kept]})
    with tempfile.TemporaryDirectory() as d:
        m.to(torch.bfloat16).save_pretrained(d)
        config = json.loads((Path(d) / "config.json").read_text())
        tensors = safetensors.torch.load_file(Path(d) / "model.safetensors")
    config, tensors = hub(name, config, tensors)
    if "-v" in sys.argv:
        print(name, {k: tuple(v.shape) for k, v in tensors.items() if ".0." in k or "." not in k or "layer" not in k})
        print(json.dumps(config))
    for file, data in {
        "config.json": json.dumps(config).encode(),
        "model.safetensors": safetensors.torch.save(tensors),
        "cases.json": json.dumps(cases, separators=(",", ":")).encode(),
    }.items():
        info = tarfile.TarInfo(f"{name}/{file}")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    with tarfile.open(sys.argv[1], "w:gz", compresslevel=9) as archive:
        for name in ["bert", "bert-tanh", "roberta", "xlm-roberta", "camembert", "distilbert", "mpnet", "nomic_bert", "gte",
                     "new", "modernbert", "modernbert-biased", "gemma3_text", "gemma3_text-causal", "qwen3", "qwen3-window"]:
            record(name, archive)
