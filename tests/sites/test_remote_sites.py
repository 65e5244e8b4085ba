"""The hosts that a worker leaves to other workers, based on the known facts of a site whose file it lacks."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gossamer.sites import host_rules, load_all
from gossamer.sites.remote_sites import SiteReach, owner_names, reach_of, site_group, stand_ins

FILES = {
    "all.py": "from gossamer import Site\ndefault = Site('all')",
    "near.py": "from gossamer import Site\nsite = Site('near', hosts=['*.shop.example'], args={'tea': ''})",
    "own.py": "from gossamer import Site\nsite = Site('own', hosts=['a.shop.example'], lane='slow', region='eu', ladder='browser')",
    "part.py": "from gossamer import Site\nsite = Site('part', seeds=['https://paths.example/x'], paths='^/x')",
}


@pytest.mark.parametrize(
    ("host", "whose"),
    [
        ("a.shop.example", {"near", "own"}),
        ("b.shop.example", {"near"}),
        ("paths.example", {"part", "all"}),
        ("else.example", {"all"}),
    ],
)
@pytest.mark.parametrize("lacks", [[], ["own"], ["near", "part"], ["all", "own", "near"]])
def test_hosts_are_the_same_sites_without_their_files(
    tmp_path: Path, host: str, whose: set[str], lacks: list[str]
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    there = load_all([str(tmp_path)])
    known = msgspec.json.encode({one.name: reach_of(one) for one in there})
    reaches = msgspec.json.decode(known, type=dict[str, SiteReach])
    faults: list[str] = []
    (tmp_path / "broken.py").write_text("import nothing_at_all")
    here = load_all([str(tmp_path)], {"tea": "green"}, lacks, faults)
    assert ["broken.py:1: ModuleNotFoundError" in one for one in faults] == [True]
    assert {one.name for one in here} == {one.name for one in there} - set(lacks)
    some = [*here, *stand_ins({name: reaches[name] for name in lacks})]
    assert owner_names(some, host) == owner_names(there, host) == whose
    assert host_rules.heap_of(some, host, "http", None) == host_rules.heap_of(there, host, "http", None)
    assert bool(site_group(whose, lacks)) == bool(whose & set(lacks))
    (one,) = [one.site for one in some if one.name == "own"]
    assert (one.says_lane, one.says_ladder, one.ladder) == (True, True, ("browser",))
