"""Print the unit vectors of texts, a line of JSON each: those of a folder's encoder, and its bridge's."""

import argparse
import json
import sys
from pathlib import Path

import torch

from bridge import Bridge
from encoder import Encoder, FolderError


@torch.no_grad()
def vectors(folder, texts, query, bridge):
    encoder = Encoder(folder).eval()
    batch = encoder.tokens(texts, query)
    hidden, dense = encoder(batch)
    return (Bridge.load(Path(folder) / "bridge.safetensors")(batch, hidden, dense) if bridge else dense).tolist()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("folder")
    p.add_argument("--texts", required=True, help="file of JSON, a list of texts")
    p.add_argument("--query", action="store_true", help="encode them as queries")
    p.add_argument("--bridge", action="store_true", help="with bridge.safetensors of the folder, which is for queries")
    o = p.parse_args()
    try:
        texts = json.loads(Path(o.texts).read_text())
        for v in vectors(o.folder, texts, o.query or o.bridge, o.bridge):
            print(json.dumps(v))
    except (FolderError, OSError, ValueError) as e:
        sys.exit(f"vectors.py: {e}")


if __name__ == "__main__":
    main()
