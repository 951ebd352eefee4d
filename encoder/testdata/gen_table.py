#!/usr/bin/env python3
"""Writes ../normalize_table.go: what the reference tokenizer does with each code point.

    python3 -m pip install tokenizers==0.23.3
    python3 gen_table.py

Every code point is given to the reference's BERT normaliser and pre-tokenizer,
and the answers are packed: nothing here comes from another Unicode table, so
the result holds whatever version of Unicode the reference was built with. The
reading side, and the meaning of the classes, is normalize.go.
"""
import base64
import os
import subprocess

import tokenizers
from tokenizers import normalizers, pre_tokenizers

KEEP, GONE, SPACE, ISOLATE, SKIP, MARK, TAIL, HANGUL = range(8)
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]

uncased = normalizers.BertNormalizer(True, True, True, True)
cased = normalizers.BertNormalizer(True, True, False, False)
nfd = normalizers.NFD()
pre = pre_tokenizers.BertPreTokenizer()


def ranks():
    """The order in which NFD sorts the non-starters: code point -> 1, 2, ..."""
    low, high = "\u0334", "\u0345"  # combining classes 1 and 240, the extremes
    marks = []
    for c in CODE_POINTS:
        s = chr(c)
        d = nfd.normalize_str(s)
        if nfd.normalize_str(high + s) != high + d or len(d) == 1 and nfd.normalize_str(s + low) != d + low:
            marks.append(c)
    # swaps(p, s): p stands behind s in normal form, that is class(p) > class(first of s).
    swaps = lambda p, s: nfd.normalize_str(chr(p) + chr(s)) != nfd.normalize_str(chr(p)) + nfd.normalize_str(chr(s))
    # One code point for each class; single code points that decompose to themselves.
    probes = []
    for c in marks:
        if nfd.normalize_str(chr(c)) == chr(c) and all(swaps(c, p) or swaps(p, c) for p in probes):
            probes.append(c)
    return {c: 1 + len(probes) - sum(swaps(p, c) for p in probes) for c in marks}


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return out


def runs(values):
    """Packs {code point: small number} as (gap, length, value), ascending."""
    out, last = bytearray(), 0
    items = sorted(values.items())
    i = 0
    while i < len(items):
        j = i
        while j + 1 < len(items) and items[j + 1] == (items[j][0] + 1, items[i][1]):
            j += 1
        start, value = items[i]
        out += varint(start - last) + varint(j - i) + varint(value)
        last = items[j][0] + 1
        i = j + 1
    return out


def replacements(table):
    """Packs {code point: text} as (gap, stride << 1 | multi, ...), ascending.

    multi = 0: a count and zigzag(target - code point), for count + 1 code points
    at that stride; multi = 1: the number of code points and each of them.
    """
    out, last = bytearray(), 0
    items = sorted(table.items())
    i = 0
    while i < len(items):
        c, v = items[i]
        if len(v) > 1:
            out += varint(c - last) + varint(1) + varint(len(v)) + b"".join(varint(ord(x)) for x in v)
            last, i = c, i + 1
            continue
        shift, stride, j = ord(v) - c, 1, i
        fits = lambda k, s: k < len(items) and len(items[k][1]) == 1 and items[k][0] == items[k - 1][0] + s and ord(items[k][1]) - items[k][0] == shift
        if not fits(i + 1, 1) and fits(i + 1, 2):
            stride = 2
        while fits(j + 1, stride):
            j += 1
        zigzag = shift * 2 if shift >= 0 else -shift * 2 - 1
        out += varint(c - last) + varint(stride << 1) + varint(j - i) + varint(zigzag)
        last, i = items[j][0], j + 1
    return out


def main():
    rank = ranks()
    punct = {c for c in CODE_POINTS if [x for x, _ in pre.pre_tokenize_str("a" + chr(c) + "a")] == ["a", chr(c), "a"]}
    low, replace, cas = {}, {}, {}
    for c in CODE_POINTS:
        s = chr(c)
        spaced = " " + s + " "
        v = uncased.normalize_str(s)
        k = cased.normalize_str(s)
        if k == "":
            low[c] = cas[c] = GONE
            continue
        if k == " ":
            low[c] = cas[c] = SPACE
            continue
        assert k in (s, spaced), hex(c)
        if k == spaced or c in punct:
            cas[c] = ISOLATE
        if v == "":
            low[c] = MARK if c in rank else SKIP
        elif v == spaced or v == s and c in punct:
            low[c] = ISOLATE
        elif v == s:
            if c in rank:
                low[c] = TAIL
        elif 0xAC00 <= c <= 0xD7A3:
            x = c - 0xAC00
            jamo = chr(0x1100 + x // 588) + chr(0x1161 + x % 588 // 28) + (chr(0x11A7 + x % 28) if x % 28 else "")
            assert v == jamo, hex(c)
            low[c] = HANGUL
        else:
            # Either letters, or one character that stands apart; never a mixture.
            apart = v.startswith(" ") or v in map(chr, punct)
            v = v.strip(" ")
            assert v and " " not in v and (len(v) == 1 if apart else not any(ord(x) in punct for x in v)), hex(c)
            assert all(uncased.normalize_str(x) in (x, " " + x + " ") for x in v), hex(c)
            assert not any(ord(x) in rank for x in v[:1]), hex(c)
            replace[c] = v
    # A replacement is itself of class KEEP, ISOLATE or TAIL: the reader looks that up.
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(folder, "..", "normalize_table.go")
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.write("// Code generated by testdata/gen_table.py; DO NOT EDIT.\n\npackage encoder\n\n")
        f.write(f"// The answers of tokenizers {tokenizers.__version__} for every code point; see normalize.go.\n\n")
        for name, what, data in [
            ("uncasedRuns", "classes when letters are lower-cased and accents stripped", runs(low)),
            ("casedRuns", "classes when letters are kept as they are", runs(cas)),
            ("rankRuns", "order of the combining marks under canonical ordering", runs(rank)),
            ("replacementRuns", "lower-cased and decomposed forms", replacements(replace)),
        ]:
            text = base64.b64encode(bytes(data)).decode()
            lines = "\n".join(text[i:i + 110] for i in range(0, len(text), 110))
            f.write(f"// {name}: {what}.\nconst {name} = `\n{lines}`\n\n")
            print(name, len(data), "bytes")
    subprocess.run(["gofmt", "-w", path], check=True)
    print(len(replace), "replacements,", len(rank), "non-starters,", max(rank.values()), "classes")


if __name__ == "__main__":
    main()
