#!/usr/bin/env python3
"""Trains small tokenizers of each family and records what they make of strings.

    python3 -m pip install tokenizers==0.23.3 sentencepiece==0.2.3 protobuf
    python3 record.py recorded.gz                 # the strings of the short test
    python3 record.py OUT 100000 7                # so many strings, from seed 7
    python3 record.py recorded.gz time FAMILY TEXTS  # seconds that the reference takes for a list of texts
    python3 record.py recorded.gz show FAMILY N   # what it makes of string N

Tokenizers are trained on text that is made up here, so all follows from the seed;
with a count, the tokenizers of recorded.gz beside this file are used, and one more
with the full rules of SentencePiece. Strings that
are no UTF-8 are decoded with one U+FFFD a byte that belongs to none, and offsets
are given in bytes of what was there before.

Format, gzip over: a line of JSON with the names of the families and their
tokenizer.json; the number of strings; for each how often it is repeated, its length
and its bytes; then for each family, for each string, the CRC-32 (IEEE, 4 bytes,
little endian) over id, start and end of its tokens, each in 4 bytes, little endian.
Numbers are LEB128.
"""
import codecs
import gzip
import json
import os
import random
import struct
import sys
import tempfile
import time
import unicodedata
import zlib

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SEED = 20261122
rnd = random.Random(SEED)
pick = rnd.choice
ASSIGNED = [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
MARKS = [c for c in ASSIGNED if unicodedata.category(chr(c)) in ("Mn", "Mc", "Me")]
SYLLABLES = [a + b for a in ("b", "c", "d", "f", "gr", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "th", "v", "w") for b in ("a", "e", "i", "o", "u", "an", "er", "ing", "ou")]
LATIN = ["the", "of", "and", "to", "in", "is", "it's", "don't", "we'll", "I'm", "they're", "über", "naïve", "café", "señor", "Ångström", "straße", "œuvre", "fiancée", "Łódź"] + ["".join(pick(SYLLABLES) for _ in range(rnd.randint(1, 3))) for _ in range(600)]
OTHER = ["привет", "мир", "Москва", "что", "это", "λόγος", "καί", "ΣΊΣΥΦΟΣ", "שלום", "עולם", "مرحبا", "العالم", "हिन्दी", "नमस्ते", "ภาษาไทย", "สวัสดี", "日本語", "東京", "です", "こんにちは", "カタカナ", "中文", "你好", "世界", "我们", "的", "한국어", "안녕하세요", "서울"]
SPECIALS = ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "<|end|>", "[NEW]", "Monday", "<solo>", "  ", "\n\n"]


def several(low, high, make, join=""):
    return join.join(make() for _ in range(rnd.randint(low, high)))


def of(*ranges):
    low, high = pick(ranges)
    return chr(rnd.randint(low, high))


def word():
    w = pick(LATIN) if rnd.random() < 0.8 else pick(OTHER)
    if rnd.random() < 0.15:
        w += pick(LATIN)
    return pick([w, w, w, w, w.capitalize(), w.upper()])


def prose():
    w = several(1, 12, word, " ")
    for _ in range(rnd.randint(0, 3)):
        i = rnd.randint(0, len(w))
        w = w[:i] + pick([", ", ". ", "'s ", "'S", "'Ll ", "-", " (", ") ", '"', "; ", "...", "?", " 1998 ", "3.14159", "$5,000", "50%", "’s ", "'", " '", "''ve"]) + w[i:]
    return w


def code():
    return several(1, 10, lambda: pick([
        word() + "_" + word(), word() + "." + word() + "()", "if (x[%d] != 0) {" % rnd.randint(0, 99999), "\t", "\n", "\r\n", "\n\n", "    ", "  \n  ",
        "0x%x" % rnd.getrandbits(32), "http://www." + pick(LATIN) + ".org/?q=", "<div class='%s'>" % pick(LATIN), "/* " + word() + " */", "a+=b<<2;", "->", "::", "`x`", "#!", "{}[]|~^"]), pick(["", " "]))


def accents():
    w = "".join(c + pick(["", "", "", chr(rnd.randint(0x300, 0x36F)), chr(rnd.randint(0x300, 0x315))]) for c in several(1, 5, word, " "))
    if rnd.random() < 0.5:
        w = unicodedata.normalize("NFC", w)
    return w + several(0, 8, lambda: of((0xC0, 0x24F), (0x1E00, 0x1EFF), (0xC0, 0xFF)))


def east_asian():
    return several(1, 16, lambda: pick([
        of((0x4E00, 0x9FFF), (0x4E00, 0x5FFF)), of((0x3041, 0x30FF)), of((0xAC00, 0xD7A3)), of((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97C), (0xD7B0, 0xD7FB)),
        of((0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2B810, 0x2B930)), of((0xF900, 0xFAFF), (0x2F800, 0x2FA1F)), of((0x3000, 0x303F), (0xFF00, 0xFFEF)), pick(OTHER), " ", pick(LATIN), "\u3099", "か\u3099", "한\u0301"]))


def combining():
    block = pick([(0x590, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F), (0x980, 0x9FF), (0xB80, 0xBFF), (0xC80, 0xCFF), (0xD80, 0xDFF), (0xE00, 0xEFF), (0xF00, 0xFFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1B00, 0x1B7F), (0x11000, 0x1107F), (0x1D150, 0x1D1BF)])
    return several(1, 12, lambda: pick([of(block), of(block), of(block), chr(pick(MARKS)), " ", "\u0301", "\u094d"]))


def ordering():
    start = lambda: pick(["a", "e", "", " ", "é", "ế", "中", "\U0001D15F", "ᬅ", "한", "\u0f73", "!", "≠", "ﬁ", "①", "Å", "ſ", "ǆ", "½", "\u0344"])
    mark = lambda: pick([chr(pick(MARKS)), chr(pick(MARKS)), "\u00ad", "\x00", "\u0344", "\u0f75", "\u0302", "\u0327", "\u0301", "\u200d", "\u1b35"])
    return several(1, 4, lambda: start() + several(0, 5, mark) + pick(["", "", "x", "b c"]))


def emoji():
    return several(1, 10, lambda: pick([of((0x1F300, 0x1FAFF)), "👩\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "👍🏽", "🇩🇪", "🇩🇪🇫", "1\ufe0f\u20e3", "❤\ufe0f", "©\u200d®\u0301", of((0x2190, 0x2BFF)), word(), " "]))


def control():
    return several(1, 12, lambda: pick([of((0, 0x1F), (0x7F, 0x9F)), word(), "\r\n", "\u2028", "\u2029", "\ufeff", "\x00", " ", of((0xE000, 0xE010)), "\U000E0041", "\ufffd", "\ufffe", "\u0600a", "\u200b"]))


def spaces():
    return several(1, 14, lambda: pick([of((0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F)), word(), "\u00a0", "\u3000", "\u1680", "\u180e", "\u0085", "\u00ad", "\t", "\x0b", "  ", "   ", "\n", "\r\n", " \n ", "é", "▁", "Ġ", "▁▁a"]))


def numbers():
    return several(1, 10, lambda: pick(["%d" % rnd.getrandbits(rnd.randint(1, 60)), "½", "²", "٣", "Ⅷ", "१२३", "〇", "①", "1,000.00", " ", "  ", "x", "-", "𝟘𝟙", "𐄇"]))


def runs():
    unit = pick(["a", "é", "e\u0301", "я", "한", " ", "\n", "\u3000", "-", "ab1", "▁", "1", "中", "the", "😀", "\u0301", "x\u0300\u0323"])
    w = unit * rnd.choice([1, 2, 3, 15, 39, 40, 41, 42, 60, 99, 100, 101, 130])
    return pick(["", "in "]) + w + pick(["", " end", "."])


def literals():
    return several(1, 9, lambda: pick(SPECIALS + ["<MASK>", "monday", "MONDAY", "<mask", "mask>", "<<mask>>", "<", ">", "<0x41>", "##ing", "[new]", "[NEW", "solo", "_"] + [word(), " ", " ", "\n", "\u3000", "é", "\u0301"]))


def invalid():
    b = bytearray(several(1, 6, lambda: pick([word() + " ", "é", "日本", "😀", "<mask>", "e\u0301"])).encode())
    for _ in range(rnd.randint(1, 4)):
        i = rnd.randint(0, len(b))
        b[i:i + rnd.randint(0, 1)] = pick([b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xe2\x82", b"\xf0\x9f", b"\x80", b"\xf4\x90\x80\x80", b"\xef\xbf\xbd", b"\xc3"])
    return bytes(b)


def assigned():
    return several(1, 10, lambda: pick([chr(pick(ASSIGNED)), chr(pick(ASSIGNED)), chr(pick(ASSIGNED)), " ", "a"]))


def short():
    return several(0, 3, lambda: pick([" ", "\n", "\t", "a", "é", "\u3000", "'", "▁", "1", "\x00", "\u0301", "\ufffd", "\u200b", "<s>", "."]))


KINDS = [(prose, 24), (code, 14), (accents, 9), (east_asian, 9), (combining, 6), (ordering, 7), (emoji, 5), (control, 5), (spaces, 9), (numbers, 5), (runs, 6), (literals, 9), (invalid, 5), (assigned, 7), (short, 4)]


def strings(n):
    makers = [m for m, weight in KINDS for _ in range(weight)]
    return [makers[i % len(makers)]() for i in range(n)]


# Strings that chance seldom makes.
FIXED = ["[NEW]  <mask> x", "[NEW] \n<mask>", "<mask> <mask>", "it'\u017f \u017f'\u017f'S'lL", "x<solo>", "<solo>x", "<solo> x <solo>", "\u32ff\ua7f2\U00010781\U00011935\U00011930\U00011938",
         "\u0915\u094d\u0915\u0301 \u0915\u093c\u094d\u0915\u0301", "\u0958\u0301", "\x01a", "\x01\x7fa b", "\u3300\x7f\u3301\u00ad\x7fb", "  a", " ", "   ", "\n a", "a \n\n  b", "  \u00e9", "\u2581a", "a\u2581\u2581b \u2581",
         "\U0001f600\x01\u9b31", "\u9b31\U0001f600 \u9b31", "a\u0316\x7f", "\u1100\u1161\u0301", "\u00ae\u200d\u00a9\u0301", "monday Monday MONDAYs", "e\u0323\u0307\u0301", "\u0307\u0323", "\u0344a\u0344", "\uac00\u11a7\u11a8"]


def corpus():
    return [prose() for _ in range(3000)] + [code() for _ in range(600)] + [several(3, 12, lambda: pick(OTHER), pick(["", " "])) for _ in range(800)]


def charsmap(rules):
    """The precompiled charsmap of a rule that SentencePiece names, or of a dictionary."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2 as proto
    with tempfile.TemporaryDirectory() as d:
        at = lambda name: os.path.join(d, name)
        with open(at("text"), "w") as f:
            f.write("hello world foo bar\n" * 50)
        with open(at("rules.tsv"), "w") as f:
            if isinstance(rules, dict):
                code_points = lambda s: " ".join("%X" % ord(c) for c in s)
                f.writelines("%s\t%s\n" % (code_points(k), code_points(v)) for k, v in rules.items())
        named = {"normalization_rule_name": rules} if isinstance(rules, str) else {"normalization_rule_tsv": at("rules.tsv")}
        sentencepiece.SentencePieceTrainer.train(input=at("text"), model_prefix=at("m"), vocab_size=15, hard_vocab_limit=False, minloglevel=2, **named)
        m = proto.ModelProto()
        with open(at("m.model"), "rb") as f:
            m.ParseFromString(f.read())
        return m.normalizer_spec.precompiled_charsmap


def rules():
    """Compatibility rules like those of nmt_nfkc, of some blocks, so that the fixture stays small."""
    out = {}
    for c in [*range(0xA0, 0x250), *range(0x1E00, 0x1F00), *range(0x2000, 0x2070), *range(0x2460, 0x24A0), *range(0xFB00, 0xFB10), *range(0xFF00, 0xFF80), *range(0x3300, 0x3310), 0x958, 0x95C, 0x1100, 0xAC00, 0x1F1E9]:
        v = unicodedata.normalize("NFKC", chr(c))
        if v != chr(c):
            out[chr(c)] = v
        d = unicodedata.normalize("NFD", chr(c))
        if len(d) > 1 and d != v:
            out[d] = unicodedata.normalize("NFKC", d)
    out.update({"\t": " ", "\n": " ", "\r": " ", "\u3000": " ", "\u200b": " ", "\ufeff": " ", "\x7f": "", "\x01": "", "\u00ad": "", "a\u0316": "qq", "\u0600": "p", "\u00ae": "(r)", "\u0915": "k", "\u1161": "v"})
    return {k: v for k, v in out.items() if k != v and "\x00" not in k}


def families(text):
    """Name -> tokenizer."""
    train = lambda t, trainer: t.train_from_iterator(text, trainer)
    bos = [AddedToken(s, special=True, normalized=False) for s in SPECIALS[:4]]
    mask = AddedToken("<mask>", lstrip=True, special=True, normalized=False)
    frame = lambda t, single: processors.TemplateProcessing(single, None, [(s, t.token_to_id(s)) for s in ("<s>", "</s>")])
    out = {}

    def words(t):
        t.add_tokens([AddedToken("Monday", normalized=True), AddedToken("<solo>", single_word=True, normalized=True), AddedToken("[NEW]", rstrip=True, normalized=False)])

    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Precompiled(charsmap(rules()))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    train(t, trainers.UnigramTrainer(vocab_size=1500, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    t.add_special_tokens(bos + [mask])
    words(t)
    t.post_processor = frame(t, "<s> $A </s>")
    out["xlmr"] = t

    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Strip(), normalizers.Lowercase(), normalizers.Replace("``", '"')])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    train(t, trainers.UnigramTrainer(vocab_size=900, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    j = json.loads(t.to_str())
    lowest = min(s for _, s in j["model"]["vocab"])
    j["model"]["vocab"] += [["<0x%02X>" % i, lowest - 1] for i in range(256)]
    j["model"]["byte_fallback"] = True
    t = Tokenizer.from_str(json.dumps(j))
    words(t)
    out["unigram-bytes"] = t

    def byte_level(normalizer, cutter, **options):
        t = Tokenizer(models.BPE(**options))
        t.normalizer = normalizer
        t.pre_tokenizer = cutter
        train(t, trainers.BpeTrainer(vocab_size=1400, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
        return t

    t = byte_level(None, pre_tokenizers.ByteLevel(add_prefix_space=True))
    t.add_special_tokens([mask])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    out["roberta"] = t

    t = byte_level(normalizers.NFC(), pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.add_tokens([AddedToken("  ", normalized=True), AddedToken("\n\n", normalized=True), AddedToken("<|end|>", special=True)])
    words(t)
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True, add_prefix_space=False), frame(t, "<s> $A </s>")])
    out["modernbert"] = t

    cl100k = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    t = byte_level(normalizers.NFC(), pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(cl100k % r"\p{N}"), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    t.add_special_tokens(["<|end|>"])
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    out["qwen"] = t

    t = byte_level(None, pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(cl100k % r"\p{N}{1,3}"), "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    j = json.loads(t.to_str())
    j["model"]["ignore_merges"] = True
    j["model"]["merges"] = [" ".join(m) for m in j["model"]["merges"] if len(m[0]) + len(m[1]) != 4]
    t = Tokenizer.from_str(json.dumps(j))
    t.post_processor = frame(t, "<s> $A")
    out["llama3"] = t

    o200k = "|".join([r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?", r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?", r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
    t = byte_level(None, pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.Split(Regex(o200k), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)]))
    t.post_processor = processors.ByteLevel(trim_offsets=True, add_prefix_space=True)
    out["o200k"] = t

    def fallback(alphabet, cutter, normalizer, fuse):
        t = Tokenizer(models.BPE(unk_token="<unk>"))
        t.normalizer = normalizers.Replace(" ", "▁")
        t.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
        train(t, trainers.BpeTrainer(vocab_size=1200, limit_alphabet=alphabet, special_tokens=["<pad>", "</s>", "<s>", "<unk>"], show_progress=False))
        j = json.loads(t.to_str())
        v = j["model"]["vocab"]
        for i in range(256):
            v["<0x%02X>" % i] = len(v)
        j["model"].update(byte_fallback=True, fuse_unk=fuse)
        t = Tokenizer.from_str(json.dumps(j))
        t.normalizer = normalizer
        if cutter:
            t.pre_tokenizer = cutter
        else:
            j = json.loads(t.to_str())
            j["pre_tokenizer"] = None
            t = Tokenizer.from_str(json.dumps(j))
        return t

    t = fallback(160, pre_tokenizers.Split(" ", "merged_with_previous"), normalizers.Replace(" ", "▁"), True)
    words(t)
    t.post_processor = frame(t, "<s> $A </s>")
    out["gemma"] = t

    t = fallback(90, None, normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), False)
    j = json.loads(t.to_str())
    for i in range(0x80, 0xC4):
        del j["model"]["vocab"]["<0x%02X>" % i]
    j["model"]["vocab"] = {w: i for i, w in enumerate(j["model"]["vocab"])}
    t = Tokenizer.from_str(json.dumps({**j, "added_tokens": []}))
    t.add_special_tokens(bos)
    t.post_processor = frame(t, "<s> $A")
    out["llama"] = t

    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True)])
    train(t, trainers.BpeTrainer(vocab_size=900, end_of_word_suffix="</w>", special_tokens=["<s>", "</s>", "<unk>"], show_progress=False))
    t.post_processor = processors.BertProcessing(("</s>", 1), ("<s>", 0))
    out["clip"] = t

    for name, normalizer, cutter in [
        ("wordpiece-nfd", normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]), pre_tokenizers.Whitespace()),
        ("wordpiece-nfkd", normalizers.Sequence([normalizers.NFKD(), normalizers.BertNormalizer(True, True, False, True)]), pre_tokenizers.Sequence([pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Digits(False)])),
        ("wordpiece-bert", normalizers.BertNormalizer(False, True, True, False), pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("merged_with_previous"), pre_tokenizers.Split(Regex(r"\d"), "merged_with_next"), pre_tokenizers.Split("e", "contiguous")])),
    ]:
        t = Tokenizer(models.WordPiece(unk_token="<unk>", max_input_chars_per_word=60, continuing_subword_prefix="@@"))
        t.normalizer = normalizer
        t.pre_tokenizer = cutter
        train(t, trainers.WordPieceTrainer(vocab_size=900, special_tokens=["<s>", "</s>", "<unk>"], continuing_subword_prefix="@@", show_progress=False))
        j = json.loads(t.to_str())
        j["model"].update(unk_token="<unk>", max_input_chars_per_word=60, continuing_subword_prefix="@@")
        t = Tokenizer.from_str(json.dumps(j))
        words(t)
        t.post_processor = frame(t, "<s> $A </s>")
        out[name] = t
    return out


# Where the decoder put a U+FFFD, and for which bytes.
replaced = []


def note(error):
    replaced.append(error.start)
    return "\ufffd", error.start + 1


codecs.register_error("note", note)


def decode(b):
    """The string, and the byte position of each of its code points and of its end."""
    replaced.clear()
    text = b.decode("utf-8", "note")
    bad, at, positions = iter(replaced + [-1]), 0, []
    start = next(bad)
    for c in text:
        positions.append(at)
        if at == start:
            at += 1
            start = next(bad)
        else:
            at += len(c.encode())
    assert at == len(b)
    return text, positions + [at]


def encoded(t, b):
    text, at = decode(b)
    e = t.encode(text)
    # A token that stands for no bytes has the offsets 0, 0, wherever it is.
    return [(i, at[lo], at[hi]) if lo != hi else (i, 0, 0) for i, (lo, hi) in zip(e.ids, e.offsets)]


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def write(path, tokenizers, texts):
    body = [varint(len(texts))]
    for unit, times in texts:
        body += [varint(times), varint(len(unit)), unit]
    for name, t in tokenizers.items():
        tokens = 0
        for unit, times in texts:
            e = encoded(t, unit * times)
            tokens += len(e)
            body.append(struct.pack("<I", zlib.crc32(b"".join(struct.pack("<III", *x) for x in e))))
        print(name, tokens, "tokens", flush=True)
    head = json.dumps({"names": list(tokenizers), "files": [json.loads(t.to_str()) for t in tokenizers.values()]}, ensure_ascii=False, separators=(",", ":"))
    with open(path, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        z.write(head.encode() + b"\n" + b"".join(body))


def read(path):
    with gzip.open(path) as z:
        head, body = z.read().split(b"\n", 1)
    head = json.loads(head)

    def number(i):
        n = shift = 0
        while True:
            n |= (body[i] & 0x7F) << shift
            shift += 7
            i += 1
            if body[i - 1] < 0x80:
                return n, i

    count, i = number(0)
    texts = []
    for _ in range(count):
        times, i = number(i)
        n, i = number(i)
        texts.append((body[i:i + n], times))
        i += n
    return dict(zip(head["names"], head["files"])), texts


def main():
    path, rest = sys.argv[1], sys.argv[2:]
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.gz")
    as_bytes = lambda s: s if isinstance(s, bytes) else s.encode("utf-8", "surrogatepass")
    if not rest:
        texts = [(as_bytes(s), 1) for s in FIXED + strings(2000)]
        texts += [(as_bytes(u), n) for u, n in [("x", 1 << 16), ("é", 1 << 12), ("中", 1 << 12), ("a ", 1 << 12), ("\u0301", 1 << 10), ("<mask>", 1 << 8), (b"\xff", 1 << 12), (" ", 1 << 13), ("the", 1 << 13), ("\n ", 1 << 10)]]
        write(path, families(corpus()), texts)
    elif rest[0] == "time":
        files, texts = read(path)
        t = Tokenizer.from_str(json.dumps(files[rest[1]]))
        with open(rest[2]) as f:
            texts = json.load(f)
        best = 1e9
        for _ in range(5):
            start = time.process_time()
            for s in texts:
                t.encode(s)
            best = min(best, time.process_time() - start)
        print(best)
    elif rest[0] == "show":
        files, texts = read(path)
        unit, times = texts[int(rest[2])]
        print(json.dumps(encoded(Tokenizer.from_str(json.dumps(files[rest[1]])), unit * times)))
    else:
        rnd.seed(int(rest[1]))
        files = read(beside)[0]
        made = {name: Tokenizer.from_str(json.dumps(f)) for name, f in files.items()}
        # The full rules of SentencePiece would be half of the recorded file.
        e5 = Tokenizer.from_str(json.dumps(files["xlmr"]))
        e5.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap("nmt_nfkc")), normalizers.Replace(Regex(" {2,}"), " ")])
        e5.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
        made["e5"] = e5
        write(path, made, [(as_bytes(s), 1) for s in strings(int(rest[0]))])


if __name__ == "__main__":
    main()
