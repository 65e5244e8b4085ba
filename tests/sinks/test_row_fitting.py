"""Rows that are adapted to typed columns."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from gossamer.sinks.columns import EXTRA, Column
from gossamer.sinks.row_fitting import fit_row


@pytest.mark.parametrize("kind", ["float", "decimal"])
@pytest.mark.parametrize(
    "value", [float("nan"), float("-inf"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity")]
)
def test_what_is_no_number_is_null_and_no_extra(kind: str, value: Any) -> None:
    assert fit_row([Column("n", kind), Column(EXTRA)], {"n": value}) == {"n": None, EXTRA: None}


@pytest.mark.parametrize("value", [10**400, Decimal("1e400"), True, "1.5"])
def test_a_number_that_no_float_holds_is_kept_beside(value: Any) -> None:
    row = fit_row([Column("n", "float"), Column(EXTRA)], {"n": value})
    assert row["n"] is None
    assert json.loads(row[EXTRA], parse_float=Decimal) == {"n": value}
