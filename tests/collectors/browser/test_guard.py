"""Tests of the browser's guard: all connections of the browser pass through the tunnel, so no page can
reach a refused address."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket

from collectors.browser.conftest import BOTH, IN_MODULE, Make, Stage, failure, page
from gossamer.collectors.browser.tunnel import Tunnel
from gossamer.egress.resolver import Resolver
from gossamer.model.page import Page
from gossamer.model.rendering import Render, Scroll, read_actions
from gossamer.model.request import Request
from support.repetitions import ALL

pytestmark = IN_MODULE

TRIES = """<!doctype html><body><script>
const at = ADDRESSES, udp = UDP;
const tries = [];
for (const one of at) {
  tries.push(fetch('http://' + one + '/fetch', {mode: 'no-cors'}).catch(() => 0));
  tries.push(new Promise(done => { const image = new Image(); image.onload = image.onerror = done; image.src = 'http://' + one + '/image' }));
  tries.push(new Promise(done => { const ws = new WebSocket('ws://' + one + '/ws'); ws.onopen = ws.onclose = ws.onerror = done }));
  navigator.sendBeacon('http://' + one + '/beacon', 'x');
  const frame = document.createElement('iframe'); frame.src = 'http://' + one + '/frame'; document.body.append(frame);
  const pre = document.createElement('link'); pre.rel = 'preconnect'; pre.href = 'http://' + one; document.head.append(pre);
}
if (window.RTCPeerConnection) {  // Firefox has none here
  const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:' + udp}]});
  peer.createDataChannel('x');
  tries.push(peer.createOffer().then(offer => peer.setLocalDescription(offer)).then(() => new Promise(done => {
    peer.onicegatheringstatechange = () => peer.iceGatheringState == 'complete' && done(); setTimeout(done, 3000) })));
}
Promise.all(tries).then(() => { document.body.append(Object.assign(document.createElement('p'), {id: 'done'})) });
</script>"""


WAYS = {
    "link": "<a id=go href={to} target=_blank>x</a>",
    "link of an opener": "<a id=go href={to} target=_blank rel=opener>x</a>",
    "form": "<form action={to} method=post target=w><button id=go>x</button></form>",
    "open": "<button id=go onclick=\"window.open('{to}')\">x</button>",
    "saved open": "<script>const saved = window.open; Object.defineProperty(window, 'open', {{value: saved, writable: false}})</script>"
    "<button id=go onclick=\"saved('{to}', 'w', 'noopener'); saved('{to}', 'v', 'popup')\">x</button>",
    "late link": "<button id=go onclick=\"setTimeout(() => Object.assign(document.createElement('a'), {{href: '{to}', target: '_blank'}}).click(), 20)\">x</button>",
    "open in a frame": "<iframe name=f srcdoc='<p>f</p>'></iframe><button id=go onclick=\"window.open('{to}', 'f')\">x</button>",
    "window then lead": "<button id=go onclick=\"const w = window.open('about:blank', 'w'); setTimeout(() => {{ w.location = '{to}' }}, 50)\">x</button>",
    "written window": "<script>const saved = window.open</script><button id=go onclick=\"const w = saved('', 'w');"
    " w && w.document.write('<iframe src={to}></iframe><img src={to}i>')\">x</button>",
    "location": "<button id=go onclick=\"location = '{to}'\">x</button>",
    "redirect": "<a id=go href='/hop?{to}'>x</a>",
    "refresh": "<button id=go onclick=\"document.head.innerHTML = '<meta http-equiv=refresh content=0;url={to}>'\">x</button>",
    "ping": "<a id=go ping={to} href='#x'>x</a>",
    "download": "<a id=go href={to} download>x</a>",
}
"""Pages whose button leads to an address in a way that a click opens. `to`: the URL."""


SCROLLED = """<!doctype html><body><div style="height:3000px">above</div><script>
const lazy = 'FRAMES'.split(' ').map(one => `<iframe loading=lazy src="http://${one}/lazy"></iframe>`).join('');
document.currentScript.insertAdjacentHTML('afterend', `<button class=more>More</button>${lazy}<div style="height:3000px">below</div>`);
let begun = 0, grown = 0;
const begin = () => {
  if (begun++) return;
  const grow = setInterval(() => { document.body.append(Object.assign(document.createElement('p'), {style: 'height:900px'})); if (++grown == 12) clearInterval(grow) }, 400);
  TRIES
};
document.querySelector('.more').onclick = begin;
</script>"""
"""The same tries, begun by the button that scrolling presses, and lazy frames."""


class Trap:
    """Listens on TCP and UDP. `heard`: one entry per TCP connection or UDP packet."""

    async def __aenter__(self) -> Trap:
        self.heard: list[object] = []
        self.server = await asyncio.start_server(self._came, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.udp.setblocking(False)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        self.udp.close()

    def _came(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append("tcp")
        writer.close()

    def all(self) -> list[object]:
        """Return the TCP connections and the UDP packets so far."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.heard.append(self.udp.recv(2000))
        return self.heard


async def names(host: str, _port: int) -> list[str]:
    """Resolve `site.test` to 127.0.0.1 and `inner.test` to 127.0.0.2, which the guard refuses. Return
    other names unchanged."""
    return {"site.test": ["127.0.0.1"], "inner.test": ["127.0.0.2"]}.get(host, [host])


@BOTH
async def test_what_the_guard_refuses_hears_nothing(stage: Stage, browser: Make) -> None:
    async with Trap() as trap:
        addresses = [
            f"{host}:{trap.port}"
            for host in ("127.0.0.2", "localhost", "[::1]", "inner.test", "2130706434", "0.0.0.0")
        ]
        stage.pages["/"] = TRIES.replace("ADDRESSES", json.dumps(addresses)).replace(
            "UDP", str(trap.udp.getsockname()[1])
        )
        guard = Resolver(["127.0.0.1/32"], lookup=names)  # the guard allows only this address
        trap_elsewhere = await asyncio.start_server(trap._came, "127.0.0.2", trap.port)
        got = await page(browser(guard, lambda _: Render("#done")), stage.url(host="site.test"))
        assert b'id="done"' in got.body
        assert trap.all() == []
        trap_elsewhere.close()
    assert stage.paths() == ["/"]


@BOTH
async def test_steps_reach_nothing_that_the_guard_refuses(
    stage: Stage, browser: Make, program: str | None
) -> None:
    """A click opens a window, a form, a redirect or a download at a refused address. `./test` tries each way with
    one of the addresses in Chromium and with another one in Firefox, and `./test --all` with all of them."""
    async with Trap() as trap:
        guard = Resolver(["127.0.0.1/32"], lookup=names)
        steps = read_actions([{"click": "#go"}, {"pause": 0.2}])
        collector = browser(guard, lambda _: Render(steps=steps))
        trap_elsewhere = await asyncio.start_server(trap._came, "127.0.0.2", trap.port)
        hosts = ("127.0.0.2", "[::1]", "inner.test")
        paths = {f"/{n}": way for n, way in enumerate(WAYS)}
        for turn in range(len(hosts)) if ALL else (0 if program is None else 1,):
            for n, (path, way) in enumerate(paths.items()):
                to = f"http://{hosts[(n + turn) % len(hosts)]}:{trap.port}/"
                stage.pages[f"/hop?{to}"] = (302, {"location": to}, "")
                stage.pages[path] = WAYS[way].format(to=to)
            visits = [collector.collect(Request(stage.url(path, "site.test")), {}) for path in paths]
            for way, got in zip(WAYS, await asyncio.gather(*visits), strict=True):
                assert isinstance(got, Page), (way, got)
            assert trap.all() == []
        trap_elsewhere.close()
    assert {path.partition("?")[0] for path in stage.paths()} == {*paths, "/hop"}


async def test_what_the_guard_refuses_hears_nothing_while_the_page_is_scrolled(
    stage: Stage, browser: Make
) -> None:
    async with Trap() as trap:
        addresses = [
            f"{host}:{trap.port}"
            for host in ("127.0.0.2", "localhost", "[::1]", "inner.test", "2130706434", "0.0.0.0")
        ]
        tries = TRIES.partition("<script>")[2].partition("</script>")[0]
        tries = tries.replace("ADDRESSES", json.dumps(addresses)).replace(
            "UDP", str(trap.udp.getsockname()[1])
        )
        stage.pages["/"] = SCROLLED.replace("TRIES", tries).replace("FRAMES", " ".join(addresses))
        guard = Resolver(["127.0.0.1/32"], lookup=names)
        trap_elsewhere = await asyncio.start_server(trap._came, "127.0.0.2", trap.port)
        render = Render(scroll=Scroll(press=".more"))
        got = await page(browser(guard, lambda _: render), stage.url(host="site.test"))
        assert b'id="done"' in got.body
        assert b"/lazy" in got.body
        assert trap.all() == []
        trap_elsewhere.close()
    assert stage.paths() == ["/"]


@BOTH
async def test_what_is_let_is_reached(stage: Stage, browser: Make) -> None:
    """An allowed address is reached, which shows that the trap of the previous test works."""
    async with Trap() as trap:
        stage.pages["/"] = TRIES.replace("ADDRESSES", json.dumps([f"127.0.0.1:{trap.port}"])).replace(
            "UDP", "9"
        )
        guard = Resolver(["127.0.0.1/32"], lookup=names)
        assert (
            b'id="done"'
            in (await page(browser(guard, lambda _: Render("#done")), stage.url(host="site.test"))).body
        )
        assert len(trap.all()) >= 3


@BOTH
async def test_a_page_that_itself_is_refused(stage: Stage, browser: Make) -> None:
    collector = browser(Resolver(lookup=names))
    got = await failure(collector, stage.url())
    assert (got.reason, got.final, got.sent) == ("private", True, False)
    got = await failure(collector, "ftp://site.test/")
    assert (got.reason, got.final) == ("filter", True)
    assert stage.seen == []


async def test_the_tunnel_pins_counts_and_ends(stage: Stage) -> None:
    stage.pages["/"] = b"x" * 5000
    answers = [["127.0.0.1"], ["10.0.0.1"]]

    async def moves(_host: str, _port: int) -> list[str]:
        return answers.pop(0)

    tunnel = Tunnel(Resolver(["127.0.0.0/8"], lookup=moves, ttl=0.0))
    await tunnel.open()

    async def ask() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(tunnel.url.rpartition(":")[2]))
        host = b"site.test"
        writer.write(
            b"\x05\x01\x00\x05\x01\x00\x03" + bytes([len(host)]) + host + stage.server_port.to_bytes(2, "big")
        )
        writer.write(b"GET / HTTP/1.1\r\nhost: site.test\r\nconnection: close\r\n\r\n")
        try:
            return await reader.read()
        except ConnectionError:
            return b""
        finally:
            writer.close()

    try:
        assert (await ask())[2:4] == b"\x05\x01"  # while no page is loaded, the tunnel refuses connections
        tunnel.begin(100_000)
        got = await ask()
        assert got.endswith(b"x" * 5000)
        assert 5000 < tunnel.got < 5500
        assert (await ask())[2:4] == b"\x05\x02"
        assert [why.reason for why in tunnel.refused.values()] == ["private"]
        answers.append(["127.0.0.1"])
        tunnel.begin(1000)
        assert len(await ask()) < 5000
        assert tunnel.over
    finally:
        await tunnel.close()
