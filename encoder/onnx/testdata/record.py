"""Records golden.jsonl and golden.f32, which the tests of encoder/onnx hold vectors to.

    pip install onnxruntime==1.27.0 tokenizers==0.23.3 numpy
    python record.py MODEL_DIR

MODEL_DIR holds the published model.onnx of all-MiniLM-L6-v2 and its tokenizer.json.
golden.jsonl has a line {"text", "ids"} a text; golden.f32 has their vectors in the
same order: mean of the token states, unit length, 384 little-endian float32 each.
The texts are made here, for this purpose.
"""

import json
import pathlib
import random
import sys

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

MAX_TOKENS = 256

FIXED = [
    "", " ", "\n\t", "a", "?", "...", "[MASK]", "[CLS] and [SEP] in a text", "The", "the", "THE",
    "Hello, world!", "How do I reset a forgotten password?", "reset password", "password reset email never arrives",
    "err := json.Unmarshal(data, &v); if err != nil { return fmt.Errorf(\"decode: %w\", err) }",
    "SELECT name, count(*) FROM orders WHERE total > 99.5 GROUP BY name;",
    "for (int i = 0; i < n; ++i) sum += a[i] * b[i];",
    "def area(r):\n    return 3.14159 * r ** 2\n",
    "https://example.org/a/b?c=1&d=%20#top", "user+tag@mail.example", "0x80070057 E_INVALIDARG", "v1.27.0-rc.1+build.5",
    "1,234,567.89 EUR on 2024-02-29 at 23:59:59Z", "+49 30 1234567 ext. 8", "3/4 cup sugar, 180 °C, 25–30 min",
    "Café, naïve, façade, jalapeño, Ångström, Dvořák", "Cafe\u0301 with a combining accent", "STRASSE straße",
    "東京は日本の首都です。", "北京是中国的首都", "서울은 대한민국의 수도이다", "Москва — столица России",
    "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας", "القاهرة عاصمة مصر", "ירושלים", "दिल्ली भारत की राजधानी है", "กรุงเทพมหานคร",
    "İstanbul Boğazı", "Übergrößenträger", "emoji 😀👍🏽👨‍👩‍👧 flag 🇨🇭", "zero\u200bwidth and no\u00a0break",
    "tab\tseparated\tvalues", "line one\nline two\r\nline three", "quotes \u201ccurly\u201d and 'straight' and «angled»",
    "a" * 150, "supercalifragilisticexpialidocious antidisestablishmentarianism", "x = −b ± √(b² − 4ac) / 2a",
    "H₂O and CO₂, 10⁻³ mol", "∀ε>0 ∃δ>0", "C++ vs. C# vs. F#", "AT&T; R&D; Q&A", "--help -v --output=file.txt",
    "NaN null undefined None nil", "!!! ??? ;;; ,,,", "(((nested) parentheses) here)", "ＦＵＬＬＷＩＤＴＨ text",
]

SUBJECT = ["The librarian", "A tired engineer", "Our new compiler", "The old harbour", "This small enzyme", "A committee of nine",
           "The orchestra", "My neighbour's goat", "The database", "An early frost", "The river", "A retired pilot"]
VERB = ["catalogued", "rejected", "rebuilt", "measured", "explained", "abandoned", "flooded", "translated", "optimised", "painted"]
OBJECT = ["forty-two letters from 1887", "the query planner", "every bridge in the valley", "a theory of sleep", "the patent claims",
          "half of the harvest", "three unreadable manuals", "the night train to Vienna", "its own memory allocator", "the sugar beet fields"]
END = ["before anybody noticed.", "because the budget was cut.", "although the deadline had passed!", "and nobody asked why.",
       "without a single test.", "in less than nine minutes.", "while it rained.", "for the second time this year?"]


def texts():
    rng = random.Random(20240229)
    pick = lambda: " ".join(rng.choice(p) for p in (SUBJECT, VERB, OBJECT, END))
    out = list(FIXED)
    while len(out) < 150:
        out.append(pick())
    while len(out) < 190:
        out.append(" ".join(pick() for _ in range(rng.randint(2, 9))))
    while len(out) < 200:  # some of these are longer than the model takes
        out.append(" ".join(pick() for _ in range(rng.randint(14, 40))))
    return out


def main(folder):
    folder, here = pathlib.Path(folder), pathlib.Path(__file__).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    states = next(o.name for o in session.get_outputs() if len(o.shape) == 3)
    vectors, lines = [], []
    for text in texts():
        ids = tokenizer.encode(text).ids
        row = np.array([ids], np.int64)
        feed = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        mean = session.run([states], feed)[0][0].astype(np.float64).mean(0)
        vectors.append((mean / np.linalg.norm(mean)).astype("<f4"))
        lines.append(json.dumps({"text": text, "ids": ids}, ensure_ascii=False, separators=(",", ":")))
    (here / "golden.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (here / "golden.f32").write_bytes(np.stack(vectors).tobytes())
    print(len(lines), "texts,", sum(l.count(",") for l in lines), "ids,", np.stack(vectors).shape)


main(sys.argv[1])
