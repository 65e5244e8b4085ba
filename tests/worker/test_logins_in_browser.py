"""Members of a site that scripts render, in a real Chromium. The tests check who logged in, on which rung, as
which user, and where the cookies are stored."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.byte_servers import Asked, answer
from support.light_proxies import Light, lights
from support.processes import free_port
from worker.member_site import PASSWORD, Club, open_club
from worker.test_logins_in_crawls import KEY, attempts, begin, canaries, crawl, ended, site, until

FIREFOX = "ladder='browser', browser='firefox'"
pytestmark = pytest.mark.skipif(
    shutil.which("chromium") is None and os.environ.get("CI") != "true", reason="needs chromium"
)
BROWSERS = pytest.mark.parametrize("ladder", ["ladder='browser'", FIREFOX], ids=["chromium", "firefox"])
"""Run a test with a log-in that is typed in Chromium and in Firefox."""
SHELL = """<title>Hall</title><div id=root></div><script>
fetch('/api' + location.pathname).then(async (answer) => {
  if (answer.status == 401) { location = '/login'; return; }
  const said = await answer.json();
  document.cookie = 'path=' + encodeURIComponent('/ü' + location.pathname) + '; path=/';
  root.innerHTML = '<h1>Members alone</h1>' + said.links.map((one) => `<a href="${one}">x</a>`).join('') + '<a class=out href=/logout>Out</a>';
});
</script>"""
FORM = """<title>Hall</title><div id=root></div><script>
fetch('/token').then((answer) => answer.text()).then((token) => {
  root.innerHTML = '<form><input id=user><input type=password name=password><button type=button>No</button><button>In</button></form>';
  const form = document.querySelector('#in') || document.querySelector('form');
  const enter = form.onsubmit = (event) => {
    event.preventDefault();
    const body = JSON.stringify({ token, user: user.value, password: document.querySelector('[type=password]').value });
    fetch('/enter', { method: 'POST', body }).then((answer) => {
      if (answer.ok) location = '/'; else root.innerHTML = 'Wrong' + root.innerHTML;
    });
  };
  if (form.localName == 'div') form.onclick = (event) => { if (event.target.localName == 'button') enter(event); };
  for (const box of document.querySelectorAll('x-box')) {
    const inner = box.attachShadow({ mode: 'open' });
    inner.append(...box.childNodes);
    inner.querySelector('button').onclick = enter;
    Object.assign(window, { user: inner.querySelector('#user') });
    document.querySelector = (query) => query.includes('password') ? inner.querySelector(query) : null;
  }
});
</script>"""


@dataclass
class Hall(Club):
    """A club whose pages are empty before their scripts run. With `typed`, a script also builds and submits
    the log-in form."""

    typed: bool = False
    form: str = ""
    """The HTML that replaces the log-in form."""
    scripted: int = 0
    """The number of requests with a cookie that a script has set."""

    async def reply(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        cookies, target = self.of(asked)
        path = urlsplit(target).path
        if path.startswith("/api/"):
            self.scripted += "path" in cookies
            user = self.sids.get(sid := cookies.get("sid", ""), "")
            if self.left[sid] <= 0 or user in self.locked:
                writer.write(answer(b"{}", 401))
                return False
            self.left[sid] -= 1
            self.shown[user] += 1
            self.seen.setdefault(user, set()).add(
                (writer.get_extra_info("peername")[0], asked.headers["user-agent"])
            )
            links = [f"/p/{n}" for n in range(1, self.pages)] if path == "/api/" else []
            turned = []
            if self.turning:
                left, self.left[sid] = self.left[sid], 0
                turned = [f"Set-Cookie: sid={self.sid(user, left)}; Path=/; HttpOnly; Max-Age=600"]
            writer.write(
                answer(json.dumps({"links": links}).encode(), 200, "Content-Type: application/json", *turned)
            )
        elif path == "/enter":
            said = json.loads(asked.body)
            right = said["token"] == self.tokens.pop(cookies.get("pre", ""), None)
            user = said["user"] if right and said["password"] == f"{PASSWORD}{said['user']}" else ""
            self.logins[user] += bool(user)
            self.wrong[said["user"]] += not user
            cookie = [f"Set-Cookie: sid={self.sid(user, self.life)}; Path=/; HttpOnly"] if user else []
            writer.write(answer(b"", 200 if user else 403, *cookie))
        elif path == "/token":
            self.tokens["pre"] = "token-of-pre"
            writer.write(answer(b"token-of-pre", 200, "Set-Cookie: pre=pre; Path=/"))
        elif path == "/login" and self.typed:
            page = re.sub("<form>.*</form>", lambda found: self.form or found[0], FORM)
            writer.write(answer(page.encode()))
        elif path in ("/robots.txt", "/login", "/logout"):
            return await super().reply(asked, writer)
        else:
            writer.write(answer(SHELL.encode()))
        return asked.headers.get("connection") == "close"


async def test_a_form_over_http_then_pages_in_the_browser_with_the_same_cookies_both_ways(
    tmp_path: Path,
) -> None:
    hall = Hall(pages=8, turning=True)
    async with open_club(hall) as server:
        target = site(tmp_path, server.url(), more=", ladder=['plain', 'browser']")
        ran = await crawl(tmp_path, target, "-s", "session_key=${env:JARS}", JARS=KEY)
        assert ran.code == 0, ran.err
        assert (ran.summary["pages"], ran.summary["dead"], hall.logins) == (8, 0, {"ann": 1}), (
            ran.summary,
            hall.wrong,
        )
        made = attempts(tmp_path)
        assert {one["rung"] for one in made if "/p/" in one["url"] and one["outcome"] == "done"} == {
            "browser"
        }
        assert [one["rung"] for one in made if one["url"].partition("?")[0].endswith("/login")] == [
            "plain"
        ] * 2
        assert {one["session"] for one in made if "robots.txt" not in one["url"]} == {"ann"}
        assert len(hall.seen["ann"]) == 1, "one address, one user agent"
        assert next(iter(hall.seen["ann"]))[1].startswith("gossamer/")
        assert hall.scripted >= 7, "what a script set is there on the next page"
        assert canaries(tmp_path) == []


@BROWSERS
async def test_a_form_built_by_scripts_is_typed_in_the_browser_and_again_when_one_is_out(
    tmp_path: Path,
    ladder: str,
) -> None:
    hall = Hall(pages=8, life=6, typed=True)
    async with open_club(hall) as server:
        ran = await crawl(tmp_path, site(tmp_path, server.url(), more=f", {ladder}"))
        assert ran.code == 0, ran.err
        assert (ran.summary["pages"], ran.summary["dead"], hall.logins) == (8, 0, {"ann": 2}), (
            ran.summary,
            hall.wrong,
        )
        assert {one["rung"] for one in attempts(tmp_path) if "robots.txt" not in one["url"]} == {"browser"}
        assert PASSWORD not in " ".join(map(str, attempts(tmp_path))) + ran.err
        login = f"Login('{server.url()}login', {{'user': 'bob', 'password': '${{env:PASSWORD_ANN}}'}}, shows='a.out')"
        ran = await crawl(
            tmp_path,
            site(tmp_path, server.url(), login, f", {ladder}"),
            "--fresh",
            "-s",
            "timeout=6s",
        )
        assert (ran.code, hall.wrong["bob"]) == (4, 1), "wrong credentials are tried once"
        assert "the log-in as main was refused" in ran.err


SEARCH = "<div><form id=s><input name=q><button>Search</button></form></div>"


async def log_in_to_each(folder: Path, ladder: str, forms: dict[str, str], more: str = "") -> None:
    """Crawl a hall for each form, all in one crawl. Each must have been entered once. `more`: options of the
    log-in."""
    async with contextlib.AsyncExitStack() as servers:
        halls = {name: Hall(pages=3, typed=True, form=form) for name, form in forms.items()}
        lines = ["from gossamer import Login, Site"]
        for n, hall in enumerate(halls.values()):
            url = (await servers.enter_async_context(open_club(hall))).url()
            fields = "{'user': 'ann', 'password': '${env:PASSWORD_ANN}'}"
            login = f"Login('{url}login', {fields}, shows='a.out'{more})"
            lines.append(f"club{n} = Site('club{n}', seeds=['{url}'], session={login}, {ladder})")
        (folder / "clubs.py").write_text("\n".join(lines))
        ran = await crawl(folder, str(folder / "clubs.py"))
        entered = {name: (hall.logins, hall.wrong) for name, hall in halls.items()}
        assert entered == dict.fromkeys(forms, ({"ann": 1}, {"ann": 0})), ran.err
        assert (ran.code, ran.summary["pages"], ran.summary["dead"]) == (0, 3 * len(forms), 0), ran.err


@BROWSERS
async def test_controls_outside_of_the_form_that_they_name(tmp_path: Path, ladder: str) -> None:
    forms = {
        "button": f"<form id=in><input id=user><input type=password name=password></form>{SEARCH}<button type=button form=in>No</button><button form=in>In</button>",
        "password": f"<form id=in><input id=user><button>In</button></form>{SEARCH}<input type=password name=password form=in>",
        "all": f"<form id=in></form>{SEARCH}<p><input id=user form=in></p><input type=password name=password form=in><input type=image alt=In form=in>",
        "names": f"<form id=in><input name=elements><input name=form type=hidden></form>{SEARCH}<input name=user id=user form=in><input type=password name=password form=in><button form=in>In</button>",
    }
    await log_in_to_each(tmp_path, ladder, forms)


@BROWSERS
async def test_fields_in_an_element_that_the_site_names(tmp_path: Path, ladder: str) -> None:
    forms = {
        "no form": "<div id=in><p><input id=user></p><input type=password name=password><button>In</button></div>",
        "shadow root": "<form id=in><x-box><input id=user><input type=password name=password><button>In</button></x-box></form>",
    }
    await log_in_to_each(tmp_path, ladder, forms, ", form='#in'")


async def test_a_refused_log_in_whose_password_is_outside_of_the_form_is_seen(tmp_path: Path) -> None:
    """Without `shows`, a log-in has failed if its form is there again."""
    form = "<form id=in><button>In</button></form><input id=user form=in><input type=password name=password form=in>"
    hall = Hall(pages=3, typed=True, form=form)
    async with open_club(hall) as server:
        login = f"Login('{server.url()}login', {{'user': 'bob', 'password': '${{env:PASSWORD_ANN}}'}})"
        more = ["-s", "timeout=6s"]
        ran = await crawl(tmp_path, site(tmp_path, server.url(), login, ", ladder='browser'"), *more)
        assert (ran.code, hall.wrong["bob"]) == (4, 1), ran.err
        assert "the form is there again" in ran.err


async def test_a_kill_and_a_resume_in_the_browser_need_no_new_log_in(tmp_path: Path) -> None:
    hall = Hall(pages=8)
    async with open_club(hall) as server:
        target = site(tmp_path, server.url(), more=", ladder='browser'")
        process = begin(tmp_path, target)
        await until(lambda: hall.shown["ann"] >= 4)
        process.send_signal(signal.SIGKILL)
        await ended(process)
        ran = await crawl(tmp_path, target)
        assert (ran.code, ran.summary["pages"], ran.summary["dead"], hall.logins) == (0, 8, 0, {"ann": 1}), (
            ran.err
        )


async def test_the_same_browser_and_proxy_on_both_rungs(tmp_path: Path) -> None:
    pytest.importorskip("curl_cffi")
    hall, proxies = Hall(pages=5), [Light(f"127.0.5.{n}", free_port()) for n in (1, 2, 3)]
    async with open_club(hall) as server, lights(*proxies):
        (tmp_path / "proxies").write_text("".join(f"http://{one.address}:{one.port}\n" for one in proxies))
        target = site(tmp_path, server.url(), more=", ladder=['impersonated', 'browser']")
        ran = await crawl(tmp_path, target, "--proxies", str(tmp_path / "proxies"))
        assert (ran.code, ran.summary["pages"], hall.logins) == (0, 5, {"ann": 1}), ran.err
        ((_, agent),) = hall.seen["ann"]
        made_by = [one for one in attempts(tmp_path) if one["session"] == "ann"]
        assert {one["rung"] for one in made_by} == {"impersonated", "browser"}
        assert len({one["proxy"] for one in made_by}) == 1
        assert "Chrome/" in agent
        assert {post.headers["user-agent"] for post in hall.posts} == {agent}
        mixed = site(tmp_path, server.url(), more=", ladder=['plain', 'browser']")
        ran = await crawl(tmp_path, mixed, "--fresh", "--ladder", "impersonated")
        assert (ran.code, "ladder=['impersonated', 'browser']" in ran.err) == (4, True), ran.err
