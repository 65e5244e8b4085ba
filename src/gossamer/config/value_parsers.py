"""Parses the values of settings and options from texts, numbers or lists: times, sizes, counts, lists,
patterns, networks.

Each parser returns the parsed value, or raises ValueError with a message that describes the expected value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SCOPES = ("page", "prefix", "host", "domain", "any")
POLITE_BY = ("host", "domain", "ip")
LOG_LEVELS = ("debug", "info", "warning", "error")
SEEN = ("default", "exact", "bloom")
DUPLICATES = ("off", "exact", "near")
RUNGS = ("plain", "impersonated", "browser", "unlocker")
"""The rungs of the ladder, cheapest first."""
URLS = r",\s*(?=[A-Za-z][\w+]*://|$)"  # a comma between URLs, but not between the hosts of one URL
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_MAX_SECONDS = 3650 * 86400
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_FRAMING = ("content-length", "transfer-encoding")
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def seconds(value: object) -> float:
    """Parses a time in seconds: a number, or a text such as `90s`, `5m`, `2h`, `1h30m`. Raises ValueError if
    the value is invalid or more than ten years.

    >>> seconds("1h30m"), seconds(2), seconds(".5")
    (5400.0, 2.0, 0.5)
    """
    text = scalar(value).strip().lower()
    text = f"0{text}" if text.startswith(".") else text
    parts = re.findall(r"(\d{1,12}(?:\.\d{1,9})?)\s*(ms|[smhd])\s*", text)
    if parts and re.fullmatch(r"(?:\d{1,12}(?:\.\d{1,9})?\s*(?:ms|[smhd])\s*)+", text):
        found = float(sum(float(n) * (_SECONDS.get(unit) or 0.001) for n, unit in parts))
    elif re.fullmatch(r"\d{1,12}(\.\d{1,9})?", text):
        found = float(text)
    else:
        raise ValueError("must be a time, such as 30, 90s, 5m or 2h")
    if found > _MAX_SECONDS:
        raise ValueError("must be a time of at most ten years")
    return found


def span(value: object) -> float:
    """Parses a positive time, in seconds. Raises ValueError."""
    if not (found := seconds(value)):
        raise ValueError("must be a time above 0, such as 30, 90s, 5m or 2h")
    return found


AUTO, INLINKS = "auto", "inlinks"
MAX_WEIGHT = 1000.0


def revisit(value: object) -> str:
    """Validates the value of `--revisit` (`auto`, or the time after which a page is visited again, such as
    `24h`) and returns it as a text. Raises ValueError."""
    if value == AUTO:
        return AUTO
    try:
        span(value)
    except ValueError:
        raise ValueError(
            "must be auto, or the time after which every page is visited again, such as 24h"
        ) from None
    return scalar(value)


def budget(value: object) -> str:
    """Validates a budget of visits (`10%`, or a number of pages per day or hour such as `5000/d` or `200/h`)
    and returns it as a text. Raises ValueError."""
    text = scalar(value).replace(" ", "")
    budget_value(text)
    return text


def budget_value(text: str) -> tuple[float, str]:
    """Parses a budget of visits. Returns a pair of a number and a unit. With the unit `%`, the number is a
    share of the pages that a crawl may fetch. With the unit `/d`, the number is the number of visits per day.
    Raises ValueError.

    >>> budget_value("10%"), budget_value("200/h")
    ((0.1, '%'), (4800.0, '/d'))
    """
    if (found := re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?)%", text)) and 0 < float(found[1]) <= 100:
        return float(found[1]) / 100, "%"
    if (found := re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)/([smhd])", text)) and float(found[1]) > 0:
        return float(found[1]) * _SECONDS["d"] / _SECONDS[found[2]], "/d"
    raise ValueError("must be a share such as 10%, or pages per day, hour or minute: 5000/d, 200/h, 10/m")


def importance(value: Any) -> tuple[str, ...]:
    """Checks the setting for the importance of pages. The value is a list of `PATTERN=WEIGHT` texts, in which
    the word `inlinks` may also occur, or a mapping of patterns to weights. Returns the texts. Raises
    ValueError.

    >>> importance(["inlinks", "/product/=5"])
    ('inlinks', '/product/=5')
    """
    if isinstance(value, Mapping):
        value = [f"{pattern}={number}" for pattern, number in value.items()]
    found = (value,) if isinstance(value, str) else tuple(value)
    for text in found:
        if text != INLINKS:
            patterns([weight(text)[0]])
    return found


def weight(text: str) -> tuple[str, float]:
    """Parses `PATTERN=WEIGHT`. Raises ValueError.

    >>> weight("/product/=5")
    ('/product/', 5.0)
    """
    pattern, _, number = str(text).rpartition("=")
    if not pattern or not re.fullmatch(r"\d{1,4}(\.\d{1,6})?", number) or not 0 < float(number) <= MAX_WEIGHT:
        raise ValueError(
            f"write inlinks, or PATTERN=WEIGHT with a weight above 0, at most {MAX_WEIGHT:.0f}: /product/=5"
        )
    return pattern, float(number)


def size(value: object) -> int:
    """Parses a number of bytes: a number, or a text such as `500k`, `10M`, `2G` (powers of 1,024). Raises
    ValueError.

    >>> size("16M"), size("1.5k"), size(1000)
    (16777216, 1536, 1000)
    """
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmgt]?)(?:i?b)?", scalar(value).strip().lower())
    if not found or not int(float(found[1]) * _BYTES[found[2]]):
        raise ValueError("must be a size above 0, such as 500k, 10M or 2G")
    return int(float(found[1]) * _BYTES[found[2]])


def kept_size(value: object) -> int | None:
    """Parses the maximum number of bytes of kept rows. Returns None for `off`. Raises ValueError.

    >>> kept_size("10G"), kept_size("off")
    (10737418240, None)
    """
    return None if value is None or value == "off" or value is False else size(value)


def media_types(values: Any) -> tuple[str, ...]:
    """Checks media types such as `application/pdf` or `image/*` and returns them sorted. Raises
    ValueError."""
    several = (values,) if isinstance(values, str) else tuple(values)
    for one in several:
        if not isinstance(one, str) or not re.fullmatch(
            r"[a-z0-9][a-z0-9.+-]*/(?:\*|[a-z0-9][a-z0-9.+-]*)", one
        ):
            raise ValueError(f"{one!r} is not a media type: write application/pdf or image/*")
    return tuple(sorted(set(several)))


def cold(value: object) -> str:
    """Validates the setting `cold`, which names the store for the tails of long queues. The value is
    `sqlite:`, `off`, or the URL of a server with its parameters. The number of URLs that stay in memory (per
    host and priority) may be appended to every value except `off`, as in `sqlite:?hot=200`. Raises
    ValueError."""
    text = line(value)
    address, _, rest = text.partition("?")
    if not (server := re.match(r"(?:rediss?|valkeys?|unix)://.", address)) and address not in (
        "off",
        "sqlite:",
    ):
        raise ValueError("must be sqlite:, off, or redis://HOST:PORT of a server that keeps its data on disk")
    other = [
        one for one in rest.split("&") if not re.fullmatch(r"hot=0*([2-9]|[1-9]\d{1,2}|[1-3]\d{3}|4000)", one)
    ]
    if rest and (address == "off" or any(not server or one.startswith("hot") for one in other)):
        raise ValueError(
            "after ? write hot=N: how many URLs of a host and priority stay in memory, from 2 to 4000"
        )
    return text


def duplicates(value: object) -> str:
    """Checks a mode of duplicate detection, which is `off`, `exact` or `near`. The maximum number of
    duplicate groups may be appended to `exact` and `near`, as in `near?most=5000`. Raises ValueError.

    >>> duplicates("near?most=5000")
    'near?most=5000'
    """
    word, _, rest = line(value).partition("?")
    one_of(DUPLICATES, word)
    if rest and (word == "off" or not re.fullmatch(r"most=[1-9]\d{0,9}", rest)):
        raise ValueError("after ? write most=N: how many groups of duplicates are kept")
    return line(value)


def scalar(value: object) -> str:
    """Converts a number to text, and returns a text unchanged. Raises ValueError for any other type.

    A computed float such as 1 / 3 has more decimals than a person writes, or an exponent. It is rounded to nine
    decimals.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be one number or one text")
    if isinstance(value, float) and math.isfinite(value):
        digits = f"{value:.9f}".rstrip("0")
        return f"{digits}0" if digits.endswith(".") else digits
    return str(value)


def count(least: int, most: int, value: object) -> int:
    """Parses a whole number from `least` to `most`. Raises ValueError."""
    text = scalar(value).strip().replace("_", "").replace(",", "")
    if not re.fullmatch(r"-?\d{1,18}", text) or not least <= int(text) <= most:
        raise ValueError(f"must be a whole number from {least}" + (f" to {most}" if most < 1 << 53 else ""))
    return int(text)


def rate(value: object) -> float:
    """Parses a positive number of requests per second. Raises ValueError."""
    text = scalar(value).strip()
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) or not float(text):
        raise ValueError("must be a number of requests per second, above 0")
    return float(text)


def host_rate(value: object) -> float:
    """Parses a request rate for one host, such as `2`, `0.5`, `2/s`, `30/m` or `100/h`. Returns requests per
    second. The maximum is 1000 per second. Raises ValueError.

    >>> host_rate("30/m"), host_rate(2)
    (0.5, 2.0)
    """
    number, slash, unit = scalar(value).strip().lower().partition("/")
    number = f"0{number}" if number.startswith(".") else number.strip()
    seconds_of_unit = _SECONDS.get(unit.strip() if slash else "s")
    if seconds_of_unit is None or not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", number) or not float(number):
        raise ValueError("must be a number of requests per second above 0, or a rate such as 30/m, 100/h")
    found = float(number) / seconds_of_unit
    if found > 1000:
        raise ValueError("must be at most 1000 requests per second")
    return found


def flag(value: object) -> bool:
    """Parses true or false. Also accepts yes, no, on, off, 1 and 0. Raises ValueError."""
    words = {
        "true": True,
        "1": True,
        "yes": True,
        "on": True,
        "false": False,
        "0": False,
        "no": False,
        "off": False,
    }
    if isinstance(value, bool):
        return value
    if str(value).lower() not in words:
        raise ValueError("must be true or false")
    return words[str(value).lower()]


def one_of(words: tuple[str, ...], value: object) -> str:
    """Checks that a value is one of `words`. Raises ValueError."""
    if value not in words:
        raise ValueError(f"must be one of {', '.join(words)}" + nearest(str(value), words))
    return str(value)


def delay(value: object) -> tuple[float, float]:
    """Parses a time, or a range of times, such as `2`, `5-10` or `500ms`. Returns the minimum and the maximum
    in seconds. Raises ValueError."""
    low, dash, high = scalar(value).partition("-")
    span = (seconds(low), seconds(high if dash else low))
    if span[0] > span[1]:
        raise ValueError("the first number of a range must be the smaller one, for example 5-10")
    return span


def retries(value: object) -> tuple[float, ...]:
    """Parses the waiting times before the retries: `1m,5m,30m`, or `none`. Returns seconds. Raises
    ValueError."""
    if value in ("none", "", []):
        return ()
    waits = tuple(seconds(wait) for wait in listed(value))
    if len(waits) > 20:
        raise ValueError("at most 20 retries")
    return waits


def processes(value: object) -> int | str:
    """Parses a number of processes from 1 to 256, or `auto`. Raises ValueError."""
    return "auto" if value == "auto" else count(1, 256, value)


def concurrency(value: object) -> int | str:
    """Parses a number of visits from 1 to 10,000, or `auto`. Raises ValueError."""
    return "auto" if value == "auto" else count(1, 10_000, value)


def ladder(value: object) -> tuple[str, ...]:
    """Parses a list of rungs, in the order in which they are tried. Raises ValueError."""
    rungs = tuple(str(rung).strip() for rung in listed(value))
    for rung in rungs:
        if rung not in RUNGS:
            raise ValueError(f"there is no rung {rung!r} in this version; it is {', '.join(RUNGS)}")
    return rungs or RUNGS[:1]


def page(value: object) -> str:
    """Checks a value that consists of a URL and an optional text after a space. Raises ValueError.

    >>> page("http://example.com/ Example Domain")
    'http://example.com/ Example Domain'
    """
    url = scalar(value).partition(" ")[0]
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", url):
        raise ValueError("must be a URL, which may be followed by a space and a text that its page contains")
    return scalar(value).strip()


def listed(value: object, between: str = ",") -> list[Any]:
    """Returns a list without its empty members, or splits a text at separators. `between` is a regular
    expression that matches a separator."""
    if isinstance(value, list | tuple):
        return [part for part in value if part != ""]
    return [part.strip() for part in re.split(between, scalar(value)) if part.strip()]


def patterns(value: object) -> tuple[str, ...]:
    """Checks a regular expression, or a list of regular expressions. A text is never split at commas, because
    an expression may contain commas. Raises ValueError."""
    found = value if isinstance(value, list | tuple) else [value]
    for pattern in found:
        try:
            re.compile(scalar(pattern))
        except re.error as error:
            raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
    return tuple(map(str, found))


def networks(value: object) -> tuple[str, ...]:
    """Parses networks in CIDR form. A single address is a network of one address. Raises ValueError."""
    import ipaddress

    try:
        return tuple(str(ipaddress.ip_network(str(one).strip("[] "), strict=False)) for one in listed(value))
    except ValueError as error:
        raise ValueError(f"{error}; it is a network such as 10.1.0.0/16 or 127.0.0.1") from None


def ports(value: object) -> tuple[int, ...]:
    """Parses a list of port numbers. Raises ValueError."""
    return tuple(
        count(1, 65535, port) for port in (value if isinstance(value, list | tuple) else listed(value))
    )


def words(value: object, between: str = ",") -> tuple[str, ...]:
    """Parses a list of words."""
    return tuple(map(str, listed(value, between)))


def label(value: object) -> str:
    """Checks the name of a lane or a region. Raises ValueError.

    >>> label("eu-west_1")
    'eu-west_1'
    """
    text = scalar(value).strip()
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", text):
        raise ValueError("must be a name of letters, digits, - and _, at most 40")
    return text


def lane(value: object) -> str:
    """Checks the name of a lane. Some names are reserved, because kombu or the store already uses Redis keys
    with these names. The same Redis server may be both the broker and the store. Raises ValueError."""
    text = label(value)
    if text in ("unacked", "unacked_index", "unacked_mutex", "gossamer"):
        raise ValueError("it is a reserved name: the broker has a key with this name")
    return text


def reference(value: object) -> str:
    """Checks a reference to a secret: `${env:NAME}` or `${file:PATH}`. Raises ValueError for anything else,
    such as the secret itself."""
    text = scalar(value).strip()
    if not re.fullmatch(r"\$\{(?:env|file):[^}]+\}", text):
        raise ValueError("do not write a secret here: write ${env:NAME} or ${file:PATH}")
    return text


def texts(value: object) -> tuple[str, ...]:
    """Checks a one-line text, or a list of one-line texts. A text is never split at commas, because an entry
    may contain commas. Raises ValueError."""
    return tuple(map(line, value if isinstance(value, list | tuple) else [value]))


def histories(value: object) -> tuple[str, ...]:
    """Checks texts of the form NAME=postgresql://... Raises ValueError."""
    found = texts(value)
    for one in found:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}=postgres(ql)?://.+", one):
            raise ValueError("must be NAME=postgresql://USER:${env:NAME}@HOST/DATABASE")
    return found


def line(value: object) -> str:
    """Checks a text of one line and returns it stripped. Raises ValueError."""
    text = scalar(value).strip()
    if not text or not text.isprintable():
        raise ValueError("must be a text of one line")
    return text


def file(value: object) -> str:
    """Checks that a file exists and returns its path. Raises ValueError."""
    path = Path(line(value)).expanduser()
    if not path.is_file():
        raise ValueError("there is no such file")
    return str(path)


def store(value: object) -> str:
    """Checks the URL of a store. Raises ValueError."""
    text = line(value)
    if not re.match(r"(?:(?:rediss?|valkeys?)(?:\+(?:sentinel|cluster|unix))?|unix)://", text):
        raise ValueError(
            "must be a URL that begins with redis, rediss, valkey, valkeys, unix, redis+sentinel or "
            "redis+cluster and ://"
        )
    return text


def receiver(value: object) -> str:
    """Checks the URL of a receiver over HTTP. Raises ValueError."""
    text = line(value)
    if not re.match(r"https?://[^/\s]", text):
        raise ValueError("must be a URL that begins with http:// or https://")
    return text


def share(value: object) -> float:
    """Parses a share from 0 to 1, or a percentage. Raises ValueError.

    >>> share("0.05"), share("5%"), share(1)
    (0.05, 0.05, 1.0)
    """
    text = scalar(value).strip()
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise ValueError("must be a share from 0 to 1, such as 0.01 or 1%")
    return found


REQUEST_FIELDS = (
    "url",
    "priority",
    "method",
    "headers",
    "body",
    "id",
    "country",
    "region",
    "proxy",
    "rung",
    "use",
    "carry",
    "depth",
    "added_at",
    "key",
    "json",
)
"""The names of the fields of a seed as a JSON line."""


def message_fields(value: Any) -> tuple[str, ...]:
    """Checks the names of fields in messages of other programs: `THEIRS=OURS` texts as a list or with commas between
    them, or a mapping. Returns the texts. Raises ValueError.

    >>> message_fields({"proxy_type": "proxy", "retries": ""})
    ('proxy_type=proxy', 'retries=')
    >>> message_fields("proxy_type=proxy,retries=")
    ('proxy_type=proxy', 'retries=')
    """
    if isinstance(value, Mapping):
        value = [f"{theirs}={ours}" for theirs, ours in value.items()]
    found = tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else tuple(value)
    for text in found:
        theirs, mark, ours = text.partition("=")
        if not theirs or not mark:
            raise ValueError(f"{text!r}: write THEIRS=OURS, or THEIRS= to ignore the field")
        if ours and ours not in REQUEST_FIELDS:
            raise ValueError(f"{text!r}: a request has no field {ours!r}{nearest(ours, REQUEST_FIELDS)}")
    return found


def nearest(word: str, words: Iterable[str]) -> str:
    """Returns a hint that contains the most similar word, or '' if no word is similar.

    >>> nearest("dealy", ["delay", "depth"])
    ' (did you mean delay?)'
    """
    import difflib

    close = difflib.get_close_matches(word, list(words), 1, 0.5)
    return f" (did you mean {close[0]}?)" if close else ""


def headers(value: Any) -> dict[str, str]:
    """Checks the headers that a site sets for its hosts. Raises ValueError."""
    found = dict(value or {})
    for name, text in found.items():
        if not isinstance(name, str) or not _TOKEN.fullmatch(name) or name.lower() in _FRAMING:
            raise ValueError(f"{name!r} is not a header that a site may set")
        if not isinstance(text, str) or not text.isprintable():
            raise ValueError(f"the value of {name} is a text of one line")
    return found
