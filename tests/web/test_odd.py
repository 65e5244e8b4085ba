"""Tests of the odd URLs. Each of them misbehaves on the wire as its name describes."""

from __future__ import annotations

import http.client
import socket
import ssl
import zlib
from collections.abc import Iterator

import pytest

from web import Web, graph, odd, preset, serve, traps
from web.reference import get


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with serve(preset("all", hosts=1, robots=("missing",), slow=0.05)) as running:
        yield running


def talk(web: Web, path: str, limit: int = 1 << 21, wait: float = 0.6) -> tuple[bytes, str]:
    """Returns the bytes on the wire for a path, and the kind of ending: close, reset, silence, or limit."""
    got = b""
    with socket.create_connection((web.plan.name_of(0), web.plan.port), timeout=wait) as sock:
        sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {web.plan.authority(0)}\r\n\r\n".encode())
        while len(got) < limit:
            try:
                data = sock.recv(65536)
            except TimeoutError:
                return got, "silence"
            except ConnectionResetError:
                return got, "reset"
            if not data:
                return got, "close"
            got += data
    return got, "limit"


def length(head: bytes) -> int:
    return int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])


def split(got: bytes) -> tuple[bytes, bytes]:
    head, _, body = got.partition(b"\r\n\r\n")
    return head, body


def test_truncated_and_short(web: Web) -> None:
    got, end = talk(web, "/l/truncated.html")
    head, body = split(got)
    assert (length(head) - len(body), end) == (1000, "close")
    head, body = split(talk(web, "/l/short-length.html")[0])
    assert length(head) == len(body) // 2


def test_chunks(web: Web) -> None:
    assert talk(web, "/l/chunk-cut.html")[1] == "close"
    assert not talk(web, "/l/chunk-cut.html")[0].endswith(b"0\r\n\r\n")
    assert b"zz;" in talk(web, "/l/bad-chunk.html")[0]
    fine = get(web.url(0, "/l/chunked.html"))
    assert fine is not None
    assert b"Odd /l/chunked.html of web 0" in fine[2]


def test_lying_codings(web: Web) -> None:
    for path, coding in (("/l/not-gzip.html", b"gzip"), ("/l/not-brotli.html", b"br")):
        head, body = split(talk(web, path)[0])
        assert b"Content-Encoding: " + coding in head
        assert body.startswith(b"<!DOCTYPE")
    head, body = split(talk(web, "/l/gzip-cut.html")[0])
    assert length(head) == len(body)
    unpacked = zlib.decompressobj(31)
    unpacked.decompress(body)
    assert not unpacked.eof


def test_bad_heads(web: Web) -> None:
    assert talk(web, "/l/bad-status.html")[0].startswith(b"HTTQ/9")
    assert split(talk(web, "/l/twice-length.html")[0])[0].count(b"Content-Length") == 2
    assert b"\r\nthis line has no colon\r\n" in talk(web, "/l/bad-header.html")[0]
    got, end = talk(web, "/l/header-bomb.html", limit=5 << 20)
    assert end == "limit"
    assert b"\r\n\r\n" not in got


def test_hanging(web: Web) -> None:
    assert talk(web, "/h/hang.html") == (b"", "silence")
    assert talk(web, "/h/hang-head.html") == (b"HTTP/1.1 200 OK\r\nCon", "silence")
    got, end = talk(web, "/h/hang-body.html")
    assert (end, split(got)[1]) == ("silence", b"<p>one moment")
    got, end = talk(web, "/h/drip.html", limit=88)
    assert end == "limit"
    assert set(split(got)[1]) == {ord("x")}
    assert b"\r\n\r\n" not in talk(web, "/h/drip-head.html", limit=83)[0]


@pytest.mark.parametrize("act", ["endless", "endless-chunks", "tiny-chunks", "huge-length"])
def test_endless(web: Web, act: str) -> None:
    assert talk(web, f"/endless/{act}.html", limit=6 << 20)[1] == "limit"


def test_bombs(web: Web) -> None:
    import brotli
    import zstandard

    size = 64 << 20
    for kind in ("gzip", "gzip2", "br", "zstd", "deflate"):
        head, body = split(talk(web, f"/bomb/{kind}.html")[0])
        assert len(body) == length(head) < 70_000
        if kind in ("gzip", "gzip2", "deflate"):
            plain = zlib.decompress(body, 15 if kind == "deflate" else 31)
            plain = zlib.decompress(plain, 31) if kind == "gzip2" else plain
        else:
            plain = (
                brotli.decompress(body)
                if kind == "br"
                else zstandard.ZstdDecompressor().decompress(body, size)
            )
        assert len(plain) == size


def test_bad_first_then_fine(web: Web) -> None:
    web.reset()
    for what in ("500", "502", "503", "429"):
        first, second = get(web.url(0, f"/f/{what}-once.html")), get(web.url(0, f"/f/{what}-once.html"))
        assert first is not None
        assert second is not None
        assert (first[0], second[0]) == (int(what), 200)
        assert (first[1]["Retry-After"] == "1") is (what in ("503", "429"))
    assert talk(web, "/f/reset-once.html") == (b"", "reset")
    assert talk(web, "/f/reset-once.html")[0].startswith(b"HTTP/1.1 200")


def test_a_kept_connection_closes_when_the_next_request_comes(web: Web) -> None:
    web.reset()
    connection = http.client.HTTPConnection(web.plan.authority(0))
    connection.request("GET", "/")
    connection.getresponse().read()
    connection.request("GET", "/ka/0.html")
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        connection.getresponse()
    connection.close()
    again = get(web.url(0, "/ka/0.html"))
    assert again is not None
    assert again[0] == 200
    fresh = get(web.url(0, "/ka/1.html"))
    assert fresh is not None
    assert fresh[0] == 200
    assert [hit.status for hit in web.log()] == [200, 0, 200, 200]


def test_cookie_bounce(web: Web) -> None:
    first = get(web.url(0, "/r/bounce"))
    assert first is not None
    assert (first[0], first[1]["Location"]) == (302, "/r/bounce")
    second = get(web.url(0, "/r/bounce"), {"Cookie": first[1]["Set-Cookie"].partition(";")[0]})
    assert second is not None
    assert second[0] == 200


def test_encodings_are_what_a_browser_would_show(web: Web) -> None:
    readers = {
        "latin1-header": "cp1252",
        "sjis-meta": "shift_jis",
        "win1251-meta": "cp1251",
        "lying-latin1": "cp1252",
    }
    for name, codec in readers.items():
        answer, expected = (
            get(web.url(0, f"/e/{name}.html")),
            web.plan.expected(web.url(0, f"/e/{name}.html")),
        )
        assert answer is not None
        assert expected is not None
        assert f"<title>{expected.title}</title>" in answer[2].decode(codec)
    for name, mark in (("bom-wins", b"\xef\xbb\xbf"), ("utf16-bom", b"\xff\xfe")):
        answer = get(web.url(0, f"/e/{name}.html"))
        assert answer is not None
        assert answer[2].startswith(mark)


def test_every_odd_url_answers_as_expected_or_not_at_all(web: Web) -> None:
    web.reset()
    loud = [
        one for one in odd.odds(web.plan, 0) if not one.path.startswith(("/l/", "/h/", "/endless/", "/bomb/"))
    ]
    for one in loud:
        if one.fate == "once":
            answer = get(web.url(0, one.path))
            assert answer is not None, one.path
            assert answer[0] == one.status, one.path
    assert len(loud) > 60


def test_traps_have_no_end(web: Web) -> None:
    for path in ("/cal/2024/05/", "/events?date=2024-05-01", "/grow/a/", "/shop/item-3.html?sid=12345678"):
        seen = {path}
        todo = [path]
        while todo and len(seen) < 500:
            for link in traps.links(web.plan, 0, todo.pop(0)) or []:
                where = link.url.removeprefix(web.plan.origin(0))
                if where not in seen:
                    seen.add(where)
                    todo.append(where)
        assert len(seen) >= 500
        assert all(traps.is_trap(web.plan, 0, where) or where in traps.goods(web.plan) for where in seen)
        answer = get(web.url(0, todo[-1]))
        assert answer is not None
        assert answer[0] == 200


def test_a_thousand_spam_hosts_answer() -> None:
    with serve(preset("traps", pages=30)) as web:
        for host in (-1, -500, -1000):
            answer = get(web.url(host, "/offer-7.html"))
            assert answer is not None
            assert answer[0] == 200
            assert answer[2].count(b"http://127.1.") >= 20
        assert any(link.url.startswith("http://127.1.") for link in graph.links(web.plan, 0, 0))


@pytest.mark.parametrize("fault", ["good", "expired", "wrong-host", "self-signed"])
def test_certificates(fault: str) -> None:
    with serve(preset("tiny", hosts=2, tls=fault)) as web:
        context = ssl.create_default_context(cafile=web.ca)
        assert web.url(1).startswith("https://127.0.1.2:")
        connection = http.client.HTTPSConnection(web.plan.authority(1), context=context, timeout=5)
        if fault == "good":
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
            assert web.log()[0].host == web.plan.authority(1)
        else:
            with pytest.raises(ssl.SSLCertVerificationError):
                connection.connect()
        connection.close()
