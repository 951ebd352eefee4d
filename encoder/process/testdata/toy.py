"""A model without libraries: letters are tokens, and their counts the vector. It prints, as libraries do."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "process"))
from lexsem_encoder import serve


class Toy:
    name, dim, vocab, max_tokens = "toy", 27, 27, 8

    def vectors(self, texts, role):
        print("encoding", len(texts))
        return [[float([i for i in t["ids"]].count(k)) + 1 for k in range(27)] for t in self.tokens(texts, role)]

    def tokens(self, texts, role):
        out = []
        for text in texts:
            if text == "refuse":
                raise ValueError("no such text")
            letters = [(ord(c.lower()) - 97, i) for i, c in enumerate(text) if "a" <= c.lower() <= "z"]
            kept = letters[:7]
            out.append({"ids": [26] + [k for k, _ in kept], "special": [True] + [False] * len(kept),
                        "offsets": [[0, 0]] + [[i, i + 1] for _, i in kept], "truncated": len(letters) - len(kept)})
        return out


serve(Toy())
