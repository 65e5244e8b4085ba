"""Runs the robots.txt suites of three other parsers, and compares the matcher with a second, simple one."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.politeness.robots import Robots

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"

ENCODED_ALIKE = "RFC 9309 2.2.2: octets outside ASCII and their %XX are equal, and %XX of an unreserved octet is that octet"
INDEX_FILE = "RFC 9309 2.2.2 compares octets: that index.html stands for its folder is Google's own"
OTHER_RECORDS = "RFC 9309 2.2.4: a record that is not a rule does not end a group, so `*` and the agent below share its rules"
END_OF_PATTERN = "RFC 9309 2.2.3: `$` at the end is the end of the match; the character itself is written %24"
NO_TOKEN = "RFC 9309 2.2.1: a product token holds no blank; robots-google wants `Foo Bar` to match no group"
DIFFERENT = {
    "robots-google": {
        "ID_Encoding/3": ENCODED_ALIKE,
        "ID_Encoding/5": ENCODED_ALIKE,
        "ID_Encoding/6": ENCODED_ALIKE,
        "GoogleOnly_IndexHTMLisDirectory/1": INDEX_FILE,
    },
    "robots-spec": {
        "non-ascii-paths/3": ENCODED_ALIKE,
        "non-ascii-paths/5": ENCODED_ALIKE,
        "non-ascii-paths/6": ENCODED_ALIKE,
        "index-page/1": INDEX_FILE,
    },
    "robots-protego": {
        "test_grouping_unknown_keys/1": OTHER_RECORDS,
        "test_grouping_unknown_keys/2": OTHER_RECORDS,
        "test_grouping_unknown_keys/3": OTHER_RECORDS,
        "test_generosity/3": NO_TOKEN,
        "test_index_html_is_directory/1": INDEX_FILE,
        "test_special_symbols_dual_behaviour/2": END_OF_PATTERN,
        "test_special_symbols_dual_behaviour/3": END_OF_PATTERN,
    },
}


@pytest.mark.parametrize("suite", DIFFERENT)
def test_suite(suite: str) -> None:
    """Checks every row except the listed ones. The file gives the same result when it is trimmed to the agent
    of the row."""
    file = SHARED / f"{suite}.jsonl.gz"
    if not file.exists():
        pytest.skip("../shared/data is not here")
    wrong = set()
    for row in map(json.loads, gzip.decompress(file.read_bytes()).splitlines()):
        body = base64.b64decode(row["robots"]["b64"])
        agent, url = row["agent"], row["url"]
        if Robots(body).allows(agent, url) != row["allowed"]:
            wrong.add(row["id"])
        trimmed = Robots(Robots.for_agents(body, [agent]))
        assert trimmed.allows(agent, url) == Robots(body).allows(agent, url), row["id"]
    assert wrong == set(DIFFERENT[suite])


def slow_match(pattern: str, path: str) -> bool:
    """Matches a path according to RFC 9309 section 2.2.3, with a regular expression."""
    anchored = pattern.endswith("$")
    body = ".*".join(map(re.escape, (pattern[:-1] if anchored else pattern).split("*")))
    return re.match(body + (r"\Z" if anchored else ""), path, re.DOTALL) is not None


PATTERN = st.text("ab/*", max_size=6).map(lambda text: "/" + text)


@given(
    st.lists(
        st.tuples(st.booleans(), st.builds(str.__add__, PATTERN, st.sampled_from(["", "$"]))), max_size=6
    ),
    st.text("ab/", max_size=8).map(lambda text: "/" + text),
)
def test_as_a_plain_reading_of_the_rfc(rules: list[tuple[bool, str]], path: str) -> None:
    matches = [(len(pattern), allow) for allow, pattern in rules if slow_match(pattern, path)]
    lines = [f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in rules]
    robots = Robots("\n".join(["User-agent: *", *lines]).encode())
    assert robots.allows("gossamer", path) is (max(matches)[1] if matches else True)
