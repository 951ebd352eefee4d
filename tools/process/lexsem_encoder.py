"""Serves a model of sentence-transformers, or one of your own, to `lexsem bench --model exec:…`.

    pip install sentence-transformers
    lexsem bench --data my-corpus --systems dense,rlr,slr --model "exec:python3 lexsem_encoder.py MODEL"

MODEL is a name at Hugging Face or a folder. For a model of your own, write a file beside this one:

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
`states(texts, role)`, for each text the last hidden states of its tokens in one list of numbers (clr); and
`scores(texts, role)`, for each text the logits of a masked language model at the first token (llr).
"""

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
    for need, key, method in (("dense", "vectors", "vectors"), ("tokens", "tokens", "tokens"), ("hidden", "states", "states"), ("logits", "scores", "scores")):
        if need in request["need"]:
            reply[key] = [plain(x) for x in getattr(model, method)(texts, role)]
    return reply


def plain(x):
    """A list, or a dict, of Python's own numbers."""
    return x.tolist() if hasattr(x, "tolist") else x


class SentenceTransformerModel:
    """A model of sentence-transformers with a fast tokenizer."""

    def __init__(self, name):
        from sentence_transformers import SentenceTransformer

        self.model = SentenceTransformer(name)
        self.tokenizer = self.model.tokenizer
        self.name = name.rstrip("/\\").replace("\\", "/").split("/")[-1]
        self.dim = self.model.get_sentence_embedding_dimension()
        if not getattr(self.tokenizer, "is_fast", False):
            return  # no offsets: bridges read words
        self.vocab = len(self.tokenizer)
        self.max_tokens = self.model.max_seq_length
        prompts = self.model.prompts or {}
        self.query_prefix, self.passage_prefix = prompts.get("query") or "", prompts.get("passage") or prompts.get("document") or ""
        modules = [type(m).__name__ for m in self.model]
        if modules in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):  # pooled from the states as they are
            self.states = self._states

    def prefix(self, role):
        return getattr(self, role + "_prefix", "")

    def vectors(self, texts, role):
        return self.model.encode([self.prefix(role) + t for t in texts], prompt="", show_progress_bar=False)

    def _states(self, texts, role):
        rows = self.model.encode([self.prefix(role) + t for t in texts], prompt="", output_value="token_embeddings", show_progress_bar=False)
        counts = [len(t["ids"]) for t in self.tokens(texts, role)]
        return [r.cpu().numpy()[:n].ravel() for r, n in zip(rows, counts)]

    def tokens(self, texts, role):
        prefix = len(self.prefix(role))
        read = [self.prefix(role) + t for t in texts]
        whole = self.tokenizer(read, add_special_tokens=True, truncation=False, verbose=False)["input_ids"]
        cut = self.tokenizer(read, truncation=True, max_length=self.max_tokens, return_offsets_mapping=True, return_special_tokens_mask=True)
        unknown = {self.tokenizer.unk_token_id, self.tokenizer.pad_token_id, self.tokenizer.mask_token_id}
        out = []
        for i, ids in enumerate(cut["input_ids"]):
            special, offsets = [], []
            for token, (start, end), mark in zip(ids, cut["offset_mapping"][i], cut["special_tokens_mask"][i]):
                is_special = bool(mark) or token in unknown or end <= prefix
                special.append(is_special)
                offsets.append([0, 0] if is_special else [max(start - prefix, 0), end - prefix])
            out.append({"ids": ids, "special": special, "offsets": offsets, "truncated": max(len(whole[i]) - len(ids), 0)})
        return out


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("use: lexsem_encoder.py MODEL")
    serve(SentenceTransformerModel(sys.argv[1]))
