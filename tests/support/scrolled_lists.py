"""Generated lists that load their rows while they are scrolled or a button is pressed, served on loopback.

Five kinds, each with delays from 0 to 2 s and an end, and once endless. Within a kind the lists differ as those
of real sites do: where the delay arises, how near to the end they load, what happens at the end.
`benchmarks/browser_lists.py` measures all of them, and `tests/collectors/browser/test_scrolling.py` some."""

from __future__ import annotations

import contextlib
import json
import random
import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlsplit

from support.answers import answering

Kind = Literal["window", "box", "virtual", "button", "observer"]
KINDS: tuple[Kind, ...] = ("window", "box", "virtual", "button", "observer")
BATCHES = {0.0: 15, 0.2: 12, 0.5: 10, 0.8: 8, 2.0: 6}
"""The number of batches that load later, by their delay in seconds."""
LATENCY_S = 0.2
"""How long the document and the script of a list take, as over a network."""
SCRIPT = Path(__file__).with_suffix(".js")
WORDS = ("Kettle", "Lamp", "Backpack", "Drill", "Chair", "Speaker", "Bottle", "Keyboard", "Jacket", "Tripod")


@dataclass(frozen=True)
class ScrolledList:
    """A list. `rows` is None if the list is endless; `first` rows are there at once; a batch has `batch` rows
    and takes `delay` seconds, on the server or by a timer of the page that makes the rows itself."""

    name: str
    kind: Kind
    delay: float
    rows: int | None
    first: int
    batch: int
    wait: Literal["server", "timer"]
    word: str
    height: int
    """The height of a row, in pixels."""
    box: bool
    sideways: bool
    margin: int
    """How far from its end the list loads, in pixels."""
    debounce: int
    """How long after the last scroll event the list acts, in milliseconds."""
    spinner: bool
    knows_end: bool
    button: Literal["button", "a", "div"]
    while_loading: Literal["disabled", "text", "gone"]
    at_end: Literal["hidden", "disabled", "removed"]
    sentinel: Literal["last row", "own"]
    grows: bool
    recycles: bool
    overscan: int

    def row(self, number: int) -> dict[str, object]:
        """A row as the server sends it."""
        title = f"{self.word} number {number}"
        return {"number": number, "title": title, "price": f"{number % 97 + 0.5:.2f}"}

    def page(self) -> str:
        """The document."""
        box = "height:500px;overflow:auto;" if not self.sideways else "width:900px;overflow:auto;"
        inner = "display:flex;width:max-content" if self.sideways else ""
        opening = f'<div id="box" style="{box}">' if self.box else ""
        closing = "</div>" if self.box else ""
        values = json.dumps(asdict(self))
        return (
            f"<!doctype html><title>List {self.name}</title><h1>List {self.name}</h1>"
            f'{opening}<div id="list" style="{inner}"></div>{closing}<footer>Imprint</footer>'
            f'<script>const LIST = {values}</script><script src="/lists.js"></script>'
        )


def generated(seed: int = 43) -> list[ScrolledList]:
    """Thirty lists: for each kind one with each delay of `BATCHES`, and an endless one."""
    rng = random.Random(seed)
    return [
        _list(kind, delay, endless, rng)
        for kind in KINDS
        for delay, endless in [*((delay, False) for delay in BATCHES), (rng.choice((0.05, 0.2)), True)]
    ]


def _list(kind: Kind, delay: float, endless: bool, rng: random.Random) -> ScrolledList:
    batch = rng.randint(8, 20)
    grows = endless or rng.random() < 0.5
    first = rng.choice((batch, batch, 0)) if kind != "virtual" or grows else 0
    if kind == "button":
        first = batch
    batches = BATCHES.get(delay, 0) + rng.randint(-1, 2)
    box = kind == "box" or (kind in ("virtual", "observer") and rng.random() < 0.5)
    return ScrolledList(
        name=f"{kind}-{'endless' if endless else f'{delay:g}'.replace('.', '')}",
        kind=kind,
        delay=delay,
        rows=None if endless else first + batches * batch - rng.randint(0, batch - 1),
        first=first,
        batch=batch,
        # the rows of an endless list are those that the server sent
        wait="server" if endless else rng.choice(("server", "timer")),
        word=rng.choice(WORDS),
        height=rng.choice((32, 48, 110)) if kind != "virtual" else rng.choice((29, 36, 60)),
        box=box,
        sideways=kind == "box" and rng.random() < 0.2,
        margin=rng.choice((0, 0, 100, 400)),
        debounce=rng.choice((0, 0, 100)),
        spinner=rng.random() < 0.5,
        knows_end=rng.random() < 0.6,
        button=rng.choice(("button", "a", "div")),
        while_loading=rng.choice(("disabled", "text", "gone")),
        at_end=rng.choice(("hidden", "disabled", "removed")),
        sentinel=rng.choice(("last row", "own")),
        grows=grows,
        recycles=rng.random() < 0.5,
        overscan=rng.randint(0, 3),
    )


class ListServer:
    """Serves lists, each at `/NAME/`, and at `/framed/NAME/` in a lazy frame far below the fold."""

    def __init__(self, lists: list[ScrolledList]) -> None:
        self.lists = {one.name: one for one in lists}
        self.url = ""
        self._lock = threading.Lock()
        self._sent: dict[str, set[int]] = defaultdict(set)

    def sent(self, name: str) -> set[int]:
        """The numbers of the rows that the server sent."""
        with self._lock:
            return set(self._sent[name])

    def forget(self) -> None:
        """Forgets what was sent."""
        with self._lock:
            self._sent.clear()

    def answer(self, target: str) -> tuple[int, str, str]:
        """The status, media type and body for a request, after the delay that it takes."""
        parts = urlsplit(target)
        if parts.path == "/lists.js":
            time.sleep(LATENCY_S)
            return 200, "text/javascript", SCRIPT.read_text()
        if found := re.fullmatch(r"/framed/([^/]+)/", parts.path):
            frame = f'<iframe loading="lazy" width="900" height="700" src="/{found[1]}/"></iframe>'
            page = f'<!doctype html><title>Framed</title><div style="height:6000px">Above</div>{frame}'
            return 200, "text/html", page
        name, _, rest = parts.path.strip("/").partition("/")
        if not (one := self.lists.get(name)):
            return 404, "text/plain", "no such page"
        if rest == "rows":
            time.sleep(one.delay)
            start = int(parse_qs(parts.query)["from"][0])
            end = start + one.batch if one.rows is None else min(start + one.batch, one.rows)
            with self._lock:
                self._sent[name].update(range(start, end))
            return 200, "application/json", json.dumps([one.row(number) for number in range(start, end)])
        if not rest:
            time.sleep(LATENCY_S)
            return 200, "text/html", one.page()
        return 200, "text/html", f"<title>Item</title><p>{rest}"


@contextlib.contextmanager
def serving_lists(lists: list[ScrolledList]) -> Iterator[ListServer]:
    """Runs a server of these lists on loopback."""
    served = ListServer(lists)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, kind, text = served.answer(self.path)
            body = text.encode()
            with contextlib.suppress(OSError):
                self.send_response(status)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with answering(Handler) as port:
        served.url = f"http://127.0.0.1:{port}"
        yield served


def row_numbers(name: str, links: list[str]) -> list[int]:
    """The numbers of the rows that these links lead to, in their order."""
    found = (re.search(rf"/{re.escape(name)}/item/(\d+)$", link) for link in links)
    return [int(one[1]) for one in found if one]
