"""Crawls Debian's documentation packages on loopback and counts their keywords with one command.

    apt-get download PACKAGES...; for file in *.deb; do dpkg-deb -x $file DIR; done
    python benchmarks/keywords_debian.py DIR [--limit N] [--processes 2] [--keep DIR]

The benchmark serves all HTML files below DIR and pages that link to them. The measured command is `gossamer
keywords URL --list words.txt --delay 0 -s per_host=16`. The benchmark prints the numbers of served and
counted pages, the CPU and wall seconds of the command, the maximum of its resident memory, and its output.
`--keep` keeps the output (`out.json`), the texts and the tables in a folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from keywords_million import Memory  # noqa: E402 - it lies beside this file

LINKS_PER_LIST = 500
WORDS = (
    *(
        "function",
        "exception handling",
        "garbage collection",
        "thread",
        "regular expression",
        "python",
        "sql",
        "index",
    ),
    *(
        "memory leak",
        "type inference",
        "iterator",
        "kernel module",
        "floating point",
        "C++",
        "template",
        "mutex",
    ),
    *(
        "matrix",
        "polynomial",
        "socket",
        "deprecated",
        "spreadsheet",
        "encoding",
        "Datenbank",
        "Formatvorlage",
    ),
)


def pages_of(folder: Path) -> list[str]:
    """Returns the URL paths of all HTML files, except of links to files that do not exist."""
    found = (path for path in folder.rglob("*.html") if path.is_file())
    return sorted("/" + quote(str(path.relative_to(folder))) for path in found)


def list_page(paths: list[str], number: int) -> bytes:
    """Returns a page with links to some of the files. Page 0 links to all other list pages."""
    if number:
        paths = paths[(number - 1) * LINKS_PER_LIST : number * LINKS_PER_LIST]
    else:
        paths = [f"/list-{n}.html" for n in range(1, -(-len(paths) // LINKS_PER_LIST) + 1)]
    links = "".join(f'<li><a href="{path}">{path}</a></li>' for path in paths)
    return f"<html><head><title>List {number}</title></head><body><nav><ul>{links}</ul></nav></body></html>".encode()


async def serve(folder: Path, ready: multiprocessing.connection.Connection) -> None:
    """Serves the files until the process ends."""
    paths = await asyncio.to_thread(pages_of, folder)
    known = set(paths)

    def body_of(target: str) -> tuple[int, bytes]:
        path = quote(unquote(urlsplit(target).path))
        if path == "/":
            return 200, list_page(paths, 0)
        if path.startswith("/list-"):
            return 200, list_page(paths, int(path.removeprefix("/list-").removesuffix(".html") or 0))
        return (200, (folder / unquote(path[1:])).read_bytes()) if path in known else (404, b"no such page")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                status, body = body_of(head.split(b" ", 2)[1].decode("latin-1"))
                kind = "text/html" if status == 200 else "text/plain"
                start = f"HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(start.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ValueError, OSError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    ready.send((server.sockets[0].getsockname()[1], len(paths)))
    await server.serve_forever()


def begin_server(folder: Path, ready: multiprocessing.connection.Connection) -> None:
    """Runs the server, as the entry point of the server's process."""
    asyncio.run(serve(folder, ready))


def main() -> None:
    """Runs the command once, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="keeps the run there")
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=begin_server, args=(options.folder, theirs), daemon=True)
    server.start()
    port, served = ours.recv()
    packages = Counter(path.split("/")[4] for path in pages_of(options.folder) if path.count("/") > 4)
    print(
        f"{served:,} pages are served: {', '.join(f'{name} {n:,}' for name, n in packages.most_common())}",
        flush=True,
    )
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = options.keep or Path(name)
        folder.mkdir(exist_ok=True)
        (folder / "words.txt").write_text("\n".join(WORDS))
        words = [
            "keywords",
            f"http://127.0.0.1:{port}/",
            "--list",
            "words.txt",
            "--delay",
            "0",
            "-o",
            "report.html",
        ]
        words += ["-s", "per_host=16"]  # the server is on loopback and can handle this
        words += ["--processes", str(options.processes), "-q", "--json"]
        words += ["--limit", str(options.limit)] if options.limit else []
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "gossamer", *words], cwd=folder, stdout=(folder / "out.json").open("wb")
        )
        memory = Memory(process.pid)
        code = process.wait()
        wall = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        told = json.loads((folder / "out.json").read_text())
        found = told["result"]
        print(
            f"exit code {code}: {found['pages']:,} pages with a text in {wall:,.0f} s, {found['pages'] / wall:,.0f} a second"
        )
        print(f"{1000 * cpu / found['pages']:.2f} ms CPU a page, without the store, which detaches itself")
        print(memory.stop())
        print(
            {name: found[name] for name in ("counted", "copies", "empty", "unread", "words")}, told["crawled"]
        )
        print("keywords:", [(one["keyword"], one["count"], one["pages"]) for one in told["keywords"]])
        print("terms:", [one["term"] for one in told["terms"]])
    server.terminate()


if __name__ == "__main__":
    main()
