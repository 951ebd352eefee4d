"""Records what transformers computes for tiny cross-encoders of each family.

For each a folder as it lies on a model hub (config.json, tokenizer.json and
model.safetensors, or model.onnx) with random weights, and the logits for pairs of
texts, some longer than the model reads. All goes into one tar.gz:

    NAME/config.json, tokenizer.json, tokenizer_config.json
    NAME/model.safetensors       weights in bfloat16
    NAME/model.onnx              in "bert" alone
    NAME/cases.json              {"query": ..., "texts": [...], "logits": [...]} a query

The texts are cut as sentence-transformers cuts them: the longer one first, at
model_max_length tokens in all. The reference computes in float32, pair by pair.

    pip install torch transformers==5.23.0 tokenizers==0.23.3 safetensors onnx
    python record_crosses.py crosses.tar.gz
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
from tokenizers import Tokenizer

WORDS = ["the", "cat", "sat", "mat", "plants", "turn", "light", "into", "sugar", "ships", "guns", "data", "##base", "##s",
         "re", "##ve", "##nue", "grew", "bread", "flour", "how", "do", ".", ",", "?", "in"]
LETTERS = [c for c in "abcdefghijklmnopqrstuvwxyz0123456789"]
SPECIALS = {"bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], "roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]}
MAX = 48

QUERIES = ["how do plants turn light into sugar?", "ships", "", "revenue grew " * 30]
TEXTS = ["The cat sat on the mat.", "Plants turn light into sugar, and sugar into bread.", "database", "", "ships guns " * 40,
         "quarterly revenue grew in 1998"]


def tokenizer(kind):
    cls, sep, unk = ("[CLS]", "[SEP]", "[UNK]") if kind == "bert" else ("<s>", "</s>", "<unk>")
    words = dict.fromkeys(SPECIALS[kind] + WORDS + LETTERS + ["##" + c for c in LETTERS])
    vocab = {w: i for i, w in enumerate(words)}
    token = lambda name, k: {"SpecialToken": {"id": name, "type_id": k}}
    text = lambda name, k: {"Sequence": {"id": name, "type_id": k}}
    pair = [token(cls, 0), text("A", 0), token(sep, 0), text("B", 1), token(sep, 1)]
    if kind == "roberta":
        pair = [token(cls, 0), text("A", 0), token(sep, 0), token(sep, 0), text("B", 0), token(sep, 0)]
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": vocab[w], "content": w, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
                         for w in SPECIALS[kind]],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": [token(cls, 0), text("A", 0), token(sep, 0)], "pair": pair,
                           "special_tokens": {w: {"id": w, "ids": [vocab[w]], "tokens": [w]} for w in (cls, sep)}},
        "decoder": None,
        "model": {"type": "WordPiece", "unk_token": unk, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab},
    }, len(vocab)


def model(name, vocab):
    small = dict(vocab_size=vocab, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, num_labels=1)
    bert = dict(small, max_position_embeddings=64)
    roberta = dict(bert, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2, layer_norm_eps=1e-5)
    return {
        "bert": lambda: t.BertForSequenceClassification(t.BertConfig(**bert)),
        "roberta": lambda: t.RobertaForSequenceClassification(t.RobertaConfig(**roberta)),
        "xlm-roberta": lambda: t.XLMRobertaForSequenceClassification(t.XLMRobertaConfig(**roberta)),
        "camembert": lambda: t.CamembertForSequenceClassification(t.CamembertConfig(**roberta)),
        "mpnet": lambda: t.MPNetForSequenceClassification(t.MPNetConfig(**bert)),
        "distilbert": lambda: t.DistilBertForSequenceClassification(t.DistilBertConfig(
            vocab_size=vocab, dim=32, hidden_dim=40, n_layers=2, n_heads=4, max_position_embeddings=64, num_labels=1)),
    }[name]()


def logits(name, m, tok, query, text):
    e = tok.encode(query, text)
    ids = torch.tensor([e.ids])
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if name == "bert":
        given["token_type_ids"] = torch.tensor([e.type_ids])
    out = m(**given).logits
    assert out.shape == (1, 1) and out.isfinite().all()
    return round(float(out[0, 0]), 5)


def graph(m):
    """The model as a graph, with the axes that exporters leave open."""
    b = io.BytesIO()
    ids = torch.tensor([[2, 5, 3, 6, 3], [2, 5, 6, 7, 3]])
    with tempfile.TemporaryDirectory() as d:
        path = Path(d) / "model.onnx"
        axes = {n: {0: "batch", 1: "tokens"} for n in ("input_ids", "attention_mask", "token_type_ids")}
        torch.onnx.export(m, (ids, torch.ones_like(ids), torch.zeros_like(ids)), str(path), dynamo=False, opset_version=17,
                          input_names=["input_ids", "attention_mask", "token_type_ids"], output_names=["logits"],
                          dynamic_axes=dict(axes, logits={0: "batch"}))
        return path.read_bytes()


def record(name, archive):
    torch.manual_seed(len(name) * 131 + sum(map(ord, name)))
    file, vocab = tokenizer("roberta" if "bert" in name and name not in ("bert", "distilbert") else "bert")
    tok = Tokenizer.from_str(json.dumps(file))
    tok.enable_truncation(MAX, strategy="longest_first")
    m = model(name, vocab).eval()
    m.set_attn_implementation("eager")
    with torch.no_grad():
        for key, p in m.named_parameters():
            if p.dim() < 2 and "bias" not in key:
                p.copy_(1 + 0.3 * torch.randn_like(p))
            elif "embeddings" in key or "relative" in key:
                p.copy_(torch.randn_like(p))
            else:
                p.copy_(0.25 * torch.randn_like(p))
            p.copy_((p * 16).round() / 16)  # few digits, so that the file is small; bfloat16 has them all
        cases = [{"query": q, "texts": TEXTS, "logits": [logits(name, m, tok, q, x) for x in TEXTS]} for q in QUERIES]
    if "-v" in sys.argv:
        print(name, {k: tuple(v.shape) for k, v in m.state_dict().items() if "layer" not in k}, cases[0]["logits"])
    files = {"tokenizer.json": json.dumps(file).encode(), "tokenizer_config.json": json.dumps({"model_max_length": MAX}).encode(),
             "cases.json": json.dumps(cases, separators=(",", ":")).encode()}
    if name == "bert":
        files["model.onnx"] = graph(m)
    with tempfile.TemporaryDirectory() as d:
        m.to(torch.bfloat16).save_pretrained(d)
        files["config.json"] = (Path(d) / "config.json").read_bytes()
        files["model.safetensors"] = safetensors.torch.save(safetensors.torch.load_file(Path(d) / "model.safetensors"))
    for path, data in files.items():
        info = tarfile.TarInfo(f"{name}/{path}")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    with tarfile.open(sys.argv[1], "w:gz", compresslevel=9) as archive:
        for name in ["bert", "roberta", "xlm-roberta", "camembert", "mpnet", "distilbert"]:
            record(name, archive)
