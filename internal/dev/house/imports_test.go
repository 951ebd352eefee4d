// Package house_test checks the repository's own rules: which package may import which, and that documents
// name only what exists. Start with the table of imports in imports_test.go.
package house_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/lexsem/lexsem"

// allowed lists, for each package, the packages of this module it may import
// directly. Imports point down only; docs/design.md draws the picture.
var allowed = map[string][]string{
	module:                                   {"encoder", "encoder/models", "engine"},
	"encoder/models":                         {"encoder", "internal/atomicfile", "internal/private", "encoder/native", "encoder/ollama", "encoder/onnx", "encoder/openai", "internal/picture", "internal/provision", "internal/modelname", "internal/modelspec", "internal/distil"},
	"internal/place":                         {},
	"internal/pooling":                       {},
	"internal/modelspec":                     {"encoder", "internal/atomicfile", "internal/pooling", "internal/regular", "internal/safetensors", "internal/vec"},
	"internal/problems":                      {"internal/atomicfile", "internal/private", "internal/regular"},
	"engine/internal/recent":                 {},
	"engine/internal/tokens":                 {"internal/chunk", "internal/snapshot"},
	"engine/internal/spelling":               {"encoder", "internal/inverted", "internal/text"},
	"engine/internal/syntax":                 {},
	"engine/internal/search":                 {"engine/internal/recent", "engine/filter", "engine/fusion", "internal/chunk", "engine/internal/columns", "internal/fault", "internal/metadata", "internal/metric", "engine/internal/state", "encoder", "modulate", "internal/local", "index", "internal/inverted", "internal/late", "store", "internal/text", "internal/vec", "engine/explain", "engine/internal/syntax", "internal/code", "internal/cow", "internal/place", "engine/internal/spelling", "internal/value", "internal/relevance", "internal/limit"},
	"engine/internal/state":                  {"engine/internal/recent", "internal/chunk", "engine/internal/columns", "internal/fault", "internal/metric", "engine/internal/tokens", "internal/yield", "modulate", "internal/local", "internal/ridge", "index", "internal/inverted", "store", "internal/cow", "internal/rcu", "internal/snapshot", "internal/text", "internal/private", "internal/smaps", "engine/filter"},
	"cmd/lexsem":                             {"cmd/lexsem/internal/command"},
	"cmd/lexsem/internal/command":            {"internal/location", "internal/answer", "internal/digits", "serve/collections", "serve/httpapi", "serve/httpapi/page", "serve/mcp", "bench", "internal/bench/limit", "bench/report", "internal/bench/sage", "internal/bench/sure", "engine", "serve/share", "ingest/files", "ingest/files/parquet", "ingest/files/pdf", "ingest/folder", "engine/remote/elastic", "engine/remote/pgvector", "engine/remote/weaviate", "internal/regular", "engine/filter", "engine/fusion", "modulate", "index", "encoder", "encoder/onnx", "internal/picture", "encoder/process", "internal/visual", "internal/provision", "internal/text", "internal/atomicfile", "store", "encoder/native", "encoder/models", "engine/rerank", "internal/secret", "internal/private", "engine/explain", "engine/remote", "internal/bench/ann", "internal/bench/load", "internal/bench/image", "engine/archive", "engine/repair", "internal/rest", "internal/bench/tune", "internal/problems", "internal/cachefile", "internal/modelname", "internal/modelspec", "internal/bench/compare", "internal/bench/repeat", "internal/bench/constants", "internal/bench/process", "internal/unpacked"},
	"internal/answer":                        {"engine", "engine/filter", "internal/location", "internal/problems", "internal/relevance", "engine/explain", "engine/fusion"},
	"serve/httpapi":                          {"internal/answer", "engine", "engine/filter", "internal/metric", "encoder", "internal/picture", "internal/private", "internal/regular", "internal/yield"},
	"serve/httpapi/page":                     {},
	"serve/mcp":                              {"engine", "engine/filter", "engine/fusion", "encoder", "internal/picture", "internal/answer", "internal/metadata", "internal/yield"},
	"internal/dev/figures":                   {"internal/dev/runs"},
	"internal/dev/walls":                     {},
	"internal/dev/runs":                      {"internal/digits", "internal/stat"},
	"internal/digits":                        {},
	"internal/dev/release":                   {},
	"bench/report":                           {"bench", "internal/bench/ann", "internal/bench/load", "internal/bench/plot", "internal/stat", "internal/bench/kinds", "internal/bench/compare", "internal/bench/repeat", "internal/bench/table"},
	"internal/bench/sage":                    {"bench", "encoder", "modulate", "internal/ridge", "internal/vec", "internal/stat", "internal/bench/memo", "internal/bench/parallel"},
	"internal/bench/limit":                   {"bench", "internal/bench/random", "internal/atomicfile", "internal/private"},
	"internal/bench/sure":                    {"bench", "encoder", "internal/stat", "internal/bench/memo"},
	"bench":                                  {"engine", "internal/chunk", "engine/fusion", "internal/train", "modulate", "index", "internal/inverted", "encoder", "internal/text", "internal/local", "internal/ridge", "internal/atomicfile", "internal/private", "engine/remote", "internal/bench/process", "internal/bench/vectors", "internal/stat", "internal/bench/memo", "internal/bench/parallel", "internal/bench/random", "ingest/files", "internal/bench/table", "internal/bench/constants", "internal/unpacked"},
	"internal/matfile":                       {},
	"internal/unpacked":                      {},
	"internal/fanout":                        {},
	"tools/cluster":                          {"internal/testkit/servers"},
	"tools/fanout":                           {"internal/fanout"},
	"tools/pairs":                            {"encoder", "engine"}, // no more: it compiles in every commit
	"bench/peers":                            {"index", "internal/snapshot", "internal/bench/vectors"},
	"engine":                                 {"engine/filter", "engine/fusion", "internal/chunk", "internal/fault", "internal/metadata", "internal/metric", "internal/progress", "engine/internal/search", "engine/internal/span", "engine/internal/state", "engine/internal/terms", "engine/internal/tokens", "internal/yield", "internal/train", "modulate", "index", "internal/late", "store", "encoder", "internal/code", "internal/vec", "internal/text", "internal/snapshot", "internal/picture", "internal/visual", "internal/private", "engine/explain", "engine/internal/calls", "engine/internal/fitting", "engine/internal/intake", "engine/archive", "engine/internal/spelling", "internal/problems", "internal/limit", "engine/internal/exportline"},
	"engine/explain":                         {},
	"engine/internal/calls":                  {"store"},
	"engine/internal/fitting":                {"internal/picture", "internal/visual", "internal/chunk", "engine/internal/state", "index", "internal/fault", "internal/text", "modulate", "internal/train", "store"},
	"engine/internal/intake":                 {"encoder", "engine/internal/search", "internal/fault", "internal/inverted", "internal/vec", "internal/metadata", "internal/metric", "internal/yield", "modulate", "store", "internal/limit"},
	"engine/remote":                          {"encoder", "engine", "engine/filter", "engine/fusion", "engine/internal/calls", "internal/chunk", "engine/internal/columns", "engine/internal/fitting", "engine/internal/intake", "engine/internal/search", "engine/internal/span", "engine/internal/state", "internal/inverted", "internal/fault", "internal/metadata", "internal/metric", "internal/snapshot", "internal/text", "internal/vec", "modulate", "internal/ridge", "internal/train", "store", "engine/archive", "internal/value"},
	"engine/remote/backendtest":              {"engine", "engine/filter", "engine/fusion", "encoder", "engine/explain", "engine/remote"},
	"engine/remote/elastic":                  {"engine", "engine/filter", "engine/remote/internal/nodes", "internal/secret", "engine/remote", "internal/rest"},
	"engine/remote/pgvector":                 {"engine", "engine/filter", "engine/remote/internal/nodes", "internal/secret", "engine/remote", "internal/rest"},
	"engine/remote/weaviate":                 {"engine", "engine/filter", "engine/remote/internal/nodes", "internal/vec", "internal/secret", "engine/remote", "internal/rest"},
	"engine/remote/internal/nodes":           {"internal/secret", "internal/rest"},
	"serve/collections":                      {"engine", "engine/filter", "engine/archive", "internal/fault", "encoder", "serve/share", "store"},
	"ingest/files":                           {"engine", "internal/code", "internal/metadata", "internal/place", "ingest/files/internal/readable", "internal/value", "internal/unpacked"},
	"ingest/files/internal/readable":         {},
	"ingest/internal/filestest":              {"engine", "ingest/files", "internal/metadata"},
	"ingest/files/parquet":                   {"ingest/files"},
	"ingest/files/pdf":                       {"ingest/files", "internal/place", "ingest/files/internal/readable"},
	"internal/location":                      {"engine", "engine/filter", "internal/metadata"},
	"ingest/folder":                          {"internal/code", "internal/location", "encoder", "engine", "ingest/files", "engine/filter", "internal/atomicfile", "internal/regular", "internal/private", "internal/problems", "internal/metadata"},
	"serve/share":                            {"engine", "engine/filter", "internal/metadata", "internal/progress", "encoder", "modulate", "store", "internal/private", "engine/archive", "internal/fault"},
	"engine/adapters/internal/adapt":         {"engine", "engine/filter", "encoder"},
	"engine/adapters/internal/adapttest":     {"engine", "encoder"},
	"engine/filter":                          {"internal/fault", "internal/metadata", "internal/value"},
	"engine/fusion":                          {"internal/fault", "internal/inverted", "internal/late"},
	"internal/local":                         {"modulate", "internal/ridge", "internal/vec", "internal/cow", "internal/radix", "internal/snapshot"},
	"internal/fuse":                          {},
	"internal/ridge":                         {"internal/vec", "internal/cow", "internal/snapshot", "internal/radix"},
	"internal/testkit/testcorpus":            {"internal/vec"},
	"internal/snapshot/snapshottest":         {"internal/snapshot"},
	"internal/testkit/servers":               {},
	"internal/testkit/servertest":            {"engine", "encoder", "internal/testkit/trial"},
	"internal/train":                         {"modulate", "internal/ridge", "encoder", "internal/picture", "internal/visual", "internal/vec", "internal/text", "internal/atomicfile", "internal/fuse"},
	"modulate":                               {"internal/ridge", "encoder", "internal/vec", "internal/safetensors", "internal/atomicfile", "internal/fuse"},
	"index":                                  {"internal/vec", "internal/snapshot", "internal/cow", "internal/rcu"},
	"internal/testkit/indextest":             {"index", "internal/bench/vectors", "internal/testkit/trial"},
	"internal/limit":                         {},
	"internal/late":                          {"internal/vec", "encoder", "internal/text"},
	"internal/inverted":                      {"internal/text", "internal/snapshot", "internal/cow", "internal/radix", "internal/vec"},
	"encoder/onnx":                           {"encoder", "encoder/internal/frame", "internal/picture", "internal/onnxfile", "internal/regular", "encoder/tokenizer", "internal/modelspec", "internal/pooling"},
	"internal/provision":                     {"encoder", "internal/safetensors", "internal/atomicfile", "internal/filelock", "internal/transformer", "internal/regular", "internal/provision/internal/clientconf", "internal/provision/internal/web", "internal/secret", "internal/modelspec", "internal/pooling", "internal/text"},
	"encoder/encodertest":                    {"encoder", "internal/picture", "internal/testkit/encoders", "internal/pooling"},
	"internal/testkit/encoders":              {"encoder", "internal/picture", "internal/testkit/testmodel", "internal/safetensors/safetensorstest", "internal/pooling"},
	"internal/testkit/testmodel":             {},
	"encoder":                                {"internal/atomicfile", "internal/filelock", "internal/regular", "internal/safetensors", "internal/vec", "internal/private", "internal/pooling", "internal/cachefile"},
	"store":                                  {"internal/smaps", "internal/atomicfile", "internal/filelock", "internal/snapshot", "internal/regular", "internal/private", "internal/limit", "internal/fault"},
	"internal/snapshot":                      {"internal/atomicfile", "internal/regular", "internal/yield"},
	"internal/cachefile":                     {"internal/filelock", "internal/private"},
	"internal/modelname":                     {"internal/modelspec", "internal/provision"},
	"internal/bench/table":                   {},
	"internal/bench/compare":                 {"bench", "internal/bench/kinds", "internal/bench/table", "internal/stat"},
	"internal/bench/repeat":                  {"bench", "internal/bench/table", "encoder", "internal/stat"},
	"internal/distil":                        {"encoder", "encoder/native", "internal/modelspec", "internal/pooling", "internal/regular", "internal/vec"},
	"engine/internal/exportline":             {"encoder", "engine/internal/intake", "internal/fault", "internal/limit", "internal/metadata", "internal/metric", "internal/vec", "store"},
	"internal/bench/constants":               {"engine/fusion"},
	"internal/cow":                           {},
	"internal/rcu":                           {},
	"internal/radix":                         {},
	"internal/vec":                           {},
	"internal/text":                          {},
	"internal/code":                          {},
	"internal/relevance":                     {},
	"internal/regular":                       {},
	"internal/safetensors":                   {"internal/regular", "internal/snapshot"},
	"internal/testkit/recorded":              {},
	"internal/testkit/trial":                 {"internal/bench/process"},
	"tools/finetune":                         {},
	"internal/testkit/inject":                {},
	"internal/testkit/powercut":              {},
	"internal/atomicfile":                    {},
	"internal/filelock":                      {},
	"encoder/internal/remote":                {"encoder"},
	"encoder/internal/frame":                 {"internal/atomicfile", "internal/private", "internal/regular", "internal/vec", "encoder", "encoder/tokenizer", "internal/modelspec"},
	"encoder/openai":                         {"encoder", "encoder/internal/remote", "internal/rest"},
	"encoder/ollama":                         {"encoder", "encoder/internal/remote", "internal/rest"},
	"encoder/process":                        {"encoder"},
	"engine/rerank":                          {"internal/rest"},
	"internal/testkit/reranktest":            {"engine"},
	"internal/secret":                        {},
	"internal/private":                       {},
	"encoder/native":                         {"encoder", "encoder/internal/frame", "internal/vec", "internal/transformer", "internal/onnxfile", "internal/regular", "internal/safetensors", "encoder/tokenizer", "internal/modelspec", "internal/pooling", "internal/snapshot"},
	"internal/onnxfile":                      {"internal/regular"},
	"internal/transformer":                   {"internal/regular"},
	"internal/chunk":                         {"encoder", "internal/fault", "internal/metadata", "internal/yield"},
	"engine/internal/span":                   {"internal/chunk", "internal/text"},
	"engine/internal/terms":                  {"encoder", "internal/text"},
	"engine/internal/columns":                {"engine/filter", "internal/metadata", "internal/cow", "internal/snapshot", "internal/fault", "internal/value"},
	"internal/fault":                         {},
	"internal/smaps":                         {},
	"internal/yield":                         {},
	"internal/metric":                        {"internal/fault", "index", "internal/vec"},
	"internal/value":                         {"internal/metadata"},
	"internal/metadata":                      {"internal/fault"},
	"internal/progress":                      {},
	"internal/safetensors/safetensorstest":   {},
	"internal/provision/internal/clientconf": {"internal/regular"},
	"internal/provision/internal/web":        {"internal/regular", "internal/secret", "internal/rest"},
	"internal/picture":                       {"internal/regular"},
	"internal/visual":                        {"encoder", "internal/picture", "internal/vec"},
	"encoder/tokenizer":                      {"encoder", "internal/regular", "internal/modelspec"},
	"internal/bench/ann":                     {"bench", "internal/bench/process", "internal/bench/vectors", "index", "internal/atomicfile", "internal/filelock", "internal/snapshot", "internal/vec"},
	"internal/bench/load":                    {"bench", "internal/bench/process", "internal/bench/vectors", "encoder", "engine", "engine/filter", "internal/pooling"},
	"internal/bench/process":                 {},
	"internal/bench/vectors":                 {},
	"internal/bench/plot":                    {"internal/digits"},
	"internal/stat":                          {},
	"internal/bench/kinds":                   {},
	"internal/bench/memo":                    {"encoder"},
	"internal/bench/parallel":                {},
	"internal/bench/image":                   {"bench", "internal/bench/memo", "internal/bench/random", "internal/bench/vectors", "encoder", "internal/picture", "internal/visual", "internal/matfile", "internal/regular"},
	"internal/bench/random":                  {},
	"engine/archive":                         {"encoder", "engine/filter", "engine/internal/intake", "internal/late", "internal/fault", "internal/metadata", "internal/metric", "internal/text", "internal/vec", "store", "internal/limit", "engine/internal/exportline"},
	"engine/repair":                          {"encoder", "engine", "engine/internal/intake", "engine/internal/state", "engine/internal/terms", "internal/metric", "internal/private", "internal/text", "store", "internal/fault"},
	"internal/rest":                          {"internal/secret"},
	"internal/bench/corpustest":              {"internal/bench/random"},
	"internal/bench/tune":                    {"bench", "internal/bench/kinds", "internal/bench/memo", "encoder", "internal/stat", "internal/bench/constants"},
}

// largeLibrary finds the libraries that a program takes only with the kind of files that needs them.
var largeLibrary = regexp.MustCompile(`wazero|pdfium|parquet-go`)

type listed struct {
	ImportPath string
	Imports    []string
	CgoFiles   []string
}

// list runs go list over the whole module.
func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,CgoFiles", "./...")
	cmd.Dir = "../../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

func TestImportsPointDown(t *testing.T) {
	there := map[string]bool{}
	all := list(t)
	for _, p := range all {
		there[strings.TrimPrefix(p.ImportPath, module+"/")] = true
	}
	for name, may := range allowed {
		for _, n := range append(slices.Clone(may), name) {
			if !there[n] {
				t.Errorf("the list of this test has the package %s, which is not there; take it out", n)
			}
		}
	}
	for _, p := range all {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if name == "internal/dev/house" || strings.HasPrefix(name, "examples/") {
			continue
		}
		may, known := allowed[name]
		if !known {
			t.Errorf("package %s is not in the list of this test: say what it may import", name)
			continue
		}
		for _, imp := range p.Imports {
			rel, inside := strings.CutPrefix(imp, module+"/")
			if inside && !slices.Contains(may, rel) {
				t.Errorf("%s imports %s; it may import only %v", name, rel, may)
			}
			if largeLibrary.MatchString(imp) && name != "ingest/files/pdf" && name != "ingest/files/parquet" {
				t.Errorf("%s imports %s; only a kind of files with a package of its own may", name, imp)
			}
		}
		if len(p.CgoFiles) > 0 && name != "encoder/onnx" {
			t.Errorf("%s uses cgo (%v); only encoder/onnx may", name, p.CgoFiles)
		}
	}
}
