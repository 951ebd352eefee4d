"""Serves a model of sentence-transformers, transformers or PyLate, or one of your own, to `lexsem bench --model exec:…`.

    pip install sentence-transformers
    lexsem bench --data my-corpus --systems dense,rlr,slr --model "exec:python3 lexsem_encoder.py MODEL"

MODEL is a name at Hugging Face or a folder. Two options read it by another library:

    --as transformers  pools the last hidden states: --pooling mean, cls or last, --query-prefix and
                       --passage-prefix say how; a masked language model also gives logits (mlm)
    --as pylate        a ColBERT model: the states of tokens (system tokens), and their mean as the vector

For a model of your own, write a file beside this one:

    from lexsem_encoder import serve

    class Mine:
        name, dim = "mine", 128
        def vectors(self, texts, role):  # role is "query" or "passage"
            return [[...] for text in texts]  # dim numbers each

    serve(Mine())

    lexsem bench --data my-corpus --model "exec:python3 mine.py"

Such a model has no tokens, so that bridges read words. With tokens it also has `vocab`, the number of token
ids, and `tokens(texts, role)`: for each text a dict of "ids", "special" (true for tokens that are no part of
the text), "offsets" ([first, end] in characters of the text, [0, 0] for special ones) and "truncated", the
number of tokens that the model does not read. Optional: `max_tokens`, `query_prefix`, `passage_prefix`;
`states(texts, role)`, for each text the last hidden states of its tokens in one list of numbers (llr, tokens);
and `scores(texts, role)`, for each text the logits of a masked language model at the first token (mlm).
"""

import argparse
import json
import os
import sys


def serve(model):
    """Answers lines of JSON on standard input until it ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer
    for line in sys.stdin.buffer:
        try:
            reply = answer(model, json.loads(line))
        except Exception as e:  # the bench tells it, and decides
            reply = {"error": f"{type(e).__name__}: {e}"}
        out.write(json.dumps(reply) + "\n")
        out.flush()


def answer(model, request):
    if request["op"] == "info":
        known = {k: getattr(model, k) for k in ("vocab", "max_tokens", "query_prefix", "passage_prefix") if getattr(model, k, None)}
        return {"model": model.name, "dim": model.dim, "hidden": hasattr(model, "states"), "logits": hasattr(model, "scores"), **known}
    texts, role, reply = request["texts"], request["role"], {}
    for need, key, method in (("hidden", "states", "states"), ("dense", "vectors", "vectors"), ("tokens", "tokens", "tokens"), ("logits", "scores", "scores")):
        if need in request["need"]:
            reply[key] = [plain(x) for x in getattr(model, method)(texts, role)]
    return reply


def plain(x):
    """A list, or a dict, of Python's own numbers."""
    return x.tolist() if hasattr(x, "tolist") else x


class Library:
    """What the models of all libraries share: a name, prefixes, and the tokens of a fast tokenizer."""

    query_prefix = passage_prefix = ""
    strips = lowers = False  # what the library does to a text first
    never = ()  # token ids that are no part of a text
    last = (None, None, None)  # texts, role, and what the model gave for them

    def __init__(self, name):
        self.name = name.rstrip("/\\").replace("\\", "/").split("/")[-1]

    def prefix(self, role):
        return getattr(self, role + "_prefix")

    def room(self, role):
        """Tokens that the tokenizer may give."""
        return self.max_tokens

    def once(self, texts, role):
        """What the model gives, run once for the vectors and the states of one request."""
        if self.last[:2] != (texts, role):
            self.last = (texts, role, self.rows(texts, role))
        return self.last[2]

    def tokens(self, texts, role):
        t, prefix, out = self.tokenizer, self.prefix(role), []
        read = [prefix + text for text in texts]
        if self.strips:
            read = [r.strip() for r in read]
        at = [(prefix + text).index(r) - len(prefix) for text, r in zip(texts, read)]  # where what is read begins in the text
        if self.lowers:
            read = [r.lower() for r in read]
        whole = t(read, truncation=False, verbose=False)["input_ids"]
        cut = t(read, truncation=True, max_length=self.room(role), return_offsets_mapping=True, return_special_tokens_mask=True)
        never = {t.unk_token_id, t.pad_token_id, t.mask_token_id, *self.never}
        for i, ids in enumerate(cut["input_ids"]):
            special, offsets = [], []
            for token, (start, end), mark in zip(ids, cut["offset_mapping"][i], cut["special_tokens_mask"][i]):
                start, end = max(start + at[i], 0), min(end + at[i], len(texts[i]))
                special.append(bool(mark) or token in never or end <= start)
                offsets.append([0, 0] if special[-1] else [start, end])
            out.append({"ids": list(ids), "special": special, "offsets": offsets, "truncated": max(len(whole[i]) - len(ids), 0)})
        return out


class SentenceTransformerModel(Library):
    """A model of sentence-transformers. Without a fast tokenizer it has no tokens, and bridges read words."""

    strips = True

    def __init__(self, name):
        from sentence_transformers import SentenceTransformer

        super().__init__(name)
        m = self.model = SentenceTransformer(name)
        self.dim = m.get_sentence_embedding_dimension()
        prompts = m.prompts or {}
        default = prompts.get(m.default_prompt_name) or ""
        self.query_prefix = prompts.get("query") or default
        self.passage_prefix = prompts.get("document") or prompts.get("passage") or default
        self.tokenizer = getattr(m[0], "tokenizer", None)
        if not getattr(self.tokenizer, "is_fast", False):
            self.tokens = None
            return
        self.vocab, self.max_tokens, self.lowers = len(self.tokenizer), m.max_seq_length, getattr(m[0], "do_lower_case", False)
        kinds = [type(x).__name__ for x in m]
        pooled = kinds in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]) and m.truncate_dim is None
        if pooled and (m[1].include_prompt or not (self.query_prefix or self.passage_prefix)):  # from the states as they are
            self.states = self._states

    def encode(self, texts, role, **how):
        name = {"query": "encode_query", "passage": "encode_document"}[role]
        return getattr(self.model, name, self.model.encode)(texts, prompt=self.prefix(role), show_progress_bar=False, **how)

    def vectors(self, texts, role):
        if self.last[:2] != (texts, role):
            return self.encode(texts, role)
        return [x["sentence_embedding"] for x in self.once(texts, role)]

    def rows(self, texts, role):
        return self.encode(texts, role, output_value=None)

    def _states(self, texts, role):
        return [x["token_embeddings"][x["attention_mask"].bool()].ravel() for x in self.once(texts, role)]


class TransformersModel(Library):
    """A model of transformers, whose vector is the mean of the last hidden states, the first (cls) or the last (last)."""

    def __init__(self, name, pooling="mean", query_prefix="", passage_prefix=""):
        import torch
        from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoTokenizer

        super().__init__(name)
        self.torch, self.pooling, self.query_prefix, self.passage_prefix = torch, pooling, query_prefix, passage_prefix
        self.tokenizer = t = AutoTokenizer.from_pretrained(name)
        if not t.is_fast:
            raise SystemExit(f"{name} has no fast tokenizer, so that no offsets of tokens are known; use --as sentence")
        t.padding_side, t.pad_token = "right", t.pad_token or t.eos_token
        config = AutoConfig.from_pretrained(name)
        masked = any(a.endswith("ForMaskedLM") for a in config.architectures or [])
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = (AutoModelForMaskedLM if masked else AutoModel).from_pretrained(name).float().eval().to(device)
        self.dim, self.vocab = config.hidden_size, self.model.get_input_embeddings().num_embeddings
        self.max_tokens = min(t.model_max_length, getattr(config, "max_position_embeddings", None) or 1 << 20, 1 << 20)
        if masked:
            self.scores = self._scores

    def run(self, model, texts, role):
        read = [self.prefix(role) + text for text in texts]
        batch = self.tokenizer(read, truncation=True, max_length=self.max_tokens, padding=True, return_tensors="pt").to(self.model.device)
        with self.torch.inference_mode():
            return model(**batch), batch["attention_mask"].sum(1).tolist()

    def rows(self, texts, role):
        out, counts = self.run(self.model.base_model, texts, role)
        return [x[:n] for x, n in zip(out.last_hidden_state.float().cpu(), counts)]

    def vectors(self, texts, role):
        pool = {"mean": lambda x: x.mean(0), "cls": lambda x: x[0], "last": lambda x: x[-1]}[self.pooling]
        return [pool(x) for x in self.once(texts, role)]

    def states(self, texts, role):
        return [x.ravel() for x in self.once(texts, role)]

    def _scores(self, texts, role):
        return self.run(self.model, texts, role)[0].logits[:, 0].float().cpu()


class PyLateModel(Library):
    """A ColBERT model of PyLate. Tokens that it never compares count as special, and the [MASK] tokens that it
    adds to queries are left out unless others attend to them."""

    strips = True

    def __init__(self, name):
        from pylate import models

        super().__init__(name)
        m = self.model = models.ColBERT(model_name_or_path=name)
        self.tokenizer, self.never = m.tokenizer, m.skiplist
        self.dim, self.vocab, self.max_tokens = m.get_sentence_embedding_dimension(), len(m.tokenizer), max(m.query_length, m.document_length)
        self.lowers = getattr(m[0], "do_lower_case", False)

    def marker(self, role):
        return self.model.query_prefix_id if role == "query" else self.model.document_prefix_id

    def room(self, role):
        return (self.model.query_length if role == "query" else self.model.document_length) - (self.marker(role) is not None)

    def tokens(self, texts, role):
        out = super().tokens(texts, role)
        for t in out:
            if self.marker(role) is not None:  # PyLate puts it second
                t["ids"].insert(1, self.marker(role))
                t["special"].insert(1, True)
                t["offsets"].insert(1, [0, 0])
            if role == "query" and self.model.attend_to_expansion_tokens:
                more = self.model.query_length - len(t["ids"])
                t["ids"] += [self.tokenizer.pad_token_id] * more
                t["special"] += [True] * more
                t["offsets"] += [[0, 0]] * more
        return out

    def rows(self, texts, role):
        out = self.model.encode(texts, is_query=role == "query", output_value=None, show_progress_bar=False)
        return [x[m.astype(bool)] for x, m in zip(out["token_embeddings"], out["attention_mask"])]

    def vectors(self, texts, role):
        return [x.mean(0) for x in self.once(texts, role)]

    def states(self, texts, role):
        return [x.ravel() for x in self.once(texts, role)]


def main():
    p = argparse.ArgumentParser(description="Serves a model to lexsem bench --model exec:COMMAND.")
    p.add_argument("model", help="name at Hugging Face, or folder")
    p.add_argument("--as", dest="library", choices=["sentence", "transformers", "pylate"], default="sentence")
    p.add_argument("--pooling", choices=["mean", "cls", "last"], help="of --as transformers; default mean")
    p.add_argument("--query-prefix", help="of --as transformers")
    p.add_argument("--passage-prefix", help="of --as transformers")
    a = p.parse_args()
    how = {k: v for k, v in vars(a).items() if v is not None and k not in ("model", "library")}
    if how and a.library != "transformers":
        p.error("only --as transformers takes " + ", ".join("--" + k.replace("_", "-") for k in how))
    serve({"sentence": SentenceTransformerModel, "transformers": TransformersModel, "pylate": PyLateModel}[a.library](a.model, **how))


if __name__ == "__main__":
    main()
