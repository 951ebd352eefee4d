package httpapi

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// The clients of OpenAI's API, in their own languages: vectors as numbers and in
// base64 (their default), models, and the exceptions that errors become.
const pythonClient = `
import sys, openai
c = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="reader-0123456789abcdef", max_retries=0)
a = c.embeddings.create(model="hash-64", input=["red apples", "green pears"])
b = c.embeddings.create(model="HASH-64", input="red apples", encoding_format="float", extra_body={"input_type": "passage"})
assert len(a.data) == 2 and len(a.data[0].embedding) == 64 and a.usage.total_tokens > 0, a
assert max(abs(x - y) for x, y in zip(a.data[0].embedding, b.data[0].embedding)) < 1e-6
q = c.embeddings.create(model="hash-64+rlr", input="signing keys")
assert q.model == "hash-64+rlr"
assert [m.id for m in c.models.list()][0] == "hash-64"
assert c.models.retrieve("hash-64+rlr").id == "hash-64+rlr"
for call, kind in [
    (lambda: c.embeddings.create(model="nope", input="a"), openai.NotFoundError),
    (lambda: c.embeddings.create(model="hash-64", input=[1, 2]), openai.BadRequestError),
    (lambda: openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="wrong", max_retries=0).models.list(), openai.AuthenticationError),
]:
    try:
        call()
        raise SystemExit("no error")
    except kind as e:
        assert e.code and e.type and e.message, e
print("python agrees")
`

const nodeClient = `
import OpenAI from "openai";
const url = process.argv[2] + "/v1";
const c = new OpenAI({ baseURL: url, apiKey: "reader-0123456789abcdef", maxRetries: 0 });
const a = await c.embeddings.create({ model: "hash-64", input: ["red apples", "green pears"] });
const b = await c.embeddings.create({ model: "hash-64", input: "red apples", encoding_format: "float" });
if (a.data.length !== 2 || a.data[0].embedding.length !== 64) throw new Error(JSON.stringify(a));
a.data[0].embedding.forEach((x, i) => { if (Math.abs(x - b.data[0].embedding[i]) > 1e-6) throw new Error("number " + i); });
for (const [body, kind] of [[{ model: "nope", input: "a" }, OpenAI.NotFoundError], [{ model: "hash-64", input: [1, 2] }, OpenAI.BadRequestError]]) {
  let got;
  try { await c.embeddings.create(body); } catch (e) { got = e; }
  if (!(got instanceof kind) || !got.code) throw new Error(String(got));
}
console.log("node agrees");
`

// TestOpenAIClients runs the clients where they are: LEXSEM_OPENAI_PYTHON names a
// Python that has the package openai, LEXSEM_OPENAI_NODE a folder in whose
// node_modules it is.
func TestOpenAIClients(t *testing.T) {
	python, node := os.Getenv("LEXSEM_OPENAI_PYTHON"), os.Getenv("LEXSEM_OPENAI_NODE")
	if !trial.Long() || python == "" && node == "" {
		t.Skip("LEXSEM_LONG is not set, or LEXSEM_OPENAI_PYTHON and LEXSEM_OPENAI_NODE name no client")
	}
	keys, err := ParseKeys([]byte("read " + readKey))
	if err != nil {
		t.Fatal(err)
	}
	enc := encoder.NewHash(64)
	url, _ := running(t, database(t, enc, engine.Options{}), Options{Encoder: enc, Keys: keys})
	run := func(want string, cmd *exec.Cmd) {
		out, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if python != "" {
		run("python agrees", exec.CommandContext(t.Context(), python, "-c", pythonClient, url))
	}
	if node != "" {
		script := filepath.Join(node, "lexsem-client.mjs")
		if err := os.WriteFile(script, []byte(nodeClient), 0o644); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(script)
		run("node agrees", exec.CommandContext(t.Context(), "node", script, url))
	}
}
