"""A table of cron lines and their times, in zones with and without daylight saving time, on both
hemispheres."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.recrawl.cron import MACROS, Cron
from support.repetitions import repetitions

BERLIN, SYDNEY, HOWE, SANTIAGO, APIA = (
    "Europe/Berlin",
    "Australia/Sydney",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Pacific/Apia",
)


def named(line: str, zone: str, start: str, number: int) -> list[str]:
    """Returns the next times after a local time, in UTC."""
    begin = datetime.fromisoformat(start).replace(tzinfo=ZoneInfo(zone)).timestamp()
    return [
        datetime.fromtimestamp(at, UTC).isoformat(timespec="minutes")[:16]
        for at in islice(Cron(line, zone).all_after(begin), number)
    ]


@pytest.mark.parametrize(
    ("line", "zone", "start", "expected"),
    [
        # plain
        (
            "*/20 * * * *",
            "UTC",
            "2026-11-21 03:59",
            ["2026-11-21T04:00", "2026-11-21T04:20", "2026-11-21T04:40", "2026-11-21T05:00"],
        ),
        ("0 4 * * *", "UTC", "2026-11-21 04:00", ["2026-11-22T04:00"]),
        ("30 9-17/4 * * mon-fri", "UTC", "2026-11-20 13:30", ["2026-11-20T17:30", "2026-11-23T09:30"]),
        (
            "5,10 0 1 jan,jul *",
            "UTC",
            "2026-11-21 00:00",
            ["2027-01-01T00:05", "2027-01-01T00:10", "2027-07-01T00:05"],
        ),
        ("0 0 * * 7", "UTC", "2026-11-21 00:00", ["2026-11-22T00:00", "2026-11-29T00:00"]),
        ("0 0 * * 0", "UTC", "2026-11-21 00:00", ["2026-11-22T00:00"]),
        # a range may end with Sunday
        (
            "0 0 * * mon-sun",
            "UTC",
            "2026-11-20 12:00",
            ["2026-11-21T00:00", "2026-11-22T00:00", "2026-11-23T00:00"],
        ),
        (
            "0 0 * * Sat-Sun",
            "UTC",
            "2026-11-20 12:00",
            ["2026-11-21T00:00", "2026-11-22T00:00", "2026-11-28T00:00"],
        ),
        (
            "0 0 * * 2,sat-SUN",
            "UTC",
            "2026-11-20 12:00",
            ["2026-11-21T00:00", "2026-11-22T00:00", "2026-11-24T00:00"],
        ),
        ("0 0 * * sun-sun", "UTC", "2026-11-20 12:00", ["2026-11-22T00:00", "2026-11-29T00:00"]),
        (
            "0 0 13 * FRI",
            "UTC",
            "2026-11-01 00:00",
            [
                "2026-11-06T00:00",
                "2026-11-13T00:00",
                "2026-11-20T00:00",
                "2026-11-27T00:00",
                "2026-12-04T00:00",
                "2026-12-11T00:00",
                "2026-12-13T00:00",
            ],
        ),
        # with a star in the day field, both fields must match
        ("0 0 */2 * mon", "UTC", "2026-11-01 12:00", ["2026-11-09T00:00", "2026-11-23T00:00"]),
        ("0 0 L * *", "UTC", "2027-01-31 00:00", ["2027-02-28T00:00", "2027-03-31T00:00"]),
        ("0 0 * * 5L", "UTC", "2026-11-01 00:00", ["2026-11-27T00:00"]),
        ("0 0 * * mon#2", "UTC", "2026-11-01 00:00", ["2026-11-09T00:00"]),
        ("0 0 29 2 *", "UTC", "2096-03-01 00:00", ["2104-02-29T00:00"]),  # 2100 is not a leap year
        ("@hourly", "UTC", "2026-12-31 23:00", ["2027-01-01T00:00"]),
        ("@DAILY", BERLIN, "2026-11-21 12:00", ["2026-11-21T23:00"]),
        ("@weekly", "UTC", "2026-11-21 12:00", ["2026-11-22T00:00"]),
        ("@monthly", "UTC", "2026-11-21 12:00", ["2026-12-01T00:00"]),
        # spring: a time that does not exist is due once, at the end of the gap
        ("30 2 * * *", BERLIN, "2026-03-28 12:00", ["2026-03-29T01:00", "2026-03-30T00:30"]),
        (
            "0,30 2,3 * * *",
            BERLIN,
            "2026-03-28 12:00",
            ["2026-03-29T01:00", "2026-03-29T01:30", "2026-03-30T00:00"],
        ),
        ("*/15 2 * * *", BERLIN, "2026-03-28 12:00", ["2026-03-29T01:00", "2026-03-30T00:00"]),
        ("30 2 * * *", SYDNEY, "2026-10-03 12:00", ["2026-10-03T16:00", "2026-10-04T15:30"]),
        # half an hour is skipped
        ("15 2 * * *", HOWE, "2026-10-03 12:00", ["2026-10-03T15:30", "2026-10-04T15:15"]),
        # midnight is skipped
        ("0 0 * * *", SANTIAGO, "2026-09-05 12:00", ["2026-09-06T04:00", "2026-09-07T03:00"]),
        # a whole day is skipped
        (
            "0 12 * * *",
            APIA,
            "2011-12-28 13:00",
            ["2011-12-29T22:00", "2011-12-30T10:00", "2011-12-30T22:00"],
        ),
        # autumn: a time that occurs twice is due the first time
        ("30 2 * * *", BERLIN, "2026-10-24 12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),
        (
            "*/30 2 * * *",
            BERLIN,
            "2026-10-24 12:00",
            ["2026-10-25T00:00", "2026-10-25T00:30", "2026-10-26T01:00"],
        ),
        ("30 2 * * *", SYDNEY, "2026-04-04 12:00", ["2026-04-04T15:30", "2026-04-05T16:30"]),
        ("45 1 * * *", HOWE, "2026-04-04 12:00", ["2026-04-04T14:45", "2026-04-05T15:15"]),
        # an hourly line runs in every hour, also in the hour that occurs twice
        (
            "0 * * * *",
            BERLIN,
            "2026-10-25 00:30",
            ["2026-10-24T23:00", "2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"],
        ),
        *(
            (
                f"0 {every_hour} * * *",
                BERLIN,
                "2026-10-25 00:30",
                ["2026-10-24T23:00", "2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"],
            )
            for every_hour in ("*/1", "0-23", "0-23/1", "0-11,12-23", "*,3")
        ),
        (
            "0 * * * *",
            BERLIN,
            "2026-03-29 00:30",
            ["2026-03-29T00:00", "2026-03-29T01:00", "2026-03-29T02:00"],
        ),
        (
            "*/30 * * * *",
            SYDNEY,
            "2026-04-05 02:10",
            ["2026-04-04T15:30", "2026-04-04T16:00", "2026-04-04T16:30", "2026-04-04T17:00"],
        ),
    ],
)
def test_what_a_line_names(line: str, zone: str, start: str, expected: list[str]) -> None:
    assert named(line, zone, start, len(expected)) == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("61 * * * *", ("minute '61'", "0 to 59")),
        ("-1 * * * *", ("minute '-1'", "0 to 59")),
        ("* 24 * * *", ("hour '24'", "0 to 23")),
        ("0 0 0 * *", ("day of month '0'", "1 to 31")),
        ("0 0 32 * *", ("day of month '32'", "1 to 31")),
        ("0 0 * 13 *", ("month '13'", "jan to dec")),
        ("0 0 * foo *", ("month 'foo'", "jan to dec")),
        ("0 0 * * 8", ("day of week '8'", "sun to sat")),
        ("0 0 * * mom", ("day of week 'mom'", "did you mean mon?")),
        ("0 0 * * 1#6", ("day of week '1#6'", "second Monday")),
        ("*/0 * * * *", ("minute '*/0'", "a step is 1 to 59")),
        ("*/90 * * * *", ("step '90'", "a step is 1 to 59")),
        ("5-1 * * * *", ("range 5-1", "backwards")),
        ("0 0 * * fri-mon", ("range fri-mon", "backwards")),
        ("0 0 * nov-feb *", ("range nov-feb", "backwards")),
        ("1,,2 * * * *", ("minute '1,,2'", "0 to 59")),
        ("٣ * * * *", ("minute '٣'", "0 to 59")),
        ("9" * 5000 + " * * * *", ("minute '999", "0 to 59")),
        ("1;rm * * * *", ("minute '1;rm'", "0 to 59")),
        ("* * * *", ("4 fields", "write five: minute, hour, day of month, month, day of week")),
        ("0 * * * * *", ("6 fields", "write five")),
        ("", ("0 fields",)),
        ("@reboot", ("@hourly, @daily",)),
        ("0 0 30 2 *", ("no such day",)),
        ("0 0 31 4,6 *", ("no such day",)),
    ],
)
def test_a_bad_line_names_the_field_and_what_is_allowed(line: str, words: tuple[str, ...]) -> None:
    with pytest.raises(ValueError) as told:
        Cron(line)
    assert all(word in str(told.value) for word in words), str(told.value)
    assert len(str(told.value)) < 600
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("europe/berlin", BERLIN),
        ("Berlin", BERLIN),
        ("new york", "America/New_York"),
        ("Europe/Berlni", BERLIN),
        ("", "UTC"),
        ("../../etc/passwd", "UTC"),
        ("Europe", "such as"),
        ("UTC+3", "such as"),
    ],
)
def test_a_bad_zone_names_the_nearest(zone: str, hint: str) -> None:
    with pytest.raises(ValueError, match="time zone") as told:
        Cron("@daily", zone)
    assert hint in str(told.value)


FIELD = st.sampled_from(["*", "*/7", "0", "5", "1-3", "2,9", "11"])
DAY = st.sampled_from(["*", "1", "29", "31", "L"])


@given(
    FIELD,
    st.sampled_from(["*", "*/5", "0", "2", "1-3", "0,3,23"]),
    DAY,
    st.sampled_from(["*", "3", "oct", "2,4"]),
    st.sampled_from(["*", "sun", "0,7", "mon#1", "6L"]),
    st.sampled_from([BERLIN, SYDNEY, HOWE, SANTIAGO, "UTC", "America/New_York"]),
    st.integers(1_700_000_000, 1_900_000_000),
)
@settings(max_examples=repetitions(300), deadline=None)
def test_any_line_goes_forward_and_does_not_depend_on_when_it_is_asked(
    minute: str, hour: str, day: str, month: str, week: str, zone: str, start: int
) -> None:
    try:
        cron = Cron(f"{minute} {hour} {day} {month} {week}", zone)
    except ValueError:
        return
    times = list(islice(cron.all_after(start), 6))
    assert times == sorted(set(times))
    for before, after in pairwise(times):
        assert cron.after(before) == after
        assert cron.after(before + (after - before) * 0.5) == after
        assert cron.after(after - 1) == after


def test_against_a_walk_through_every_minute() -> None:
    """On days without a clock change, a line matches exactly the minutes that its fields allow."""
    for line, wanted in (
        ("*/13 2,14 * 1-3 *", lambda t: t.minute % 13 == 0 and t.hour in (2, 14) and t.month <= 3),
        ("7 * 1,15 * 2", lambda t: t.minute == 7 and (t.day in (1, 15) or t.isoweekday() == 2)),
        ("0 0 L * *", lambda t: (t.hour, t.minute) == (0, 0) and (t + timedelta(days=1)).day == 1),
    ):
        begin = datetime(2027, 1, 1, tzinfo=UTC)
        minutes = (begin + timedelta(minutes=n) for n in range(1, 60 * 24 * 100))
        expected = [t.timestamp() for t in minutes if wanted(t)]
        assert list(islice(Cron(line).all_after(begin.timestamp()), len(expected))) == expected, line


def test_macros_are_lines() -> None:
    for word, line in MACROS.items():
        assert Cron(word).after(0) == Cron(line).after(0)
