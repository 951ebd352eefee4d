#!/usr/bin/env bash
# Measures the indexes of this module beside those of others:
#
#   bench/peers/run.sh N [flags of compare.py]            N made vectors of 384 dimensions
#   BASE=b.fbin QUERIES=q.fbin bench/peers/run.sh NAME [flags]      vectors of your own
#   MODELS=A,B PASSAGES=20000 bench/peers/run.sh NAME [flags]      the first passages of scale-mix, by several models
#
# Python packages, vectors and built indexes lie in $LEXSEM_PEERS, by default
# lexsem-peers below the user's cache folder: 1 GB for N = 100000, of which the
# packages are 0.4. A build at N = 100000 takes about a CPU-minute each.
set -euo pipefail
cd "$(dirname "$0")/../.."
name=$1; shift
work=${LEXSEM_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/lexsem-peers}
mkdir -p "$work"
if [ ! -e "$work/venv/ok" ]; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install -q hnswlib==0.8.0 faiss-cpu==1.15.1 usearch==2.26.6 rabitqlib==0.7.1 scalable-vs==0.5.0 pyvsag==0.18.5 pyglass-portable==2.1.0 numpy==2.4.6
  touch "$work/venv/ok"
fi
if [[ " $* " = *" --keep "* && ( ! -e $work/filtered || bench/peers/filtered/filtered.cc -nt $work/filtered ) ]]; then # filters in C++
  [ -d "$work/hnswlib" ] || git clone -q --depth 1 -b v0.8.0 https://github.com/nmslib/hnswlib "$work/hnswlib"
  [ -d "$work/usearch" ] || git clone -q --depth 1 -b v2.21.0 --recurse-submodules https://github.com/unum-cloud/usearch "$work/usearch"
  g++ -O3 -march=native -std=c++17 -Wno-cpp -DUSEARCH_USE_SIMSIMD=1 -DUSEARCH_USE_FP16LIB=0 -DUSEARCH_USE_OPENMP=0 -I "$work/hnswlib" \
    -I "$work/usearch/include" -I "$work/usearch/simsimd/include" -o "$work/filtered" bench/peers/filtered/filtered.cc
fi
go build -o "$work/peers" ./bench/peers
(cd bench/peers/chromem && go build -o "$work/chromem" .)
if [ -n "${MODELS:-}" ]; then
  BASE=$work/$name.fbin QUERIES=$work/$name-queries.fbin
  if [ ! -e "$QUERIES" ]; then
    go build -o "$work/lexsem" ./cmd/lexsem
    "$work/venv/bin/python" bench/peers/texts.py --corpus "${LEXSEM_DATA:-../shared/data}/scale-mix/corpus.jsonl" --passages "${PASSAGES:-20000}" \
      --models "$MODELS" --lexsem "$work/lexsem" --work "$work" --base "$BASE" --queries "$QUERIES"
  fi
elif [ -z "${BASE:-}" ]; then
  BASE=$work/text-$name.fbin QUERIES=$work/text-$name-queries.fbin
  [ -e "$QUERIES" ] || "$work/peers" vectors -n "$name" -base "$BASE" -queries "$QUERIES"
  name=text-$name
fi
exec "$work/venv/bin/python" bench/peers/compare.py --base "$BASE" --queries "$QUERIES" --name "$name" \
  --work "$work/built" --peers "$work/peers" --filtered "$work/filtered" --chromem "$work/chromem" "$@"
