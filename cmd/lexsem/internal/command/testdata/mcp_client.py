"""Asks `lexsem mcp` by the official client, for texts and for values.

    python mcp_client.py LEXSEM DB
"""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(program: str, db: str) -> None:
    server = StdioServerParameters(command=program, args=["mcp", "--db", db, "--model", "hash", "--create"])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = {t.name for t in (await session.list_tools()).tools}
        assert tools == {"search", "get", "list", "explain", "index"}, tools

        async def call(name: str, **arguments):
            answer = await session.call_tool(name, arguments)
            text = answer.content[0].text
            failed = getattr(answer, "is_error", getattr(answer, "isError", None))
            value = getattr(answer, "structured_content", getattr(answer, "structuredContent", None))
            assert failed is not None
            return failed, text, value

        documents = [
            {"id": f"doc/{i}.md", "title": f"Number {i}", "text": f"The lantern number {i} stands in street {i % 7}. " * 30, "metadata": {"n": i, "tags": ["a", None]}}
            for i in range(60)
        ]
        failed, text, value = await call("index", documents=documents, json=True)
        assert not failed and value["added"] == 60, text
        failed, text, value = await call("index", documents=documents[:1], json=True)
        assert not failed and value["added"] == 0, text

        seen = []
        offset = 0
        while True:
            failed, text, value = await call("search", query="lantern number 7", k=25, offset=offset, filter="n < 55", json=True)
            assert not failed, text
            seen += [h["id"] for h in value["hits"]]
            offset = value.get("next_offset", 0)
            if not offset:
                break
        assert len(seen) == len(set(seen)) == 55, seen

        failed, text, value = await call("search", query="lantern number 7")
        assert not failed and value is None and "1. doc/7.md" in text, text
        failed, text, value = await call("get", id="doc/7.md")
        assert not failed and value is None and "The lantern number 7" in text, text
        failed, text, value = await call("get", id="doc/7.md", json=True)
        assert not failed and value["metadata"] == {"n": 7, "tags": ["a", None]}, text
        failed, text, value = await call("list", limit=7, json=True)
        assert not failed and value["total"] == 60 and len(value["documents"]) == 7, text
        failed, text, value = await call("explain", id="doc/7.md", query="lantern number 7", json=True)
        assert not failed and value["words"], text

        failed, text, _ = await call("search", query="x", filter="n >")
        assert failed and "operators" in text, text
        failed, text, _ = await call("get", id="nope")
        assert failed and "list to find ids" in text, text

        resource = await session.read_resource("lexsem://documents/doc%2F7.md")
        assert resource.contents[0].text.startswith("Number 7\n\nThe lantern number 7"), resource
    print("all is well")


asyncio.run(main(*sys.argv[1:]))
