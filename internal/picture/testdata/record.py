"""Writes cases.json.gz: images in files as Pillow writes them, with the pixels that Pillow reads,
and what Pillow and NumPy make of images by preprocessor_config.json.

    pip install pillow==12.0.0 numpy && python record.py
"""

import base64, gzip, io, json, math
import numpy as np
from PIL import Image, ImageOps, __version__

rng = np.random.default_rng(20)


def drawn(w, h):
    """Waves, an edge and noise, so that every filter has something to do."""
    y, x = np.mgrid[0:h, 0:w]
    a = np.stack([np.sin(x / (3 + c) + c) * np.cos(y / (2 + c)) for c in range(3)], -1) * 90 + 128
    a[:, w // 2 :] += 40
    return np.clip(a + rng.normal(0, 12, a.shape), 0, 255).astype(np.uint8)


def b64(b):
    return base64.b64encode(b).decode()


def raw(image):
    return {"w": image.width, "h": image.height, "pix": b64(image.convert("RGB").tobytes())}


files, large = [], []


def file(name, image, kind, exact=True, **how):
    out = io.BytesIO()
    image.save(out, kind, **how)
    back = ImageOps.exif_transpose(Image.open(io.BytesIO(out.getvalue())))
    files.append({"name": name, "file": b64(out.getvalue()), "exact": exact, **raw(back)})


small = Image.fromarray(drawn(13, 8))
alpha = Image.fromarray(rng.integers(0, 256, (8, 13), dtype=np.uint8))
clear = small.copy()
clear.putalpha(alpha)
file("png rgb", small, "PNG")
file("png rgba", clear, "PNG")
file("png gray", small.convert("L"), "PNG")
file("png gray alpha", clear.convert("LA"), "PNG")
file("png palette", small.quantize(17), "PNG", transparency=3)
file("png one bit", small.convert("1"), "PNG")
file("png interlaced size 1", Image.fromarray(drawn(1, 1)), "PNG")
file("bmp", small, "BMP")
file("gif", small.quantize(31), "GIF")
other = Image.fromarray(drawn(13, 8))
file("gif of two frames", small.quantize(31), "GIF", save_all=True, append_images=[other.quantize(31)])
file("tiff", small, "TIFF")
file("tiff lzw", small, "TIFF", compression="tiff_lzw")
file("tiff deflate", small, "TIFF", compression="tiff_adobe_deflate")
file("tiff of two pages", small, "TIFF", save_all=True, append_images=[other])
file("webp lossless", small, "WEBP", lossless=True)
file("webp lossless alpha", clear, "WEBP", lossless=True)
file("webp lossy", small, "WEBP", exact=False, quality=95)
file("jpeg", small, "JPEG", exact=False, quality=95, subsampling=0)
file("jpeg halved colours", small, "JPEG", exact=False, quality=95)
file("jpeg gray", small.convert("L"), "JPEG", exact=False, quality=95)
file("jpeg cmyk", small.convert("CMYK"), "JPEG", exact=False, quality=95)
file("jpeg progressive", small, "JPEG", exact=False, quality=95, progressive=True, subsampling=0)
for o in range(1, 9):
    exif = Image.Exif()
    exif[0x0112] = o
    file(f"png orientation {o}", small, "PNG", exif=exif)
    file(f"jpeg orientation {o}", small, "JPEG", exact=False, quality=95, subsampling=0, exif=exif)
exif = Image.Exif()
exif[0x0112] = 6
file("webp orientation 6", small, "WEBP", lossless=True, exif=exif)
file("tiff orientation 8", small, "TIFF", tiffinfo={0x0112: 8})

# What takes the most memory for a pixel, and is short in a file.
for kind, image in [("rgb", Image.new("RGB", (1000, 1000), (200, 30, 90))), ("cmyk", Image.new("CMYK", (1000, 1000), (20, 200, 30, 5)))]:
    out = io.BytesIO()
    image.save(out, "JPEG", progressive=True, subsampling=0, exif=exif)
    large.append({"name": f"progressive {kind}", "file": b64(out.getvalue())})

resizes = []
for w, h in [(23, 17), (9, 31)]:
    image = Image.fromarray(drawn(w, h))
    for filter in range(6):
        for to in [(11, 7), (23, 40), (30, 17), (1, 1)]:
            resizes.append({"filter": filter, "from": raw(image), "to": raw(image.resize(to, filter))})


def process(c, image):
    """What transformers' slow image processors do."""
    size = c["size"]
    w, h = image.size
    if c.get("do_resize", True):
        if "shortest_edge" in size:
            short, long = min(w, h), max(w, h)
            new = (size["shortest_edge"], int(size["shortest_edge"] * long / short))
            to = new if w <= h else new[::-1]
        else:
            to = (size["width"], size["height"])
        image = image.resize(to, c["resample"])
    a = np.array(image)
    if c.get("do_center_crop"):
        ch, cw = c["crop_size"]["height"], c["crop_size"]["width"]
        h, w = a.shape[:2]
        nh, nw = max(ch, h), max(cw, w)
        padded = np.zeros((nh, nw, 3), np.uint8)
        top, left = math.ceil((nh - h) / 2), math.ceil((nw - w) / 2)
        padded[top : top + h, left : left + w] = a
        y, x = (h - ch) // 2 + top, (w - cw) // 2 + left
        a = padded[max(0, y) : y + ch, max(0, x) : x + cw]
    v = (a.astype(np.float64) * c.get("rescale_factor", 1 / 255)).astype(np.float32)
    v = (v - np.array(c["image_mean"], np.float32)) / np.array(c["image_std"], np.float32)
    return np.ascontiguousarray(v.transpose(2, 0, 1), np.float32)


clip = {"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]}
half = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
configs = [
    {"image_processor_type": "ViTImageProcessor", "size": {"height": 8, "width": 12}, "resample": 2, **half},
    {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 9}, "resample": 3,
     "do_center_crop": True, "crop_size": {"height": 9, "width": 9}, **clip},
    {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 10}, "resample": 3,
     "do_center_crop": True, "crop_size": {"height": 8, "width": 8}, "rescale_factor": 0.00392156862745098, **clip},
    {"feature_extractor_type": "BeitFeatureExtractor", "size": {"height": 7, "width": 7}, "resample": 1,
     "do_center_crop": True, "crop_size": {"height": 10, "width": 8}, **half},
]
cases = []
for c in configs:
    for w, h in [(23, 17), (9, 31), (12, 8)]:
        image = Image.fromarray(drawn(w, h))
        v = process(c, image)
        cases.append({"config": c, "from": raw(image), "shape": v.shape, "values": b64(v.astype("<f4").tobytes())})

all = {"made with": f"Pillow {__version__}, NumPy {np.__version__}", "files": files, "large": large, "resizes": resizes, "processes": cases}
with open("cases.json.gz", "wb") as f:
    f.write(gzip.compress(json.dumps(all).encode(), mtime=0))
