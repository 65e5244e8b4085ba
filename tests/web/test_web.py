"""Tests of the test web. The same plan gives the same web, and the results of a simple crawler agree with the
ground truth."""

from __future__ import annotations

import gzip
import http.client
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest

from web import Plan, Web, docs, graph, html, judge, odd, plan, preset, robots, serve, traps, truth, wire
from web.plan import FEATURES, load
from web.presets import PRESETS
from web.record import read
from web.reference import Reference, get

QUICK = tuple(name for name in FEATURES if name not in ("hang", "endless", "bombs", "lies"))


def body(url: str) -> bytes:
    """Returns the decoded body of a URL, which must answer."""
    answer = get(url)
    assert answer is not None
    return answer[2]


@pytest.fixture(scope="module")
def crawled() -> Iterator[tuple[Web, Reference]]:
    """A web with all features whose answers end, already crawled by the reference crawler."""
    with serve(
        preset("all", features=QUICK, slow=0.05, hosts=4, robots=("part", "delay", "missing", "agent"))
    ) as web:
        numbers = {web.plan.authority(host): host for host in web.plan.all_hosts()}

        def trap(url: str) -> bool:
            scheme, host = url.split("/", 3)[0::2]
            return traps.is_trap(web.plan, numbers[host], url.removeprefix(f"{scheme}//{host}"))

        reference = Reference(numbers, trap)
        reference.crawl(web.plan.seeds())
        yield web, reference


def test_reference_crawl_meets_the_truth(crawled: tuple[Web, Reference]) -> None:
    web, _reference = crawled
    log = web.log()
    assert judge.faults(log, web.plan) == []
    assert judge.robots_first(log, web.plan) == []
    assert judge.wasted(log, web.plan) == 0
    assert judge.fetched(log).keys() >= web.plan.must_fetch()
    assert not judge.fetched(log).keys() & web.plan.must_not_fetch()


def test_every_page_is_as_expected(crawled: tuple[Web, Reference]) -> None:
    web, reference = crawled
    checked = 0
    for url, seen in reference.seen.items():
        expected = web.plan.expected(url)
        assert expected is not None, url
        if expected.status is not None:
            assert seen.status == expected.status, url
        if expected.depth is not None:
            assert seen.depth == expected.depth, url
        if expected.fate == "once" and expected.status == 200 and expected.kind != "encodings":
            assert seen.title == expected.title, url
            assert sorted(seen.links) == sorted(expected.links), url
            checked += 1
    assert checked > 200


def test_the_truth_tells_apart_what_was_done_wrong(crawled: tuple[Web, Reference]) -> None:
    web, _ = crawled
    log = web.log()
    page = next(hit for hit in log if hit.path.startswith("/library/"))
    assert judge.faults([hit for hit in log if hit.path != page.path], web.plan)
    assert judge.faults([*log, page], web.plan)
    assert judge.faults([*log, page._replace(path=page.path + "?utm_source=again")], web.plan)
    assert judge.faults(
        [*log, page._replace(host=web.plan.authority(0), path="/private/page-0.html")], web.plan
    )
    assert judge.faults([*log, page._replace(path="/never-linked.html", kind="missing")], web.plan)
    assert judge.faults([*log, page._replace(host="10.0.0.1:80")], web.plan)
    assert judge.wasted([*log, page._replace(path="/cal/2031/04/")], web.plan) > 0


@pytest.mark.parametrize("name", [name for name in PRESETS if name not in ("real10k", "hosts50")])
def test_links_are_written_as_they_are_meant(name: str) -> None:
    web = preset(name, port=8123)
    for host in range(min(web.hosts, 2)):
        for i in (*range(min(web.pages, 30)), web.pages - 1):
            own = web.url(host, graph.path(i))
            for link in graph.links(web, host, i):
                assert truth.home(urldefrag(urljoin(own, link.written.strip()))[0]) == truth.home(link.url)


@pytest.mark.parametrize("name", ["tiny", "real2k", "traps"])
def test_every_page_of_the_tree_is_reachable_at_its_depth(name: str) -> None:
    web = preset(name, port=8123, features=())
    depths, todo = {0: 0}, [0]
    for i in todo:
        for j in graph.targets(web, 0, i, graph.dice(web, 0, i)):
            if j not in depths:
                depths[j] = depths[i] + 1
                todo.append(j)
    assert depths == {i: graph.depth(web, i) for i in range(web.pages)}


@pytest.mark.parametrize("pages", [5, 10, 15, 100])
def test_a_page_behind_two_redirects_is_as_deep_as_the_nearer(pages: int) -> None:
    web = preset("small", port=8123, pages=pages)
    paths = ("/r/end-301", "/r/code-301", "/r/relative")
    depth, *ways = (truth.odd_depth(web, 0, odd.table(web, 0)[path]) for path in paths)
    assert depth == min(ways)


def test_pages_have_the_planned_shape() -> None:
    web = preset("big", port=8123)
    sizes, numbers, hrefs = [], [], []
    for i in range(100_000, 100_100):
        found = graph.links(web, 0, i)
        numbers.append(len({link.url for link in found}))
        hrefs.append(len(found))
        sizes.append(len(b"".join(html.page(web, 0, i))))
    assert set(hrefs) == {119}
    assert set(numbers) == {41}
    assert 0.95 * web.size < sum(sizes) / len(sizes) < 1.05 * web.size


def test_same_plan_same_bytes_another_seed_other_links() -> None:
    with serve(preset("small", hosts=1)) as web:
        for i in (0, 1, 17, 59):
            assert body(web.url(0, graph.path(i))) == b"".join(html.page(web.plan, 0, i))
    one, other = preset("tiny", port=1), preset("tiny", port=1, seed=2)
    assert [graph.links(one, 0, i) for i in range(30)] != [graph.links(other, 0, i) for i in range(30)]
    assert one.must_fetch() == other.must_fetch()


def test_a_plan_survives_json() -> None:
    for web in PRESETS.values():
        assert load(web.to_json()) == web


def test_a_plan_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="no such feature: tarps"):
        Plan(features=("tarps",))
    with pytest.raises(KeyError, match="real2k"):
        preset("real")


def test_addresses_and_names() -> None:
    assert plan.address(249) == "127.0.1.250"
    assert len({plan.address(host) for host in range(-1000, 1000)}) == 2000
    assert Plan(names=True, port=80).url(0) == "http://www.web1.test:80/"


def test_hosts_by_name() -> None:
    with serve(preset("tiny", hosts=3, names=True)) as web:
        for host in range(3):
            answer = get(f"http://127.0.0.1:{web.plan.port}/", {"Host": web.plan.authority(host)})
            assert answer is not None
            assert f"of web {host}</title>" in answer[2].decode()
        assert [hit.host for hit in web.log()] == [web.plan.authority(host) for host in range(3)]


def test_every_robots_variant_closes_what_the_truth_says() -> None:
    with serve(preset("robots")) as web:
        assert set(web.plan.robots) == set(robots.VARIANTS)
        Reference([web.plan.authority(host) for host in range(web.plan.hosts)]).crawl(web.plan.seeds())
        log = web.log()
        assert judge.faults(log, web.plan) == []
        assert judge.robots_first(log, web.plan) == []
        shut = [name for host, name in enumerate(web.plan.robots) if robots.closed(web.plan, host, "/")]
        assert sorted(shut) == ["500", "hang", "none"]
        assert judge.delays(web.plan, 0.2)[web.plan.authority(web.plan.robots.index("delay"))] == 0.3
        assert judge.delays(web.plan, 0.2)[web.plan.authority(0)] == 0.2


def test_a_page_is_not_sent_again_to_who_has_it() -> None:
    with serve(preset("tiny")) as web:
        first = get(web.url())
        assert first is not None
        second = get(web.url(), {"If-None-Match": first[1]["ETag"], "Accept-Encoding": "gzip"})
        assert second is not None
        assert (second[0], second[2]) == (304, b"")


def test_gzip_only_where_it_is_taken() -> None:
    with serve(preset("tiny")) as web:
        connection = http.client.HTTPConnection(web.plan.authority(0))
        bodies = []
        for takes in ({"Accept-Encoding": "br, gzip"}, {}):
            connection.request("GET", "/", headers=takes)
            reply = connection.getresponse()
            body = reply.read()
            bodies.append(gzip.decompress(body) if reply.headers["Content-Encoding"] == "gzip" else body)
        connection.close()
        assert bodies[0] == bodies[1] == b"".join(html.page(web.plan, 0, 0))
        assert web.log()[0].sent < web.log()[1].sent
        assert web.log()[0].conn == web.log()[1].conn


@pytest.mark.parametrize("library", ["isal", "zlib"])
def test_gzip_of_pieces_is_one_true_member(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if library == "zlib":
        monkeypatch.setattr(wire, "_zlib", lambda: zlib)
    for i in (0, 3, 1999):
        pieces = html.page(preset("real2k", port=1), 0, i)
        assert len(pieces) > 5
        unpacked = zlib.decompressobj(31)
        assert unpacked.decompress(wire.zipped(*pieces)) == b"".join(pieces)
        assert (unpacked.eof, unpacked.unused_data) == (True, b"")


def test_the_file_log_is_the_log(tmp_path: Path) -> None:
    file = tmp_path / "hits.jsonl"
    for _ in range(2):
        with serve(preset("tiny"), log=file) as web:
            for i in range(5):
                get(web.url(0, graph.path(i)))
            log = web.log()
            assert [hit.path for hit in log] == [graph.path(i) for i in range(5)]
    hits = read(file.read_text().splitlines(keepends=True))
    assert len(hits) == 10
    assert hits[5:] == log
    assert read([*file.read_text().splitlines(keepends=True), '{"n": 3, "co']) == hits


def test_reset_forgets_all() -> None:
    with serve(preset("tiny", features=("flaky",))) as web:
        for _ in range(2):
            statuses = [get(web.url(0, "/f/503-once.html")) for _ in range(2)]
            assert [answer and answer[0] for answer in statuses] == [503, 200]
            assert len(web.log()) == 2
            web.reset()
        assert web.stats()["requests"] == 0


def test_the_server_ends_with_its_starter() -> None:
    with serve(preset("tiny")) as web:
        assert subprocess.run(["kill", "-0", str(web.pid)], check=False).returncode == 0
    assert subprocess.run(["kill", "-0", str(web.pid)], capture_output=True, check=False).returncode != 0


def test_documentation_folder(tmp_path: Path) -> None:
    pages = {
        "index.html": '<a href="a.html#x">a</a> <a href="sub">sub</a> <a href="gone.html">gone</a> <a href="f.png">f</a>',
        "a.html": '<base href="sub/"><a href="b.html">b</a><a href="/alone.html" rel="nofollow">no</a>',
        "sub/index.html": '<a href="../a.html?q=1">a</a><a href="mailto:x@y.example">m</a><map><area href="c d.html"></map>',
        "sub/b.html": '<meta name="robots" content="nofollow"><a href="/alone.html">no</a>',
        "sub/c d.html": '<a href="http://elsewhere.example/">out</a><a href="../../../etc/passwd">up</a>',
        "alone.html": "nobody links here",
    }
    (tmp_path / "sub").mkdir()
    for name, body in pages.items():
        (tmp_path / name).write_text(f"<!DOCTYPE html><title>{name}</title>{body}")
    (tmp_path / "f.png").write_bytes(b"png")
    reach = docs.reachable(str(tmp_path))
    assert reach.pages == {"/", "/a.html", "/a.html?q=1", "/sub/", "/sub/b.html", "/sub/c%20d.html"}
    assert (reach.files, reach.redirects) == ({"/f.png"}, {"/sub"})
    assert reach.missing == {"/gone.html", "/etc/passwd"}
    with serve(Plan(folder=str(tmp_path))) as web:
        for path in reach.pages | reach.files | reach.redirects:
            get(web.url(0, path))
        statuses = {hit.path: hit.status for hit in web.log()}
        assert statuses["/sub"] == 301
        assert {statuses[path] for path in reach.pages | reach.files} == {200}


def test_every_odd_url_is_in_one_group_only() -> None:
    web = preset("all", port=8123)
    for host in range(web.hosts):
        paths = [one.path for one in odd.odds(web, host)]
        assert len(paths) == len(set(paths))
        assert all(not one.via or one.via in paths for one in odd.odds(web, host))
