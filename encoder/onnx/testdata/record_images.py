"""Writes vision.tar.gz: tiny vision transformers of each family that lexsem runs, and in cases.json of
each the states and the vector that NumPy makes of images in float64.

    pip install onnx numpy pillow==12.0.0 tokenizers && python record_images.py
"""

import base64, gzip, io, json, os, sys, tarfile, tempfile
import numpy as np
from PIL import Image

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/vision"))
import graph
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

rng = np.random.default_rng(11)
half = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
vit = {"image_processor_type": "ViTImageProcessor", "size": {"height": 12, "width": 16}, "resample": 2, **half}
square = {"image_processor_type": "BitImageProcessor", "size": {"height": 16, "width": 16}, "resample": 3, "crop_size": {"height": 12, "width": 12}, **half}
families = {
    "vit": dict(processor=vit, size=[12, 16], front=1),
    "deit": dict(processor=vit, size=[12, 16], front=2),
    "beit": dict(processor=square, size=[12, 12], front=1, final=False, pool="mean"),
    "beit-unpooled": dict(kind="beit", processor=square, size=[12, 12], front=1, final=False),
    "dinov2_with_registers": dict(processor=square, size=[12, 12], front=4, config={"num_register_tokens": 3}),
    "clip_vision_model": dict(processor=vit, size=[12, 16], front=1, final=False, pool="first"),
}


def pixels(image, p):
    h, w = p["size"]["height"], p["size"]["width"]
    a = np.array(image.resize((w, h), p["resample"]))
    if "crop_size" in p:
        ch, cw = p["crop_size"]["height"], p["crop_size"]["width"]
        a = a[(h - ch) // 2 :, (w - cw) // 2 :][:ch, :cw]
    v = (a.astype(np.float64) / 255).astype(np.float32)
    return ((v - np.float32(0.5)) / np.float32(0.5)).transpose(2, 0, 1)


images = [Image.fromarray(rng.integers(0, 256, (h, w, 3), dtype=np.uint8)) for h, w in [(20, 30), (12, 16), (40, 9)]]
files = []
for m in images:
    b = io.BytesIO()
    m.save(b, "PNG")
    files.append(b.getvalue())

with tempfile.TemporaryDirectory() as root:
    for name, f in families.items():
        layers, heads, d, patch = 2, 2, 8, 4
        n = f["size"][0] // patch * (f["size"][1] // patch)
        w = graph.random(rng, d, patch, n, layers, f["front"], "pool" in f)
        shape = dict(patch=patch, layers=layers, heads=heads, final=f.get("final", True), pool=f.get("pool"))
        folder = os.path.join(root, name)
        graph.write(folder, w, f.get("kind", name), f["processor"], f["size"], **shape, **f.get("config", {}))
        cases = []
        for image, file in zip(images, files):
            x, pooled = graph.forward(w, pixels(image, f["processor"])[None], **shape)
            dense = pooled[0] if pooled is not None else x[0, f["front"] :].mean(0) if name.startswith("beit") else x[0, 0]
            cases.append({"file": base64.b64encode(file).decode(), "hidden": x[0, f["front"] :].ravel().tolist(), "dense": (dense / np.linalg.norm(dense)).tolist()})
        with open(os.path.join(folder, "cases.json"), "w") as out:
            json.dump(cases, out)
    # A CLIP: two towers whose states have different dimensions, and vectors a third.
    begin, end, most, layers, heads, d, dt, p = "<|startoftext|>", "<|endoftext|>", 10, 2, 2, 8, 4, 6
    t = Tokenizer(models.BPE(unk_token=end, end_of_word_suffix="</w>", continuing_subword_prefix=""))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ])
    t.train_from_iterator(["a red square", "a blue disc", "green stripes on a red ground", "two discs", "a photo of a square"], trainers.BpeTrainer(
        vocab_size=320, end_of_word_suffix="</w>", initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    file = json.loads(t.to_str())
    file["model"]["vocab"] |= {begin: t.get_vocab_size(), end: t.get_vocab_size() + 1}  # the largest, as the text tower looks for it
    t = Tokenizer.from_str(json.dumps(file))
    t.add_special_tokens([begin, end])
    first, last = t.token_to_id(begin), t.token_to_id(end)
    t.post_processor = processors.RobertaProcessing((end, last), (begin, first), trim_offsets=False, add_prefix_space=False)
    w = graph.random_clip(rng, d, dt, p, last + 1, most, layers, patch=4, patches=12)
    shape = dict(patch=4, layers=layers, heads=heads, final=False, pool="first")
    folder = os.path.join(root, "clip")
    graph.write(folder, w, "clip", vit, [12, 16], **shape, text_config={"max_position_embeddings": most}, vision_config={"patch_size": 4})
    os.rename(os.path.join(folder, "model.onnx"), os.path.join(folder, "vision_model.onnx"))
    graph.onnx.save(graph.text_graph(w, layers, heads), os.path.join(folder, "text_model.onnx"))
    t.save(os.path.join(folder, "tokenizer.json"))
    cases = []
    for image, file in zip(images, files):
        x, v = graph.forward(w, pixels(image, vit)[None], **shape)
        cases.append({"file": base64.b64encode(file).decode(), "hidden": x[0, 1:].ravel().tolist(), "dense": (v[0] / np.linalg.norm(v[0])).tolist()})
    with open(os.path.join(folder, "cases.json"), "w") as out:
        json.dump(cases, out)
    t.enable_truncation(most)
    texts = []
    for text in ["a red square", "Two DISCS on green stripes, a photo of a blue disc", "", "naïve  \n東京 42"]:
        v = graph.forward_text(w, t.encode(text).ids, layers, heads)
        texts.append({"text": text, "dense": (v / np.linalg.norm(v)).tolist()})
    with open(os.path.join(folder, "texts.json"), "w") as out:
        json.dump(texts, out)
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as t:
        for name in sorted([*families, "clip"]):
            for file in sorted(os.listdir(os.path.join(root, name))):
                i = tarfile.TarInfo(f"vision/{name}/{file}")
                i.size = os.path.getsize(os.path.join(root, name, file))
                with open(os.path.join(root, name, file), "rb") as b:
                    t.addfile(i, b)
with open("vision.tar.gz", "wb") as out:
    out.write(gzip.compress(raw.getvalue(), mtime=0))
