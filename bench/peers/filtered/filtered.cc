// Command filtered searches the saved indexes of hnswlib and usearch with a filter of C++: a function of Python, the
// only filter that hnswlib's module takes, costs more than a distance, and usearch's module takes none. It speaks the
// protocol of ../main.go. The filter is that of kept in ../compare.py.
//
//	filtered LIBRARY INDEX BASE QUERIES K PERCENT
//
// usearch searches by codes of bytes; the best 2·K are compared by their float32 vectors, as ../compare.py does.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <hnswlib/hnswlib.h>
#include <usearch/index_dense.hpp>

using ids = std::vector<size_t>;

struct vectors {
  uint32_t n = 0, dim = 0;
  std::vector<float> data;
  explicit vectors(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f || fread(&n, 4, 1, f) != 1 || fread(&dim, 4, 1, f) != 1) throw std::runtime_error(std::string("no vectors in ") + path);
    data.resize(size_t(n) * dim);
    if (fread(data.data(), 4, data.size(), f) != data.size()) throw std::runtime_error(std::string("short file ") + path);
    fclose(f);
  }
  const float *row(size_t i) const { return data.data() + i * dim; }
};

struct allow : hnswlib::BaseFilterFunctor {
  std::vector<char> keep;
  allow(size_t n, uint64_t percent) {
    for (uint64_t i = 0; i < n; i++) keep.push_back((i * 0x9e3779b97f4a7c15 >> 32) % 100 < percent);
  }
  bool operator()(hnswlib::labeltype id) override { return keep[id]; }
};

int64_t now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv) try {
  if (argc != 7) throw std::runtime_error("usage: filtered hnswlib|usearch-i8 INDEX BASE QUERIES K PERCENT");
  const std::string library = argv[1];
  const vectors base(argv[3]), queries(argv[4]);
  const size_t k = strtoul(argv[5], nullptr, 10);
  allow kept(base.n, strtoul(argv[6], nullptr, 10));
  std::function<ids(size_t, const float *)> search;  // by ef and query
  hnswlib::InnerProductSpace space(base.dim);
  std::vector<hnswlib::HierarchicalNSW<float> *> graph;
  unum::usearch::index_dense_t dense;
  if (library == "hnswlib") {
    auto g = new hnswlib::HierarchicalNSW<float>(&space, argv[2]);
    search = [&, g](size_t ef, const float *q) {
      g->setEf(std::max(ef, k));
      ids found;
      for (auto &near : g->searchKnnCloserFirst(q, k, &kept)) found.push_back(near.second);
      return found;
    };
  } else if (library == "usearch-i8") {
    auto made = unum::usearch::index_dense_t::make(argv[2]);
    if (!made) throw std::runtime_error(made.error.release());
    dense = std::move(made.index);
    search = [&](size_t ef, const float *q) {
      dense.change_expansion_search(std::max(ef, 2 * k));
      auto found = dense.filtered_search(q, 2 * k, [&](auto key) { return bool(kept.keep[key]); }, 0);
      if (!found) throw std::runtime_error(found.error.release());
      std::vector<std::pair<float, size_t>> best;
      auto distance = space.get_dist_func();
      for (size_t i = 0; i < found.size(); i++) {
        size_t id = found[i].member.key;
        best.push_back({distance(q, base.row(id), space.get_dist_func_param()), id});
      }
      std::partial_sort(best.begin(), best.begin() + std::min(k, best.size()), best.end());
      ids near;
      for (size_t i = 0; i < std::min(k, best.size()); i++) near.push_back(best[i].second);
      return near;
    };
  } else {
    throw std::runtime_error("no library " + library + "; there are hnswlib and usearch-i8");
  }
  puts("{}");
  fflush(stdout);
  for (char line[64]; fgets(line, sizeof line, stdin); fflush(stdout)) {
    size_t ef, from, to;
    if (sscanf(line, "answers %zu", &ef) == 1) {
      for (size_t i = 0; i < queries.n; i++, putchar('\n'))
        for (size_t id : search(ef, queries.row(i))) printf("%zu ", id);
    } else if (sscanf(line, "%zu %zu %zu", &ef, &from, &to) == 3) {
      int64_t wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
      for (size_t i = from; i < to; i++) search(ef, queries.row(i));
      int64_t took = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
      printf("%lld %lld\n", (long long)took, (long long)(now(CLOCK_MONOTONIC) - wall));
    } else {
      throw std::runtime_error(std::string("not a request: ") + line);
    }
  }
} catch (const std::exception &e) {
  fprintf(stderr, "filtered: %s\n", e.what());
  return 1;
}
