"""Parses the rules that decide when a position causes an alert. The rules come from a TOML file and from the
column `rules` of a keyword list. A state rule (`below 10`) fires when its condition becomes true, or if the
condition is true in the first check. A state rule fires again only after its condition was false. An edge
rule (`falls 3`) fires for a change between two checks.
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
    """The parsed condition of a rule, such as `falls 3`. `number`: the number in the condition, or 1 if the
    condition contains no number. `type`: the type of a feature, or '' for all types."""

    kind: str
    number: int = 1
    type: str = ""


class RankRule(AlertRule, kw_only=True, frozen=True):
    """An alert rule for ranks. The rule applies to the keywords that match all non-empty scopes of the
    rule."""

    condition: RankCondition
    domain: frozenset[str] = frozenset()
    keyword: frozenset[str] = frozenset()
    tag: frozenset[str] = frozenset()
    engine: frozenset[str] = frozenset()
    own: str = ""
    """The key of the keyword whose column `rules` contains the rule (see `own_key`), or '' for a rule from a
    file."""

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
    """Returns the key of a keyword for `RankRule.own`. The key consists of the search id and the domain."""
    return f"{keyword.search.id} {keyword.domain}"


def parse_condition(text: str) -> RankCondition:
    """Parses the condition of a rule. Raises BadRule.

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
    """Returns the rules in the column `rules` of a keyword. Invalid rules were already rejected when the
    keyword list was read."""
    return [
        RankRule(name=text, text=text, condition=parse_condition(text), own=own_key(keyword))
        for text in keyword.rules
    ]


def read_rules(path: str) -> RuleBook[RankRule]:
    """Reads a TOML file with rank rules. Raises ConfigError."""
    return read_rule_file(path, _FORM)


def parse_rules(source: str, name: str = "the rules") -> RuleBook[RankRule]:
    """Parses the content of a TOML file with rank rules. Raises ConfigError. The error message contains the
    file, the line, the column, and the correct form."""
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
