"""Site files are found, imported and compared with one another. An error report names the file and the
line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gossamer.errors import ConfigError, GossamerError, UsageError
from gossamer.sites import load, load_all
from gossamer.sites.loading import match

HEAD = "from gossamer import Item, Site\n"


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(HEAD + text)
    return folder


def test_a_folder_is_its_files_but_for_underscored_ones(tmp_path: Path) -> None:
    write(
        tmp_path,
        b="site = Site('b', hosts=['b.example'])",
        a="import _shared\nsite = Site('a', hosts=[_shared.HOST])",
    )
    write(
        tmp_path,
        _shared="HOST = 'a.example'\nsite = Site('hidden')",
        no_site="x = 1",
        two="x = Site('x')\ny = Site('y')",
    )
    assert [site.name for site in load(tmp_path)] == ["a", "b", "x", "y"]
    assert [site.name for site in load_all([str(tmp_path / "b.py"), "https://b.example/", "-"])] == ["b"]


def test_versions_and_items(tmp_path: Path) -> None:
    write(tmp_path, a="site = Site('a')\nclass Book(Item, key='n'):\n    n: int\n")
    (one,) = load(tmp_path / "a.py")
    assert list(one.items) == ["book"]
    assert one.version == load(tmp_path / "a.py")[0].version
    write(tmp_path, a="site = Site('a', seeds=['https://a.example/'])")
    (other,) = load(tmp_path / "a.py")
    assert one.version != other.version
    assert [request.url for request in other.requests()] == ["https://a.example/"]


def test_a_file_is_loaded_once_per_process(tmp_path: Path) -> None:
    write(tmp_path, a="site = Site('a')")
    (one,) = load_all([str(tmp_path / "a.py")])
    assert load_all([str(tmp_path / "a.py")])[0] is one
    write(tmp_path, a="site = Site('b')")
    assert load_all([str(tmp_path / "a.py")])[0].name == "b"


BROKEN = [
    ("x = (\n", "a.py:2", "never closed"),
    ("\nif True:\nx = 1", "a.py:4", "indented block"),
    ("import no_such_module", "a.py:2", "no_such_module"),
    ("def f():\n    return 1 / 0\nf()", "a.py:3", "ZeroDivisionError"),
    ("site = Site('a', host=['x'])", "a.py:2", "did you mean hosts="),
    ("site = Site('a')\n@site.page('(')\ndef f(page): ...", "a.py:3", "not a regular expression"),
    ("class Book(Item, key='isbn'):\n    upc: str", "a.py:2", "isbn"),
    ("raise SystemExit(3)", "a.py:2", "SystemExit"),
    ("import _broken", "a.py:2", "_broken.py"),
    ("x = '\x00'", "a.py:", "null bytes"),
]


@pytest.mark.parametrize(("text", "where", "says"), BROKEN)
@pytest.mark.parametrize("relative", [False, True])
def test_a_broken_file_is_named_with_its_line(
    tmp_path: Path, text: str, where: str, says: str, relative: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a=text, _broken="x = (\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        load("a.py" if relative else tmp_path / "a.py")
    assert where in str(caught.value)
    assert says in str(caught.value)
    assert caught.value.exit_code == 4


def test_what_has_no_site(tmp_path: Path) -> None:
    write(tmp_path, a="x = 1")
    with pytest.raises(ConfigError, match="no module-level Site"):
        load(tmp_path / "a.py")
    with pytest.raises(ConfigError, match="no site file in it"):
        load(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none.py")


def test_an_unreadable_file(tmp_path: Path) -> None:
    write(tmp_path, a="site = Site('a')")
    (tmp_path / "a.py").chmod(0)
    if os.access(tmp_path / "a.py", os.R_OK):  # root can read every file
        (tmp_path / "a.py").unlink()
        (tmp_path / "a.py").mkdir()
        with pytest.raises(ConfigError):
            load(tmp_path)
        return
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "a.py")


def test_names_and_hosts_are_one_sites_alone(tmp_path: Path) -> None:
    same = write(tmp_path / "same", a="site = Site('x')", b="site = Site('x')")
    with pytest.raises(ConfigError, match=r"b\.py: the name 'x' is taken by .*a\.py"):
        load_all([str(same)])
    both = write(
        tmp_path / "both",
        a="site = Site('a', hosts=['a.example'])",
        b="site = Site('b', hosts=['a.example'])",
    )
    with pytest.raises(ConfigError, match=r"the host a\.example is a's .*paths="):
        load_all([str(both)])
    apart = write(
        tmp_path / "apart",
        a="site = Site('a', hosts=['a.example'], paths=['/shop/'])",
        b="site = Site('b', hosts=['a.example'], paths=['/blog/'])",
    )
    sites = load_all([str(apart)])
    assert [(match(sites, f"https://a.example/{p}/") or sites[0]).name for p in ("shop", "blog")] == [
        "a",
        "b",
    ]
    assert match(sites, "https://a.example/") is None


def test_the_default_takes_what_no_other_does(tmp_path: Path) -> None:
    write(
        tmp_path,
        a="site = Site('a', hosts=['a.example'])",
        z="default = Site('rest')",
        y="here = default = Site('y', hosts=['y.example'])\n",
    )
    sites = load_all([str(tmp_path / "a.py"), str(tmp_path / "z.py")])
    found = [match(sites, url) for url in ("https://a.example/", "https://b.example/")]
    assert [one.name if one else None for one in found] == ["a", "rest"]
    assert match(sites[:1], "https://b.example/") is None
    assert load(tmp_path / "y.py")[0].default


def test_the_closer_site_takes_a_page_whatever_the_files_are_called(tmp_path: Path) -> None:
    write(
        tmp_path,
        a="site = Site('all', hosts=['*.a.example'])",
        b="site = Site('shop', hosts=['shop.a.example'])",
        c="site = Site('port', hosts=['shop.a.example:8080'], paths=['^/x'])",
        d="default = Site('rest', seeds=['https://shop.a.example/'])",
    )
    sites = load_all([str(tmp_path)])
    urls = [
        "https://www.a.example/",
        "https://shop.a.example/",
        "https://shop.a.example:8080/x",
        "https://shop.a.example:8080/y",
        "https://b.example/",
    ]
    assert [(match(sites, url) or sites[0]).name for url in urls] == ["all", "shop", "port", "shop", "rest"]


def test_one_default_alone(tmp_path: Path) -> None:
    write(tmp_path, a="default = Site('a')", b="default = Site('b')")
    with pytest.raises(ConfigError, match=r"b\.py: .*a\.py has a site called default, too"):
        load_all([str(tmp_path)])


def test_a_bad_selector_is_told_before_the_crawl(tmp_path: Path) -> None:
    write(tmp_path, a="site = Site('a', must_have=['h1', 'p['])")
    with pytest.raises(ConfigError, match=r"a\.py: site a: must_have: CSS selector 'p\['"):
        load(tmp_path / "a.py")


def test_where_a_site_keeps_its_items_is_read_before_the_crawl(tmp_path: Path) -> None:
    write(tmp_path, a="site = Site('a', sinks=['a.jsonl', 'a.xls'])")
    with pytest.raises(ConfigError, match=r"a\.py: site a: sinks: -o a\.xls: no format for \.xls"):
        load(tmp_path / "a.py")


def test_a_site_file_hides_no_package(tmp_path: Path) -> None:
    write(
        tmp_path,
        tabnanny="site = Site('tabnanny')",
        z="import tabnanny\nsite = Site('z')\nassert tabnanny.check\n",
    )
    before = list(sys.path)
    assert [site.name for site in load(tmp_path)] == ["tabnanny", "z"]
    assert sys.path == before


def test_arguments_reach_the_sites_that_take_them(tmp_path: Path) -> None:
    write(
        tmp_path,
        a="site = Site('a', args={'country': 'de', 'page': '1'})",
        b="site = Site('b', args={'country': 'fr'})",
    )
    one, other = load_all([str(tmp_path)], {"country": "at"})
    assert (one.site.args, other.site.args) == ({"country": "at", "page": "1"}, {"country": "at"})
    with pytest.raises(UsageError, match="did you mean country"):
        load_all([str(tmp_path)], {"contry": "x"})
    with pytest.raises(UsageError, match="there are: country, page"):
        load_all([str(tmp_path)], {"zzz": "x"})
    with pytest.raises(GossamerError, match="there are: none"):
        load_all([], {"zzz": "x"})


def test_arguments_of_one_run_are_not_those_of_the_next(tmp_path: Path) -> None:
    write(tmp_path, a="site = Site('a', args={'country': 'de'})")
    load_all([str(tmp_path)], {"country": "at"})
    assert load_all([str(tmp_path)])[0].site.args == {"country": "de"}


def test_an_edit_of_one_letter_within_the_second_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "shop.py"
    seen = []
    for letter in "ab":
        path.write_text(f"from gossamer import Site\nsite = Site('shop', hosts=['{letter}.example'])\n")
        os.utime(path, (1_800_000_000, 1_800_000_000))
        (one,) = load(path)
        seen.append(one.site.hosts)
    assert seen == [("a.example",), ("b.example",)]


def test_item_classes_that_are_fields_of_others_are_no_kinds(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        'from gossamer import Item, Site\nsite = Site("a")\nclass Offer(Item):\n    price: float\n'
        'class Maker(Item, key="name"):\n    name: str\nclass Book(Item):\n    offers: list[Offer] | None\n    maker: Maker\n'
    )
    assert set(load(file)[0].items) == {"book", "maker"}
