"""Rules that decide when a position causes an alert. They are read from a TOML file and from the column
`rules` of keywords. A state rule (`below 10`) fires when its condition becomes true or is true in the first
check. It fires again only after the condition was false. An edge rule (`falls 3`) fires for a change.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gossamer.uses.ranks.model import Keyword, RankEventKind
from gossamer.uses.rule_files import (
    AlertRule,
    BadRule,
    RuleBook,
    RuleForm,
    RuleTable,
    parse_rule_file,
    read_rule_file,
)

FORMS = (
    "`below 10`, `above 4`, `not in results`, `falls 3`, `rises 3`, `changes 3`, `enters 10`, `leaves 10`, "
    "`url changes`, `competitor passes`, `feature won`, `feature lost`, `feature TYPE won`, `feature TYPE lost`, "
    "`layout drift`, `checks fail`"
)
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("below", r"below\s+(?P<number>\d{1,3})"),
    ("above", r"above\s+(?P<number>\d{1,3})"),
    ("missing", r"not\s+in\s+results"),
    ("falls", r"falls(?:\s+(?P<number>\d{1,3}))?"),
    ("rises", r"rises(?:\s+(?P<number>\d{1,3}))?"),
    ("changes", r"changes(?:\s+(?P<number>\d{1,3}))?"),
    ("enters", r"enters\s+(?P<number>\d{1,3})"),
    ("leaves", r"leaves\s+(?P<number>\d{1,3})"),
    ("url", r"url\s+changes"),
    ("passed", r"competitor\s+passes"),
    ("feature-won", r"feature(?:\s+(?P<type>[a-z_]+))?\s+won"),
    ("feature-lost", r"feature(?:\s+(?P<type>[a-z_]+))?\s+lost"),
    ("layout", r"layout\s+drift"),
    ("failing", r"checks\s+fail"),
)
_COMPILED = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PATTERNS)
STATES = frozenset(("below", "above", "missing", "passed"))
EVENTS = {
    "url": RankEventKind.URL,
    "feature-won": RankEventKind.FEATURE_WON,
    "feature-lost": RankEventKind.FEATURE_LOST,
    "layout": RankEventKind.LAYOUT_DRIFT,
    "failing": RankEventKind.FAILING,
}
_SCOPE = ("domain", "keyword", "tag", "engine")


class RankCondition(NamedTuple):
    """A parsed text such as `falls 3`. `number`: the number in the text, or 1 if it has none. `type`: the
    type of a feature, or '' for all types."""

    kind: str
    number: int = 1
    type: str = ""


class RankRule(AlertRule, kw_only=True, frozen=True):
    """A rule. It applies to the keywords that match all of its non-empty scopes."""

    condition: RankCondition
    domain: frozenset[str] = frozenset()
    keyword: frozenset[str] = frozenset()
    tag: frozenset[str] = frozenset()
    engine: frozenset[str] = frozenset()
    own: str = ""
    """For a rule in the column `rules`: the key of its keyword, which consists of the search and the domain
    (`own_key`)."""

    def applies(self, keyword: Keyword) -> bool:
        """Whether the rule applies to a keyword."""
        return (
            (not self.own or self.own == own_key(keyword))
            and (not self.domain or keyword.domain in self.domain)
            and (not self.keyword or keyword.search.keyword in self.keyword)
            and (not self.tag or not self.tag.isdisjoint(keyword.tags))
            and (not self.engine or keyword.search.engine in self.engine)
        )


def own_key(keyword: Keyword) -> str:
    """Returns the key of a keyword, by which its own rules refer to it."""
    return f"{keyword.search.id} {keyword.domain}"


def parse_condition(text: str) -> RankCondition:
    """Parses the text of a rule. Raises BadRule.

    >>> parse_condition("falls 3"), parse_condition("feature ai_overview won").type
    (RankCondition(kind='falls', number=3, type=''), 'ai_overview')
    """
    for kind, pattern in _COMPILED:
        if found := pattern.fullmatch(" ".join(text.split())):
            given = found.groupdict()
            number = int(given.get("number") or 1)
            if number < 1:
                raise BadRule(f"{text!r}: a position is at least 1", 0)
            return RankCondition(kind, number, (given.get("type") or "").lower())
    raise BadRule(f"{text[:80]!r} is not understood: write {FORMS}", 0)


def rules_of_keyword(keyword: Keyword) -> list[RankRule]:
    """Returns the rules in the column `rules` of a keyword. Texts that are not rules have already been
    rejected when the list was read."""
    return [
        RankRule(name=text, text=text, condition=parse_condition(text), own=own_key(keyword))
        for text in keyword.rules
    ]


def read_rules(path: str) -> RuleBook[RankRule]:
    """Reads a file of rules. Raises ConfigError."""
    return read_rule_file(path, _FORM)


def parse_rules(source: str, name: str = "the rules") -> RuleBook[RankRule]:
    """Parses a TOML file of rules. Raises ConfigError, whose message contains the file, the line, the column,
    and the correct form."""
    return parse_rule_file(source, name, _FORM)


def _rule(table: RuleTable) -> RankRule:
    return RankRule(
        name=table.name,
        text=table.when,
        condition=parse_condition(table.when),
        severity=table.severity,
        domain=table.scopes["domain"],
        keyword=table.scopes["keyword"],
        tag=table.scopes["tag"],
        engine=table.scopes["engine"],
    )


_FORM = RuleForm("keyword", FORMS, _SCOPE, (), _rule)
