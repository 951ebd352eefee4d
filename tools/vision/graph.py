"""Writes a vision transformer as the folder that lexsem reads: model.onnx, config.json,
preprocessor_config.json.

Weights are NumPy arrays by name: patch.w [d, 3·p·p], patch.b, front [f, d] (states before those of
the patches), place [f + patches, d]; for layer i norm1.w, norm1.b, qkv.w [d, 3d], qkv.b, out.w
[d, d], out.b, norm2.w, norm2.b, up.w [d, 4d], up.b, down.w [4d, d], down.b, behind "i."; last.w and
last.b; pool.w and pool.b where the vector is a normalised mean (BEiT) or first state (CLIP).
"""

import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EPS = 1e-6


def norm(x, w, b):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) / np.sqrt(v + EPS) * w + b


def gelu(x):
    from math import erf

    return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def blocks(w, x, layers, heads, front="", causal=False):
    """The layers of a transformer, in float64: states [n, t, d] of states."""
    n, t, d = x.shape
    for i in range(layers):
        g = lambda name: w[f"{front}{i}.{name}"]
        y = norm(x, g("norm1.w"), g("norm1.b")) @ g("qkv.w") + g("qkv.b")
        q, k, v = y.reshape(n, t, 3, heads, d // heads).transpose(2, 0, 3, 1, 4)
        a = q @ k.swapaxes(-1, -2) / np.sqrt(d // heads)
        if causal:
            a = a + np.triu(np.full((t, t), -1e9), 1)
        a = np.exp(a - a.max(-1, keepdims=True))
        a /= a.sum(-1, keepdims=True)
        x = x + (a @ v).transpose(0, 2, 1, 3).reshape(n, t, d) @ g("out.w") + g("out.b")
        x = x + gelu(norm(x, g("norm2.w"), g("norm2.b")) @ g("up.w") + g("up.b")) @ g("down.w") + g("down.b")
    return x


def forward(w, images, patch, layers, heads, final=True, pool=None):
    """What the graph computes, in float64: states [n, f + patches, d] and pooled [n, d] or None, [n, p]
    where there is a projection."""
    w = {k: v.astype(np.float64) for k, v in w.items()}
    n, _, H, W = images.shape
    rows, cols, d = H // patch, W // patch, w["patch.b"].shape[0]
    p = images.astype(np.float64).reshape(n, 3, rows, patch, cols, patch).transpose(0, 2, 4, 1, 3, 5).reshape(n, rows * cols, -1)
    x = p @ w["patch.w"].T + w["patch.b"]
    x = np.concatenate([np.broadcast_to(w["front"], (n, *w["front"].shape)), x], 1) + w["place"]
    x = blocks(w, x, layers, heads)
    if final:
        x = norm(x, w["last.w"], w["last.b"])
    if pool is None:
        return x, None
    of = x[:, w["front"].shape[0] :].mean(1) if pool == "mean" else x[:, 0]
    pooled = norm(of, w["pool.w"], w["pool.b"])
    return x, pooled @ w["project.w"] if "project.w" in w else pooled


def forward_text(w, ids, layers, heads):
    """What the text tower computes of the ids of one text, in float64: its vector [p]."""
    w = {k: v.astype(np.float64) for k, v in w.items()}
    x = (w["text.words"][ids] + w["text.place"][: len(ids)])[None]
    x = norm(blocks(w, x, layers, heads, "text.", causal=True), w["text.last.w"], w["text.last.b"])
    return x[0, int(np.argmax(ids))] @ w["text.project.w"]


class Graph:
    """An ONNX graph that grows."""

    def __init__(self, w):
        self.w, self.nodes, self.inits = w, [], []

    def const(self, name, a):
        self.inits.append(numpy_helper.from_array(np.ascontiguousarray(a), name))
        return name

    def op(self, kind, inputs, out, **attrs):
        self.nodes.append(helper.make_node(kind, inputs, [out], **attrs))
        return out

    def weight(self, name):
        return self.const(name, self.w[name].astype(np.float32))

    def ints(self, name, *a):
        return self.const(name, np.array(a, np.int64))

    def layer_norm(self, x, name, out):
        return self.op("LayerNormalization", [x, self.weight(name + ".w"), self.weight(name + ".b")], out, epsilon=EPS)

    def linear(self, x, name, out):
        return self.op("Add", [self.op("MatMul", [x, self.weight(name + ".w")], out + ".mul"), self.weight(name + ".b")], out)

    def blocks(self, x, layers, heads, d, front="", mask=None):
        op, const, ints = self.op, self.const, self.ints
        for i in (f"{front}{i}" for i in range(layers)):
            y = self.linear(self.layer_norm(x, f"{i}.norm1", f"{i}.in"), f"{i}.qkv", f"{i}.qkv.all")
            y = op("Transpose", [op("Reshape", [y, ints(f"{i}.split", 0, 0, 3, heads, d // heads)], f"{i}.split.all")], f"{i}.heads", perm=[2, 0, 3, 1, 4])
            q, k, v = (op("Gather", [y, ints(f"{i}.at{j}", j)], f"{i}.part{j}", axis=0) for j in range(3))
            q, k, v = (op("Squeeze", [t, ints(f"{i}.drop{j}", 0)], f"{i}.one{j}") for j, t in enumerate((q, k, v)))
            k = op("Transpose", [k], f"{i}.keys", perm=[0, 1, 3, 2])
            a = op("Mul", [op("MatMul", [q, k], f"{i}.scores"), const(f"{i}.scale", np.array(1 / np.sqrt(d // heads), np.float32))], f"{i}.scaled")
            if mask is not None:
                a = op("Add", [a, mask], f"{i}.masked")
            a = op("MatMul", [op("Softmax", [a], f"{i}.soft", axis=-1), v], f"{i}.mixed")
            a = op("Reshape", [op("Transpose", [a], f"{i}.back", perm=[0, 2, 1, 3]), ints(f"{i}.join", 0, 0, d)], f"{i}.joined")
            x = op("Add", [x, self.linear(a, f"{i}.out", f"{i}.projected")], f"{i}.attended")
            y = self.linear(self.layer_norm(x, f"{i}.norm2", f"{i}.between"), f"{i}.up", f"{i}.wide")
            e = op("Erf", [op("Mul", [y, const(f"{i}.root", np.array(np.sqrt(0.5), np.float32))], f"{i}.arg")], f"{i}.erf")
            y = op("Mul", [op("Mul", [y, op("Add", [e, const(f"{i}.unit", np.array(1, np.float32))], f"{i}.more")], f"{i}.times"), const(f"{i}.half", np.array(0.5, np.float32))], f"{i}.gelu")
            x = op("Add", [x, self.linear(y, f"{i}.down", f"{i}.narrow")], f"{i}.states")
        return x

    def model(self, name, inputs, outputs):
        info = lambda of: [helper.make_tensor_value_info(*i) for i in of]
        m = helper.make_model(helper.make_graph(self.nodes, name, info(inputs), info(outputs), self.inits), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(m)
        return m


def graph(w, size, patch, layers, heads, final=True, pool=None):
    """The ONNX model of the weights, for images of size [height, width]."""
    b = Graph(w)
    op, const, ints = b.op, b.const, b.ints
    d, f = w["patch.b"].shape[0], w["front"].shape[0]
    rows, cols = size[0] // patch, size[1] // patch
    x = op("Conv", ["pixel_values", const("patch.w", w["patch.w"].astype(np.float32).reshape(d, 3, patch, patch)), b.weight("patch.b")], "patches", strides=[patch, patch], kernel_shape=[patch, patch])
    x = op("Reshape", [x, ints("flat", 0, d, rows * cols)], "patches.flat")
    x = op("Transpose", [x], "patches.rows", perm=[0, 2, 1])
    n = op("Slice", [op("Shape", ["pixel_values"], "shape"), ints("zero", 0), ints("one", 1)], "batch")
    wide = op("Expand", [const("front", w["front"].astype(np.float32)[None]), op("Concat", [n, ints("front.size", f, d)], "front.shape", axis=0)], "front.all")
    x = op("Add", [op("Concat", [wide, x], "states.0", axis=1), b.weight("place")], "states.placed")
    x = b.blocks(x, layers, heads, d)
    if final:
        x = b.layer_norm(x, "last", "states.last")
    op("Identity", [x], "last_hidden_state")
    outs = [("last_hidden_state", TensorProto.FLOAT, ["batch", f + rows * cols, d])]
    if pool is not None:
        if pool == "mean":
            p = op("Slice", [x, ints("from", f), ints("to", f + rows * cols), ints("axis", 1)], "pool.patches")
            p = op("ReduceMean", [p], "pool.mean", axes=[1], keepdims=0)
        else:
            p = op("Squeeze", [op("Slice", [x, ints("from", 0), ints("to", 1), ints("axis", 1)], "pool.first"), ints("pool.axis", 1)], "pool.mean")
        op("Identity", [b.layer_norm(p, "pool", "pool.normal")], "pooler_output")
        outs.append(("pooler_output", TensorProto.FLOAT, ["batch", d]))
    if "project.w" in w:
        op("MatMul", ["pooler_output", b.weight("project.w")], "image_embeds")
        outs.append(("image_embeds", TensorProto.FLOAT, ["batch", w["project.w"].shape[1]]))
    return b.model("vit", [("pixel_values", TensorProto.FLOAT, ["batch", 3, *size])], outs)


def text_graph(w, layers, heads):
    """The ONNX model of the text tower of the weights, which begin with "text.": of ids alone, as each state
    sees those before it, and the vector is that of the largest id, the one that ends a text."""
    b = Graph(w)
    op, const, ints = b.op, b.const, b.ints
    most, d = w["text.place"].shape
    length = op("Slice", [op("Shape", ["input_ids"], "shape"), ints("one", 1), ints("two", 2)], "length")
    x = op("Gather", [b.weight("text.words"), "input_ids"], "words")
    x = op("Add", [x, op("Slice", [b.weight("text.place"), ints("zero", 0), length, ints("rows", 0)], "places")], "placed")
    mask = const("mask", np.triu(np.full((most, most), -1e9, np.float32), 1))
    mask = op("Slice", [mask, ints("zeros", 0, 0), op("Concat", [length, length], "square", axis=0), ints("both", 0, 1)], "mask.cut")
    x = b.layer_norm(b.blocks(x, layers, heads, d, "text.", mask), "text.last", "states")
    end = op("ArgMax", ["input_ids"], "end", axis=1, keepdims=1)
    x = op("GatherND", [x, end], "ends", batch_dims=1)
    op("MatMul", [x, b.weight("text.project.w")], "text_embeds")
    return b.model("text", [("input_ids", TensorProto.INT64, ["batch", "tokens"])], [("text_embeds", TensorProto.FLOAT, ["batch", w["text.project.w"].shape[1]])])


def write(folder, w, kind, processor, size, patch, layers, heads, final=True, pool=None, **config):
    os.makedirs(folder, exist_ok=True)
    onnx.save(graph(w, size, patch, layers, heads, final, pool), os.path.join(folder, "model.onnx"))
    d = int(w["patch.b"].shape[0])
    c = {"model_type": kind, "hidden_size": d, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": 4 * d,
         "image_size": size[0], "patch_size": patch, "layer_norm_eps": EPS, "hidden_act": "gelu", **config}
    for name, of in [("config.json", c), ("preprocessor_config.json", processor)]:
        with open(os.path.join(folder, name), "w") as f:
            json.dump(of, f, indent=1)


def random(rng, d, patch, patches, layers, front=1, pool=False):
    """Weights of a model that was never trained, of a size that shows every part of it."""
    r = lambda *shape: (rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)
    w = {"patch.w": r(3 * patch * patch, d).T, "patch.b": 0.1 * r(d), "front": r(front, d), "place": r(front + patches, d)}
    w |= random_blocks(r, d, layers)
    for k in ["last"] + ["pool"] * pool:
        w |= {f"{k}.w": 1 + 0.1 * r(d), f"{k}.b": 0.1 * r(d)}
    return w


def random_blocks(r, d, layers, front=""):
    w = {}
    for i in (f"{front}{i}" for i in range(layers)):
        w |= {f"{i}.qkv.w": 2 * r(d, 3 * d), f"{i}.qkv.b": 0.1 * r(3 * d), f"{i}.out.w": r(d, d), f"{i}.out.b": 0.1 * r(d),
              f"{i}.up.w": r(d, 4 * d), f"{i}.up.b": 0.1 * r(4 * d), f"{i}.down.w": r(4 * d, d), f"{i}.down.b": 0.1 * r(d)}
        for k in ("norm1", "norm2"):
            w |= {f"{i}.{k}.w": 1 + 0.1 * r(d), f"{i}.{k}.b": 0.1 * r(d)}
    return w


def random_clip(rng, d, dt, p, words, most, layers, **image):
    """Weights of two towers whose vectors have p numbers: states of images have d, of texts dt."""
    r = lambda *shape: (rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)
    w = random(rng, d, layers=layers, pool=True, **image)
    w |= {"project.w": r(d, p), "text.words": r(dt, words).T, "text.place": r(dt, most).T, "text.project.w": r(dt, p)}
    w |= {"text.last.w": 1 + 0.1 * r(dt), "text.last.b": 0.1 * r(dt)}
    return w | random_blocks(r, dt, layers, "text.")
