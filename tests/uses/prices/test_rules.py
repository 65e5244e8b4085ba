"""Price rules in the form that users write."""

from __future__ import annotations

from decimal import Decimal

import pytest

from gossamer.errors import ConfigError
from gossamer.uses.prices.rules import (
    Condition,
    Margin,
    PriceRule,
    never_fires,
    parse_condition,
    parse_rules,
    read_rules,
    rules_of_targets,
)
from gossamer.uses.rule_files import BadRule
from uses.prices.visits import target


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("below 99.90", Condition("below", Decimal("99.90"))),
        ("Below 99,90 eur", Condition("below", Decimal("99.90"), currency="EUR")),
        ("above 5 and in stock", Condition("above", Decimal(5), in_stock=True)),
        ("unit price below 2.50", Condition("unit-below", Decimal("2.50"))),
        ("falls", Condition("falls")),
        ("falls 5%", Condition("falls", Decimal(5), True)),
        ("rises 2.00", Condition("rises", Decimal("2.00"))),
        ("changes", Condition("changes")),
        ("lowest of 30 days", Condition("lowest", Decimal(30))),
        ("below minimum", Condition("below-minimum")),
        ("fake discount", Condition("fake-discount")),
        ("back in stock", Condition("back-in-stock")),
        ("out of stock", Condition("out-of-stock")),
        ("cheapest changes", Condition("cheapest")),
        ("shop breaks", Condition("shop")),
    ],
)
def test_texts_of_rules(text: str, condition: Condition) -> None:
    assert parse_condition(text) == condition


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "'nothing'"),
        ("under 5", 1, "'under'"),
        ("below 5 euros", 9, "'euros'"),
        ("falls 5 percent", 9, "'percent'"),
        ("falls 5% EUR", 10, "no currency"),
        ("below", 1, "'below'"),
    ],
)
def test_a_bad_text_names_the_column_of_the_wrong_word(text: str, column: int, words: str) -> None:
    with pytest.raises(BadRule, match=words) as caught:
        parse_condition(text)
    assert caught.value.column == column


def test_a_file_of_rules() -> None:
    book = parse_rules(
        """
        digest = "day"
        max_per_day = 5

        [rules.laptops]
        when = "below 499"
        tag = ["laptop", "notebook"]
        hysteresis = "2%"
        severity = "page"

        [rules."big moves"]
        when = "changes"
        min_change = "1.50"
        shop = "a.example"

        [rules.off]
        when = "gone"
        enabled = false
        """
    )
    assert (book.digest, book.max_per_day, [rule.name for rule in book.rules]) == (
        "day",
        5,
        ["laptops", "big moves"],
    )
    laptops, moves = book.rules
    assert (laptops.tag, laptops.hysteresis, laptops.severity) == (
        {"laptop", "notebook"},
        Margin(Decimal(2), True),
        "page",
    )
    assert moves.least_change(Decimal(1000)) == Decimal("1.50")
    assert laptops.applies(target(tags=("x", "notebook")))
    assert not laptops.applies(target())


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "[rules.a]\nwhen = 'under 5'\n",
            r"rules\.toml, line 2, column 9: rule a: 'under' is not understood: write",
        ),
        ("[rules.a]\nwhen = 'below 5 euros'\n", "line 2, column 17: rule a: 'euros'"),
        ("[rules.a]\nshop = 'x'\n", "line 1, column 1: rule a: `when` is missing"),
        (
            "[rules.a]\nwhen = 'falls'\n[rules.b]\n  wenn = 'falls'\n",
            "line 4, column 3: rule b: wenn is not known",
        ),
        ("[rules.a]\nwhen = 'falls'\nseverity = 'bad'\n", "line 3, column 1: rule a: severity is one of"),
        ("[rules.a]\nwhen = 'falls'\nhysteresis = 'much'\n", "line 3, column 1: rule a: write a percentage"),
        ("[rules.a]\nwhen = 'falls'\ntag = []\n", "line 3, column 1: rule a: a scope is"),
        ("digest = 'hour'\n", "line 1, column 1: digest is one of"),
        ("max_per_day = 0\n", "max_per_day is a whole number"),
        ("rule = 1\n", "rule is not known"),
        ("[rules.a\n", r"this is not TOML: .*line 1"),
    ],
)
def test_a_bad_file_names_line_and_column_and_what_to_write(source: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parse_rules(source, "rules.toml")
    assert caught.value.exit_code == 4


def test_a_missing_file(tmp_path: object) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        read_rules(f"{tmp_path}/none.toml")


def test_rules_of_targets_and_bad_ones() -> None:
    rules, bad = rules_of_targets([target("a", rules=("below 5", "under 6"))])
    assert [(rule.text, rule.target) for rule in rules] == [("below 5", {"a"})]
    assert bad == ["target a, rule 'under 6', column 1: " + str(_error("under 6"))]


def _error(text: str) -> BadRule:
    try:
        parse_condition(text)
    except BadRule as error:
        return error
    raise AssertionError(text)


@pytest.mark.parametrize(
    ("text", "scope", "reason"),
    [
        ("below 5", {}, ""),
        ("below 0", {}, "no price is below 0"),
        ("falls 100%", {}, "no price falls by 100%"),
        ("below 5", {"tag": frozenset(["z"])}, "no target has the tag z; the targets have: t"),
        ("below 5", {"tag": frozenset(["t"]), "product": frozenset(["q"])}, "all of its scopes together"),
        ("below minimum", {}, "no minimum"),
        ("cheapest changes", {}, "no product with two offers"),
        ("below 5 USD", {}, "other currencies"),
        ("out of stock and in stock", {}, "at once"),
    ],
)
def test_a_rule_that_can_never_fire_says_why(
    text: str, scope: dict[str, frozenset[str]], reason: str
) -> None:
    targets = [
        target("a", tags=("t",), product="p", currency="EUR"),
        target("b", product="q", currency="EUR"),
    ]
    found = never_fires(PriceRule(name="r", text=text, condition=parse_condition(text), **scope), targets)  # type: ignore[arg-type]
    assert reason in found
    assert bool(found) == bool(reason)
