"""Reads TOML files with alert rules for prices or ranks. Parses the settings of a file and the keys that
price rules and rank rules share. The modules `prices.rules` and `ranks.rules` parse the condition of a rule
(`when = "falls 5%"`) and any additional keys.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from gossamer.errors import ConfigError

SEVERITIES = ("info", "warn", "page")
DIGESTS = ("off", "run", "day")


class AlertRule(msgspec.Struct, kw_only=True, frozen=True):
    """The base class of alert rules for prices and ranks."""

    name: str
    text: str
    severity: str = "warn"

    @property
    def key(self) -> str:
        """The key of the rule's state in the history. A rule gets a new key when the text of its condition
        changes."""
        return self.name if self.name == self.text else f"{self.name} = {self.text}"


Rule = TypeVar("Rule", bound=AlertRule)


class RuleBook(NamedTuple, Generic[Rule]):
    """A collection of alert rules, with the settings for sending alerts."""

    rules: tuple[Rule, ...] = ()
    digest: str = "run"
    """The way in which alerts are combined into notifications. With the digest `run`, all alerts of a run are
    sent in one notification. With the digest `day`, all alerts of a day are sent in one notification. With
    the digest `off`, each alert is sent in its own notification."""
    max_per_day: int = 50
    """Maximum number of notifications per receiver and day. The first notification after a suppressed alert
    states how many alerts were suppressed."""


class BadRule(ValueError):
    """Raised if a rule contains an invalid value. `key`: the key of the invalid value. `column`: the position
    of the error within the value, counted from 1, or 0 if the whole value is invalid."""

    def __init__(self, message: str, column: int = 1, key: str = "when") -> None:
        super().__init__(message)
        self.column, self.key = column, key


class RuleTable(NamedTuple):
    """A TOML table `[rules.NAME]`. The keys that exist in both price rules and rank rules have already been
    validated."""

    name: str
    when: str
    severity: str
    scopes: dict[str, frozenset[str]]
    values: Mapping[str, Any]
    """All values of the TOML table, including the values of the keys in `RuleForm.more`."""


class RuleForm(NamedTuple, Generic[Rule]):
    """The syntax of price rules or of rank rules."""

    listed: str
    """The term for an entry of the user's list, `target` or `keyword`, for use in error messages."""
    forms: str
    """A list of the possible values of the key `when`, for use in error messages."""
    scopes: tuple[str, ...]
    """The keys of a rule table that restrict a rule to some targets or keywords. The value of a key that
    restricts a rule is a string or a list of strings."""
    more: tuple[str, ...]
    """Additional keys of a rule table, which exist either only in price rules or only in rank rules."""
    make: Callable[[RuleTable], Rule]
    """A function that creates a rule from its table. The function raises BadRule if the table contains an
    invalid value."""

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that a rule table may contain."""
        return ("when", *self.scopes, "severity", *self.more, "enabled")


def read_rule_file(path: str, form: RuleForm[Rule]) -> RuleBook[Rule]:
    """Reads a TOML file with alert rules. Raises ConfigError."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_rule_file(file.read(), path, form)
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: there is no such file; rules for single {form.listed}s are in the column `rules` of their list"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None


def parse_rule_file(source: str, name: str, form: RuleForm[Rule]) -> RuleBook[Rule]:
    """Parses the content of a TOML file with alert rules. Raises ConfigError. The error message contains the
    file, the line, the column, and the correct form."""
    try:
        found = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: this is not TOML: {error}") from None
    for key in found:
        if key not in ("rules", "digest", "max_per_day"):
            raise _error(name, source, key, f"{key} is not known: write [rules.NAME], digest or max_per_day")
    digest, most = found.get("digest", "run"), found.get("max_per_day", 50)
    if digest not in DIGESTS:
        raise _error(name, source, "digest", f"digest is one of {', '.join(DIGESTS)}")
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise _error(name, source, "max_per_day", "max_per_day is a whole number from 1")
    tables = found.get("rules", {})
    if not isinstance(tables, dict):
        raise _error(name, source, "rules", "write [rules.NAME] above each rule")
    rules = []
    for called, table in tables.items():
        try:
            rule = _rule(called, table, form)
        except BadRule as error:
            message = f"rule {called}: {error}"
            raise _error(name, source, error.key, message, called, error.column) from None
        if rule is not None:
            rules.append(rule)
    return RuleBook(tuple(rules), digest, most)


def _rule(called: str, table: Any, form: RuleForm[Rule]) -> Rule | None:
    """Converts a TOML table to a rule. Returns None if the rule is disabled. Raises BadRule."""
    if not isinstance(table, dict):
        raise BadRule("write [rules.NAME] above it", 0, called)
    for key in table:
        if key not in form.keys:
            raise BadRule(f"{key} is not known: write {', '.join(form.keys)}", 0, key)
    when = table.get("when")
    if not isinstance(when, str):
        raise BadRule(f"`when` is missing: write when = with one of {form.forms}", 0)
    severity = table.get("severity", "warn")
    if severity not in SEVERITIES:
        raise BadRule(f"severity is one of {', '.join(SEVERITIES)}", 0, "severity")
    enabled = table.get("enabled", True)
    if not isinstance(enabled, bool):
        raise BadRule("enabled is true or false", 0, "enabled")
    scopes = {}
    for key in form.scopes:
        names = table.get(key, "")
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list) or not names or not all(isinstance(one, str) for one in names):
            raise BadRule("a scope is a text or a list of texts", 0, key)
        scopes[key] = frozenset(names) - {""}
    rule = form.make(RuleTable(called, when, severity, scopes, table))
    return rule if enabled else None


def _error(name: str, source: str, key: str, message: str, rule: str = "", column: int = 0) -> ConfigError:
    """Returns a ConfigError with the line and column of a key. If `column` is not 0, the error points to this
    character of the key's value, counted from 1."""
    lines = source.splitlines()
    begin = 0
    if rule:
        head = re.compile(rf"\s*\[\s*rules\s*\.\s*[\"']?{re.escape(rule)}[\"']?\s*\]")
        begin = next((number for number, line in enumerate(lines) if head.match(line)), 0)
    for number, line in enumerate(lines[begin:], begin + 1):
        if number > begin + 1 and rule and line.lstrip().startswith("["):
            break
        found = re.match(rf"(\s*)[\"']?{re.escape(key)}[\"']?\s*=\s*([\"']?)", line)
        if found:
            at = found.end() + column if column else len(found[1]) + 1
            return ConfigError(f"{name}, line {number}, column {at}: {message}")
    return ConfigError(f"{name}, line {begin + 1}, column 1: {message}")
