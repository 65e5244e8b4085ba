"""The structured data in pages."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.parsing.lenient_json import json_values
from gossamer.parsing.structured import json_ld_objects, structured
from support.repetitions import repetitions

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
URL = "https://example.com/a/b"
LOOSE = [
    ('{"a": 1}', [{"a": 1}]),
    ('{"a": [1, 2,],}', [{"a": [1, 2]}]),
    ('// why\n{"a": "b // c"} // so', [{"a": "b // c"}]),
    ('/* why */ {"a": /* x */ true}', [{"a": True}]),
    ('<!-- {"a": 1} --> {"b": "<!-- c -->",}', [{"b": "<!-- c -->"}]),
    ('//<![CDATA[\n{"a": 1}\n//]]>', [{"a": 1}]),
    ('<![CDATA[{"a": 1}]]>', [{"a": 1}]),
    ("{&quot;a&quot;: &quot;b &amp;amp; c&quot;}", [{"a": "b &amp; c"}]),
    ('{"a": 1} {"b": 2}', [{"a": 1}, {"b": 2}]),
    ('{"a": 1}, {"b": 2};', [{"a": 1}, {"b": 2}]),
    ('[{"a": 1}, null, {"b": 2}]', [[{"a": 1}, None, {"b": 2}]]),
    ('{"a": "line 1\nline 2\ttab"}', [{"a": "line 1\nline 2\ttab"}]),
    ('{"a": "a 24" screen", "b": 1,}', [{"a": 'a 24" screen', "b": 1}]),
    ('{"a": "x"\n "b": "y"}', [{"a": "x", "b": "y"}]),
    ('{"a": {"b": [1, 2.50', [{"a": {"b": [1, 2.5]}}]),
    ('{"a": "unended', [{"a": "unended"}]),
    (r'{"a": "it\'s \u00e9\n\/",}', [{"a": "it's é\n/"}]),
    ('{"a": undefined, b: \'c\', "d": .5}', [{"a": None, "b": "c", "d": 0.5}]),
    ('{"a": ]1}', [{"a": 1}]),
    (r'{"a": "\ud83d\ude00 \ud800"}', [{"a": "😀 \ufffd"}]),
    ('<!-- {"a": 1} -->', [{"a": 1}]),  # a comment that once hid scripts from old browsers is ignored
    ('{"a": "b",, "c": 1}', [{"a": "b", "c": 1}]),
    ('{"a": "b", c: "d"}', [{"a": "b", "c": "d"}]),
    ("{“a”: “b”, “c”: 1}", [{"a": "b", "c": 1}]),
    ("", []),
    ("nothing", []),
]


@pytest.mark.parametrize(("text", "found"), LOOSE)
def test_json_as_it_is_written(text: str, found: list[Any]) -> None:
    assert json_values(text) == found


def test_deep_json_loses_what_is_too_deep_and_nothing_else() -> None:
    (found,) = json_values('{"a": ' + "[" * 5000 + "]" * 5000 + ', "b": 1}')
    assert found["b"] == 1
    assert isinstance(found["a"], list)


def page(html: str) -> dict[str, Any]:
    return structured(html.encode(), URL)


def test_json_ld_is_one_list_of_objects() -> None:
    found = page(
        '<script type="application/ld+json">{"@graph": [{"@type": "Book"}]}</script>'
        '<script type="Application/LD+JSON; charset=utf-8">[{"a": 1}, null, [], {"b": 2}] trash</script>'
        "<script>{'no': 1}</script>"
    )["json_ld"]
    assert found == [{"@graph": [{"@type": "Book"}]}, {"a": 1}, {"b": 2}]
    assert [one.get("@type") for one in json_ld_objects(found)][:2] == [None, "Book"]


def test_json_ld_in_any_encoding() -> None:
    text = '<meta charset="{0}"><script type="application/ld+json">{{"name": "Käse"}}</script>'
    for name in ("utf-8", "windows-1252"):
        assert structured(text.format(name).encode(name), URL)["json_ld"] == [{"name": "Käse"}]


ITEMS = [
    (
        '<div itemscope itemtype="T U"><b itemprop=a>1 <i>2</i></b></div>',
        [{"type": ["T", "U"], "properties": {"a": "1 2"}}],
    ),
    (
        '<div itemscope><b itemprop="a b">1</b><b itemprop=a>2</b></div>',
        [{"properties": {"a": ["1", "2"], "b": "1"}}],
    ),
    (
        "<p itemscope><a itemprop=u href=c>x</a><img itemprop=i src=/d>",
        [{"properties": {"u": "https://example.com/a/c", "i": "https://example.com/d"}}],
    ),
    (
        "<p itemscope><time itemprop=t datetime=2020>x</time><time itemprop=s>1999</time>",
        [{"properties": {"t": "2020", "s": "1999"}}],
    ),
    (
        "<p itemscope><meta itemprop=m content=1><data itemprop=d value=2>x</data><b itemprop=c content=3>x</b>",
        [{"properties": {"m": "1", "d": "2", "c": "3"}}],
    ),
    (
        "<div itemscope itemtype=P><div itemprop=o itemscope itemtype=O><b itemprop=p>1</b></div><b itemprop=n>2</b></div>",
        [{"type": "P", "properties": {"o": {"type": "O", "properties": {"p": "1"}}, "n": "2"}}],
    ),
    (
        "<div itemscope itemref='x y'></div><p id=x><b itemprop=a>1</b></p><p id=y itemprop=b>2</p>",
        [{"properties": {"a": "1", "b": "2"}}],
    ),
    ("<div id=l itemscope itemref=l><b itemprop=a>1</b></div>", [{"properties": {"a": ["1", "1"]}}]),
    ("<b itemprop=stray>1</b><p itemscope>text</p>", [{"value": "text"}]),
    (
        "<div itemscope><div itemprop=d><script>x</script><p>one<p>two</div></div>",
        [{"properties": {"d": "one\n\ntwo"}}],
    ),
    (
        "<div itemscope itemtype=T itemid=urn:1><b itemprop=n>1</div></b>",
        [{"type": "T", "id": "urn:1", "properties": {"n": "1"}}],
    ),
]


@pytest.mark.parametrize(("html", "items"), ITEMS)
def test_microdata(html: str, items: list[Any]) -> None:
    assert page(html)["microdata"] == items


NODES = [
    (
        '<div vocab="http://schema.org/" typeof=Product><b property=name>N</b><div property=offers typeof=Offer><b property=price content=5>x</b></div></div>',
        [
            {
                "@id": "_:b0",
                "@type": ["http://schema.org/Product"],
                "http://schema.org/name": [{"@value": "N"}],
                "http://schema.org/offers": [{"@id": "_:b1"}],
            },
            {
                "@id": "_:b1",
                "@type": ["http://schema.org/Offer"],
                "http://schema.org/price": [{"@value": "5"}],
            },
        ],
    ),
    (
        '<p prefix="x: http://x/#"><b property="x:a y:b c">1</b>',
        [{"@id": URL, "http://x/#a": [{"@value": "1"}], "y:b": [{"@value": "1"}]}],
    ),
    (
        "<p about=/i typeof=schema:Person><a property=schema:url href=u>x</a>",
        [
            {
                "@id": "https://example.com/i",
                "@type": ["http://schema.org/Person"],
                "http://schema.org/url": [{"@id": "https://example.com/a/u"}],
            },
        ],
    ),
    (
        "<img typeof=foaf:Image src=i><div resource=/r><b property=dc:title>1</b></div>",
        [
            {"@id": "https://example.com/a/i", "@type": ["http://xmlns.com/foaf/0.1/Image"]},
            {"@id": "https://example.com/r", "http://purl.org/dc/terms/title": [{"@value": "1"}]},
        ],
    ),
]


@pytest.mark.parametrize(("html", "nodes"), NODES)
def test_rdfa(html: str, nodes: list[Any]) -> None:
    assert page(html)["rdfa"] == nodes


def test_open_graph_keeps_order_and_repeats_and_forgives_the_body() -> None:
    html = (
        '<html prefix="my: http://my/#"><meta property=og:title content=T><meta property=my:x content=1><meta property=no:x content=2>'
        "<body><p><meta property=og:image content=a><meta property=http://ogp.me/ns#image content=b><meta property=og:image content=a>"
    )
    assert page(html)["opengraph"] == [
        {
            "namespace": {"my": "http://my/#", "og": "http://ogp.me/ns#"},
            "properties": [
                ["og:title", "T"],
                ["my:x", "1"],
                ["og:image", "a"],
                ["og:image", "b"],
                ["og:image", "a"],
            ],
        }
    ]


def test_open_graph_says_of_each_image_what_it_says_of_all() -> None:
    both = [["og:image", "a"], ["og:image:width", "9"], ["og:image", "b"], ["og:image:width", "9"]]
    html = "".join(f"<meta property={name} content={value}>" for name, value in both)
    assert page(html)["opengraph"][0]["properties"] == both


HOSTILE = [
    "<div itemscope>" * 20_000,
    "<div itemscope><b itemprop=a>" * 10_000 + "text",
    "<div itemprop=x>" * 20_000 + "<p itemscope itemref=a>",
    "<p id=a itemscope itemprop=a itemref='a b'><p id=b itemscope itemprop=b itemref='a b'>" * 500,
    "<p itemscope itemref=r>" * 5000 + "<div id=r>" + "<b itemprop=c>1</b>" * 5000,
    "<div typeof=og:T prefix='a: b' property=og:x>" * 20_000 + "text",
    "<script type=application/ld+json>" + '{"a":' * 100_000,
    "<script type=application/ld+json>" + "/*" * 200_000,
    "<script type=application/ld+json>{" + '"' * 200_000,
    "<script type=application/ld+json>{" + '" ' * 200_000,
    "<script type=application/ld+json>{" + "\\" * 200_000 + '"',
    '<script type=application/ld+json>{"a": "' + '\\"' * 200_000,
    '<script type=application/ld+json>{"a": ' + "9" * 200_000 + ",}",
    "<script type=application/ld+json>" + "[" * 50_000 + "}" * 50_000,
    "<meta property=og:x content=y>" * 20_000,
    "<div itemscope itemprop='a b'>" * 100 + "x",
    "<b itemscope><i itemprop='" + "".join(f"n{n} " for n in range(10_000)) + "'>" + "x" * 10_000,
    "<b property='" + "".join(f"og:n{n} " for n in range(10_000)) + "'>" + "x" * 10_000,
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_pages_end(number: int) -> None:
    found = page(HOSTILE[number])
    assert len(json.dumps(found)) < 10_000_000


PIECES = [
    "<div itemscope itemtype=T>",
    "<b itemprop=a itemscope>",
    "<i itemprop='a b' itemref='x y' id=x>",
    "</div>",
    "</b>",
    "<script type=application/ld+json>",
    "</script>",
    '{"@type": "A',
    '"x": [',
    "]}",
    ",",
    "//",
    "/*",
    "<!--",
    "\\",
    "\\ud800",
    "<p typeof=a:b property=c vocab=d about resource='[x:y]'>",
    "<table>",
    "text",
    "\0",
]


@settings(max_examples=repetitions(100), deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from(PIECES), max_size=30).map(lambda parts: "".join(parts).encode()),
    )
)
def test_any_bytes_are_read(body: bytes) -> None:
    found = structured(body, URL)
    assert sorted(found) == ["json_ld", "microdata", "opengraph", "rdfa"]
    json.dumps(found, ensure_ascii=False).encode()


def rows(name: str) -> list[dict[str, Any]]:
    if not (DATA / name).exists():
        pytest.skip("../shared/data is not here")
    with gzip.open(DATA / name, "rt") as lines:
        return [json.loads(line) for line in lines]


def same(value: Any) -> Any:
    """Normalizes a value: properties become lists and spaces are collapsed, so that extruct's two notations
    of items are equal."""
    if isinstance(value, list):
        return [same(part) for part in value]
    if isinstance(value, dict):
        found = {name: same(part) for name, part in value.items()}
        if isinstance(found.get("properties"), dict):
            found["properties"] = {
                name: part if isinstance(part, list) else [part] for name, part in found["properties"].items()
            }
        return {**found, "type": [found["type"]]} if isinstance(found.get("type"), str) else found
    return " ".join(value.split()) if isinstance(value, str) else value


NAMED_URL = {
    "w3c/microdata.7.1.json": "http://blog.example.com/progress-report",
    "w3c/microdata.object.json": "http://www.example.com/microdata/",
    "misc/expanded_OG_support_test.json": "http://www.example.com/index.html",
    "songkick/elysianfields.json": "http://www.songkick.com/artists/236156-elysian-fields",
    "songkick/elysianfields_1.json": "http://www.songkick.com/artists/236156-elysian-fields",
    "songkick/tovestyrke.json": "https://www.songkick.com/concerts/30166884-tove-styrke-at-hoxton-square-bar-and-kitchen",
}
"""Pages whose expected values contain absolute URLs."""
KINDS = {"json-ld": "json_ld", "microdata": "microdata", "opengraph": "opengraph", "rdfa": "rdfa"}


def kind_of(expected: Any) -> str | None:
    """Returns the gossamer key for the expected list of a row, or None for a format that gossamer does not
    read."""
    text = json.dumps(expected)
    if '"namespaces"' in text or '"h-' in text:
        return None
    return (
        "opengraph"
        if '"namespace"' in text
        else "rdfa"
        if '"@value"' in text or '"@id"' in text
        else "microdata"
    )


def test_extructs_own_pages() -> None:
    wrong, tried = [], 0
    for row in rows("structured-extruct.jsonl.gz"):
        found = structured(base64.b64decode(row["html"]["b64"]), NAMED_URL.get(row["id"], ""))
        expected = row["expected"]
        if row["what"] == "json-ld":
            pairs = {"json_ld": expected["items"][0] if isinstance(expected, dict) else expected}
        elif isinstance(expected, dict):
            pairs = {ours: expected[theirs] for theirs, ours in KINDS.items() if theirs in expected}
        else:
            pairs = {kind: expected for kind in [kind_of(expected)] if kind}
        for kind, value in pairs.items():
            tried += 1
            got = found[kind][: len(value)] if row["what"] == "json-ld" else found[kind]
            if same(got) != same(value):
                wrong.append(f"{row['id']} {kind}")
    assert tried > 0
    # RDFa 1.1 beyond Lite (rel, XML literals), and prefixes that extruct itself does not read
    assert wrong == ["misc/Portfolio_Niels_Lubberman.json rdfa", "songkick/elysianfields_1.json opengraph"]


def test_all_recipes_that_pages_have_as_json_ld() -> None:
    missed = []
    for row in rows("structured-recipes.jsonl.gz"):
        body = base64.b64decode(row["html"]["b64"])
        found = structured(body, row["url"])["json_ld"]
        if b"recipeIngredient" in body and not any(
            one.get("recipeIngredient") for one in json_ld_objects(found)
        ):
            missed.append(row["id"])
        assert found
    assert missed == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[[{"a": 1}], {"b": 2}]', [{"a": 1}, {"b": 2}]),
        ('{"a": +5, "b": .5, "c": 5.}', [{"a": 5, "b": 0.5, "c": 5}]),
        ("{'a': 'x, \\'y\\': it's', b: `z`}", [{"a": "x, 'y': it's", "b": "z"}]),
        ('<script type="application/ld+json">{"a": 1}', [{"a": 1}]),
        ("{'a': 'open", [{"a": "open"}]),
    ],
)
def test_values_as_scripts_write_them(text: str, expected: list[dict[str, Any]]) -> None:
    assert structured(f'<script type="application/ld+json">{text}</script>'.encode())["json_ld"] == expected


@pytest.mark.parametrize(
    ("metas", "expected"),
    [
        ('<meta name="og:title" content=T>', [["og:title", "T"]]),
        ('<meta name="og:title" content=N><meta property="og:title" content=P>', [["og:title", "P"]]),
        ('<meta property="og:title foaf:name" content=T>', [["og:title", "T"]]),
        ('<meta property="OG:Title" content=T>', [["og:title", "T"]]),
    ],
)
def test_open_graph_in_other_words(metas: str, expected: list[list[str]]) -> None:
    assert structured(metas.encode())["opengraph"][0]["properties"] == expected


def test_a_name_twice_is_one_property() -> None:
    assert structured(b"<p itemscope><i itemprop='a a'>x</i>")["microdata"][0]["properties"] == {"a": "x"}
