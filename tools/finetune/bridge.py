"""The bridge of LexSemBridge (Eq. 5 to 9): q_out = norm(q * softmax(W w + b)), w of the query's tokens.

It computes what lexsem computes with an imported bridge, so that what is trained is what
is served: no bound on the logits, and of clr the 64 largest weights.
"""

import math

import torch
from safetensors import safe_open
from safetensors.torch import save_file

KINDS = ("slr", "llr", "clr")
CLR_TOKENS = 64  # as lexsem keeps
STARTS = ("zero", "random")


class Bridge(torch.nn.Module):
    """A bridge over a vocabulary of which only tokens have columns of W: where W starts at 0, those of no
    training query never get a gradient, so leaving them out changes nothing."""

    def __init__(self, kind, dim, vocab, tokens, head=None, start="zero"):
        """start "random" draws W and b as torch.nn.Linear(vocab, dim) does: evenly between ±1/√vocab."""
        super().__init__()
        if start not in STARTS:
            raise ValueError(f"start {start!r}; known are {', '.join(STARTS)}")
        if kind not in KINDS:
            raise ValueError(f"bridge {kind!r}; known are {', '.join(KINDS)}")
        self.kind, self.dim, self.vocab = kind, dim, vocab
        self.register_buffer("tokens", torch.as_tensor(sorted(tokens), dtype=torch.long))
        slot = torch.full((vocab,), len(self.tokens), dtype=torch.long)
        slot[self.tokens] = torch.arange(len(self.tokens))
        self.register_buffer("slot", slot)
        self.W = torch.nn.Parameter(torch.zeros(len(self.tokens), dim))
        self.b = torch.nn.Parameter(torch.zeros(dim))
        if start == "random":
            for p in (self.W, self.b):
                torch.nn.init.uniform_(p, -(vocab**-0.5), vocab**-0.5)
        if kind == "llr":  # starts where it is slr
            self.u, self.c = torch.nn.Parameter(torch.zeros(dim)), torch.nn.Parameter(torch.ones(1))
        if kind == "clr":  # head: U [tokens, d] and biases [tokens]
            self.U, self.c = (torch.nn.Parameter(t.clone()) for t in head)

    def weights(self, batch, hidden, q):
        """w [n, columns], Eq. 5, 6 (one u for all tokens) or 7 (ReLU, of the dense vector)."""
        if self.kind == "clr":
            s = torch.log1p(torch.relu(q @ self.U.t() + self.c))
            k = min(CLR_TOKENS, s.shape[1])
            kept = torch.zeros_like(s).scatter(1, s.topk(k, dim=1).indices, 1.0)
            return s * kept * batch.lexical.any(1, keepdim=True)
        slots = self.slot[batch.ids]
        slots = slots.masked_fill(~batch.lexical, len(self.tokens))
        if self.kind == "slr":
            values = q.new_full(slots.shape, math.log(2))
        else:
            values = torch.log1p(torch.relu(hidden @ self.u + self.c))
        w = q.new_zeros(len(slots), len(self.tokens) + 1)
        return w.scatter_reduce(1, slots, values, "amax")[:, :-1]

    def forward(self, batch, hidden, q):
        w = self.weights(batch, hidden, q)
        z = w @ self.W + self.b
        # A query without a token that may weigh is left alone, by the bias, too.
        says = (w > 0).any(1, keepdim=True) if self.kind == "clr" else batch.lexical.any(1, keepdim=True)
        return torch.where(says, torch.nn.functional.normalize(q * torch.softmax(z, dim=-1), dim=-1), q)

    def save(self, path):
        """Write the tensors that `lexsem fit --import` reads."""
        whole = torch.zeros(self.vocab, self.dim)
        whole[self.tokens.cpu()] = self.W.detach().cpu()
        out = {"linear.weight": whole.t().contiguous(), "linear.bias": self.b.detach().cpu().contiguous()}
        if self.kind == "llr":
            out |= {"U": self.u.detach().cpu().contiguous(), "b": self.c.detach().cpu().contiguous()}
        if self.kind == "clr":
            u, c = torch.zeros(self.vocab, self.dim), torch.zeros(self.vocab)
            u[self.tokens.cpu()], c[self.tokens.cpu()] = self.U.detach().cpu(), self.c.detach().cpu()
            out |= {"U": u, "b": c}
        save_file(out, path, metadata={"lexsem.bridge": self.kind})

    @classmethod
    def load(cls, path):
        """A bridge that save wrote."""
        with safe_open(path, "pt") as f:
            kind, t = (f.metadata() or {}).get("lexsem.bridge"), {n: f.get_tensor(n) for n in f.keys()}
        if kind not in KINDS:
            raise ValueError(f"{path} is no bridge of this tool: its metadata lexsem.bridge is {kind!r}")
        columns = t["linear.weight"].t()
        dim, vocab = columns.shape[1], columns.shape[0]
        used = columns.any(1) | t["U"].any(1) if kind == "clr" else columns.any(1)
        tokens = used.nonzero().flatten()
        out = cls(kind, dim, vocab, tokens.tolist(), (t["U"][tokens], t["b"][tokens]) if kind == "clr" else None)
        with torch.no_grad():
            out.W.copy_(columns[tokens])
            out.b.copy_(t["linear.bias"])
            if kind == "llr":
                out.u.copy_(t["U"])
                out.c.copy_(t["b"])
        return out


def closed_head(vectors, rows, vocab, least=2, share=0.5, ridge=1.0):
    """The head that clr starts from, for encoders that ship none: ridge regression of the presence of a
    token on the passage's vector. vectors [n, d], rows the tokens of each passage. Returns the
    tokens that least passages and at most share of them hold, U [tokens, d] and biases."""
    n = len(rows)
    df = torch.zeros(vocab)
    for r in rows:
        df[list(r)] += 1
    tokens = ((df >= least) & (df <= share * n)).nonzero().flatten()
    at = torch.full((vocab,), -1, dtype=torch.long)
    at[tokens] = torch.arange(len(tokens))
    x = vectors.double()
    mean = x.mean(0)
    x = x - mean
    held = torch.zeros(len(tokens), x.shape[1], dtype=torch.double)
    for row, r in zip(x, rows):
        mine = at[list(r)]
        held[mine[mine >= 0]] += row
    u = torch.linalg.solve(x.t() @ x + ridge * torch.eye(x.shape[1], dtype=torch.double), held.t()).t()
    return tokens, u.float(), (df[tokens] / n - (u @ mean)).float()
