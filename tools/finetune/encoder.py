"""An encoder of lexsem as a module of PyTorch, read from a folder and written to one.

Read are folders that sentence-transformers wrote, and those of lexsem's cache
(config.json, lexsem-model.json and a BERT as model.onnx). What is written is a folder of
sentence-transformers with model.safetensors, which `lexsem --model FOLDER` reads as it is.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModel, logging

logging.set_verbosity_error()


class FolderError(Exception):
    """A folder that is no encoder this tool can train; the message names the remedy."""


@dataclass
class Spec:
    """What lies between a text and its vector beside the transformer."""

    pooling: str = "mean"  # or "cls"
    max_tokens: int = 256  # special tokens included
    query_prefix: str = ""
    passage_prefix: str = ""


@dataclass
class Batch:
    """Texts as tokens [n, length], padded at the end."""

    ids: torch.Tensor
    mask: torch.Tensor  # 1 for tokens of a text
    lexical: torch.Tensor  # true for tokens that may carry weight: none special, none of a prefix

    def to(self, device):
        return Batch(self.ids.to(device), self.mask.to(device), self.lexical.to(device))


class Texts:
    """The tokens of many texts in one role, made once: batches of them are cut from three tensors."""

    def __init__(self, rows, lexical):
        self.lengths = torch.tensor([len(r) for r in rows], dtype=torch.long)
        self.starts = self.lengths.cumsum(0) - self.lengths
        self.ids = torch.tensor([t for r in rows for t in r])
        self.lexical = torch.tensor([x for r in lexical for x in r])

    def __len__(self):
        return len(self.lengths)

    def to(self, device):
        self.ids, self.lexical = self.ids.to(device), self.lexical.to(device)
        return self

    def batch(self, numbers):
        """The texts of these numbers, padded to the longest, where the tokens lie."""
        numbers = torch.as_tensor(numbers)
        at = torch.arange(int(self.lengths[numbers].max()))
        mask = at < self.lengths[numbers, None]
        index = torch.where(mask, self.starts[numbers, None] + at, 0).to(self.ids.device)
        mask = mask.to(self.ids.device)
        return Batch(self.ids[index] * mask, mask.long(), self.lexical[index] & mask)

    def tokens(self, number):
        """The distinct tokens of a text that may carry weight."""
        at = slice(int(self.starts[number]), int(self.starts[number] + self.lengths[number]))
        return set(self.ids[at][self.lexical[at]].tolist())

    def slices(self, numbers, budget):
        """Parts of range(len(numbers)), of texts of like length as padding is not free, each of at most budget tokens when padded."""
        lengths = self.lengths[torch.as_tensor(numbers, dtype=torch.long)].tolist()
        parts, part = [], []
        for i in sorted(range(len(lengths)), key=lengths.__getitem__):
            if part and lengths[i] * (len(part) + 1) > budget:
                parts.append(part)
                part = []
            part.append(i)
        return parts + [part] if part else parts


class Encoder(torch.nn.Module):
    def __init__(self, folder):
        super().__init__()
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise FolderError(f"{folder}: no folder; name one with model.safetensors or model.onnx")
        self.spec = read_spec(self.folder)
        tokenizer = self.folder / "tokenizer.json"
        if not tokenizer.is_file():
            raise FolderError(f"{folder}: no tokenizer.json; save the model with a fast tokenizer")
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_padding()
        self.special = {i for i, t in self.tokenizer.get_added_tokens_decoder().items() if t.special} | unknown(self.tokenizer)
        self.model = read_model(self.folder)
        self.dim, self.vocab = self.model.config.hidden_size, self.model.config.vocab_size
        self.spec.max_tokens = min(self.spec.max_tokens, self.model.config.max_position_embeddings)

    def texts(self, texts, query, most=None):
        """The tokens of texts in one role, each cut at most or at what the encoder takes."""
        prefix = self.spec.query_prefix if query else self.spec.passage_prefix
        self.tokenizer.enable_truncation(min(most or self.spec.max_tokens, self.spec.max_tokens))
        rows = self.tokenizer.encode_batch([prefix + t for t in texts])
        return Texts([r.ids for r in rows], [
            [not s and t not in self.special and at >= len(prefix) for t, s, (at, _) in zip(r.ids, r.special_tokens_mask, r.offsets)]
            for r in rows
        ])

    def tokens(self, texts, query, most=None):
        """The same of a few texts, as one batch."""
        return self.texts(texts, query, most).batch(range(len(texts)))

    def forward(self, batch):
        """Hidden states [n, length, d] and the unit vectors of the texts [n, d]."""
        hidden = self.model(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state.float()
        if self.spec.pooling == "cls":
            pooled = hidden[:, 0]
        else:
            m = batch.mask.unsqueeze(-1).float()
            pooled = (hidden * m).sum(1) / m.sum(1)
        return hidden, torch.nn.functional.normalize(pooled, dim=-1)

    @torch.no_grad()
    def vectors(self, texts, budget=8192):
        """The unit vectors of texts [n, d], on the CPU, without gradients and without dropout."""
        was = self.training
        self.eval()
        out = torch.empty(len(texts), self.dim)
        for part in texts.slices(range(len(texts)), budget):
            out[part] = self(texts.batch(part))[1].cpu()
        self.train(was)
        return out

    def save(self, folder):
        """Write a folder of sentence-transformers; what else stands there is left alone."""
        folder = Path(folder)
        (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
        state = {n: t.detach().cpu().contiguous() for n, t in self.model.state_dict().items() if t.is_floating_point()}
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
        config = self.model.config.to_dict()
        config["dtype"] = "float32"
        mean = self.spec.pooling == "mean"
        prompts = {"query": self.spec.query_prefix, "document": self.spec.passage_prefix}
        for name, value in {
            "config.json": config,
            "1_Pooling/config.json": {"word_embedding_dimension": self.dim, "pooling_mode_cls_token": not mean, "pooling_mode_mean_tokens": mean},
            "modules.json": [
                {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
                {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
            ],
            "sentence_bert_config.json": {"max_seq_length": self.spec.max_tokens, "do_lower_case": False},
            "config_sentence_transformers.json": {"prompts": prompts, "default_prompt_name": None, "similarity_fn_name": "cosine"},
        }.items():
            (folder / name).write_text(json.dumps(value, indent=2) + "\n")
        shutil.copyfile(self.folder / "tokenizer.json", folder / "tokenizer.json")


def unknown(tokenizer):
    """The token of what the vocabulary does not have, which says nothing of the words of a text."""
    model = json.loads(tokenizer.to_str())["model"]
    named = model.get("unk_id", tokenizer.token_to_id(model.get("unk_token") or ""))
    return set() if named is None else {named}


def read_json(path):
    try:
        return json.loads(path.read_text())
    except ValueError as e:
        raise FolderError(f"{path}: no JSON ({e}); fetch the model again") from e


def read_spec(folder):
    """What the folder says of pooling, lengths and prompts."""
    own = folder / "lexsem-model.json"
    if own.is_file():
        s = read_json(own)
        spec = Spec(s.get("pooling", "mean"), s.get("max_tokens", 256), s.get("query_prefix", ""), s.get("passage_prefix", ""))
    else:
        spec, pooling = Spec(), folder / "1_Pooling" / "config.json"
        if (folder / "modules.json").is_file():
            for m in read_json(folder / "modules.json"):
                kind = m["type"].rsplit(".", 1)[-1]
                if kind not in ("Transformer", "Pooling", "Normalize"):
                    raise FolderError(f"{folder}: a module {kind}; only Transformer, Pooling and Normalize are trained")
                if kind == "Pooling":
                    pooling = folder / m["path"] / "config.json"
        if pooling.is_file():
            modes = [k.removeprefix("pooling_mode_") for k, v in read_json(pooling).items() if k.startswith("pooling_mode_") and v is True]
            spec.pooling = {"mean_tokens": "mean", "cls_token": "cls"}.get("+".join(modes), "+".join(modes))
        if (folder / "sentence_bert_config.json").is_file():
            spec.max_tokens = read_json(folder / "sentence_bert_config.json").get("max_seq_length") or spec.max_tokens
        if (folder / "config_sentence_transformers.json").is_file():
            prompts = read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
            spec.query_prefix = prompts.get("query", "")
            spec.passage_prefix = next((prompts[k] for k in ("document", "passage", "corpus") if k in prompts), "")
    if spec.pooling not in ("mean", "cls"):
        raise FolderError(f"{folder}: pooling {spec.pooling!r}; only the mean and the first token are trained")
    return spec


def read_model(folder):
    if not (folder / "config.json").is_file():
        raise FolderError(f"{folder}: no config.json; name a folder that sentence-transformers wrote, or one of lexsem's cache")
    if any(folder.glob("*.safetensors")):
        try:
            model = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
        except (OSError, ValueError, RuntimeError) as e:
            raise FolderError(f"{folder}: its weights cannot be read: {e}") from e
        if getattr(model, "pooler", None) is not None:
            model.pooler = None  # a layer on the first token's state that no sentence encoder uses
        return model
    if not (folder / "model.onnx").is_file():
        raise FolderError(f"{folder}: neither model.safetensors nor model.onnx; fetch the model again")
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    if config.model_type != "bert":
        raise FolderError(f"{folder}: a graph of {config.model_type}; only that of a BERT is read, of others take model.safetensors")
    model = AutoModel.from_config(config, add_pooling_layer=False)
    state = bert_of_graph(folder / "model.onnx", config.num_hidden_layers)
    missing, unknown = model.load_state_dict(state, strict=False)
    missing = [n for n in missing if not n.endswith(("position_ids", "token_type_ids"))]
    if missing or unknown:
        raise FolderError(f"{folder}: its graph lacks {missing[:3]} and has {list(unknown)[:3]}; take a folder with model.safetensors")
    return model


def bert_of_graph(path, layers):
    """The weights of a BERT in the graph that lexsem writes: matrices lie turned, those of
    query, key and value side by side."""
    import onnx
    from onnx import numpy_helper

    graph = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in onnx.load(str(path)).graph.initializer}
    if "encoder.layer.0.attention.qkv.weight" not in graph:
        raise FolderError(f"{path}: not a graph that lexsem wrote; take a folder with model.safetensors")
    state = {n: t for n, t in graph.items() if n.startswith("embeddings.")}
    for i in range(layers):
        p = f"encoder.layer.{i}."
        for kind in ("weight", "bias"):
            for name, part in zip(("query", "key", "value"), graph[f"{p}attention.qkv.{kind}"].chunk(3, dim=-1)):
                state[f"{p}attention.self.{name}.{kind}"] = part.t().contiguous() if kind == "weight" else part.contiguous()
        for name in ("attention.output.dense", "intermediate.dense", "output.dense"):
            state[f"{p}{name}.weight"], state[f"{p}{name}.bias"] = graph[f"{p}{name}.weight"].t().contiguous(), graph[f"{p}{name}.bias"]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            for kind in ("weight", "bias"):
                state[f"{p}{name}.{kind}"] = graph[f"{p}{name}.{kind}"]
    return state
