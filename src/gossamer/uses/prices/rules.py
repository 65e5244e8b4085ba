"""Rules that decide when a price causes an alert. The rules are read from a TOML file and from the `rules` of
targets. A state rule (`below 99.90`) fires when its condition becomes true or is true at the first visit. The
rule fires again only after the condition was false. An edge rule (`falls 5%`) fires for a change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from gossamer.uses.prices.model import PriceTarget
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
    "`below 99.90`, `above 99.90`, `below 99.90 EUR`, `unit price below 2.50`, `below minimum`, `lowest of 30 "
    "days`, `fake discount`, `falls`, `falls 5%`, `falls 2.00`, `rises`, `rises 5%`, `changes`, `back in stock`, "
    "`out of stock`, `cheapest changes`, `seller changes`, `currency changes`, `gone`, `moved`, `shop breaks`; "
    "and `... and in stock`"
)
MIN_PERCENT, MIN_AMOUNT = Decimal(1), Decimal("0.50")
"""The minimum price change for a rule that does not specify a size, such as `falls` or `changes`. A rule
without a size fires only if the price changes by at least MIN_PERCENT percent and also by at least
MIN_AMOUNT."""
HYSTERESIS_PERCENT = Decimal(1)
"""The percentage by which the price must move back beyond the limit of a state rule before the rule becomes
false. Because of the hysteresis, small price changes around the limit of a state rule cause only one
alert."""
_NUMBER = r"(?P<number>\d+(?:[.,]\d+)?)"
_SIZE = rf"(?:\s+{_NUMBER}\s*(?P<percent>%)?(?:\s+(?P<currency>[A-Za-z]{{3}}\b))?)?"
_LIMIT = rf"\s+{_NUMBER}(?:\s+(?P<currency>[A-Za-z]{{3}}\b))?"
_FORMS: tuple[tuple[str, str], ...] = (
    ("below-minimum", r"below\s+minimum"),
    ("unit-below", rf"unit\s+price\s+below{_LIMIT}"),
    ("below", rf"below{_LIMIT}"),
    ("above", rf"above{_LIMIT}"),
    ("lowest", rf"lowest\s+of\s+{_NUMBER}\s+days"),
    ("fake-discount", r"fake\s+discount"),
    ("falls", rf"falls{_SIZE}"),
    ("rises", rf"rises{_SIZE}"),
    ("changes", rf"changes{_SIZE}"),
    ("back-in-stock", r"back\s+in\s+stock"),
    ("out-of-stock", r"out\s+of\s+stock"),
    ("cheapest", r"cheapest\s+changes"),
    ("seller", r"seller\s+changes"),
    ("currency", r"currency\s+changes"),
    ("gone", r"gone"),
    ("moved", r"moved"),
    ("shop", r"shop\s+breaks"),
)
_COMPILED = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _FORMS)
STATES = frozenset(("below-minimum", "unit-below", "below", "above", "lowest", "fake-discount"))
_SCOPE = ("shop", "tag", "product", "target")
_SIZES = ("hysteresis", "min_change")


class Margin(NamedTuple):
    """A size in a rule: an amount, or a percentage of a price."""

    number: Decimal
    is_percent: bool = False

    def of(self, price: Decimal) -> Decimal:
        """Returns the amount for a price."""
        return price * self.number / 100 if self.is_percent else self.number


class Condition(NamedTuple):
    """A parsed text such as `below 99.90 EUR and in stock`."""

    kind: str
    number: Decimal | None = None
    is_percent: bool = False
    currency: str = ""
    in_stock: bool = False


class PriceRule(AlertRule, kw_only=True, frozen=True):
    """A rule for prices. The rule applies to the targets that match all of its non-empty scopes."""

    condition: Condition
    shop: frozenset[str] = frozenset()
    tag: frozenset[str] = frozenset()
    product: frozenset[str] = frozenset()
    target: frozenset[str] = frozenset()
    hysteresis: Margin = Margin(HYSTERESIS_PERCENT, True)
    min_change: Margin | None = None
    """The minimum price change for an edge rule that does not specify a size, such as `falls`. If
    `min_change` is None, the larger of MIN_PERCENT and MIN_AMOUNT applies."""

    def applies(self, target: PriceTarget) -> bool:
        """Whether the rule applies to a target."""
        return (
            (not self.shop or target.shop in self.shop)
            and (not self.tag or not self.tag.isdisjoint(target.tags))
            and (not self.product or target.product in self.product)
            and (not self.target or target.key in self.target)
        )

    def least_change(self, price: Decimal) -> Decimal:
        """Returns the smallest price change that fires an edge rule."""
        condition = self.condition
        if condition.number is not None:
            return Margin(condition.number, condition.is_percent).of(price)
        if self.min_change is not None:
            return self.min_change.of(price)
        return max(price * MIN_PERCENT / 100, MIN_AMOUNT)


def parse_condition(text: str) -> Condition:
    """Parses the text of a rule. Raises BadRule.

    >>> parse_condition("below 99.90 EUR and in stock")
    Condition(kind='below', number=Decimal('99.90'), is_percent=False, currency='EUR', in_stock=True)
    """
    core, in_stock = re.subn(r"\s+and\s+in\s+stock\s*$", "", text, flags=re.IGNORECASE)
    start = len(core) - len(core.lstrip())
    longest = start
    for kind, pattern in _COMPILED:
        found = pattern.match(core, start)
        if not found:
            continue
        if core[found.end() :].strip():
            longest = max(longest, found.end() + len(core[found.end() :]) - len(core[found.end() :].lstrip()))
            continue
        given = found.groupdict()
        number = given.get("number")
        condition = Condition(
            kind,
            Decimal(number.replace(",", ".")) if number else None,
            bool(given.get("percent")),
            (given.get("currency") or "").upper(),
            bool(in_stock),
        )
        if condition.is_percent and condition.currency:
            raise BadRule("a percentage has no currency", found.start("currency") + 1)
        return condition
    wrong = core[longest:].split() or ["nothing"]
    raise BadRule(f"{wrong[0]!r} is not understood: write {FORMS}", longest + 1)


def parse_rules(source: str, name: str = "the rules") -> RuleBook[PriceRule]:
    """Parses a TOML file of rules. Raises ConfigError, whose message contains the file, the line, the column,
    and the correct form."""
    return parse_rule_file(source, name, _FORM)


def read_rules(path: str) -> RuleBook[PriceRule]:
    """Reads a file of rules. Raises ConfigError."""
    return read_rule_file(path, _FORM)


def _rule(table: RuleTable) -> PriceRule:
    condition = parse_condition(table.when)
    sizes: dict[str, Margin] = {}
    for key in _SIZES:
        if key in table.values:
            size = _size(table.values[key])
            if size is None:
                raise BadRule('write a percentage ("1%") or an amount ("0.50")', 0, key)
            sizes[key] = size
    return PriceRule(
        name=table.name,
        text=table.when.strip(),
        condition=condition,
        severity=table.severity,
        shop=table.scopes["shop"],
        tag=table.scopes["tag"],
        product=table.scopes["product"],
        target=table.scopes["target"],
        hysteresis=sizes.get("hysteresis", Margin(HYSTERESIS_PERCENT, True)),
        min_change=sizes.get("min_change"),
    )


def _size(value: Any) -> Margin | None:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", str(value))
    return Margin(Decimal(found[1]), bool(found[2])) if found else None


_FORM = RuleForm("target", FORMS, _SCOPE, _SIZES, _rule)


def rules_of_targets(targets: Iterable[PriceTarget]) -> tuple[list[PriceRule], list[str]]:
    """Returns the rules in the lists of targets, and a message for each text that is not a rule."""
    rules, bad = [], []
    for target in targets:
        for text in target.rules:
            try:
                condition = parse_condition(text)
            except BadRule as error:
                bad.append(f"target {target.key}, rule {text!r}, column {error.column}: {error}")
            else:
                rules.append(
                    PriceRule(name=text, text=text, condition=condition, target=frozenset((target.key,)))
                )
    return rules, bad


def never_fires(
    rule: PriceRule, targets: Sequence[PriceTarget], groups: Mapping[str, str] | None = None
) -> str:
    """Returns the reason why a rule can never fire for these targets, and the remedy. Returns "" if the rule
    can fire. `groups`: the targets that offer the same product as another target
    (`product_groups.read_groups`)."""
    condition = rule.condition
    for scope in _SCOPE:
        names: frozenset[str] = getattr(rule, scope)
        have = {one for target in targets for one in _values(target, scope)}
        if names and not names & have:
            some = ", ".join(sorted(have - {""})[:5]) or "none"
            return f"no target has the {scope} {', '.join(sorted(names))}; the targets have: {some}"
    scoped = [target for target in targets if rule.applies(target)]
    if not scoped:
        return "no target has all of its scopes together; leave one out"
    if condition.number is not None and condition.number <= 0 and condition.kind in ("below", "unit-below"):
        return "no price is below 0; write a higher limit"
    if condition.kind == "falls" and condition.is_percent and (condition.number or 0) >= 100:
        return "no price falls by 100% or more; write a smaller percentage"
    if condition.currency and all(one.currency not in ("", condition.currency) for one in scoped):
        return f"its targets are expected in other currencies than {condition.currency}"
    if condition.kind == "below-minimum" and all(one.minimum is None for one in scoped):
        return "its targets have no minimum; add the column `minimum` to the list of targets"
    if condition.kind == "out-of-stock" and condition.in_stock:
        return "nothing is out of stock and in stock at once; leave `and in stock` out"
    if condition.kind == "cheapest":
        if groups is None:
            counts = Counter(target.product for target in targets if target.product)
            several = any(counts[target.product] > 1 for target in scoped)
        else:
            several = any(target.key in groups for target in scoped)
        if not several:
            return (
                "its targets have no product with two offers; give offers of one product the same `product`, or "
                "run gossamer prices match"
            )
    return ""


def _values(target: PriceTarget, scope: str) -> tuple[str, ...]:
    if scope == "tag":
        return target.tags
    return (target.key if scope == "target" else str(getattr(target, scope)),)
