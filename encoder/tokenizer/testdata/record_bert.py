#!/usr/bin/env python3
"""Records what the reference tokenizer makes of strings of all kinds.

    python3 -m pip install tokenizers==0.23.3
    python3 record_bert.py TOKENIZER.JSON bert.bin.gz

TOKENIZER.JSON is that of all-MiniLM-L6-v2. The strings are made up here from
a seed, so that the file can be made again. Truncation and padding of the
tokenizer are switched off. Byte strings that are no UTF-8 are decoded with
errors="replace", as every Python program has to; offsets are given in bytes of
the original all the same.

Format, gzip over: the line "lexsem tokens 1"; the number of kinds, and for each
its length and name; the number of records; then column by column, for each
record: its kind; 1 if the tokenizer keeps case, else 0; how often its text is
repeated; the length of the text; the number of ids; the text; each id as zigzag
difference to the one before; the CRC-32 (IEEE, 4 bytes, little endian) over the
offsets, each as start and end in 4 bytes, little endian. Numbers are LEB128.
"""
import codecs
import gzip
import json
import random
import struct
import sys
import unicodedata
import zlib

from tokenizers import Tokenizer, normalizers

SEED = 20240607
SPECIALS = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"]
rnd = random.Random(SEED)
reference = json.load(open(sys.argv[1], encoding="utf-8"))
WORDS = sorted(w for w in reference["model"]["vocab"] if w.isascii() and w.isalpha() and len(w) > 1)[::4]
ASSIGNED = [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
MARKS = [c for c in ASSIGNED if unicodedata.category(chr(c)) in ("Mn", "Mc", "Me")]
TAILS = [c for c in MARKS if unicodedata.category(chr(c)) == "Mc" and unicodedata.combining(chr(c))]
UPPER = [c for c in ASSIGNED if chr(c).lower() != chr(c)]
pick = rnd.choice


def several(low, high, make, join=""):
    return join.join(make() for _ in range(rnd.randint(low, high)))


def of(*ranges):
    """A code point of these ranges, the ranges equally likely."""
    low, high = pick(ranges)
    return chr(rnd.randint(low, high))


def word():
    w = pick(WORDS)
    if rnd.random() < 0.2:
        w += pick(WORDS)
    return pick([w, w, w, w.capitalize(), w.upper()])


def prose():
    w = several(1, 9, word, " ")
    for _ in range(rnd.randint(0, 2)):
        i = rnd.randint(0, len(w))
        w = w[:i] + pick([", ", ". ", "'s ", "-", " (", ") ", '"', "; ", "...", "?", " 1998 ", "3.14", "$5,000", "50%"]) + w[i:]
    return w


def code():
    return several(1, 10, lambda: pick([
        word() + "_" + word(), word() + "." + word() + "()", "if (x[%d] != 0) {" % rnd.randint(0, 999), "\t", "\n", "\r\n",
        "0x%x" % rnd.getrandbits(32), "http://www." + pick(WORDS) + ".org/?q=" + pick(WORDS), "<div class='%s'>" % pick(WORDS),
        "/* " + word() + " */", "a+=b<<2;", "->", "::", "==", "&&", "`x`", "\\n", "#!", "@%s" % pick(WORDS), "{}[]|~^"]), pick(["", " "]))


def accents():
    w = "".join(chr(ord(c)) + pick(["", "", chr(rnd.randint(0x300, 0x36F)), chr(rnd.randint(0x300, 0x315))]) for c in several(1, 5, word, " "))
    if rnd.random() < 0.6:
        w = unicodedata.normalize("NFC", w)
    return w + several(0, 8, lambda: of((0xC0, 0x24F), (0x1E00, 0x1EFF), (0xC0, 0xFF)))


def east_asian():
    return several(1, 14, lambda: pick([
        of((0x4E00, 0x9FFF), (0x4E00, 0x5FFF)), of((0x3041, 0x30FF)), of((0xAC00, 0xD7A3)), of((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97C), (0xD7B0, 0xD7FB)),
        of((0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2EBEF), (0x30000, 0x3134F), (0x2B810, 0x2B930)), of((0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
        of((0x3000, 0x303F), (0xFF00, 0xFFEF)), pick("日本語中国人年月한국의그は、。の東京"), " ", pick(WORDS), "\u3099", "か\u3099"]))


def combining():
    block = pick([(0x590, 0x5FF), (0x600, 0x6FF), (0x700, 0x77F), (0x900, 0x97F), (0x980, 0x9FF), (0xB80, 0xBFF), (0xC80, 0xCFF), (0xD80, 0xDFF), (0xE00, 0xEFF),
                  (0xF00, 0xFFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1B00, 0x1B7F), (0xA980, 0xA9DF), (0x11000, 0x1107F), (0x11400, 0x1147F), (0x1D150, 0x1D1BF)])
    return several(1, 10, lambda: pick([of(block), of(block), of(block), chr(pick(MARKS)), " "]))


def ordering():
    """Runs of marks that canonical ordering sorts, with marks that survive."""
    start = lambda: pick(["a", "e", "", " ", "é", "ế", "中", "\U0001D158", "\U0001D15F", "\U0001D162", "\U0001D1BD", "ᬅ", "한", "\u0f73", "[MASK]", "豈", "!", "≠"])
    mark = lambda: pick([chr(pick(MARKS)), chr(pick(MARKS)), chr(pick(TAILS)), chr(pick(TAILS)), "\u00ad", "\x00", "\u0344", "\u0f75", "\u0302", "\u0327"])
    return several(1, 4, lambda: start() + several(0, 5, mark) + pick(["", "", "x", "b c"]))


def emoji():
    return several(1, 10, lambda: pick([of((0x1F300, 0x1FAFF)), "👩\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "👍🏽", "🇩🇪", "1\ufe0f\u20e3", "❤\ufe0f", of((0x2190, 0x2BFF)), pick(WORDS), " "]))


def control():
    return several(1, 12, lambda: pick([of((0, 0x1F), (0x7F, 0x9F)), word(), "\r\n", "\u2028", "\u2029", "\ufeff", "\x00", " ", of((0xE000, 0xE010)), "\U000E0041", "\ufffd", "\ufffe"]))


def spaces():
    return several(1, 12, lambda: pick([of((0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F)), word(), "\u00a0", "\u3000", "\u1680", "\u180e", "\u0085", "\u00ad", "\t", "\x0b", "  ", "é"]))


def long_word():
    n = rnd.choice([98, 99, 100, 101, 102, 150, 300])
    unit = pick(["a", "é", "e\u0301", "я", "İ", "한", pick(WORDS), "ab1", "\u200bx", "ᬅ\u1b44"])
    w = (unit * n)[:n]
    return pick(["", "in "]) + w + pick(["", " end", "."])


def blank():
    return several(0, 6, lambda: pick([" ", "\t", "\n", "\r", "\u00a0", "\u200b", "\u0301", "\x00", "\u3000", "\ufffd", "\u2029", "\ufeff", "\u0f73"]))


def literals():
    return several(1, 8, lambda: pick(SPECIALS + ["[mask]", "[MASK", "MASK]", "[[MASK]]", "[", "]", "[unused5]", "##ing", "#", "[ SEP ]", "[CLS][CLS]", "[\u0301MASK]", "\u0301", "é"] + [word(), " "]))


def invalid():
    b = bytearray(several(1, 6, lambda: pick([word() + " ", "é", "日本", "😀", "[MASK]", "e\u0301"])).encode())
    for _ in range(rnd.randint(1, 4)):
        i = rnd.randint(0, len(b))
        b[i:i + rnd.randint(0, 1)] = pick([b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xe2\x82", b"\xf0\x9f", b"\x80", b"\xf4\x90\x80\x80", b"\xef\xbf\xbd", b"\xc3"])
    return bytes(b)


def assigned():
    return several(1, 10, lambda: pick([chr(pick(ASSIGNED)), chr(pick(ASSIGNED)), chr(pick(UPPER)), " "]))


def scripts():
    block = pick([(0x370, 0x3FF), (0x1F00, 0x1FFF), (0x400, 0x52F), (0x530, 0x58F), (0x10A0, 0x10FF), (0x13A0, 0x13FF), (0x1E00, 0x1EFF), (0x2C00, 0x2DFF), (0xA640, 0xA7FF),
                  (0x10400, 0x104FF), (0x1E900, 0x1E95F), (0x2100, 0x218F), (0x1D400, 0x1D7FF), (0x1C80, 0x1CBF), (0x2460, 0x24FF), (0xAB30, 0xABBF)])
    return several(1, 4, lambda: several(1, 6, lambda: of(block)), " ") + pick(["", " ΣΊΣΥΦΟΣ", " İstanbul", " DŽǅ", " STRASSE ß ẞ", " ﬁ ﬀ", " Å Å", " K", " ıI"])


KINDS = [("prose", prose, 2600), ("code", code, 2200), ("accents", accents, 2000), ("CJK, kana, hangul", east_asian, 2200), ("combining marks", combining, 2400), ("mark ordering", ordering, 2000),
         ("emoji", emoji, 1400), ("control", control, 1400), ("spaces", spaces, 1400), ("long words", long_word, 500), ("blank", blank, 400), ("special literals", literals, 1500),
         ("invalid UTF-8", invalid, 1600), ("assigned code points", assigned, 2200), ("scripts and case", scripts, 1800)]
HUGE = [("x", 1 << 20), ("é", 1 << 19), ("中", 1 << 16), ("a ", 1 << 16), ("\u0301", 1 << 19), ("[MASK]", 1 << 14), ("ᬅ\u1b44\u0301", 1 << 14), ("\u0301\u1b44", 1 << 16), (b"\xff", 1 << 20), ("[", 1 << 15), ("\x00", 1 << 20), ("x\n", 1 << 15)]

# Where the decoder put a U+FFFD, and for which bytes.
replaced = []


def note(error):
    replaced.append((error.start, error.end))
    return "\ufffd", error.end


codecs.register_error("note", note)


def decode(b):
    """The string, and the byte position of each of its code points and of its end."""
    replaced.clear()
    text = b.decode("utf-8", "note")
    bad, at, positions = iter(replaced + [(-1, -1)]), 0, []
    start, end = next(bad)
    for c in text:
        positions.append(at)
        if at == start:
            at = end
            start, end = next(bad)
        else:
            at += len(c.encode())
    assert at == len(b)
    return text, positions + [at]


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def main():
    lower = Tokenizer.from_str(json.dumps(reference))
    lower.no_truncation()
    lower.no_padding()
    keep = Tokenizer.from_str(json.dumps(reference))
    keep.no_truncation()
    keep.no_padding()
    keep.normalizer = normalizers.BertNormalizer(True, True, None, False)
    names = [k[0] for k in KINDS] + ["huge"]
    records = [(i, 0, make(), 1) for i, (_, make, n) in enumerate(KINDS) for _ in range(n)]
    records += [(i, 1, make(), 1) for i, (_, make, n) in enumerate(KINDS) for _ in range(n // 20)]
    records += [(len(KINDS), cased, unit, n) for unit, n in HUGE for cased in (0, 1)]
    head = [b"lexsem tokens 1\n", varint(len(names))] + [varint(len(n.encode())) + n.encode() for n in names] + [varint(len(records))]
    columns = [[] for _ in range(8)]
    tokens = 0
    for kind, cased, unit, times in records:
        unit = unit if isinstance(unit, bytes) else unit.encode()
        text, at = decode(unit * times)
        e = (keep if cased else lower).encode(text)
        offsets = b"".join(struct.pack("<II", at[a], at[b]) for a, b in e.offsets)
        ids, last = [], 0
        for i in e.ids:
            d = i - last
            ids.append(varint(d * 2 if d >= 0 else -d * 2 - 1))
            last = i
        tokens += len(ids)
        row = [varint(kind), varint(cased), varint(times), varint(len(unit)), varint(len(ids)), unit, b"".join(ids), struct.pack("<I", zlib.crc32(offsets))]
        for column, value in zip(columns, row):
            column.append(value)
    with open(sys.argv[2], "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        z.write(b"".join(head + [v for column in columns for v in column]))
    print(len(records), "strings,", tokens, "tokens")


if __name__ == "__main__":
    main()
