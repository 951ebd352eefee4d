"""Stores two notes in a lexsem server and searches them; Python's library alone.

    lexsem serve --db notes.db
    python3 client.py http://127.0.0.1:7700 "rotate keys"
"""
import json
import os
import sys
import urllib.error
import urllib.request


def post(url, body):
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("LEXSEM_KEY"):
        headers["Authorization"] = "Bearer " + key
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        error = json.load(refused)["error"]
        sys.exit(f"{error['message']} ({error['code']})")


def main(server, query):
    post(server + "/v1/documents", {"documents": [
        {"id": "keys", "text": "Rotate the signing keys with keyctl rotate.", "metadata": {"year": 2024}},
        {"id": "old", "text": "Signing keys were once rotated by hand.", "metadata": {"year": 1999}},
    ]})
    found = post(server + "/v1/search", {"query": query, "k": 3, "filter": "year >= 2020"})
    for hit in found["hits"]:
        print(f"{hit['score']:.3f} {hit['id']}: {hit['text']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
