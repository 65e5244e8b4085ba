"""`--scope page` follows no links. The URLs of a sitemap are seeds, so they are fetched."""

from __future__ import annotations

import json
from pathlib import Path

from cli.command_line import Pages, gossamer
from support.answers import answering


class Sitemap(Pages):
    def do_GET(self) -> None:
        if self.path != "/sitemap.xml":
            super().do_GET()
            return
        base = f"http://127.0.0.1:{self.server.server_port}"  # type: ignore[attr-defined]
        body = f"<urlset><url><loc>{base}/1</loc></url><url><loc>{base}/2</loc></url></urlset>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_the_pages_of_a_sitemap_are_fetched_and_their_links_are_not(room: Path) -> None:
    with answering(Sitemap) as port:
        base = f"http://127.0.0.1:{port}"
        words = (
            "crawl",
            f"sitemap:{base}/sitemap.xml",
            "--scope",
            "page",
            "--delay",
            "0",
            "-o",
            "out.jsonl",
            "--json",
        )
        code, out, err = gossamer(room, *words)
    summary = json.loads(out)
    assert (code, summary["state"], summary["pages"]) == (0, "finished", 2), err
    rows = [json.loads(line) for line in (room / "out.jsonl").read_text().splitlines()]
    assert sorted(row["url"] for row in rows) == [f"{base}/1", f"{base}/2"]
    assert {row["depth"] for row in rows} == {0}
