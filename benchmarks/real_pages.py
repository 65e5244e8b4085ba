"""Makes local webs of real pages as folders, which `web.serve(web.Plan(folder=...))` of the tests serves.

    documentation(folder, sources, pages)   pages of documentation, such as .sites/python3-doc/html: about 50 KB
    small(folder, sources, pages)           those of at most 6 KB, such as many of .sites/postgresql-doc/html
    shop(folder, pages)                     pages of a real django-oscar with a large catalogue: about 100 KB

Each web has exactly `pages` HTML pages, including its start page `/`, and no other files. A crawl from the start
page finds all of them by following links, and gets no 404. The pages keep their bytes and the number of their
links. Only the links to pages that are not part of the web are changed: they lead to pages of the web instead,
in turn. A web with more pages than its sources contains several copies of them.

The functions return `folder`. They raise Missing if the machine lacks the sources, which ./test brings.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, unquote

ROOT = Path(__file__).resolve().parents[1]
SITES = ROOT / ".sites"
SNAPSHOT_PAGES = 80
_LINK = re.compile(
    rb"""(?P<before><(?P<tag>a|area|link|iframe|frame)\b[^>]*?\s(?:href|src)\s*=\s*["']?)(?P<target>[^"'\s>#]+)""",
    re.IGNORECASE,
)
_ABSOLUTE = re.compile(rb"[a-zA-Z][a-zA-Z0-9+.-]*:|//")


class Missing(LookupError):
    """The machine lacks the sources of a web. The message names them."""


def documentation(
    folder: Path, sources: Sequence[Path], pages: int, smallest: int = 0, largest: int = 1 << 30
) -> Path:
    """Makes a web of the HTML files of some folders, for example of unpacked Debian packages.

    The web contains only files with `smallest` to `largest` bytes. If there are more files than `pages`, the
    chosen ones are evenly spread over all paths.
    """
    files: dict[str, Path] = {}
    for number, source in enumerate(sources):
        if not source.exists():
            raise Missing(f"{source} (./test unpacks it)")
        for path in sorted(source.resolve().rglob("*.html")):
            if path.is_file() and smallest <= path.stat().st_size <= largest:
                files[f"{number}/{path.relative_to(source.resolve())}"] = path
    return _web(folder, files, pages)


def small(folder: Path, sources: Sequence[Path], pages: int) -> Path:
    """Makes a web of the HTML files of at most 6 KB in some folders."""
    return documentation(folder, sources, pages, largest=6_000)


def shop(folder: Path, pages: int) -> Path:
    """Makes a web of rendered pages of a django-oscar: a quarter are categories, the others are products.

    The rendered pages are kept in .sites/. To render them takes about 20 seconds of CPU time.
    """
    root = snapshot()
    # a URL that ends in a slash is the `index.html` of its folder
    return _web(
        folder, {f"{one.parent.relative_to(root)}/": one for one in sorted(root.rglob("*.html"))}, pages
    )


def snapshot() -> Path:
    """Returns the folder of the rendered shop. Renders the shop if its maker has changed."""
    packages, maker = SITES / "django-oscar", ROOT / "benchmarks" / "oscar_pages.py"
    if not packages.exists():
        raise Missing(f"{packages} (./test gets it from PyPI)")
    made_of = [maker.read_bytes(), (ROOT / "tests/support/oscar_shop.py").read_bytes()]
    made_of += [name.name.encode() for name in sorted(packages.glob("*.dist-info"))]
    folder = SITES / f"oscar-pages-{hashlib.sha256(b''.join(made_of)).hexdigest()[:12]}"
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
        path = os.pathsep.join((str(packages), str(ROOT / "tests")))
        command = [sys.executable, "-W", "ignore", str(maker), str(unfinished), str(SNAPSHOT_PAGES)]
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        try:
            unfinished.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(unfinished)
    return folder


def digest(folder: Path) -> str:
    """Returns a short hash of all pages of a web, with their paths."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*.html")):
        whole.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()[:12]


def _web(folder: Path, files: dict[str, Path], pages: int) -> Path:
    """Writes a start page, and as many copies of the files as are needed. Keys of `files` are URL paths."""
    if not files:
        raise Missing(f"pages for {folder.name}")
    paths = list(files)
    full, rest = divmod(pages - 1, len(paths))
    chosen = [paths] * full + [[paths[n * len(paths) // rest] for n in range(rest)]] * bool(rest)
    links = ""
    for number, part in enumerate(chosen):
        copy = folder / f"copy{number}"
        if 0 < number < full:
            shutil.copytree(folder / "copy0", copy, copy_function=os.link)
        else:
            roots = _copy(copy, {path: files[path] for path in part})
        links += "".join(
            f'<li><a href="copy{number}/{quote(root)}">{number}: {root}</a></li>\n' for root in roots
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(f"<!DOCTYPE html><title>Start</title><ul>\n{links}</ul>\n")
    return folder


def _copy(folder: Path, files: dict[str, Path]) -> list[str]:
    """Copies the files, and changes the links to other pages. The copy may be below any path of a host.

    Returns the paths of pages from which all others can be reached, mostly one.
    """
    turn = itertools.cycle(files)
    links: dict[str, list[str]] = {}
    for path, source in files.items():
        base, found = posixpath.dirname(path), links.setdefault(path, [])

        def changed(link: re.Match[bytes], base: str = base, found: list[str] = found) -> bytes:
            target = link["target"]
            if _ABSOLUTE.match(target) or (link["tag"].lower() == b"link" and b".html" not in target):
                return link[0]
            to = unquote(target.decode(errors="replace"))
            slash = "/" if to.endswith("/") else ""
            # the pages may come from the root of a host, and are moved below another path
            to = (
                to.lstrip("/") if to.startswith("/") else posixpath.normpath(posixpath.join(base, to)) + slash
            )
            if to not in files or target.startswith(b"/"):
                to = to if to in files else next(turn)
                target = quote(
                    posixpath.relpath(to, base or ".") + ("/" if to.endswith("/") else "")
                ).encode()
            found.append(to)
            return link["before"] + target

        file = folder / path / "index.html" if path.endswith("/") else folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_LINK.sub(changed, source.read_bytes()))
    roots, seen = [], set[str]()
    for root in files:
        if root not in seen:
            roots.append(root)
            todo = [root]
            while todo:
                if (path := todo.pop()) not in seen:
                    seen.add(path)
                    todo += links[path]
    return roots
