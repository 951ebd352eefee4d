"""Trains a small vision transformer on drawn images (draw.py) without labels, and writes it as a folder
that lexsem reads. Two views of an image, cut and lit otherwise, are to have near vectors, those of others
far ones (InfoNCE). The kinds it sees are drawn at random and are none that draw.py writes. Some five
minutes on one core; 0.9 MB.

    python train.py OUT [--steps 600] [--seed 1]
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

import draw
import graph

D, LAYERS, HEADS, PATCH, BATCH = 48, 3, 4, 4, 64
PATCHES = (draw.SIDE // PATCH) ** 2


def norm(x, w, b):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) / jnp.sqrt(v + graph.EPS) * w + b


def forward(w, x):
    """Vectors [n, D] of pixels [n, 3, SIDE, SIDE], as graph.forward computes them."""
    n = x.shape[0]
    g = draw.SIDE // PATCH
    p = x.reshape(n, 3, g, PATCH, g, PATCH).transpose(0, 2, 4, 1, 3, 5).reshape(n, PATCHES, -1)
    x = p @ w["patch.w"].T + w["patch.b"]
    x = jnp.concatenate([jnp.broadcast_to(w["front"], (n, 1, D)), x], 1) + w["place"]
    for i in range(LAYERS):
        a = lambda name: w[f"{i}.{name}"]
        y = norm(x, a("norm1.w"), a("norm1.b")) @ a("qkv.w") + a("qkv.b")
        q, k, v = y.reshape(n, -1, 3, HEADS, D // HEADS).transpose(2, 0, 3, 1, 4)
        s = jax.nn.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(D // HEADS), -1)
        x = x + (s @ v).transpose(0, 2, 1, 3).reshape(n, -1, D) @ a("out.w") + a("out.b")
        y = norm(x, a("norm2.w"), a("norm2.b")) @ a("up.w") + a("up.b")
        x = x + jax.nn.gelu(y, approximate=False) @ a("down.w") + a("down.b")
    return norm(x, w["last.w"], w["last.b"])[:, 0]


def view(rng, m):
    """A part of an image, of three fifths of a side or more, back in its size, in another light."""
    size = rng.integers(20, draw.SIDE + 1)
    y, x = rng.integers(0, draw.SIDE - size + 1, 2)
    at = (np.arange(draw.SIDE) * size) // draw.SIDE
    v = m[y + at][:, x + at].astype(np.float32) / 255
    if rng.random() < 0.5:
        v = v[:, ::-1]
    v = (v - 0.5) * rng.uniform(0.7, 1.3) + 0.5 + rng.uniform(-0.1, 0.1, 3) + rng.normal(0, 0.02, v.shape)
    return ((v - 0.5) / 0.5).transpose(2, 0, 1).astype(np.float32)


def loss(w, pairs):
    n = pairs.shape[0] // 2
    v = forward(w, pairs)
    v = v / jnp.linalg.norm(v, axis=-1, keepdims=True)
    s = v @ v.T / 0.1 - 1e9 * jnp.eye(2 * n)
    target = (jnp.arange(2 * n) + n) % (2 * n)
    return -jnp.take_along_axis(jax.nn.log_softmax(s, -1), target[:, None], 1).mean()


@jax.jit
def step(w, m, v, t, rate, pairs):
    l, g = jax.value_and_grad(loss)(w, pairs)
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
    v = jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b * b, v, g)
    w = jax.tree.map(lambda w, a, b: w - rate * (a / (1 - 0.9**t) / (jnp.sqrt(b / (1 - 0.99**t)) + 1e-8) + 1e-4 * w), w, m, v)
    return w, m, v, l


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out")
    p.add_argument("--steps", type=int, default=600)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    rng = np.random.default_rng(a.seed)
    w = {k: jnp.asarray(v) for k, v in graph.random(rng, D, PATCH, PATCHES, LAYERS).items()}
    w = {k: v * 0.3 if k in ("place", "front") or k.endswith("down.w") or k.endswith("out.w") else v for k, v in w.items()}
    m, v = jax.tree.map(jnp.zeros_like, w), jax.tree.map(jnp.zeros_like, w)
    began, mean = time.time(), 0.0
    for t in range(1, a.steps + 1):
        images = [draw.image(rng, k) for _ in range(BATCH // 8) for k in [draw.kind(rng, draw.ground(rng))] for k in [k] + [draw.kind(rng, k) for _ in range(7)]]
        pairs = np.stack([view(rng, i) for i in images] + [view(rng, i) for i in images])
        rate = 1e-3 * min(1, t / 50) * max(0.02, 1 - t / a.steps)
        w, m, v, l = step(w, m, v, t, rate, pairs)
        mean += float(l)
        if t % 50 == 0:
            print(f"step {t}: loss {mean / 50:.3f}, {time.time() - began:.0f} s", flush=True)
            mean = 0.0
    w = {k: np.asarray(x) for k, x in w.items()}
    processor = {"image_processor_type": "ViTImageProcessor", "size": {"height": draw.SIDE, "width": draw.SIDE}, "resample": 2,
                 "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    graph.write(a.out, w, "vit", processor, [draw.SIDE, draw.SIDE], PATCH, LAYERS, HEADS)
