"""Writes corpus folders with other programs: pyarrow, pandas, and the exporters of ir_datasets. make_foreign.py FOLDER"""
import gzip, json, os, sys
from typing import NamedTuple
import pyarrow as pa, pyarrow.parquet as pq, pandas as pd
from ir_datasets.commands.export import TsvExporter, JsonlExporter, TrecQrelsExporter
from ir_datasets.formats import GenericDoc, GenericQuery, TrecQrel
out = sys.argv[1]
docs = [("a", "Boats", "on the river"), ("b c", "", "a heron"), ("7", "Wood", "")]
queries = [("7q", "boats & rivers"), ("401", "herons")]
qrels = [("7q", "a", 1), ("401", "b c", 2), ("401", "a", 0)]
def put(path, write, mode="w"):
    path = os.path.join(out, path); os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, mode) as f: write(f)
def table(path, cols, compression="snappy", **kw):
    path = os.path.join(out, path); os.makedirs(os.path.dirname(path), exist_ok=True)
    pq.write_table(pa.table(cols), path, compression=compression, **kw)
def jsonl(rows, names):
    return "".join(json.dumps(dict(zip(names, r))) + "\n" for r in rows)
# MTEB as push_to_hub writes it, several shards, large_string and dictionaries
ids, titles, texts = zip(*docs)
for i in range(3):
    table(f"mteb/corpus/corpus-0000{i}-of-00003.parquet", {"_id": pa.array(ids[i:i+1], pa.large_string()), "title": pa.array(titles[i:i+1]), "text": pa.array(texts[i:i+1])}, ["snappy","zstd","gzip"][i])
table("mteb/queries/queries-00000-of-00001.parquet", {"_id": pa.array([q[0] for q in queries]).dictionary_encode(), "text": [q[1] for q in queries]}, "brotli")
table("mteb/data/test-00000-of-00001.parquet", {"query-id": [q[0] for q in qrels], "corpus-id": [q[1] for q in qrels], "score": pa.array([q[2] for q in qrels], pa.float64())}, "lz4")
table("mteb/data/dev-00000-of-00001.parquet", {"query-id": ["401"], "corpus-id": ["a"], "score": pa.array([1], pa.int8())}, "none")
# MTEB v2, split files everywhere, id
table("mteb2/corpus/test-00000-of-00001.parquet", {"id": ids, "title": titles, "text": texts}, row_group_size=1)
table("mteb2/queries/test-00000-of-00001.parquet", {"id": [q[0] for q in queries], "text": [q[1] for q in queries]})
table("mteb2/qrels/test-00000-of-00001.parquet", {"query-id": [q[0] for q in qrels], "corpus-id": [q[1] for q in qrels], "score": [q[2] for q in qrels]}, version="1.0")
# several languages
for l in ("de", "en"):
    table(f"langs/{l}-corpus/test-00000-of-00001.parquet", {"_id": ids, "title": titles, "text": texts})
    table(f"langs/{l}-queries/test-00000-of-00001.parquet", {"_id": [q[0] for q in queries], "text": [q[1] for q in queries]})
    table(f"langs/{l}-qrels/test-00000-of-00001.parquet", {"query-id": [q[0] for q in qrels], "corpus-id": [q[1] for q in qrels], "score": [q[2] for q in qrels]})
# BEIR, compressed as on its page
names = ("_id", "title", "text")
put("beirgz/corpus.jsonl.gz", lambda f: f.write(gzip.compress(jsonl(docs, names).encode(), mtime=0)), "wb")
put("beirgz/queries.jsonl.gz", lambda f: f.write(gzip.compress(jsonl([(q, "", t) for q, t in queries], names).encode(), mtime=0)), "wb")
put("beirgz/qrels/test.tsv", lambda f: f.write("query-id\tcorpus-id\tscore\n" + "".join(f"{a}\t{b}\t{c}\n" for a, b, c in qrels)))
# MS MARCO, pandas; CRLF; one title-less column
def frame(rows):
    return pd.DataFrame(rows)
put("msmarco/collection.tsv", lambda f: frame([(d, (t + " " + x).strip()) for d, t, x in docs]).to_csv(f, sep="\t", header=False, index=False))
put("msmarco/queries.tsv", lambda f: frame(queries).to_csv(f, sep="\t", header=False, index=False, lineterminator="\r\n"))
put("msmarco/qrels.tsv", lambda f: frame([(q, 0, d, g) for q, d, g in qrels]).to_csv(f, sep="\t", header=False, index=False))
# ir_datasets' exports: tsv+trec, and all jsonl
class Title(NamedTuple):
    doc_id: str
    text: str
    title: str
class Topic(NamedTuple):
    query_id: str
    title: str
    description: str
def export(path, exporter, cls, rows):
    def w(f):
        e = exporter(cls, f)
        for r in rows: e.next(cls(*r))
        e.flush()
    put(path, w)
qr = [(q, d, g, "0") for q, d, g in qrels]
export("irds/docs.tsv", TsvExporter, GenericDoc, [(d, (t + " " + x).strip()) for d, t, x in docs])
export("irds/queries.tsv", TsvExporter, GenericQuery, queries)
export("irds/qrels.txt", TrecQrelsExporter, TrecQrel, [(q, d.replace(" ", "␣"), g, "0") for q, d, g in qrels])
export("irdsj/docs.jsonl", JsonlExporter, Title, [(d, x, t) for d, t, x in docs])
export("irdsj/queries.jsonl", JsonlExporter, Topic, [(q, t, "what is " + t) for q, t in queries])
export("irdsj/qrels.jsonl", JsonlExporter, TrecQrel, qr)
# pandas to_parquet of the same
def pqt(path, df):
    path = os.path.join(out, path); os.makedirs(os.path.dirname(path), exist_ok=True); df.to_parquet(path)
pqt("pandas/corpus.parquet", pd.DataFrame([Title(d, x, t)._asdict() for d, t, x in docs]).set_index("doc_id"))
pqt("pandas/queries.parquet", pd.DataFrame([GenericQuery(*q)._asdict() for q in queries]))
pqt("pandas/qrels.parquet", pd.DataFrame([TrecQrel(*q)._asdict() for q in qr]))
# numbers as ids
table("numbers/corpus.parquet", {"_id": pa.array([1, 2], pa.int64()), "text": ["one", "two"]})
table("numbers/queries.parquet", {"_id": pa.array([5.0, 6.0]), "text": ["one", "two"]})
table("numbers/qrels/test.parquet", {"query-id": pa.array([5, 6], pa.uint32()), "corpus-id": pa.array([1, 2], pa.int32()), "score": [1, 1]})
# hostile
table("nulls/corpus.parquet", {"_id": ["a", None], "text": ["x", "y"]})
table("nulltext/corpus.parquet", {"_id": ["a", "b"], "text": ["x", None]})
put("notparquet/corpus.parquet", lambda f: f.write("PAR1 nothing of the kind PAR1"))
put("cutgz/corpus.jsonl.gz", lambda f: f.write(gzip.compress(" ".join(map(str, range(3000))).encode())[:1500]), "wb")
