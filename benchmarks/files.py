"""Measures the CPU time for storing a file of an item and for extracting the text of a PDF, with peers.

    python benchmarks/files.py [--files 2000] [--rounds 3] [--pdf FILE ...]

A web server in a separate process serves one page with an item per 50 files. All files are different. The
files have 8 KiB, and 256 KiB in a second run. The CPU time (user and system) is that of all threads of the
crawling process, without the store, which is another process. The CPU time of the same crawl with `--files
off` is subtracted. The floor is pycurl with one handle. The floor hashes the bytes as they arrive, and
writes, syncs and renames each file.

For PDFs, the benchmark measures the CPU time per page of gossamer's function (including its child process),
of PDFium in this process (pypdfium2), and of pypdf if it is installed. If the file FILE.html exists beside
FILE.pdf, the extracted words are compared with its words.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import html
import http.server
import io
import multiprocessing
import os
import random
import re
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pycurl

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from e2e.item_files.file_server import pdf as made_pdf
from e2e.item_files.file_site import SITE
from gossamer.app.job import Job, JobOutput
from gossamer.app.runner import crawl
from gossamer.config.settings import Settings
from gossamer.parsing import pdf

EACH = 50


def web(size: int, count: int, pipe: Any) -> None:
    """Serves pages and files until the process is killed."""
    body = bytearray(
        b"\x89PNG\r\n\x1a\n" + bytes(8) + (64).to_bytes(4, "big") * 2 + random.Random(1).randbytes(size)
    )

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = self.path.strip("/")
            if name == "robots.txt":
                kind, data = "text/plain", b""
            elif name.endswith(".png"):
                kind, data = "image/png", bytes(body) + name.encode()
            else:
                first = int(name or 0) * EACH
                tags = "".join(f"<img src=/{n}.png>" for n in range(first, min(first + EACH, count)))
                more = f"<a class=next href=/{first // EACH + 1}>" if first + EACH < count else ""
                kind, data = "text/html", f"<li id=i{first} data-maker=m>{tags}</li>{more}".encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Logs nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    pipe.send(server.server_port)
    server.serve_forever()


@contextlib.contextmanager
def serving(size: int, count: int) -> Iterator[int]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=web, args=(size, count, theirs), daemon=True)
    process.start()
    yield ours.recv()
    process.kill()
    process.join()


def spent() -> float:
    """Returns the CPU seconds that this process has used so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def crawled(port: int, count: int, *, files: bool) -> tuple[float, float]:
    """Runs a crawl. Returns its CPU seconds and its wall time in seconds."""
    with tempfile.TemporaryDirectory(prefix="gt-") as name:
        folder = Path(name)
        (folder / "shop.py").write_text(SITE.replace("{url}", f"http://127.0.0.1:{port}"))
        settings = Settings(
            data=f"{name}/data", delay=(0.0, 0.0), per_host=32, allow_private=("127.0.0.0/8",)
        )
        job = Job(
            targets=[f"{name}/shop.py"],
            settings=settings,
            outputs=[JobOutput(f"{name}/out.jsonl")],
            files=None if files else "off",
        )
        began, before = time.monotonic(), spent()
        summary = asyncio.run(crawl(job))
        assert summary.files == (count if files else 0), summary
        return spent() - before, time.monotonic() - began


def floor(port: int, count: int) -> float:
    """Fetches and stores the files with the libraries alone. Returns the CPU seconds."""
    curl = pycurl.Curl()
    with tempfile.TemporaryDirectory(prefix="gt-") as name:
        before = spent()
        for n in range(count):
            parts, digest = io.BytesIO(), sha256()

            def took(data: bytes, parts: io.BytesIO = parts, digest: Any = digest) -> None:
                digest.update(data)
                parts.write(data)

            curl.setopt(pycurl.URL, f"http://127.0.0.1:{port}/{n}.png")
            curl.setopt(pycurl.WRITEFUNCTION, took)
            curl.perform()
            found = digest.hexdigest()
            os.makedirs(f"{name}/{found[:2]}", exist_ok=True)
            with open(f"{name}/{found[:2]}/.{n}", "wb") as file:
                file.write(parts.getbuffer())
                file.flush()
                os.fdatasync(file.fileno())
            os.rename(f"{name}/{found[:2]}/.{n}", f"{name}/{found[:2]}/{found}")
        return spent() - before


def files(count: int, rounds: int) -> None:
    for size in (8 << 10, 256 << 10):
        ours, bare, rates = [], [], []
        with serving(size, count) as port:
            for _ in range(rounds):
                with_files, seconds = crawled(port, count, files=True)
                without, _ = crawled(port, count, files=False)
                ours.append((with_files - without) / count * 1e6)
                rates.append(count / seconds)
                bare.append(floor(port, count) / count * 1e6)
        print(
            f"{size >> 10} KiB: {statistics.median(ours):.0f} us CPU a file, libraries alone {statistics.median(bare):.0f} us, "
            f"{statistics.median(rates):.0f} files/s",
            flush=True,
        )


def words(text: str) -> Counter[str]:
    """Counts the words of a text."""
    return Counter(re.findall(r"\w{2,}", text.lower()))


def by_pdfium(body: bytes) -> str:
    import pypdfium2

    document = pypdfium2.PdfDocument(body)
    texts = [page.get_textpage().get_text_range() for page in document]
    document.close()
    return "\n\n".join(texts)


def by_pypdf(body: bytes) -> str:
    import pypdf

    return "\n\n".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(body)).pages)


def pdfs(paths: list[Path], rounds: int) -> None:
    import pypdfium2

    named = [(path.name, path.read_bytes(), path.with_suffix(".html")) for path in paths]
    named.append(
        ("made: 500 pages of a line", made_pdf(*(f"Page {n} of many" for n in range(500))), Path("-"))
    )
    ways: dict[str, Callable[[bytes], str]] = {"ours": pdf.text, "PDFium": by_pdfium}
    if find_spec("pypdf"):
        ways["pypdf"] = by_pypdf
    pdf.text(made_pdf("warm"))
    for name, body, source in named:
        document = pypdfium2.PdfDocument(body)
        pages = len(document)
        document.close()
        truth = (
            words(html.unescape(re.sub(r"<[^>]+>", " ", source.read_text(errors="replace"))))
            if source.exists()
            else None
        )
        for way, call in ways.items():
            took, text = [], ""
            for _ in range(rounds):
                before = spent() + child()
                text = call(body)
                took.append(spent() + child() - before)
            said = ""
            if truth is not None:
                own, found = words(text), sum((words(text) & truth).values())
                said = f", {found / truth.total():.1%} of the source's words; {found / max(1, own.total()):.1%} of its own are there"
            print(
                f"{name} ({pages} pages), {way}: {statistics.median(took) / pages * 1000:.2f} ms CPU a page{said}",
                flush=True,
            )


def child() -> float:
    """Returns the CPU seconds of the child process that reads PDFs."""
    one = pdf._PROCESS._child._process.pid if pdf._PROCESS._child is not None else 0
    if not one:
        return 0.0
    fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measures PDFs and files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pdf", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    pdfs(options.pdf, max(options.rounds, 5))
    files(options.files, options.rounds)


if __name__ == "__main__":
    main()
