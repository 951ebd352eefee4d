// Stores two notes in a lexsem server and searches them; nothing to install.
//
//	lexsem serve --db notes.db
//	node client.mjs http://127.0.0.1:7700 "rotate keys"
const [server, query] = process.argv.slice(2);

async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  if (process.env.LEXSEM_KEY) headers.Authorization = `Bearer ${process.env.LEXSEM_KEY}`;
  const answer = await fetch(server + path, { method: "POST", headers, body: JSON.stringify(body) });
  const json = await answer.json();
  if (!answer.ok) throw new Error(`${json.error.message} (${json.error.code})`);
  return json;
}

await post("/v1/documents", {
  documents: [
    { id: "keys", text: "Rotate the signing keys with keyctl rotate.", metadata: { year: 2024 } },
    { id: "old", text: "Signing keys were once rotated by hand.", metadata: { year: 1999 } },
  ],
});
const found = await post("/v1/search", { query, k: 3, filter: "year >= 2020" });
for (const hit of found.hits) console.log(`${hit.score.toFixed(3)} ${hit.id}: ${hit.text}`);
