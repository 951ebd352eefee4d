#!/usr/bin/env python3
"""Writes ../classes_table.go: what the reference takes each code point for.

    python3 -m pip install tokenizers==0.23.3 sentencepiece==0.2.3
    python3 gen_classes.py

Every code point is given to the reference's normalisers and pre-tokenizers, and
their answers are packed. Nothing comes from another Unicode table, so ids do not
depend on the Unicode version of a Go release. classes.go reads the table and
names the bits.
"""
import os
import subprocess
import tempfile

import sentencepiece
import tokenizers
from sentencepiece import sentencepiece_model_pb2 as proto
from tokenizers import Regex, normalizers, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
BITS = ["letter", "number", "space", "white", "numeric", "punct", "word", "nonspacing", "mark", "control",
        "extend", "prepend", "breaks", "pictograph", "consonant", "linker", "incbExtend", "decomposes", "ordered"]


def bits():
    """Code point -> set of names of BITS."""
    out = {c: 0 for c in CODE_POINTS}

    def mark(name, holds):
        bit = 1 << BITS.index(name)
        for c in CODE_POINTS:
            if holds(c, chr(c)):
                out[c] |= bit

    for name, pattern in [("letter", r"\p{L}"), ("number", r"\p{N}"), ("space", r"\s"), ("pictograph", r"\p{Extended_Pictographic}")]:
        cut = pre_tokenizers.Split(Regex(pattern), "removed")
        mark(name, lambda c, s: not cut.pre_tokenize_str(s))
    white = pre_tokenizers.WhitespaceSplit()
    mark("white", lambda c, s: not white.pre_tokenize_str(s))
    digits = pre_tokenizers.Digits(True)
    mark("numeric", lambda c, s: len(digits.pre_tokenize_str(s + "..")) == 2)
    punct = pre_tokenizers.Punctuation()
    mark("punct", lambda c, s: len(punct.pre_tokenize_str("a" + s)) == 2)
    words = pre_tokenizers.Whitespace()
    mark("word", lambda c, s: len(words.pre_tokenize_str("a" + s)) == 1 and c not in (9, 10, 11, 12, 13, 32) and words.pre_tokenize_str(s))
    bert = normalizers.BertNormalizer(False, False, True, False)
    nfd = normalizers.NFD()
    mark("nonspacing", lambda c, s: nfd.normalize_str(s) == s and bert.normalize_str(s) == "")
    accents = normalizers.StripAccents()
    mark("mark", lambda c, s: accents.normalize_str(s) == "")
    clean = normalizers.BertNormalizer(True, False, False, False)
    mark("control", lambda c, s: clean.normalize_str(s) == "")
    nfkd = normalizers.NFKD()
    mark("decomposes", lambda c, s: nfkd.normalize_str(s) != s)
    low, high = "\u0334", "\u0345"  # combining classes 1 and 240, the extremes
    mark("ordered", lambda c, s: nfd.normalize_str(high + s) != high + nfd.normalize_str(s) or
         nfd.normalize_str(s) == s and nfd.normalize_str(s + low) != s + low)

    # With each code point mapped to "b", a grapheme of several becomes a single
    # "b" where it has less than six bytes, and one each where it has more.
    graph = normalizers.Precompiled(everything_is_b()).normalize_str
    size = lambda s: len(graph(s))
    mark("extend", lambda c, s: graph("a" + s) == "b" and c != 10)
    mark("prepend", lambda c, s: graph(s + "a") == "b")
    # What of four bytes breaks cannot be seen, and does not matter: with a mark it has six.
    mark("breaks", lambda c, s: c < 0x10000 and size(s + "\u0301") == 2)
    mark("consonant", lambda c, s: size(s + "\u094d\u0915\u0301") == 4)
    mark("linker", lambda c, s: size("\u0915" + s + "\u0915\u0301") == 4 and size(s + "\u0301") == 1 and size("a" + s) == 1)
    mark("incbExtend", lambda c, s: size("\u0915\u094d" + s + "\u0915\u0301") == 5 and size("a" + s) == 1)
    return out


def everything_is_b():
    """A precompiled charsmap that makes every code point a "b", and "b" a "c"."""
    with tempfile.TemporaryDirectory() as d:
        at = lambda name: os.path.join(d, name)
        with open(at("rules.tsv"), "w") as f:
            f.writelines("%X\t%X\n" % (c, 0x62 if c != 0x62 else 0x63) for c in CODE_POINTS if c)
        with open(at("text"), "w") as f:
            f.write("hello world foo bar\n" * 50)
        sentencepiece.SentencePieceTrainer.train(
            input=at("text"), model_prefix=at("m"), vocab_size=12, hard_vocab_limit=False,
            normalization_rule_tsv=at("rules.tsv"), add_dummy_prefix=False, minloglevel=2)
        m = proto.ModelProto()
        with open(at("m.model"), "rb") as f:
            m.ParseFromString(f.read())
        return m.normalizer_spec.precompiled_charsmap


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return out


def runs(values, stride):
    """Packs {code point: number > 0} as (gap, count - 1, stride, value), ascending.

    The code points of a run lie 1 or 2 apart; 2 only where stride allows it.
    """
    out, last = bytearray(), 0
    items = sorted((c, v) for c, v in values.items() if v)
    i = 0
    while i < len(items):
        c, v = items[i]
        step = 1
        if stride and i + 1 < len(items) and items[i + 1] == (c + 2, v):
            step = 2
        j = i
        while j + 1 < len(items) and items[j + 1] == (items[j][0] + step, v):
            j += 1
        out += varint(c - last) + varint(j - i) + varint(step) + varint(v)
        last = items[j][0]
        i = j + 1
    return out


def main():
    lower = normalizers.Lowercase()
    shifts = {}
    for c in CODE_POINTS:
        v = lower.normalize_str(chr(c))
        if len(v) > 1:
            assert c == 0x130 and v == "i\u0307", hex(c)
            continue
        d = ord(v) - c
        if d:
            shifts[c] = d * 2 if d > 0 else -d * 2 - 1
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(folder, "..", "classes_table.go")
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.write("// Code generated by testdata/gen_classes.py; DO NOT EDIT.\n\npackage tokenizer\n\nimport _ \"embed\"\n\n")
        f.write(f"// The answers of tokenizers {tokenizers.__version__} for every code point; see classes.go.\n\n")
        f.write("const (\n" + "".join(f"\t{'is' + n[0].upper() + n[1:]} class = 1 << {i}\n" for i, n in enumerate(BITS)) + ")\n\n")
        for name, file, what, data in [
            ("classRuns", "classes.bin", "the classes of code points", runs(bits(), False)),
            ("lowerRuns", "lower.bin", "zigzag differences from capital letters to small ones", runs(shifts, True)),
        ]:
            f.write(f"// {name}: {what}.\n//\n//go:embed {file}\nvar {name} string\n\n")
            with open(os.path.join(folder, "..", file), "wb") as table:
                table.write(data)
            print(name, len(data), "bytes")
    subprocess.run(["gofmt", "-w", path], check=True)


if __name__ == "__main__":
    main()
