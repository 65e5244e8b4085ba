"""A page whose site says `human`: the browser pauses, moves the mouse and turns its wheel, as a person does, in
Chromium and in Firefox."""

from __future__ import annotations

import json
from typing import Any

from turbohtml import parse

from collectors.browser.conftest import IN_MODULE, Shared, Stage, page
from gossamer.collectors.browser.human import look_around
from gossamer.model.page import Page
from gossamer.model.rendering import read_rendering

pytestmark = IN_MODULE

WATCHED = """<!doctype html><b></b><p style='height:4000px'>long</p><script>
const seen = {trusted: true, places: [], mousemove: 0, wheel: 0, scroll: 0, times: [], deepest: 0};
for (const kind of ['mousemove', 'wheel', 'scroll']) addEventListener(kind, event => {
  seen[kind]++; seen.trusted &&= event.isTrusted; seen.times.push(Math.round(performance.now()));
  if (kind == 'mousemove') seen.places.push(event.clientX + ' ' + event.clientY);
  seen.deepest = Math.max(seen.deepest, scrollY);
  document.querySelector('b').textContent = JSON.stringify(seen);
}, {passive: true});
</script>"""
GROWS = (
    "<!doctype html><ul></ul><script>let n = 0, wheels = 0; addEventListener('wheel', () => wheels++);"
    " const add = () => { if (n < 12) document.querySelector('ul').insertAdjacentHTML('beforeend', `<li style='height:600px'>row ${n++} ${wheels}`) };"
    " add(); add(); add(); addEventListener('scroll', add)</script>"
)


def seen(got: Page) -> dict[str, Any]:
    text = parse(got.body.decode()).select("b")[0].text
    return json.loads(text) if text else {}


async def test_a_person_moves_and_scrolls(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = WATCHED
    shared.looks.update({"person.test": read_rendering("human"), "machine.test": read_rendering("load")})
    found = seen(await page(shared.collector, stage.url(host="person.test")))
    assert found["trusted"] is True
    assert (found["mousemove"] >= 10, len(set(found["places"])) >= 10) == (True, True), found
    assert (found["wheel"] >= 5, found["scroll"] >= 1, found["deepest"] > 300) == (True, True, True), found
    assert len(set(found["times"])) > 10, "the gestures are spread over time"
    assert seen(await page(shared.collector, stage.url(host="machine.test"))) == {}


async def test_a_person_scrolls_to_the_end_with_the_wheel(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = GROWS
    shared.looks["endless.test"] = read_rendering({"human": True, "scroll": True})
    got = await page(shared.collector, stage.url(host="endless.test"))
    rows = [one.text.split() for one in parse(got.body.decode()).select("li")]
    assert [int(row[1]) for row in rows] == list(range(12))
    assert int(rows[-1][2]) > 0
    assert got.late == ""


async def test_a_page_that_leaves_while_a_person_looks_is_followed(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = "<p style='height:3000px'>x</p><script>addEventListener('mousemove', () => { location = '/there' })</script>"  # fmt: skip
    shared.looks["leaves.test"] = read_rendering("human")
    got = await page(shared.collector, stage.url(host="leaves.test"))
    assert (got.status, got.header("location")) == (302, stage.url("/there", "leaves.test"))


async def test_no_two_visits_are_alike_and_none_is_long() -> None:
    plans = [look_around(1280, 720, 9000, 6.0) for _ in range(20)]
    assert len({tuple(one) for one in plans}) == 20
    assert all(sum(one.seconds for one in plan) <= 6.0 for plan in plans)
    assert not any(one.kind == "wheel" for one in look_around(1280, 720, 0, 6.0)), (
        "a short page has no scrolling"
    )
