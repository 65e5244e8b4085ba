"""Rules: when a position is worth an alert. Read from a TOML file, and from the column `rules` of keywords.

A state rule (`below 10`) fires when its condition is true, also at the first sight, and again only after the
condition was false. An edge rule (`falls 3`) fires for a change.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, NamedTuple

import msgspec

from gossamer.errors import ConfigError
from gossamer.uses.ranks.model import Keyword, RankEventKind

FORMS = (
    "`below 10`, `above 4`, `not in results`, `falls 3`, `rises 3`, `changes 3`, `enters 10`, `leaves 10`, "
    "`url changes`, `competitor passes`, `feature won`, `feature lost`, `feature TYPE won`, `feature TYPE lost`, "
    "`layout drift`, `checks fail`"
)
SEVERITIES = ("info", "warn", "page")
DIGESTS = ("off", "run", "day")
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
_KEYS = ("when", "domain", "keyword", "tag", "engine", "severity", "enabled")
_SCOPE = ("domain", "keyword", "tag", "engine")


class RankCondition(NamedTuple):
    """A parsed text such as `falls 3`. `number`: 1 if the text has none. `type`: of a feature, '' for all."""

    kind: str
    number: int = 1
    type: str = ""


class RankRule(msgspec.Struct, kw_only=True, frozen=True):
    """A rule. It applies to the keywords that match every scope that is not empty."""

    name: str
    text: str
    condition: RankCondition
    domain: frozenset[str] = frozenset()
    keyword: frozenset[str] = frozenset()
    tag: frozenset[str] = frozenset()
    engine: frozenset[str] = frozenset()
    severity: str = "warn"
    own: str = ""
    """For a rule of the column `rules`: the search and the domain of its keyword."""

    @property
    def key(self) -> str:
        """The name under which the history remembers what fired. It changes with the text."""
        return self.name if self.name == self.text else f"{self.name} = {self.text}"

    def applies(self, keyword: Keyword) -> bool:
        """Whether the rule applies to a keyword."""
        return (
            (not self.own or self.own == own_key(keyword))
            and (not self.domain or keyword.domain in self.domain)
            and (not self.keyword or keyword.search.keyword in self.keyword)
            and (not self.tag or not self.tag.isdisjoint(keyword.tags))
            and (not self.engine or keyword.search.engine in self.engine)
        )


class RankRuleBook(NamedTuple):
    """All rules, and how their alerts are sent."""

    rules: tuple[RankRule, ...] = ()
    digest: str = "run"
    """`run`: one notification with all alerts of a run. `day`: one a day. `off`: one for each alert."""
    max_per_day: int = 50
    """Notifications per receiver and day. The next one says how many alerts were left out."""


class BadRankRule(ValueError):
    """A text is not a rule."""


def own_key(keyword: Keyword) -> str:
    """Returns the name of a keyword in the rules of its own."""
    return f"{keyword.search.id} {keyword.domain}"


def parse_condition(text: str) -> RankCondition:
    """Parses the text of a rule. Raises BadRankRule.

    >>> parse_condition("falls 3"), parse_condition("feature ai_overview won").type
    (RankCondition(kind='falls', number=3, type=''), 'ai_overview')
    """
    for kind, pattern in _COMPILED:
        if found := pattern.fullmatch(" ".join(text.split())):
            given = found.groupdict()
            number = int(given.get("number") or 1)
            if number < 1:
                raise BadRankRule(f"{text!r}: a position is at least 1")
            return RankCondition(kind, number, (given.get("type") or "").lower())
    raise BadRankRule(f"{text[:80]!r} is not understood: write {FORMS}")


def rules_of_keyword(keyword: Keyword) -> list[RankRule]:
    """Returns the rules of a keyword's own column. Texts that are not rules were rejected with the list."""
    return [
        RankRule(name=text, text=text, condition=parse_condition(text), own=own_key(keyword))
        for text in keyword.rules
    ]


def read_rules(path: str) -> RankRuleBook:
    """Reads a file of rules. Raises ConfigError."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_rules(file.read(), path)
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: there is no such file; rules for single keywords are in the column `rules` of their list"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None


def parse_rules(source: str, name: str = "the rules") -> RankRuleBook:
    """Parses a TOML file of rules. Raises ConfigError with what to write."""
    try:
        found = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: this is not TOML: {error}") from None
    for key in found:
        if key not in ("rules", "digest", "max_per_day"):
            raise ConfigError(f"{name}: {key} is not known: write [rules.NAME], digest or max_per_day")
    digest, most = found.get("digest", "run"), found.get("max_per_day", 50)
    if digest not in DIGESTS:
        raise ConfigError(f"{name}: digest is one of {', '.join(DIGESTS)}")
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise ConfigError(f"{name}: max_per_day is a whole number from 1")
    tables = found.get("rules", {})
    if not isinstance(tables, dict) or not all(isinstance(one, dict) for one in tables.values()):
        raise ConfigError(f"{name}: write [rules.NAME] above each rule")
    rules = [_rule(called, table, name) for called, table in tables.items()]
    return RankRuleBook(tuple(rule for rule in rules if rule is not None), digest, most)


def _rule(called: str, table: dict[str, Any], name: str) -> RankRule | None:
    where = f"{name}: rule {called}"
    for key in table:
        if key not in _KEYS:
            raise ConfigError(f"{where}: {key} is not known: write {', '.join(_KEYS)}")
    when = table.get("when")
    if not isinstance(when, str):
        raise ConfigError(f"{where}: `when` is missing: write when = with one of {FORMS}")
    try:
        condition = parse_condition(when)
    except BadRankRule as error:
        raise ConfigError(f"{where}: {error}") from None
    severity = table.get("severity", "warn")
    if severity not in SEVERITIES:
        raise ConfigError(f"{where}: severity is one of {', '.join(SEVERITIES)}")
    if not isinstance(table.get("enabled", True), bool):
        raise ConfigError(f"{where}: enabled is true or false")
    scopes: dict[str, Any] = {}
    for key in _SCOPE:
        given = table.get(key, [])
        names = [given] if isinstance(given, str) else given
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
            raise ConfigError(f"{where}: {key} is a text or a list of texts")
        scopes[key] = frozenset(names)
    if table.get("enabled", True) is False:
        return None
    return RankRule(name=called, text=when, condition=condition, severity=severity, **scopes)
