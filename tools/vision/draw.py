"""Draws images in fine classes. A kind has a ground (two colours, waves of a direction and length)
and four marks out of forty; kinds of a family share the ground, and differ in marks alone. An image of a
kind shows three of its marks and one of any, at other places, in another light, with another part of the ground,
and noise.

    python draw.py DIR [--kinds 100] [--images 12] [--seed 1]      a folder a kind, of PNG files
"""

import argparse
import os

import numpy as np

SIDE, MARKS, FAMILY, CELL = 32, 40, 10, 4


def alphabet():
    """Marks of 8 by 8 pixels, each like to itself from left to right, as letters often are."""
    rng = np.random.default_rng(5)
    half = rng.random((MARKS, 8, 4)) < 0.5
    return np.concatenate([half, half[:, :, ::-1]], 2).astype(np.float32)


MARK = alphabet()


def ground(rng):
    """What the kinds of a family share."""
    a = rng.uniform(0, 1, 3)
    return dict(a=a, b=np.clip(a + rng.uniform(-0.35, 0.35, 3), 0, 1), angle=rng.uniform(0, np.pi), length=rng.uniform(4, 12))


def kind(rng, g):
    return dict(g, marks=rng.choice(MARKS, 4, replace=False))


def image(rng, k):
    """One image of a kind, [SIDE, SIDE, 3] in 0 to 255."""
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    angle = k["angle"] + rng.normal(0, 0.1)
    wave = 0.5 + 0.5 * np.sin((x * np.cos(angle) + y * np.sin(angle)) * 2 * np.pi / k["length"] + rng.uniform(0, 2 * np.pi))
    out = k["a"] * wave[..., None] + k["b"] * (1 - wave[..., None])
    taken = []
    for m in [*rng.choice(k["marks"], 3, replace=False), rng.integers(MARKS)]:
        while True:
            at = CELL * rng.integers(0, SIDE // CELL - 1, 2)
            if all(abs(at - t).max() >= 8 for t in taken):
                break
        taken.append(at)
        shape = 0.85 * MARK[m][..., None]
        light = float(out.mean() < 0.5)
        part = out[at[0] : at[0] + 8, at[1] : at[1] + 8]
        part[:] = part * (1 - shape) + (light + rng.normal(0, 0.05)) * shape
    out = (out - 0.5) * rng.uniform(0.8, 1.2) + 0.5 + rng.uniform(-0.08, 0.08) + rng.normal(0, 0.03, out.shape)
    return np.clip(out * 255, 0, 255).astype(np.uint8)


def kinds(rng, n):
    """n kinds, FAMILY of each ground."""
    out = []
    while len(out) < n:
        g = ground(rng)
        out += [kind(rng, g) for _ in range(min(FAMILY, n - len(out)))]
    return out


if __name__ == "__main__":
    from PIL import Image

    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dir")
    p.add_argument("--kinds", type=int, default=100)
    p.add_argument("--images", type=int, default=12)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    rng = np.random.default_rng(1000 + a.seed)
    for i, k in enumerate(kinds(rng, a.kinds)):
        folder = os.path.join(a.dir, f"kind-{i:03d}")
        os.makedirs(folder, exist_ok=True)
        for j in range(a.images):
            Image.fromarray(image(rng, k)).save(os.path.join(folder, f"{j:02d}.png"))
