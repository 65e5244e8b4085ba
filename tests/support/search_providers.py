"""Local servers that answer as the documentation of each search provider describes: invented result pages,
API keys, billing, and a series of errors."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

KEY = "CANARY-key-8d1f"
LOGIN = f"login:{KEY}"
Reply = tuple[int, dict[str, Any] | bytes]


def invented_results(words: str, total: int = 60) -> list[dict[str, str]]:
    """Returns the organic results of a keyword, each from a different site."""
    name = "".join(one for one in words.lower() if one.isalnum()) or "x"
    return [
        {"title": f"{words} {n}", "url": f"https://site-{n}.example/{name}", "text": f"about {words}"}
        for n in range(1, total + 1)
    ]


class SearchProvider:
    """A search provider on loopback. `results` returns the organic results of a keyword on an engine.
    `errors` are the first answers, in order. `features` are fields that are added to the JSON of page 1."""

    def __init__(
        self,
        name: str,
        results: Callable[[str], list[dict[str, str]]] = invented_results,
        *errors: Reply | None,
        features: dict[str, Any] | None = None,
    ) -> None:
        self.name, self.results, self.errors = name, results, list(errors)
        self.features = features or {}
        self.calls: list[tuple[str, int]] = []
        """The keyword and page of each billed call."""
        self.refused = 0
        self.asked: list[dict[str, Any]] = []
        self.url = ""
        self._lock = threading.Lock()

    @property
    def key(self) -> str:
        return LOGIN if self.name == "dataforseo" else KEY

    def reply(self, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Returns the status and the JSON for a call."""
        given: dict[str, Any] = dict(parse_qsl(urlsplit(path).query))
        if body:
            found = json.loads(body)
            given |= found[0] if isinstance(found, list) else found
        with self._lock:
            self.asked.append(given)
            if not self._is_key(given, headers):
                self.refused += 1
                return 401, self._error("Invalid API key.")
            if self.errors and (error := self.errors.pop(0)) is not None:
                return error
            words, page = self._meant(given)
            self.calls.append((words, page))
            return 200, self._answer(words, page)

    def _is_key(self, given: dict[str, Any], headers: dict[str, str]) -> bool:
        if self.name in ("dataforseo", "zyte"):
            word = base64.b64decode(headers.get("authorization", "").partition(" ")[2] or "").decode()
            return word in (LOGIN, f"{KEY}:")
        if self.name == "serper":
            return headers.get("x-api-key") == KEY
        if self.name == "searchapi":
            return headers.get("authorization") == f"Bearer {KEY}"
        return given.get("api_key") == KEY

    def _error(self, text: str) -> dict[str, Any]:
        return {
            "dataforseo": {"status_code": 40100, "status_message": text},
            "serper": {"message": text},
        }.get(self.name, {"error": text})

    def _meant(self, given: dict[str, Any]) -> tuple[str, int]:
        if self.name == "zyte":
            query = dict(parse_qsl(urlsplit(given["url"]).query))
            return query["q"], int(query.get("start", 0)) // 10 + 1
        if self.name == "dataforseo":
            return given["keyword"].replace("%2B", "+").replace("%25", "%"), given["depth"] // 10
        if "start" in given or "first" in given:
            return given["q"], (int(given.get("start", 0)) or int(given.get("first", 0))) // 10 + 1
        return given["q"], int(given.get("page", 1))

    def _answer(self, words: str, page: int) -> dict[str, Any]:
        found = self.results(words)
        part = found[: page * 10] if self.name == "dataforseo" else found[(page - 1) * 10 : page * 10]
        more = self.features if page == 1 or self.name == "dataforseo" else {}
        return getattr(self, f"_{self.name}")(words, page, part) | more

    def _serpapi(self, words: str, page: int, part: list[dict[str, str]]) -> dict[str, Any]:
        reply: dict[str, Any] = {
            "search_metadata": {"id": "1", "status": "Success"},
            "search_parameters": {"engine": "google", "q": words},
            "search_information": {"organic_results_state": "Results for exact spelling"},
            "organic_results": [
                {"position": n, "title": one["title"], "link": one["url"], "snippet": one["text"]}
                for n, one in enumerate(part, 1)
            ],
        }
        if not part:
            reply["search_information"]["organic_results_state"] = "Fully empty"
            reply["error"] = "Google hasn't returned any results for this query."
            del reply["organic_results"]
        return reply

    def _searchapi(self, words: str, page: int, part: list[dict[str, str]]) -> dict[str, Any]:
        return {k: v for k, v in self._serpapi(words, page, part).items() if k != "search_information"} | {
            "search_information": {"query_displayed": words, "total_results": len(part)}
        }

    def _serper(self, words: str, page: int, part: list[dict[str, str]]) -> dict[str, Any]:
        organic = [
            {"title": one["title"], "link": one["url"], "snippet": one["text"], "position": n}
            for n, one in enumerate(part, 1)
        ]
        return {"searchParameters": {"q": words, "page": page}, "organic": organic, "credits": 1}

    def _zyte(self, words: str, page: int, part: list[dict[str, str]]) -> dict[str, Any]:
        organic = [
            {"name": one["title"], "url": one["url"], "description": one["text"], "rank": n}
            for n, one in enumerate(part, 1)
        ]
        metadata = {
            "searchedQuery": words,
            "displayedQuery": words,
            "totalOrganicResults": 1000 if part else 0,
        }
        return {"url": "u", "serp": {"organicResults": organic, "pageNumber": page, "metadata": metadata}}

    def _dataforseo(self, words: str, page: int, part: list[dict[str, str]]) -> dict[str, Any]:
        items = [
            {
                "type": "organic",
                "rank_group": n,
                "rank_absolute": n + 1,
                "page": (n - 1) // 10 + 1,
                "title": one["title"],
                "url": one["url"],
                "description": one["text"],
            }
            for n, one in enumerate(part, 1)
        ]
        result = {"keyword": words, "se_results_count": 1000, "items_count": len(items), "items": items}
        task = {"status_code": 20000, "status_message": "Ok.", "cost": 0.002 * page, "result": [result]}
        return {"status_code": 20000, "status_message": "Ok.", "tasks_error": 0, "tasks": [task]}


@contextmanager
def serving(provider: SearchProvider) -> Iterator[SearchProvider]:
    """Serves a provider on loopback."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._do(b"")

        def do_POST(self) -> None:
            self._do(self.rfile.read(int(self.headers.get("content-length", 0))))

        def _do(self, body: bytes) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, reply = provider.reply(self.path, headers, body)
            raw = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # the client was killed
                self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    provider.url = f"http://127.0.0.1:{server.server_address[1]}/search"
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
