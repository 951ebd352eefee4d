"""Train encoder and bridge together, or either alone; README.md tells how and why."""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import torch

import samples
from bridge import KINDS, STARTS, Bridge, closed_head
from encoder import Encoder, FolderError
from loss import contrastive

CHECKPOINT = "checkpoint.pt"


def arguments(argv=None):
    p = argparse.ArgumentParser(description="Fine-tune an encoder with or without the bridge of LexSemBridge.")
    p.add_argument("--encoder", required=True, help="folder of the encoder to start from")
    p.add_argument("--samples", required=True, help="JSON lines of query and passage, as `lexsem bench samples` writes them")
    p.add_argument("--out", required=True, help="folder for the encoder, bridge.safetensors, log.jsonl and run.json; its name becomes the model's")
    p.add_argument("--bridge", choices=("none", *KINDS), default="slr")
    p.add_argument("--freeze", action="store_true", help="leave the encoder as it is: only the bridge learns")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--steps", type=int, default=0, help="steps in all, in place of --epochs")
    p.add_argument("--batch", type=int, default=64, help="queries a step")
    p.add_argument("--negatives", type=int, default=15, help="hard negatives a query")
    p.add_argument("--ranks", default="20:200", help="FROM:TO, between which ranks of the first encoder's search hard negatives are drawn")
    p.add_argument("--contrast", choices=("mined", "all"), default="mined", help="all: with every passage, which --freeze makes possible")
    p.add_argument("--rate", type=float, default=1e-5, help="learning rate, falling linearly to 0")
    p.add_argument("--bridge-rate", type=float, default=0.0, help="that of the bridge; default --rate, as in the paper")
    p.add_argument("--bridge-start", choices=STARTS, default="zero", help="what W and its bias begin with; random: as a linear layer of PyTorch does, as in the paper")
    p.add_argument("--tau", type=float, default=0.02)
    p.add_argument("--query-tokens", type=int, default=64)
    p.add_argument("--passage-tokens", type=int, default=256)
    p.add_argument("--evaluate-every", type=int, default=250, help="steps between two looks at the samples of split dev")
    p.add_argument("--checkpoint-every", type=float, default=120, help="seconds between two checkpoints")
    p.add_argument("--stop-after", type=int, default=0, help="stop after so many steps of this call; the same command goes on")
    p.add_argument("--device", default="cpu")
    p.add_argument("--autocast", action="store_true", help="compute in bfloat16 where that loses little")
    p.add_argument("--slice", type=int, default=0, help="tokens a forward pass, padding included; default 2048 on a CPU, 65536 elsewhere")
    p.add_argument("--threads", type=int, default=0)
    o = p.parse_args(argv)
    for name, low in (("batch", 2), ("epochs", 1), ("steps", 0), ("negatives", 0), ("slice", 0), ("query_tokens", 3), ("passage_tokens", 3), ("evaluate_every", 1)):
        if getattr(o, name) < low:
            p.error(f"--{name.replace('_', '-')} takes numbers from {low}")
    if not (o.rate > 0 and o.bridge_rate >= 0 and o.tau > 0):
        p.error("--rate and --tau are above 0, --bridge-rate is not below")
    if o.freeze and o.bridge == "none":
        p.error("--freeze with --bridge none trains nothing")
    if o.contrast == "all" and not o.freeze:
        p.error("--contrast all goes with --freeze: passages whose vectors stay behind the encoder would be told apart by that alone")
    try:
        first, last = (int(x) for x in o.ranks.split(":"))
    except ValueError:
        p.error(f"--ranks {o.ranks!r}: use FROM:TO, such as 20:200")
    if not 0 <= first < last:
        p.error(f"--ranks {o.ranks!r}: FROM is 0 or more, and below TO")
    o.bridge_rate = o.bridge_rate or o.rate
    o.slice = o.slice or (2048 if o.device == "cpu" else 65536)
    return o


class Run:
    """One training: what it is made of, and where it stands."""

    def __init__(self, o):
        self.o, self.out = o, Path(o.out)
        if o.threads:
            torch.set_num_threads(o.threads)
        torch.manual_seed(o.seed)
        self.samples = samples.read(o.samples)
        self.encoder = Encoder(o.encoder).to(o.device)
        self.passages = self.encoder.texts(self.samples.passages, False, o.passage_tokens).to(o.device)
        self.queries, self.dev = (self.encoder.texts([q for q, _ in of], True, o.query_tokens).to(o.device) for of in (self.samples.train, self.samples.dev))
        first = self.encoder.vectors(self.passages, o.slice)
        mines, stays = o.negatives and o.contrast == "mined", o.freeze and o.bridge != "llr"
        asked = self.encoder.vectors(self.queries, o.slice) if mines or stays else None
        hard = None
        if mines:
            hard = samples.mine(asked, first, torch.tensor([p for _, p in self.samples.train]), *(int(x) for x in o.ranks.split(":")))
        self.order = samples.Order(self.samples, hard, o.batch, o.negatives if o.contrast == "mined" else 0, o.seed)
        self.steps = o.steps or o.epochs * self.order.epoch_steps
        self.known = first.to(o.device) if o.freeze else None  # passages of a frozen encoder stay where they are
        self.still = {}  # and so do queries, of which llr reads all states
        if stays:
            self.still = {id(self.queries): asked.to(o.device), id(self.dev): self.encoder.vectors(self.dev, o.slice).to(o.device)}
        self.bridge = self.new_bridge(first)
        groups = []
        if o.freeze:
            self.encoder.requires_grad_(False)
        else:
            groups.append({"params": list(self.encoder.parameters()), "lr": o.rate})
        if self.bridge is not None:
            groups.append({"params": list(self.bridge.parameters()), "lr": o.bridge_rate})
        # No weight decay: tokens that no sample holds stay as they are.
        self.optimizer = torch.optim.AdamW(groups, weight_decay=0.0)
        self.step, self.seconds = 0, 0.0
        self.window = [0.0, 0]  # sum and number of the losses since the last line of the log

    def new_bridge(self, first):
        o, e = self.o, self.encoder
        if o.bridge == "none":
            return None
        texts = self.passages if o.bridge == "clr" else self.queries
        rows = [texts.tokens(i) for i in range(len(texts))]
        if o.bridge == "clr":
            tokens, u, c = closed_head(first, rows, e.vocab)
            return Bridge("clr", e.dim, e.vocab, tokens.tolist(), (u, c), o.bridge_start).to(o.device)
        # A column that begins at random turns queries that no training query is like.
        tokens = range(e.vocab) if o.bridge_start == "random" else set().union(*rows)
        return Bridge(o.bridge, e.dim, e.vocab, tokens, start=o.bridge_start).to(o.device)

    def forward(self, queries, numbers):
        """Query vectors [2, n, d] as they are served: with the bridge, and without."""
        if id(queries) in self.still:
            dense = self.still[id(queries)][torch.tensor(numbers, device=self.o.device)]
            return torch.stack([self.bridge(queries.batch(numbers), None, dense), dense])
        return self.sliced(queries, numbers, self.served)

    def served(self, batch):
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.o.freeze), self.cast():
            hidden, dense = self.encoder(batch)
        return torch.stack([dense if self.bridge is None else self.bridge(batch, hidden, dense), dense])

    def sliced(self, texts, numbers, of):
        """of(batch) [.., n, d] in slices, in the order of numbers."""
        parts = texts.slices(numbers, self.o.slice)
        order = torch.tensor([i for part in parts for i in part])
        out = torch.cat([of(texts.batch([numbers[i] for i in part])) for part in parts], dim=-2)
        return out[..., order.argsort().to(out.device), :]

    def cast(self):
        return torch.autocast(self.o.device.split(":")[0], dtype=torch.bfloat16, enabled=self.o.autocast)

    def vectors(self, numbers):
        """The vectors of passages by the encoder as it is."""
        if self.o.freeze:
            return self.known[torch.tensor(numbers)]
        return self.sliced(self.passages, numbers, self.encoded)

    def encoded(self, batch):
        with self.cast():
            return self.encoder(batch)[1]

    def learn(self):
        """One step; returns its loss."""
        self.encoder.train(not self.o.freeze)
        torch.manual_seed(self.order.generator("dropout", self.step).initial_seed())
        queries, candidates, target = self.order.at(self.step)
        if self.o.contrast == "all":
            passages, target = self.known, torch.tensor(candidates)[target]
        else:
            passages = self.vectors(candidates)
        loss = contrastive(self.forward(self.queries, queries)[0], passages, target.to(self.o.device), self.o.tau)
        if not torch.isfinite(loss):
            raise FloatingPointError(f"the loss is {loss.item()} at step {self.step}; take a lower --rate or --bridge-rate")
        for g, rate in zip(self.optimizer.param_groups, self.rates()):
            g["lr"] = rate * (1 - self.step / self.steps)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.step += 1
        return loss.item()

    def rates(self):
        return ([] if self.o.freeze else [self.o.rate]) + ([] if self.bridge is None else [self.o.bridge_rate])

    @torch.no_grad()
    def evaluate(self):
        """Loss and nDCG@1 of the dev samples among their passages, with the bridge and, of the same encoder, without."""
        if not self.samples.dev:
            return {}
        self.encoder.eval()
        numbers = sorted({p for _, p in self.samples.dev})
        where = {p: i for i, p in enumerate(numbers)}
        passages = torch.cat([self.vectors(numbers[at : at + 64]) for at in range(0, len(numbers), 64)])
        sums = {"loss": 0.0, "ndcg@1": 0.0, "dense_loss": 0.0, "dense_ndcg@1": 0.0}
        for at in range(0, len(self.samples.dev), 64):
            part = range(at, min(at + 64, len(self.samples.dev)))
            target = torch.tensor([where[self.samples.dev[i][1]] for i in part]).to(self.o.device)
            for name, q in zip(("", "dense_"), self.forward(self.dev, part)):
                sums[name + "loss"] += contrastive(q, passages, target, self.o.tau).item() * len(part)
                sums[name + "ndcg@1"] += ((q @ passages.t()).argmax(1) == target).sum().item()
        return {f"dev_{k}": v / len(self.samples.dev) for k, v in sums.items()}

    def key(self):
        """What must agree for a checkpoint to be gone on from."""
        skip = ("out", "stop_after", "checkpoint_every", "threads", "samples", "encoder")
        return json.dumps({k: v for k, v in vars(self.o).items() if k not in skip} | {"samples": self.samples.digest, "model": self.encoder.folder.name}, sort_keys=True)

    def keep(self):
        state = {"key": self.key(), "step": self.step, "seconds": self.seconds, "window": self.window, "optimizer": self.optimizer.state_dict(), "encoder": None if self.o.freeze else self.encoder.state_dict(), "bridge": self.bridge and self.bridge.state_dict()}
        half = self.out / (CHECKPOINT + ".part")
        torch.save(state, half)
        os.replace(half, self.out / CHECKPOINT)

    def go_on(self):
        """Take up the checkpoint that is there; false where there is none."""
        path = self.out / CHECKPOINT
        if not path.exists():
            return False
        state = torch.load(path, map_location=self.o.device, weights_only=True)
        if state["key"] != self.key():
            raise FolderError(f"{path} is of a training with other samples or options; remove it, or choose another --out")
        self.step, self.seconds, self.window = state["step"], state["seconds"], state["window"]
        self.optimizer.load_state_dict(state["optimizer"])
        if not self.o.freeze:
            self.encoder.load_state_dict(state["encoder"])
        if self.bridge is not None:
            self.bridge.load_state_dict(state["bridge"])
        return True

    def finish(self, last):
        self.encoder.save(self.out)
        if self.bridge is not None:
            self.bridge.save(self.out / "bridge.safetensors")
        told = vars(self.o) | {
            "encoder": self.encoder.folder.name, "samples": self.samples.digest, "queries": len(self.samples.train), "passages": len(self.samples.passages),
            "steps": self.steps, "seconds": round(self.seconds), "torch": torch.__version__, "at_the_end": last,
        }
        del told["out"], told["stop_after"]
        (self.out / "run.json").write_text(json.dumps(told, indent=1) + "\n")
        (self.out / CHECKPOINT).unlink(missing_ok=True)


def train(o):
    out = Path(o.out)
    if (out / "run.json").exists():
        raise FolderError(f"{out} holds a training that has ended; choose another --out, or remove it")
    if out.exists() and Path(o.encoder).resolve() == out.resolve():
        raise FolderError(f"{out} is the encoder to start from; choose another --out")
    if out.exists() and any(out.iterdir()) and not (out / CHECKPOINT).exists() and not (out / "log.jsonl").exists():
        raise FolderError(f"{out} holds other files; choose an empty folder")
    run = Run(o)
    out.mkdir(parents=True, exist_ok=True)
    resumed = run.go_on()
    log = []
    if resumed and (out / "log.jsonl").exists():  # what came after the checkpoint comes once more
        log = [x for x in (out / "log.jsonl").read_text().splitlines() if json.loads(x)["step"] <= run.step]
    with open(out / "log.jsonl", "w", encoding="utf-8") as f:
        f.writelines(x + "\n" for x in log)

        def note(**what):
            f.write(json.dumps(what) + "\n")
            f.flush()
            print(json.dumps(what), file=sys.stderr, flush=True)

        if not resumed:
            note(step=0, **run.evaluate())
        since, begun, last = time.monotonic(), run.step, {}
        clock = since
        while run.step < run.steps:
            loss, (total, count) = run.learn(), run.window
            run.window = [total + loss, count + 1]
            run.seconds += time.monotonic() - clock
            clock = time.monotonic()
            whole = run.step % o.evaluate_every == 0 or run.step == run.steps
            if whole or run.step % 10 == 0:
                last = run.evaluate() if whole else {}
                note(step=run.step, loss=run.window[0] / run.window[1], seconds=round(run.seconds, 1), **last)
                run.window, clock = [0.0, 0], time.monotonic()
            stop = o.stop_after and run.step - begun == o.stop_after and run.step < run.steps
            if stop or time.monotonic() - since > o.checkpoint_every:
                run.keep()
                since = clock = time.monotonic()
            if stop:
                return
    run.finish(last)


def main():
    try:
        train(arguments())
    except (FolderError, samples.SampleError, FloatingPointError, OSError) as e:
        sys.exit(f"train.py: {e}")


if __name__ == "__main__":
    main()
