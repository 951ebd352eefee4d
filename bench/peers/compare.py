"""Measures vector indexes side by side on the same files.

All libraries answer the same queries in chunks, one after the other, several
rounds. A library's turn is the same chunk three times over, so that it finds
the caches as it left them and not as the others did; of each chunk the least
processor time counts. So a library pays for its own work and not for what else
the machine does. See run.sh for how to
call it. Output: a table on standard output, everything as JSON with --json.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import time

import faiss
import hnswlib
import numpy as np
import rabitqlib
from usearch.index import Index as USearch

K = 10  # nearest that are asked for; --k
KEPT = None  # with --keep, whether a filter lets a vector through, by id


def fbin(path):
    n, d = np.fromfile(path, np.uint32, 2)
    return np.fromfile(path, np.float32, offset=8).reshape(int(n), int(d))


def kept(n, percent):
    """The vectors that --keep lets through, a random sample; kept in main.go is the same."""
    return (np.arange(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)) % np.uint64(100) < percent


class Timed:
    """Process CPU and wall seconds of a with block."""

    def __enter__(self):
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.cpu = time.process_time() - self.cpu
        self.wall = time.perf_counter() - self.wall


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


class Library:
    """One index in this process. A subclass says how to build, save, load and
    search; the figures of a build are kept beside the saved index."""

    extra = 0  # bytes a vector that RAM holds of the float components
    filters = None  # who searches with a filter: "module" of Python, or a library of filtered/filtered.cc

    def __init__(self, base, path, args):
        self.base, self.args = base, args
        if os.path.exists(path + ".json"):
            self.load(path)
            with open(path + ".json") as f:
                self.built = json.load(f)
            return
        before = resident()
        with Timed() as t:
            self.build(base)
        held = (resident() - before) / len(base) - 4 * base.shape[1] * (1 - self.extra)
        self.built = {"cpu": t.cpu, "wall": t.wall, "bytes": held}
        self.save(path)
        with open(path + ".json", "w") as f:
            json.dump(self.built, f)

    def run(self, ef, queries):
        with Timed() as t:
            self.search(ef, queries)
        return t.cpu, t.wall

    def answers(self, ef, queries):
        return [list(map(int, row)) for row in self.search(ef, queries)]


class HNSWLib(Library):
    """hnswlib with --m links; hnswlib-24 has 24 links and efConstruction 500. With a filter, filtered/filtered.cc searches."""

    filters = "hnswlib"

    def __init__(self, base, path, args, m=None):
        self.m, self.ef_construction = (m, 500) if m else (args.m, args.ef_construction)
        super().__init__(base, path, args)

    def build(self, base):
        self.ix = hnswlib.Index("ip", base.shape[1])
        self.ix.init_index(len(base), ef_construction=self.ef_construction, M=self.m, random_seed=1)
        self.ix.set_num_threads(1)
        self.ix.add_items(base, num_threads=self.args.threads)

    def save(self, path):
        self.ix.save_index(path)

    def load(self, path):
        self.ix = hnswlib.Index("ip", self.base.shape[1])
        self.ix.load_index(path)

    def search(self, ef, queries):
        self.ix.set_ef(max(ef, K))
        return self.ix.knn_query(queries, K, num_threads=1)[0]


def selector():
    return None if KEPT is None else faiss.IDSelectorBitmap(np.packbits(KEPT, bitorder="little"))


class Faiss(Library):
    filters = "module"

    def build(self, base):
        faiss.omp_set_num_threads(self.args.threads)
        self.ix = faiss.IndexHNSWFlat(base.shape[1], self.args.m, faiss.METRIC_INNER_PRODUCT)
        self.ix.hnsw.efConstruction = self.args.ef_construction
        self.ix.add(base)

    def save(self, path):
        faiss.write_index(self.ix, path)

    def load(self, path):
        self.ix = faiss.read_index(path)

    def search(self, ef, queries):
        faiss.omp_set_num_threads(1)
        return self.ix.search(queries, K, params=faiss.SearchParametersHNSW(efSearch=max(ef, K), sel=selector()))[1]


class FaissFlat(Library):
    exact, filters = True, "module"

    def build(self, base):
        self.ix = faiss.IndexFlatIP(base.shape[1])
        self.ix.add(base)

    save, load = Faiss.save, Faiss.load

    def search(self, ef, queries):
        faiss.omp_set_num_threads(1)
        only = faiss.SearchParameters(sel=selector())
        return np.concatenate([self.ix.search(q[None], K, params=only)[1] for q in queries])


class USearchInt8(Library):
    """usearch with int8 codes; the best 2·K are compared by their float32
    vectors, without which its recall ends below .97. With a filter, filtered/filtered.cc searches."""

    extra, dtype, filters = 1, "i8", "usearch-i8"

    def build(self, base):
        self.ix = self.make()
        self.ix.add(np.arange(len(base)), base, threads=self.args.threads)

    def make(self):
        return USearch(ndim=self.base.shape[1], metric="ip", dtype=self.dtype, connectivity=self.args.m,
                       expansion_add=self.args.ef_construction)

    def save(self, path):
        self.ix.save(path)

    def load(self, path):
        self.ix = self.make()
        self.ix.load(path)

    def search(self, ef, queries):
        self.ix.expansion_search = max(ef, 2 * K)
        near = np.asarray(self.ix.search(queries, 2 * K, threads=1).keys, np.int64).reshape(len(queries), -1)
        scores = np.einsum("qkd,qd->qk", self.base[near], queries)
        best = np.argpartition(-scores, K - 1, 1)[:, :K]
        return np.take_along_axis(near, best, 1)


class USearchFloat(USearchInt8):
    extra, dtype, filters = 0, "f32", None

    def search(self, ef, queries):
        self.ix.expansion_search = max(ef, K)
        return np.asarray(self.ix.search(queries, K, threads=1).keys, np.int64).reshape(len(queries), -1)


class SymphonyQG(Library):
    """The graph of SymphonyQG with 32 links a node, each with a code of one bit a
    component, over float32 vectors."""

    def build(self, base):
        self.ix = rabitqlib.SymqgIndex(base.shape[1], 32, metric="ip")
        self.ix.build(base, self.args.ef_construction, num_threads=self.args.threads)

    def save(self, path):
        self.ix.save(path)

    def load(self, path):
        self.ix = rabitqlib.SymqgIndex.load(path)

    def search(self, ef, queries):
        return self.ix.search(queries, K, max(ef, K), num_threads=1)[0]


class Glass(Library):
    """The graph of Glass with codes of a byte a component, and the best by float16. Vectors have
    length 1, so L2, for which it has the better kernel, ranks as the inner product does."""

    codes = "SQ8U"

    def build(self, base):
        import glass

        glass.set_num_threads(self.args.threads)
        self.path = os.path.join(self.args.work, f"{self.args.name}-glass.graph")
        if not os.path.exists(self.path):
            glass.Index(index_type="HNSW", metric="IP", quant="FP32", R=2 * self.args.m, L=self.args.ef_construction).build(base).save(self.path)
        self.make()

    def make(self):
        import glass

        glass.set_num_threads(1)
        self.ix = glass.Searcher(graph=glass.Graph(self.path), data=self.base, metric="L2", quantizer=self.codes, refine_quant="FP16")
        self.ix.set_ef(48)
        self.ix.optimize(1)

    def save(self, path):
        pass

    def load(self, path):
        self.path = os.path.join(self.args.work, f"{self.args.name}-glass.graph")
        self.make()

    def search(self, ef, queries):
        self.ix.set_ef(max(ef, K))
        return self.ix.batch_search(queries, K, num_threads=1)[0]


class Glass4(Glass):
    codes = "SQ4U"


class SVS(Library):
    """The graph of SVS over float32: its codes (LVQ) run on Intel's processors alone."""

    def build(self, base):
        import svs

        shape = svs.VamanaBuildParameters(graph_max_degree=2 * self.args.m, window_size=self.args.ef_construction, alpha=0.95)
        self.ix = svs.Vamana.build(shape, base, svs.DistanceType.MIP, num_threads=self.args.threads)

    def save(self, path):
        self.ix.save(path + ".config", path + ".graph", path + ".data")

    def load(self, path):
        import svs

        self.ix = svs.Vamana(path + ".config", svs.GraphLoader(path + ".graph"), svs.VectorDataLoader(path + ".data", svs.DataType.float32), svs.DistanceType.MIP)

    def search(self, ef, queries):
        self.ix.num_threads, self.ix.search_window_size = 1, max(ef, K)
        return self.ix.search(queries, K)[0]


class VSAG(Library):
    """The graph of VSAG with codes of a byte a component, and the best by float32. Each search parses its parameters."""

    def build(self, base):
        self.make()
        self.ix.build(vectors=base.ravel(), ids=np.arange(len(base)), num_elements=len(base), dim=base.shape[1])

    def make(self):
        import pyvsag

        self.ix = pyvsag.Index("hgraph", json.dumps({"dtype": "float32", "metric_type": "ip", "dim": self.base.shape[1], "index_param": {
            "base_quantization_type": "sq8_uniform", "use_reorder": True, "precise_quantization_type": "fp32", "max_degree": 2 * self.args.m,
            "ef_construction": self.args.ef_construction, "build_thread_count": self.args.threads}}))

    def save(self, path):
        self.ix.save(path)

    def load(self, path):
        self.make()
        self.ix.load(path)

    def search(self, ef, queries):
        how = json.dumps({"hgraph": {"ef_search": max(ef, K)}})
        return [self.ix.knn_search(vector=q, k=K, parameters=how)[0] for q in queries]


class Program:
    """An index in a process of its own that speaks the protocol of main.go."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.built = json.loads(self.ask(None))

    def ask(self, line):
        if line:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        return self.process.stdout.readline()

    def answers(self, ef, queries):
        first = self.ask(f"answers {ef}")
        return [list(map(int, line.split())) for line in [first] + [self.process.stdout.readline() for _ in queries[1:]]]

    def chunk(self, ef, start, end):
        cpu, wall = self.ask(f"{ef} {start} {end}").split()
        return int(cpu) / 1e9, int(wall) / 1e9


def ours(name, args):
    """A kind of this module; hnsw-int8@20@400 is one with M 20 and efConstruction 400."""
    kind, *shape = name.split("@")
    snapshot = os.path.join(args.work, f"{args.name}-{name}.snap")
    note = snapshot + ".json"
    p = Program([args.peers, "serve", "-base", args.base, "-queries", args.queries, "-index", kind,
                 "-threads", str(args.threads), "-snapshot", snapshot, "-k", str(K), "-keep", str(args.keep),
                 *(x for flag in zip(("-m", "-ef-construction"), shape) for x in flag)])
    p.exact = kind.startswith("flat")
    if p.built["cpu"]:
        with open(note, "w") as f:
            json.dump(p.built, f)
    elif os.path.exists(note):
        with open(note) as f:
            p.built = json.load(f) | {"load": p.built["load"]}
    return p


LIBRARIES = {
    "hnswlib": HNSWLib,
    "faiss": Faiss,
    "faiss-flat": FaissFlat,
    "usearch-f32": USearchFloat,
    "usearch-i8": USearchInt8,
    "symphonyqg": SymphonyQG,
    "svs": SVS,
    "vsag": VSAG,
    "glass": Glass,
    "glass-4": Glass4,
}


def open_library(name, base, args):
    if name == "chromem":
        p = Program([args.chromem, args.base, args.queries])
        p.exact = True
        return p
    path = os.path.join(args.work, f"{args.name}-{name}.index")
    if name.startswith("hnswlib-"):
        lib = HNSWLib(base, path, args, int(name.removeprefix("hnswlib-")))
    elif name in LIBRARIES:
        lib = LIBRARIES[name](base, path, args)
    else:
        return ours(name, args)
    if KEPT is None or lib.filters == "module":
        return lib
    p = Program([args.filtered, lib.filters, path, args.base, args.queries, str(K), str(args.keep)])
    p.built = lib.built
    return p


def truth(base, queries, path):
    """The inner product of the K-th nearest of each query."""
    if os.path.exists(path):
        return np.load(path)
    ix = faiss.IndexFlatIP(base.shape[1])
    ix.add(base if KEPT is None else base[KEPT])
    worst = ix.search(queries, K)[0][:, -1]
    np.save(path, worst)
    return worst


def recall(answers, base, queries, worst):
    found = 0
    for answer, q, w in zip(answers, queries, worst):
        answer = [i for i in set(answer) if i >= 0 and (KEPT is None or KEPT[i])]
        found += int(np.sum(base[sorted(answer)] @ q >= w - 1e-6))
    return found / (K * len(queries))


def at(points, wanted):
    """Queries per CPU-second at a recall, between two points in log scale."""
    points = sorted(points, key=lambda p: p["recall"])
    for a, b in zip(points, points[1:]):
        if a["recall"] <= wanted <= b["recall"] and a["recall"] < b["recall"]:
            t = (wanted - a["recall"]) / (b["recall"] - a["recall"])
            return math.exp(math.log(a["qps_cpu"]) * (1 - t) + math.log(b["qps_cpu"]) * t)
    if points and points[0]["recall"] >= wanted:
        return points[0]["qps_cpu"]  # the least effort already finds more
    return None


def main():
    global K, KEPT
    p = argparse.ArgumentParser()
    p.add_argument("--base", required=True)
    p.add_argument("--queries", required=True)
    p.add_argument("--name", required=True, help="of the data, for the files in --work")
    p.add_argument("--work", required=True, help="folder for built indexes")
    p.add_argument("--peers", required=True, help="the program of main.go")
    p.add_argument("--filtered", help="the program of filtered/; --keep needs it")
    p.add_argument("--chromem", help="the program of chromem/")
    p.add_argument("--libraries", default="hnswlib,faiss,usearch-i8,hnsw,hnsw-int8")
    p.add_argument("--ef", default="10,12,16,20,24,32,40,48,64,96,128")
    p.add_argument("--k", type=int, default=K, help="nearest that are asked for")
    p.add_argument("--keep", type=int, default=100, help="percent of the vectors that a filter lets through")
    p.add_argument("--m", type=int, default=16)
    p.add_argument("--ef-construction", type=int, default=200)
    p.add_argument("--threads", type=int, default=1, help="of a build")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--chunk", type=int, default=100)
    p.add_argument("--against", default="hnswlib", help="the library that ratios refer to")
    p.add_argument("--build-only", action="store_true")
    p.add_argument("--json")
    p.add_argument("--ann", help="write reports that `lexsem bench report` reads")
    args = p.parse_args()
    K = args.k
    if args.ann and K != 10:
        p.error("--ann writes recall@10: it wants --k 10")
    os.makedirs(args.work, exist_ok=True)

    base, queries = fbin(args.base), fbin(args.queries)
    names = args.libraries.split(",")
    if args.keep < 100:
        KEPT = kept(len(base), args.keep)
        deaf = [n for n in names if n in LIBRARIES and not LIBRARIES[n].filters or n == "chromem"]
        if deaf:
            p.error(f"--keep {args.keep}: {', '.join(deaf)} cannot filter here; leave them out of --libraries")
    libraries = {name: open_library(name, base, args) for name in names}
    report = {"n": len(base), "dim": base.shape[1], "queries": len(queries), "libraries": {}}
    for name, lib in libraries.items():
        report["libraries"][name] = {"build": lib.built, "points": []}
        print(f"{name:12} build {lib.built.get('cpu', 0):7.1f} CPU-s {lib.built.get('wall', 0):7.1f} s, "
              f"{lib.built.get('bytes', 0):5.0f} bytes a vector beside its float32 components", flush=True)
    if not args.build_only:
        measure(args, base, queries, libraries, report)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(report, f)
    if args.ann:
        with open(args.ann, "w") as f:
            for name, lib in report["libraries"].items():
                points = [{"ef": x["ef"], "recall@10": x["recall"], "qps": x["qps_wall"], "cpu_us": 1e6 / x["qps_cpu"]} for x in lib["points"]]
                json.dump({"n": report["n"], "dim": report["dim"], "index": name, "queries": report["queries"], "threads": 1,
                           "build_cpu_seconds": lib["build"].get("cpu", 0), "points": points}, f)
                f.write("\n")


def measure(args, base, queries, libraries, report):
    worst = truth(base, queries, os.path.join(args.work, f"{args.name}-truth-{K}{'' if KEPT is None else f'-{args.keep}'}.npy"))
    chunks = [(i, min(i + args.chunk, len(queries))) for i in range(0, len(queries), args.chunk)]
    for ef in map(int, args.ef.split(",")):
        live = {n: l for n, l in libraries.items() if not getattr(l, "exact", False) or ef == int(args.ef.split(",")[0])}
        found = {n: recall(l.answers(ef, queries), base, queries, worst) for n, l in live.items()}
        best = {n: [[math.inf, math.inf] for _ in chunks] for n in live}
        for _ in range(args.rounds):
            for c, (start, end) in enumerate(chunks):
                for n, lib in live.items():
                    for _ in range(3):
                        if isinstance(lib, Program):
                            took = lib.chunk(ef, start, end)
                        else:
                            took = lib.run(ef, queries[start:end])
                        best[n][c] = [min(a, b) for a, b in zip(best[n][c], took)]
        for n in live:
            cpu, wall = (sum(b[i] for b in best[n]) for i in (0, 1))
            point = {"ef": ef, "recall": found[n], "qps_cpu": len(queries) / cpu, "qps_wall": len(queries) / wall}
            report["libraries"][n]["points"].append(point)
            print(f"ef {ef:4} {n:12} recall {found[n]:.4f}  {point['qps_cpu']:8.0f} queries/CPU-s  {point['qps_wall']:8.0f}/s", flush=True)
    levels = [0.95, 0.97, 0.98, 0.99, 0.995]
    print("\nqueries/CPU-s at recall      " + "".join(f"{x:>10}" for x in levels))
    report["at"] = {n: {str(x): at(r["points"], x) for x in levels} for n, r in report["libraries"].items()}
    for n, row in report["at"].items():
        cells = []
        for x in levels:
            v, ref = row[str(x)], report["at"].get(args.against, {}).get(str(x))
            cells.append("never" if v is None else f"{v:.0f}" + (f" ({v / ref:.2f})" if ref else ""))
        print(f"{n:26}" + "".join(f"{c:>16}" for c in cells))


if __name__ == "__main__":
    main()
