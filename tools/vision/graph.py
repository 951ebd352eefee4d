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


def forward(w, images, patch, layers, heads, final=True, pool=None):
    """What the graph computes, in float64: states [n, f + patches, d] and pooled [n, d] or None."""
    w = {k: v.astype(np.float64) for k, v in w.items()}
    n, _, H, W = images.shape
    rows, cols, d = H // patch, W // patch, w["patch.b"].shape[0]
    p = images.astype(np.float64).reshape(n, 3, rows, patch, cols, patch).transpose(0, 2, 4, 1, 3, 5).reshape(n, rows * cols, -1)
    x = p @ w["patch.w"].T + w["patch.b"]
    x = np.concatenate([np.broadcast_to(w["front"], (n, *w["front"].shape)), x], 1) + w["place"]
    for i in range(layers):
        g = lambda name: w[f"{i}.{name}"]
        y = norm(x, g("norm1.w"), g("norm1.b")) @ g("qkv.w") + g("qkv.b")
        t = x.shape[1]
        q, k, v = y.reshape(n, t, 3, heads, d // heads).transpose(2, 0, 3, 1, 4)
        a = q @ k.swapaxes(-1, -2) / np.sqrt(d // heads)
        a = np.exp(a - a.max(-1, keepdims=True))
        a /= a.sum(-1, keepdims=True)
        x = x + (a @ v).transpose(0, 2, 1, 3).reshape(n, t, d) @ g("out.w") + g("out.b")
        x = x + gelu(norm(x, g("norm2.w"), g("norm2.b")) @ g("up.w") + g("up.b")) @ g("down.w") + g("down.b")
    if final:
        x = norm(x, w["last.w"], w["last.b"])
    if pool is None:
        return x, None
    of = x[:, w["front"].shape[0] :].mean(1) if pool == "mean" else x[:, 0]
    return x, norm(of, w["pool.w"], w["pool.b"])


def graph(w, size, patch, layers, heads, final=True, pool=None):
    """The ONNX model of the weights, for images of size [height, width]."""
    nodes, inits = [], []
    d, f = w["patch.b"].shape[0], w["front"].shape[0]
    rows, cols = size[0] // patch, size[1] // patch

    def const(name, a):
        inits.append(numpy_helper.from_array(np.ascontiguousarray(a), name))
        return name

    def op(kind, inputs, out, **attrs):
        nodes.append(helper.make_node(kind, inputs, [out], **attrs))
        return out

    def weight(name):
        return const(name, w[name].astype(np.float32))

    def ints(name, *a):
        return const(name, np.array(a, np.int64))

    def layer_norm(x, name, out):
        return op("LayerNormalization", [x, weight(name + ".w"), weight(name + ".b")], out, epsilon=EPS)

    def linear(x, name, out):
        return op("Add", [op("MatMul", [x, weight(name + ".w")], out + ".mul"), weight(name + ".b")], out)

    x = op("Conv", ["pixel_values", const("patch.w", w["patch.w"].astype(np.float32).reshape(d, 3, patch, patch)), weight("patch.b")], "patches", strides=[patch, patch], kernel_shape=[patch, patch])
    x = op("Reshape", [x, ints("flat", 0, d, rows * cols)], "patches.flat")
    x = op("Transpose", [x], "patches.rows", perm=[0, 2, 1])
    n = op("Slice", [op("Shape", ["pixel_values"], "shape"), ints("zero", 0), ints("one", 1)], "batch")
    wide = op("Expand", [const("front", w["front"].astype(np.float32)[None]), op("Concat", [n, ints("front.size", f, d)], "front.shape", axis=0)], "front.all")
    x = op("Add", [op("Concat", [wide, x], "states.0", axis=1), weight("place")], "states.placed")
    for i in range(layers):
        y = linear(layer_norm(x, f"{i}.norm1", f"{i}.in"), f"{i}.qkv", f"{i}.qkv.all")
        y = op("Transpose", [op("Reshape", [y, ints(f"{i}.split", 0, 0, 3, heads, d // heads)], f"{i}.split.all")], f"{i}.heads", perm=[2, 0, 3, 1, 4])
        q, k, v = (op("Gather", [y, ints(f"{i}.at{j}", j)], f"{i}.part{j}", axis=0) for j in range(3))
        q, k, v = (op("Squeeze", [t, ints(f"{i}.drop{j}", 0)], f"{i}.one{j}") for j, t in enumerate((q, k, v)))
        k = op("Transpose", [k], f"{i}.keys", perm=[0, 1, 3, 2])
        a = op("Mul", [op("MatMul", [q, k], f"{i}.scores"), const(f"{i}.scale", np.array(1 / np.sqrt(d // heads), np.float32))], f"{i}.scaled")
        a = op("MatMul", [op("Softmax", [a], f"{i}.soft", axis=-1), v], f"{i}.mixed")
        a = op("Reshape", [op("Transpose", [a], f"{i}.back", perm=[0, 2, 1, 3]), ints(f"{i}.join", 0, 0, d)], f"{i}.joined")
        x = op("Add", [x, linear(a, f"{i}.out", f"{i}.projected")], f"{i}.attended")
        y = linear(layer_norm(x, f"{i}.norm2", f"{i}.between"), f"{i}.up", f"{i}.wide")
        e = op("Erf", [op("Mul", [y, const(f"{i}.root", np.array(np.sqrt(0.5), np.float32))], f"{i}.arg")], f"{i}.erf")
        y = op("Mul", [op("Mul", [y, op("Add", [e, const(f"{i}.unit", np.array(1, np.float32))], f"{i}.more")], f"{i}.times"), const(f"{i}.half", np.array(0.5, np.float32))], f"{i}.gelu")
        x = op("Add", [x, linear(y, f"{i}.down", f"{i}.narrow")], f"states.{i + 1}")
    if final:
        x = layer_norm(x, "last", "states.last")
    op("Identity", [x], "last_hidden_state")
    outs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", f + rows * cols, d])]
    if pool is not None:
        if pool == "mean":
            p = op("Slice", [x, ints("from", f), ints("to", f + rows * cols), ints("axis", 1)], "pool.patches")
            p = op("ReduceMean", [p], "pool.mean", axes=[1], keepdims=0)
        else:
            p = op("Squeeze", [op("Slice", [x, ints("from", 0), ints("to", 1), ints("axis", 1)], "pool.first"), ints("pool.axis", 1)], "pool.mean")
        op("Identity", [layer_norm(p, "pool", "pool.normal")], "pooler_output")
        outs.append(helper.make_tensor_value_info("pooler_output", TensorProto.FLOAT, ["batch", d]))
    g = helper.make_graph(nodes, "vit", [helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["batch", 3, *size])], outs, inits)
    m = helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(m)
    return m


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
    for i in range(layers):
        w |= {f"{i}.qkv.w": 2 * r(d, 3 * d), f"{i}.qkv.b": 0.1 * r(3 * d), f"{i}.out.w": r(d, d), f"{i}.out.b": 0.1 * r(d),
              f"{i}.up.w": r(d, 4 * d), f"{i}.up.b": 0.1 * r(4 * d), f"{i}.down.w": r(4 * d, d), f"{i}.down.b": 0.1 * r(d)}
        for k in ("norm1", "norm2"):
            w |= {f"{i}.{k}.w": 1 + 0.1 * r(d), f"{i}.{k}.b": 0.1 * r(d)}
    for k in ["last"] + ["pool"] * pool:
        w |= {f"{k}.w": 1 + 0.1 * r(d), f"{k}.b": 0.1 * r(d)}
    return w
