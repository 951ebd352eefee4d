#!/usr/bin/env python3
"""Records what the reference makes of pairs of texts, cut at limits of tokens.

    python3 -m pip install tokenizers==0.23.3
    python3 record_pairs.py recorded.gz pairs.gz

The tokenizers are those of recorded.gz with the post-processors below; the texts are
made up here from a seed. Truncation is the reference's longest_first. pairs.gz is
gzip over a line of JSON a pair: family, name and post_processor (in the first line of
each), first, second, max (0 for none), ids, types; for what the reference refuses,
ids is null.
"""
import gzip
import json
import random
import sys

from tokenizers import Tokenizer

rnd = random.Random(20261123)
WORDS = ["the", "of", "plants", "light", "it's", "don't", "über", "naïve", "東京", "Москва", "x_1", "3.14", "...", "(", "<s>", "</s>", "Monday"]


def template(pair, ids):
    def parts(text):
        out = []
        for p in text.split():
            name, kind = p.rsplit(":", 1)
            out.append({"Sequence": {"id": name[1:], "type_id": int(kind)}} if name[0] == "$" else {"SpecialToken": {"id": name, "type_id": int(kind)}})
        return out
    return {"type": "TemplateProcessing", "single": parts("<s>:0 $A:0 </s>:0"), "pair": parts(pair),
            "special_tokens": {k: {"id": k, "ids": v, "tokens": [k] * len(v)} for k, v in ids.items()}}


def text():
    return " ".join(rnd.choice(WORDS) for _ in range(rnd.choice([0, 1, 2, 5, 12, 40])))


def main():
    head = json.loads(gzip.open(sys.argv[1]).readline())
    files = dict(zip(head["names"], head["files"]))
    own = lambda family: files[family]["post_processor"]
    plain = {"<s>": [0], "</s>": [2]}
    cases = [
        ("xlmr", "as XLM-R", template("<s>:0 $A:0 </s>:0 </s>:0 $B:0 </s>:0", plain)),
        ("xlmr", "none between", own("xlmr")),
        ("roberta", "as RoBERTa", own("roberta")),
        ("clip", "as BERT, by BertProcessing", own("clip")),
        ("wordpiece-bert", "as BERT", template("<s>:0 $A:0 </s>:0 $B:1 </s>:1", {"<s>": [0], "</s>": [1]})),
        ("wordpiece-nfd", "several ids a token, types of their own", template("<s>:3 $A:1 </s>:2 $B:4 </s>:5", {"<s>": [0, 0], "</s>": [1, 0, 1]})),
        ("modernbert", "behind ByteLevel", {"type": "Sequence", "processors": [own("modernbert")["processors"][0],
                                                                              template("<s>:0 $A:0 </s>:0 $B:1 </s>:1", plain)]}),
        ("gemma", "nothing behind", template("<s>:0 $A:0 </s>:1 $B:1", {"<s>": [2], "</s>": [1]})),
    ]
    with gzip.GzipFile(sys.argv[2], "wb", mtime=0) as out:
        for family, name, post in cases:
            file = dict(files[family], post_processor=post, truncation=None, padding=None)
            t = Tokenizer.from_str(json.dumps(file))
            first = True
            for i in range(60):
                a, b = text(), text()
                most = rnd.choice([0, 0, 5, 8, 13, 14, 21, 64])
                if i % 10 == 9:
                    most = t.num_special_tokens_to_add(True) + rnd.randint(0, 3)
                t.no_truncation()
                try:
                    if most:
                        t.enable_truncation(most, strategy="longest_first")
                    e = t.encode(a, b)
                    ids, types = e.ids, e.type_ids
                except Exception:
                    ids, types = None, None
                case = {"family": family, "name": name, "first": a, "second": b, "max": most, "ids": ids, "types": types}
                if first:
                    case["post_processor"], first = post, False
                out.write((json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n").encode())


main()
