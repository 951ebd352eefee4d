"""Trains a small vision transformer on drawn images (draw.py) without labels, and writes it as a folder
that lexsem reads. As BEiT does, it guesses patches that are left out from the others; its vector is the mean of
its patches. The kinds that it sees are drawn at random and are none that draw.py writes. Some minutes on one
core; 0.4 MB.

    python train.py OUT [--steps 1000] [--seed 1]
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


def forward(w, p, hidden):
    """States [n, PATCHES, D] of patches [n, PATCHES, 3·PATCH²], as graph.forward computes them where nothing
    is hidden."""
    n = p.shape[0]
    x = p @ w["patch.w"].T + w["patch.b"]
    x = jnp.where(hidden[..., None], w["hidden"], x)
    x = jnp.concatenate([jnp.broadcast_to(w["front"], (n, 1, D)), x], 1) + w["place"]
    for i in range(LAYERS):
        a = lambda name: w[f"{i}.{name}"]
        y = norm(x, a("norm1.w"), a("norm1.b")) @ a("qkv.w") + a("qkv.b")
        q, k, v = y.reshape(n, -1, 3, HEADS, D // HEADS).transpose(2, 0, 3, 1, 4)
        s = jax.nn.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(D // HEADS), -1)
        x = x + (s @ v).transpose(0, 2, 1, 3).reshape(n, -1, D) @ a("out.w") + a("out.b")
        y = norm(x, a("norm2.w"), a("norm2.b")) @ a("up.w") + a("up.b")
        x = x + jax.nn.gelu(y, approximate=False) @ a("down.w") + a("down.b")
    return norm(x, w["last.w"], w["last.b"])[:, 1:]


def patches(images):
    """Patches of images [n, SIDE, SIDE, 3] in 0 to 255, as the model's preprocessing makes them."""
    g = draw.SIDE // PATCH
    x = ((images.astype(np.float32) / 255 - 0.5) / 0.5).transpose(0, 3, 1, 2)
    return x.reshape(len(x), 3, g, PATCH, g, PATCH).transpose(0, 2, 4, 1, 3, 5).reshape(len(x), PATCHES, -1)


def loss(w, p, hidden):
    e = ((forward(w, p, hidden) @ w["guess.w"] + w["guess.b"] - p) ** 2).mean(-1)
    return (e * hidden).sum() / hidden.sum() + 0.3 * (e * ~hidden).sum() / (~hidden).sum()


@jax.jit
def step(w, m, v, t, rate, p, hidden):
    l, g = jax.value_and_grad(loss)(w, p, hidden)
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
    v = jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b * b, v, g)
    w = jax.tree.map(lambda w, a, b: w - rate * (a / (1 - 0.9**t) / (jnp.sqrt(b / (1 - 0.99**t)) + 1e-8) + 1e-4 * w), w, m, v)
    return w, m, v, l


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out")
    p.add_argument("--steps", type=int, default=1000)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    rng = np.random.default_rng(a.seed)
    w = {k: jnp.asarray(v) for k, v in graph.random(rng, D, PATCH, PATCHES, LAYERS).items()}
    w = {k: v * 0.3 if k in ("place", "front") or k.endswith("down.w") or k.endswith("out.w") else v for k, v in w.items()}
    w |= {"hidden": jnp.zeros(D), "guess.w": jnp.asarray(rng.normal(size=(D, 3 * PATCH * PATCH)).astype(np.float32) / D), "guess.b": jnp.zeros(3 * PATCH * PATCH)}
    m, v = jax.tree.map(jnp.zeros_like, w), jax.tree.map(jnp.zeros_like, w)
    began, mean = time.time(), 0.0
    for t in range(1, a.steps + 1):
        images = np.stack([draw.image(rng, draw.kind(rng, draw.ground(rng))) for _ in range(BATCH)])
        hidden = rng.random((BATCH, PATCHES)) < 0.4
        rate = 1e-3 * min(1, t / 50) * max(0.02, 1 - t / a.steps)
        w, m, v, l = step(w, m, v, t, rate, patches(images), hidden)
        mean += float(l)
        if t % 50 == 0:
            print(f"step {t}: loss {mean / 50:.4f}, {time.time() - began:.0f} s", flush=True)
            mean = 0.0
    w = {k: np.asarray(x) for k, x in w.items() if k not in ("hidden", "guess.w", "guess.b")}
    processor = {"image_processor_type": "ViTImageProcessor", "size": {"height": draw.SIDE, "width": draw.SIDE}, "resample": 2,
                 "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    graph.write(a.out, w, "beit", processor, [draw.SIDE, draw.SIDE], PATCH, LAYERS, HEADS)
