"""python -m pytest tools/finetune: loss, bridge, samples, going on, and what is written, on a tiny BERT."""

import json
import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: there is no torch")
pytest.importorskip("transformers", reason="NOT TESTED: there is no transformers")

from safetensors.torch import load_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel

import pairs as labelled
import samples
import train
from bridge import Bridge, closed_head
from encoder import Batch, Encoder, FolderError
from loss import contrastive

WORDS = "red green blue sky sea stone river bird tree wind".split()


@pytest.fixture
def tiny(tmp_path):
    """A folder with a BERT of random weights and a prompt before queries."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    vocab = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "ask", *WORDS, "##s"])}
    t = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    t.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    t.save(str(folder / "tokenizer.json"))
    torch.manual_seed(5)
    config = BertConfig(vocab_size=len(vocab), hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12, max_position_embeddings=24, initializer_range=0.5)
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "ask ", "document": ""}}))
    return folder


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "samples.jsonl"
    lines = []
    for i in range(24):
        words = [WORDS[(i * k + i // 4) % len(WORDS)] for k in range(1, 6)]
        lines.append({"query": " ".join(words[1:4]), "passage": " ".join(words) + " stones" * (i % 3), "split": "dev" if i % 6 == 0 else "train"})
    path.write_text("".join(json.dumps(x) + "\n" for x in lines))
    return path


def options(tiny, pairs, out, *more):
    return train.arguments(["--encoder", str(tiny), "--samples", str(pairs), "--out", str(out), "--batch", "4", "--steps", "6", "--negatives", "2", "--rate", "1e-3", "--bridge-rate", "0.1", "--evaluate-every", "3", *more])


def test_loss():
    q = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    p = torch.tensor([[0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]])
    want = 0.0
    for scores, own in (([0.8, 0.0, -1.0], 0), ([0.48 + 0.48, 0.8, -0.6], 1)):
        e = [math.exp(s / 0.5) for s in scores]
        want -= math.log(e[own] / sum(e)) / 2
    assert contrastive(q, p, torch.tensor([0, 1]), 0.5).item() == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("kind", ["slr", "llr", "clr"])
def test_bridge(kind):
    """q_out by Eq. 5 to 9, a number at a time: token 4 twice, 3 special, 6 without a column."""
    g = torch.Generator().manual_seed(1)
    d, tokens = 5, [2, 4, 7]
    head = (torch.randn(3, d, generator=g), torch.randn(3, generator=g))
    b = Bridge(kind, d, 9, tokens, head)
    with torch.no_grad():
        for p in b.parameters():
            p.copy_(torch.randn(p.shape, generator=g))
    batch = Batch(torch.tensor([[3, 4, 2, 6, 4, 3]]), torch.ones(1, 6), torch.tensor([[False, True, True, True, True, False]]))
    hidden, q = torch.randn(1, 6, d, generator=g), torch.nn.functional.normalize(torch.randn(1, d, generator=g), dim=1)
    w = dict.fromkeys(tokens, 0.0)
    if kind == "clr":
        for i, t in enumerate(tokens):
            w[t] = math.log1p(max(0.0, (b.U[i] @ q[0] + b.c[i]).item()))
    else:
        for j in (1, 2, 3, 4):
            t = batch.ids[0, j].item()
            x = math.log(2) if kind == "slr" else math.log1p(max(0.0, (hidden[0, j] @ b.u + b.c).item()))
            if t in w:
                w[t] = max(w[t], x)
    assert sum(x > 0 for x in w.values()) > 0
    z = [b.b[i].item() + sum(w[t] * b.W[k, i].item() for k, t in enumerate(tokens)) for i in range(d)]
    soft = [math.exp(x) / sum(map(math.exp, z)) for x in z]
    out = [q[0, i].item() * soft[i] for i in range(d)]
    norm = math.sqrt(sum(x * x for x in out))
    assert b(batch, hidden, q)[0].tolist() == pytest.approx([x / norm for x in out], abs=1e-5)


def test_bridge_without_weight_leaves_queries():
    b = Bridge("slr", 3, 4, [1, 2])
    q = torch.nn.functional.normalize(torch.tensor([[1.0, 2.0, -3.0]]), dim=1)
    assert torch.allclose(b(Batch(torch.tensor([[1, 2]]), None, torch.tensor([[True, True]])), None, q), q, atol=1e-7)
    with torch.no_grad():
        b.b.copy_(torch.tensor([3.0, 0.0, 0.0]))
    assert not torch.allclose(b(Batch(torch.tensor([[3, 2]]), None, torch.tensor([[True, False]])), None, q), q, atol=1e-2)
    assert torch.equal(b(Batch(torch.tensor([[1, 2]]), None, torch.tensor([[False, False]])), None, q), q)


@pytest.mark.parametrize("bridge", ["slr", "llr", "clr"])
def test_random_start(tiny, pairs, tmp_path, bridge):
    """W begins as that of torch.nn.Linear does, also for tokens that no training query has, and with the seed alone."""
    runs = [train.Run(options(tiny, pairs, tmp_path / "none", "--bridge", bridge, "--bridge-start", "random", "--seed", s)) for s in "112"]
    vocab = runs[0].encoder.vocab
    for p in (runs[0].bridge.W, runs[0].bridge.b):
        assert p.abs().max() <= vocab**-0.5 and p.abs().max() > 0.8 * vocab**-0.5 and p.std() > 0.4 * vocab**-0.5
    if bridge != "clr":
        assert len(runs[0].bridge.tokens) == vocab
    assert torch.equal(runs[0].bridge.W, runs[1].bridge.W) and not torch.equal(runs[0].bridge.W, runs[2].bridge.W)
    zero = train.Run(options(tiny, pairs, tmp_path / "none", "--bridge", bridge)).bridge
    assert not zero.W.any() and not zero.b.any()


def test_closed_head():
    """It is the ridge regression of presence on vectors, with their means taken off."""
    g = torch.Generator().manual_seed(2)
    x, rows = torch.randn(12, 4, generator=g), [{i % 5, 5 + i % 2} for i in range(12)]
    tokens, u, c = closed_head(x, rows, 9)
    assert tokens.tolist() == [0, 1, 2, 3, 4, 5, 6]
    for t, row, bias in zip(tokens.tolist(), u, c):
        y = torch.tensor([float(t in r) for r in rows])
        xc = x - x.mean(0)
        want = torch.linalg.solve(xc.t() @ xc + torch.eye(4), xc.t() @ (y - y.mean()))
        assert torch.allclose(row, want, atol=1e-5)
        assert bias.item() == pytest.approx((y.mean() - want @ x.mean(0)).item(), abs=1e-5)


def test_tokens(tiny):
    e = Encoder(tiny)
    b = e.tokens(["red zzz skys"], query=True)
    words = [e.tokenizer.id_to_token(i) for i in b.ids[0].tolist()]
    assert words == ["[CLS]", "ask", "red", "[UNK]", "sky", "##s", "[SEP]"]
    assert b.lexical[0].tolist() == [False, False, True, False, True, True, False]
    assert e.tokens(["red " * 40], query=False).ids.shape == (1, 24)
    assert e.tokens(["red " * 40], query=False, most=7).ids.shape == (1, 7)


def test_vectors_do_not_depend_on_padding(tiny):
    e = Encoder(tiny).eval()
    texts = ["red", "green blue sky sea stone river", "wind"]
    alone = torch.cat([e.vectors(e.texts([t], True)) for t in texts])
    for budget in (1, 12, 999):
        assert torch.allclose(e.vectors(e.texts(texts, True), budget), alone, atol=1e-5)


def test_slices(tiny):
    """Each text stands in one slice, and a slice of more than one keeps to the budget."""
    t = Encoder(tiny).texts(["red " * n for n in (9, 1, 4, 4, 2, 7)], False)
    numbers = [5, 0, 2, 1, 4]
    for budget in (1, 12, 20, 999):
        parts = t.slices(numbers, budget)
        assert sorted(i for part in parts for i in part) == [0, 1, 2, 3, 4]
        sizes = [len(p) * max(t.lengths[numbers[i]].item() for i in p) for p in parts]
        assert all(len(p) == 1 or s <= budget for p, s in zip(parts, sizes))
    assert len(t.slices(numbers, 1)) == 5 and len(t.slices(numbers, 999)) == 1
    b = t.batch([1, 4])
    assert b.ids.shape == (2, 4) and b.mask.tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]] and b.ids[0, 3] == 0 and not b.lexical[0, 3]
    assert t.tokens(1) == {5}


@pytest.mark.parametrize("bridge", ["none", "slr", "llr", "clr"])
def test_goes_on(tiny, pairs, tmp_path, bridge):
    """A training that was stopped twice ends as one that was not, and its folder reads as it was."""
    more = ["--bridge", bridge]
    train.train(options(tiny, pairs, tmp_path / "a", *more))
    for _ in range(3):
        train.train(options(tiny, pairs, tmp_path / "b", *more, "--stop-after", "2"))
    names = ["model.safetensors"] + ([] if bridge == "none" else ["bridge.safetensors"])
    for name in names:
        a, b = load_file(tmp_path / "a" / name), load_file(tmp_path / "b" / name)
        assert a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a), name
    assert not (tmp_path / "b" / train.CHECKPOINT).exists()

    def log(n):
        return [{k: v for k, v in json.loads(x).items() if k != "seconds"} for x in (tmp_path / n / "log.jsonl").read_text().splitlines()]

    assert log("a") == log("b") and [x["step"] for x in log("a")] == [0, 3, 6] and "dev_ndcg@1" in log("a")[-1]
    start, end = load_file(tiny / "model.safetensors"), load_file(tmp_path / "a" / "model.safetensors")
    assert not torch.equal(start["encoder.layer.1.output.dense.weight"], end["encoder.layer.1.output.dense.weight"])
    e = Encoder(tmp_path / "a")
    assert e.spec == Encoder(tiny).spec
    e.save(tmp_path / "c")
    words = e.texts(WORDS, True)
    assert torch.equal(e.vectors(words), Encoder(tmp_path / "c").vectors(words))
    if bridge != "none":
        Bridge.load(tmp_path / "a" / "bridge.safetensors").save(tmp_path / "again.safetensors")
        a, b = load_file(tmp_path / "a" / "bridge.safetensors"), load_file(tmp_path / "again.safetensors")
        assert a["linear.weight"].any() and all(torch.equal(a[k], b[k]) for k in a)
    with pytest.raises(FolderError, match="ended"):
        train.train(options(tiny, pairs, tmp_path / "a", *more))


def test_frozen(tiny, pairs, tmp_path):
    train.train(options(tiny, pairs, tmp_path / "f", "--freeze", "--steps", "12", "--contrast", "all"))
    start, end = load_file(tiny / "model.safetensors"), load_file(tmp_path / "f" / "model.safetensors")
    assert all(torch.equal(start[k], end[k]) for k in end)
    losses = [json.loads(x)["loss"] for x in (tmp_path / "f" / "log.jsonl").read_text().splitlines() if '"loss"' in x]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("bridge", ["slr", "llr", "clr"])
def test_frozen_queries_stay(tiny, pairs, tmp_path, bridge):
    """Query vectors that are kept for a frozen encoder are those that it would give."""
    run = train.Run(options(tiny, pairs, tmp_path / "f", "--freeze", "--bridge", bridge))
    assert bool(run.still) == (bridge != "llr")
    for _ in range(3):
        run.learn()
    for texts in (run.queries, run.dev):
        got = run.forward(texts, [3, 0, 2])
        kept, run.still = run.still, {}
        assert torch.allclose(got, run.forward(texts, [3, 0, 2]), atol=1e-6)
        run.still = kept


@pytest.mark.parametrize("more", [[], ["--freeze"]])
def test_without_dev_samples(tiny, pairs, tmp_path, more):
    pairs.write_text("".join(line for line in pairs.read_text().splitlines(True) if '"train"' in line))
    train.train(options(tiny, pairs, tmp_path / "a", *more))
    last = (tmp_path / "a" / "log.jsonl").read_text().splitlines()[-1]
    assert "loss" in json.loads(last) and "dev_loss" not in json.loads(last)


def test_another_training_is_not_gone_on_from(tiny, pairs, tmp_path):
    train.train(options(tiny, pairs, tmp_path / "a", "--stop-after", "2"))
    with pytest.raises(FolderError, match="other samples or options"):
        train.train(options(tiny, pairs, tmp_path / "a", "--tau", "0.1"))


def test_other_files_are_left_alone(tiny, pairs, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(FolderError, match="other files"):
        train.train(options(tiny, pairs, tmp_path / "mine"))


def test_mine():
    passages = torch.nn.functional.normalize(torch.stack([torch.tensor([math.cos(a / 40), math.sin(a / 40)]) for a in range(60)]), dim=1)
    got = samples.mine(passages[:1], passages, torch.tensor([0]), 20, 40)
    assert got.tolist() == [list(range(21, 41))]  # its own, at rank 0, is left out
    assert samples.mine(passages[:1], passages[:6], torch.tensor([2])).tolist()[0] == [0, 1, 3, 4, 5, 2]


def test_order(pairs):
    s = samples.read(pairs)
    hard = torch.tensor([[(p + 1 + k) % len(s.passages) for k in range(5)] for _, p in s.train])
    order = samples.Order(s, hard, 4, 2, 1)
    seen = []
    for step in range(order.epoch_steps):
        queries, candidates, target = order.at(step)
        assert len(set(candidates)) == len(candidates) > 4
        assert all(s.train[q][1] == candidates[t] for q, t in zip(queries, target.tolist()))
        seen += queries
        assert str(order.at(step)) == str((queries, candidates, target))
    assert len(seen) == 4 * order.epoch_steps
    assert order.at(0)[0] != samples.Order(s, hard, 4, 2, 2).at(0)[0]


@pytest.mark.parametrize("line", ["{", "[]", "3", '{"query":"a"}', '{"query":"a","passage":" "}', '{"query":1,"passage":"b"}', '{"query":"a","passage":"b","split":"test"}', '{"query":"a","passage":"b","negatives":[""]}'])
def test_bad_samples(tmp_path, line):
    path = tmp_path / "s.jsonl"
    path.write_text('{"query":"a","passage":"b"}\n' + line + "\n")
    with pytest.raises(samples.SampleError, match=r"s\.jsonl:2"):
        samples.read(path)


def test_given_negatives(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text('{"query":"a","passage":"b","negatives":["c","d"]}\n{"query":"e","passage":"f"}\n')
    s = samples.read(path)
    order = samples.Order(s, None, 2, 5, 1)
    assert sorted(s.passages[i] for i in order.at(0)[1]) == ["b", "c", "d", "f"]


def test_pairs(tmp_path, monkeypatch):
    """Judged queries of a folder and of one below it, and sentences found alike both ways round; each pair once."""
    top = tmp_path / "top"
    (top / "train").mkdir(parents=True)
    (top / "qrels").mkdir()
    (top / "corpus.jsonl").write_text('{"_id":"p","title":"sky","text":"blue"}\n{"_id":7,"text":"sea"}\n')
    (top / "queries.jsonl").write_text('{"_id":"q","text":"which sky"}\n')
    (top / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tp\t1\nq\t7\t0\nq\tgone\t1\n")
    (top / "train" / "queries.jsonl").write_text('{"_id":"r","text":"which sea"}\n')
    (top / "train" / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nr\t7\t1\n")
    alike = tmp_path / "alike.jsonl"
    alike.write_text('{"text1":"a","text2":"b","score":4}\n{"text1":"b","text2":"a","score":5}\n{"text1":"c","text2":"d","score":3.9}\n{"text1":"e","text2":"e","score":5}\n')
    out = tmp_path / "out.jsonl"
    monkeypatch.setattr("sys.argv", ["pairs.py", "--judged", str(top), "--judged", str(top / "train"), "--alike", str(alike), "--out", str(out)])
    labelled.main()
    got = [json.loads(x) for x in out.read_text().splitlines()]
    assert [(x["query"], x["passage"]) for x in got] == [("which sky", "sky blue"), ("which sea", "sea"), ("a", "b"), ("b", "a")]
    assert all(x["split"] == labelled.split(x["query"]) for x in got)
    assert 20 < sum(labelled.split(str(i)) == "dev" for i in range(1000)) < 90
    for args, what in (([], "no pairs"), (["--judged", str(tmp_path)], "corpus.jsonl"), (["--alike", str(top / "corpus.jsonl")], "no text1")):
        monkeypatch.setattr("sys.argv", ["pairs.py", *args, "--out", str(out)])
        with pytest.raises(SystemExit, match=what):
            labelled.main()


@pytest.mark.parametrize("more", [["--contrast", "all"], ["--ranks", "9"], ["--ranks", "9:9"], ["--freeze", "--bridge", "none"], ["--batch", "1"], ["--tau", "0"]])
def test_bad_options(tiny, pairs, tmp_path, more):
    with pytest.raises(SystemExit):
        options(tiny, pairs, tmp_path / "a", *more)


def test_folders_that_cannot_be_trained(tiny, tmp_path):
    with pytest.raises(FolderError, match="no folder"):
        Encoder(tmp_path / "none")
    (tiny / "modules.json").write_text(json.dumps([{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]))
    with pytest.raises(FolderError, match="Dense"):
        Encoder(tiny)
    (tiny / "modules.json").unlink()
    (tiny / "1_Pooling").mkdir()
    (tiny / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(FolderError, match="max_tokens"):
        Encoder(tiny)
