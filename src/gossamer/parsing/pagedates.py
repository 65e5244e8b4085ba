"""Finds the dates on which a page was published and modified. Metadata takes precedence over marked and
labelled dates, and these take precedence over the URL, the scripts, and dates near the heading."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from gossamer.model.media_types import Body
from gossamer.parsing import date_words as words
from gossamer.parsing.dates import around, date
from gossamer.parsing.heading_dates import SENTENCE_ENDS, Heading, ancestors
from gossamer.parsing.html import Document, attribute_of, once, parse
from gossamer.parsing.structured import json_ld

MAX_ELEMENTS: Final = 300
"""Maximum number of elements that are examined per selector."""
OLDEST_DATE: Final = "1990"
"""The earliest credible year of a page. A date before 1990 must be a default value, because the web did not
exist yet."""
_ARTICLES: Final = re.compile(r"article|posting|report|recipe|review", re.IGNORECASE)
_PAGES: Final = re.compile(r"page|creativework", re.IGNORECASE)
_GENERAL_NAME: Final = re.compile(
    r"(?:dc|dcterms|dct)?date|timestamp|gentime|created|(?:dc|dcterms)?(?:date)?created"
)
"""Matches ambiguous names of meta elements. The date of a meta element with an ambiguous name may be the date
of publication or the date of the last change."""
_META: Final = {
    "published": re.compile(
        r".*publi(?:sh|shed|cation)(?:ed)?(?:on|at)?(?:date|time)?(?:utc|iso)?|.*(?:pub|post|display|doc|release|reg|articledate)(?:ed)?(?:date|time)"
        r"|(?:article|og|content|dc|dcterms|dct|meta)?(?:date|time)?(?:created?|issued|posted|original|submitted)(?:on|at)?(?:date|time)?"
        r"|(?:date|dc|dcterms)+(?:created|issued|publication|submitted|available)?(?:issued|created)?|.*articledateoriginal|.*articledate"
        r"|(?:sailthru|parsely|citation|citationonline)date|timestamp|gentime|pdate|ptime"
    ),
    "modified": re.compile(
        r".*(?:modified|updated?|modification|revised|revision|lastmod|moddate)(?:on|at)?(?:date|time)?|lastdate|utime"
    ),
}
"""Matches names of meta elements in lower case without punctuation, such as `articlepublishedtime`."""
_NOT_A_LETTER: Final = re.compile(r"[^a-z]+")
_CALLED: Final = re.compile(
    r"(?<![a-z])(?:[a-z]*(?<!up)(?<!candi)(?<!vali)(?<!man)date(?:time|line)?|time|timestamp|publish(?:ed)?(?:date|time|at|on)?|posted(?:on|at)?"
    r"|byline|meta|datum|fecha|authored|created|submitted)(?![a-z])|(?<=[a-z])(?:Date|Time|Published|Created)(?![a-z])",
)
"""Class names of elements that contain a date, such as `post-date`, `_publishingdate` and `articleDate`."""
_OTHER_DATE: Final = re.compile(
    r"(?<![a-z])(?:event|birth|due|expir\w*|deadline|departure|arrival|current)[-_]?(?:date|time)|(?:start|end)[-_]?date",
    re.IGNORECASE,
)
"""Matches class names of elements whose date is not a date of the page, such as the date of an event or a
deadline."""
_BODY_DEPTH: Final = 2
"""The depth of the `body` element in the tree of the page."""
_DATE_SELECTOR: Final = ", ".join(
    f'[class*="{word}" i]'
    for word in (
        "date",
        "time",
        "publish",
        "posted",
        "byline",
        "datum",
        "fecha",
        "authored",
        "created",
        "submitted",
    )
)
_DATE_ATTRIBUTES: Final = (
    "datetime",
    "content",
    "data-date",
    "data-datetime",
    "data-time",
    "data-timestamp",
    "data-published",
    "data-publish-date",
    "data-utc",
    "title",
)
"""Attributes that contain a date. An attribute is more exact than the text of its element, because the text
may be relative, for example `3 hours ago`."""
_MODIFIED: Final = re.compile(r"updated|modified|dtmod|lastmod", re.IGNORECASE)
_ADDRESS: Final = re.compile(
    r"(?<!\d)((?:19|20)\d\d)(?P<mark>[/_.-])(0?[1-9]|1[0-2])(?P=mark)(0?[1-9]|[12]\d|3[01])(?![\d.]\d|\d)"
)
"""Matches a date such as `2024/05/12` in a URL."""
_DAY_FIRST_ADDRESS: Final = re.compile(
    r"(?<!\d)(0[1-9]|[12]\d|3[01])([.-])(0[1-9]|1[0-2])\2((?:19|20)\d\d)(?!\d)"
)
"""Matches a date such as `22.04.2020` in the last part of a URL."""
_VALUE_IN_SCRIPT: Final = re.compile(r""":\s*["'](?=[^\d"'\n]{0,39}\d)(?P<value>[^"'\n]{8,40})["']""")
"""Matches a value with a digit in the data of a script, such as `: "2024-05-12"`."""
_NAME_IN_SCRIPT: Final = re.compile(
    r"""\b(?P<name>(?:date|article|post|content|first)?_?(?:published?|created|posted|publication)_?(?:date|time|at|on)?(?:_?time)?"""
    r"""|pub_?date|broadcasted_?on|date|timestamp)["']?\s*$""",
    re.IGNORECASE,
)
"""Matches the name before a date in the data of a script, such as `"publishedAt"`."""
_MAX_NAME_CHARS: Final = 60
"""Maximum number of characters in a name in a script, including the quote and the spaces after the name."""
_GENERAL_KEYS: Final = frozenset(("date", "timestamp"))
"""Ambiguous keys in the data of a script. The value of an ambiguous key may be the date of something other
than the page. For this reason, the value of an ambiguous key counts only if the value contains a time."""
_WRITTEN: Final = re.compile(r"""\s*(?:document\.)?\w+\(\s*["'](?P<value>[^"'\n]{8,40})["']\s*\)\s*;?\s*""")
"""Matches a script that only writes a date into the page, such as `showDate("2020/04/17 01:43:09")`."""
_DIGIT: Final = re.compile(r"\d")
_SENTENCE_END: Final = re.compile(r"[!?…]|[^\W\d]{5}\.\s|\b(?:says|said)\b")
"""Matches the end of a sentence. If a sentence ends between a label and a date, the date does not belong to
the label."""
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_MIN_SENTENCE_WORDS: Final = 4
"""Minimum number of words in lower case of a sentence, so that `12 May 2024, 3 min. read.` is not a sentence."""
_GOES_ON: Final = re.compile(r",?\s[^\W\d_A-ZÀ-Þ]{2}")
"""Matches the rest of a sentence after a date, which begins with a lower-case letter."""
_NUMBER: Final = re.compile(r"(?<!\d)\d{1,2}(?!\d)|(?<!\d)\d{4}(?!\d)|[〇零一二三四五六七八九]{4}(?=年)")
"""Matches a number that may be a day, a month or a year."""
_MAX_LABEL_GAP: Final = 60
"""Maximum number of characters between a label and the end of its date."""
_MAX_LABEL_CHARS: Final = 40
"""Maximum number of characters of a label."""
_MAX_LABEL_WORDS: Final = 6
"""Maximum number of words between a label and its date, such as the author and the day of the week."""
MAX_LINKS: Final = 1_000
"""Maximum number of links on a page that are compared with the URL of the page."""
_MIN_OWN_PATH: Final = 6
"""Minimum number of characters in the path and query of a page's URL. If the path and query have fewer
characters, the page is not searched for links to itself."""
_MAX_TEASER_CHARS, _MAX_TEASER_LINKS = 300, 2
"""Only the first _MAX_TEASER_CHARS characters of a teaser are read. A teaser contains at most
_MAX_TEASER_LINKS links."""
_MAX_SCRIPT_CHARS: Final = 500_000
_MONTH_FIRST_HOSTS: Final = frozenset(
    ("com", "net", "org", "us", "edu", "gov", "mil", "info", "biz", "io", "co")
)
_HALF_HOUR: Final = timedelta(minutes=30)
"""Almost all UTC offsets are multiples of 30 minutes."""
_MAX_OFFSET: Final = timedelta(hours=14)
_MAX_LOCAL_TEXTS: Final = 12
"""At most _MAX_LOCAL_TEXTS texts of each source of dates are compared with the date in the metadata."""


class Dates(NamedTuple):
    """The dates on which a page was `published` and `modified`. Each date is an ISO 8601 day such as
    `2024-05-12`. If the page gives the time and the UTC offset, the date includes them. A date that the page
    does not give is None."""

    published: str | None
    modified: str | None


def dates(body: Body, url: str | None = None, content_type: str | None = None) -> Dates:
    """Returns the dates on which a page was published and modified. Accepts any bytes and never raises.

    >>> dates(b'<meta property="article:published_time" content="2024-05-12T10:30:00Z"><p>Updated 13 May 2024')
    Dates(published='2024-05-12T10:30:00+00:00', modified='2024-05-13')
    """
    return of(parse(body, content_type, url))


def of(page: Document) -> Dates:
    """Returns the dates of a parsed page (`dates`)."""
    found: dict[str, str] = {}
    stated: list[str] = []
    language = _language(page)
    heading = _Reading(page)
    for source in _SOURCES:
        for kind, text in source(page, heading):
            if (kind not in found or (source is _metas and len(stated) < 2)) and (
                day := _credible(text, language)
            ):
                if kind == "published" and source in (_linked, _metas):
                    stated.append(day)
                found.setdefault(kind, day)
        if len(found) == 2 and source is not _linked:
            break
    if stated:
        found["published"] = _as_shown(stated, found.get("modified"), page, heading)
    elif published := found.get("published"):
        found["published"] = _in_local_time(published, "", page, heading)
    return Dates(found.get("published"), found.get("modified"))


def _credible(text: str, language: str | None) -> str | None:
    """Returns the date in a text, or None if the date has no day or is before OLDEST_DATE. Returns None for a
    date more than one day in the future, because such a date belongs to an event. Returns None for a
    copyright notice, because its date is often the current day."""
    day = date(text, language)
    if not day or len(day) < 10 or day < OLDEST_DATE or words.COPYRIGHT.search(text):
        return None
    return day if day[:10] <= (datetime.now(UTC) + timedelta(days=1)).date().isoformat() else None


def _as_shown(stated: list[str], modified: str | None, page: Document, heading: Heading) -> str:
    """Returns the date of publication from the metadata, corrected by the dates that readers see on the page.

    `stated`: one or two dates from the metadata. A date from JSON-LD precedes the dates from meta elements.
    If the two dates differ, the function returns the date that is visible on the page. The date of the last
    change may be near the page's heading, without a label such as `Updated`. In this case, the function
    returns the date of the last change, because the article was published again on this date. If the metadata
    contain a time in UTC and the page shows the local time, the function returns the local time.
    """
    published = stated[0]
    differ = published[:10] != stated[-1][:10]
    if not differ and not published.endswith("+00:00") and (modified or "")[:10] <= published[:10]:
        return published
    language = _language(page)
    near = next(
        (day for _, text in _published(_near(page, heading)) if (day := _credible(text, language))), ""
    )
    if differ:
        others = (
            _credible(text, language) or ""
            for source in (_timed, _called)
            for _, text in islice(_published(source(page, heading)), _MAX_LOCAL_TEXTS)
        )
        shown = (one for day in (near, *others) for one in stated if day[:10] == one[:10])
        published = next(shown, published)
    elif modified and near[:10] == modified[:10] > published[:10]:
        return near
    return _in_local_time(published, near, page, heading)


def _published(found: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    return (one for one in found if one[0] == "published")


def _in_local_time(published: str, near: str, page: Document, heading: Heading) -> str:
    """Converts a time of publication from UTC to the local time that the page shows. Returns `published`
    unchanged if `published` is not in UTC, or if the page shows no local time on a different day. Many sites
    use UTC in metadata. For example, readers see `December 22, 10:00 PM`, and the metadata contain 03:00 on
    December 23.

    `near`: the date near the heading. If `near` has no time and is the day before or after `published`, the
    function returns `near`."""
    if not published.endswith("+00:00"):
        return published
    moment = datetime.fromisoformat(published)
    language = _language(page)
    for source in (_timed, _called, _near):
        texts = (text for _, text in islice(source(page, heading), _MAX_LOCAL_TEXTS))
        shown = next((day for text in texts if len(day := date(text, language) or "") >= 19), published)
        ahead = datetime.fromisoformat(shown[:19]) - moment.replace(tzinfo=None, second=0)
        if shown[:10] != published[:10] and not ahead % _HALF_HOUR and abs(ahead) <= _MAX_OFFSET:
            return moment.astimezone(timezone(ahead)).isoformat()
    if len(near) == 10 and near != published[:10]:
        midnight = datetime.fromisoformat(f"{near}T00:00:00+00:00")
        if midnight - _MAX_OFFSET <= moment <= midnight + _MAX_OFFSET + timedelta(days=1):
            return near
    return published


def _language(page: Document) -> str | None:
    """Returns the page's language. English of a country other than the United States is `en-GB`, because
    dates there begin with the day."""
    country = (urlsplit(page.url or "").hostname or "").rpartition(".")[2]
    if (page.language or "en").lower() == "en" and country and country not in _MONTH_FIRST_HOSTS:
        return "en-GB"
    return page.language


def _linked(page: Document, _: Heading) -> Iterator[tuple[str, str]]:
    """Yields the dates in JSON-LD. Dates of articles come first, then dates of pages, and then dates of other
    objects such as videos. Skips dates of comments and websites."""
    nodes: list[dict[str, Any]] = []
    for one in json_ld(page.tree):
        inner = one.get("@graph")
        nodes += [
            one,
            *(part for part in (inner if isinstance(inner, list) else [inner]) if isinstance(part, dict)),
        ]
        nodes += [
            part for key in ("mainEntity", "mainEntityOfPage") if isinstance(part := one.get(key), dict)
        ]

    def rank(node: dict[str, Any]) -> int:
        kind = str(node.get("@type") or "")
        return 0 if _ARTICLES.search(kind) else 1 if _PAGES.search(kind) else 2

    for node in sorted(nodes, key=rank):
        if "comment" in str(node.get("@type")).lower() or "website" in str(node.get("@type")).lower():
            continue
        for key, kind in (
            ("datePublished", "published"),
            ("dateCreated", "published"),
            ("uploadDate", "published"),
            ("dateModified", "modified"),
        ):
            yield kind, _text(node.get(key))


def _text(value: Any) -> str:
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        value = value.get("@value")
    return value if isinstance(value, str) else ""


def _metas(page: Document, _: Heading) -> Iterator[tuple[str, str]]:
    """Yields the dates in meta elements. The dates under ambiguous names (`_GENERAL_NAME`) come last."""
    general: list[tuple[str, str]] = []
    for meta in page.tree.select("meta[content]")[:MAX_ELEMENTS]:
        names = [attribute_of(meta, key) for key in ("property", "name", "http-equiv", "itemprop")]
        for name in " ".join(names).lower().split():
            letters = _NOT_A_LETTER.sub("", name[:100])
            for kind, pattern in _META.items():
                if pattern.fullmatch(letters):
                    found = kind, attribute_of(meta, "content")
                    if _GENERAL_NAME.fullmatch(letters):
                        general.append(found)
                    else:
                        yield found
    yield from general


def _marked(page: Document, heading: Heading) -> Iterator[tuple[str, str]]:
    """Yields the dates in properties of microdata and RDFa."""
    for key in ("itemprop", "property"):
        for element in page.tree.select(f"[{key}]")[:MAX_ELEMENTS]:
            for name in attribute_of(element, key).lower().split():
                kind = {
                    "datepublished": "published",
                    "datemodified": "modified",
                    "datecreated": "published",
                    "uploaddate": "published",
                }.get(name.rpartition(":")[2])
                if kind and not heading.is_aside(element):
                    yield (
                        kind,
                        attribute_of(element, "content") or attribute_of(element, "datetime") or element.text,
                    )


def _timed(page: Document, heading: Heading) -> Iterator[tuple[str, str]]:
    """Yields the dates in elements that contain times. Elements that are marked as published or modified come
    first, then elements in the article."""
    elements = [
        one
        for one in page.tree.select("time, abbr.published, abbr.updated")[:MAX_ELEMENTS]
        if not heading.is_aside(one)
    ]

    def rank(element: Any) -> tuple[int, int]:
        called = attribute_of(element, "class").lower()
        if (
            "pubdate" in element.attrs
            or "published" in called
            or "entry-date" in called
            or _MODIFIED.search(called)
        ):
            return 0, -heading.closeness(element)
        inside = any(one.tag in ("article", "main") for one in ancestors(element))
        return (1 if inside else 2), -heading.closeness(element)

    for element in sorted(elements, key=rank):
        called = attribute_of(element, "class")
        kind = "modified" if _MODIFIED.search(called) and "published" not in called.lower() else "published"
        if words.MODIFIED.search(_before(element)) or words.MODIFIED.match(element.text[:60].strip()):
            kind = "modified"
        for name in _DATE_ATTRIBUTES:
            yield kind, attribute_of(element, name)
        yield kind, element.text[:300]


def _called(page: Document, heading: Heading) -> Iterator[tuple[str, str]]:
    """Yields the short texts of elements whose class names a date. Elements closest to the heading come
    first. Skips elements whose only common ancestors with the heading are `html` and `body`, because such an
    element is often a clock in the page's header."""
    return _named_dates(page, heading, lambda closeness: closeness > _BODY_DEPTH or heading.element is None)


def _called_elsewhere(page: Document, heading: Heading) -> Iterator[tuple[str, str]]:
    """Yields the texts of the other elements whose class names a date."""
    return _named_dates(page, heading, lambda closeness: closeness <= _BODY_DEPTH)


def _named_dates(
    page: Document, heading: Heading, is_wanted: Callable[[int], bool]
) -> Iterator[tuple[str, str]]:
    elements = [
        element
        for element in page.tree.select(_DATE_SELECTOR)[:MAX_ELEMENTS]
        if _CALLED.search(name := attribute_of(element, "class"))
        and not _OTHER_DATE.search(name)
        and is_wanted(heading.closeness(element))
        and not heading.is_aside(element)
    ]
    for element in sorted(elements, key=heading.closeness, reverse=True):
        text = " ".join(element.text[:300].split())
        if words.CLOCK.search(text):
            continue
        for name in _DATE_ATTRIBUTES:
            if value := attribute_of(element, name):
                yield "published", value
        if len(text) < 150:
            yield from _parts(text)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Splits a text at a label such as `Updated`. Yields pairs of a kind and a part of the text. The part
    before the label has the kind `published`, and the part after the label has the kind `modified`."""
    label = words.MODIFIED.search(text)
    if label is None:
        yield "published", text
        return
    yield "published", text[: label.start()]
    after = text[label.end() :]
    again = words.PUBLISHED.search(after)
    yield "modified", after[: again.start()] if again else after
    if again:
        yield "published", after[again.end() :]


class _Reading(Heading):
    """The heading of a page and the labels of its dates. The labels are read once, and then stored."""

    @once
    def labels(self) -> list[tuple[str, str, bool]]:
        """The labels of dates in the page's text (`_labels`)."""
        return list(_labels(self._page))


def _labelled(_: Document, reading: _Reading) -> Iterator[tuple[str, str]]:
    """Yields the texts after a label, as in `Published: 12 May 2024` or `Mis à jour le 13 mai`. The label
    begins with a capital letter or is followed by a colon."""
    return ((kind, text) for kind, text, is_sure in reading.labels if is_sure)


def _loosely_labelled(_: Document, reading: _Reading) -> Iterator[tuple[str, str]]:
    """Yields the texts after uncertain labels. An uncertain label is in lower case and has no colon, so it
    may be an ordinary word in a sentence."""
    return ((kind, text) for kind, text, is_sure in reading.labels if not is_sure)


def _labels(page: Document) -> Iterator[tuple[str, str, bool]]:
    """Yields the kind of a label, the text after the label, and whether the label is certain. An uncertain
    label may be an ordinary word in a sentence."""
    text = page.text[:200_000] + " " + page.text[200_000:][-5000:]
    spans = _spans_before_numbers(text)
    for kind, pattern in (("modified", words.MODIFIED), ("published", words.PUBLISHED)):
        labels = (found for start, end in spans for found in pattern.finditer(text, start, end))
        for found in islice(labels, 20):
            after = text[found.end() : found.end() + _MAX_LABEL_GAP]
            other = (words.PUBLISHED if kind == "modified" else words.MODIFIED).search(after)
            after = after[: other.start()] if other else after
            between = re.split(r"\d", after, maxsplit=1)[0]
            if _SENTENCE_END.search(between) or len(between.split()) > _MAX_LABEL_WORDS:
                continue
            first = found[0].lstrip()[:1]
            yield (
                kind,
                after,
                not first.islower() or between.lstrip().startswith(":") or found[0].endswith(":"),
            )


def _spans_before_numbers(text: str) -> list[tuple[int, int]]:
    """Returns the spans of a text that are followed by a number, because the label of a date can only be in
    one of these spans."""
    spans: list[tuple[int, int]] = []
    for number in _NUMBER.finditer(text):
        start, end = max(0, number.start() - _MAX_LABEL_GAP - _MAX_LABEL_CHARS), number.start()
        if spans and start <= spans[-1][1]:
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
    return spans


def _addressed(page: Document, _: Heading) -> Iterator[tuple[str, str]]:
    """Yields the date in the page's URL, the date in its canonical URL and the date in its `og:url`."""
    stated = [attribute_of(one, "content") for one in page.tree.select('meta[property="og:url"]')[:1]]
    for url in (page.url or "", page.canonical or "", *stated):
        yield "published", _date_in(url)


def _near(page: Document, heading: Heading) -> Iterator[tuple[str, str]]:
    """Yields the unlabelled dates near the heading, and a date such as `22.04.2020` in the URL."""
    language = _language(page)
    for line in heading.near:
        if not words.CLOCK.search(line) and not _is_in_sentence(line, language):
            yield from _parts(line)
    if found := _DAY_FIRST_ADDRESS.search(urlsplit(page.url or "").path):
        yield "published", f"{found[4]}-{found[3]}-{found[1]}"


def _is_in_sentence(line: str, language: str | None) -> bool:
    """Whether a date is the date of something that a sentence is about, such as a deadline. False for a date
    with a label, and for a place and a date at the beginning of an article."""
    before, after = around(line, language) or ("", "")
    if words.PUBLISHED.search(before) or words.MODIFIED.search(before):
        return False
    if words.OTHER_BEFORE.search(before) or words.OTHER_AFTER.match(after):
        return True
    if not line.endswith(SENTENCE_ENDS):
        return False
    first, rest = (
        [word for word in _WORD.findall(part) if word.islower() and word not in words.ARTICLES]
        for part in (before, after)
    )
    return len(first) + len(rest) >= _MIN_SENTENCE_WORDS and (
        bool(first) or _GOES_ON.match(after) is not None
    )


def _scripted(page: Document, _: Heading) -> Iterator[tuple[str, str]]:
    """Yields the dates of publication in the data of the page's scripts."""
    left = _MAX_SCRIPT_CHARS
    for script in page.tree.select("script:not([src])"):
        text = script.text[:left]
        left -= len(text)
        if found := _WRITTEN.fullmatch(text):
            yield "published", found["value"]
        for found in _VALUE_IN_SCRIPT.finditer(text):
            before = text[max(0, found.start() - _MAX_NAME_CHARS) : found.start()]
            name = _NAME_IN_SCRIPT.search(before)
            if name is None or (name["name"].lower() in _GENERAL_KEYS and ":" not in found["value"]):
                continue
            yield "published", found["value"]


def _cited(page: Document, _: Heading) -> Iterator[tuple[str, str]]:
    """Yields the date in a COinS citation, which many blogs and libraries have."""
    for element in page.tree.select("span.Z3988[title]")[:1]:
        for value in parse_qs(attribute_of(element, "title")[:5000]).get("rft.date", ()):
            yield "published", value


def _teased(page: Document, heading: Heading) -> Iterator[tuple[str, str]]:
    """Yields the dates beside links to the page itself. For example, a list of the newest articles may link
    to the page."""
    if heading.element is None or page.url is None:
        return
    own = _path_of(page.url)
    known = {own, _path_of(page.canonical or page.url)}
    last = own.partition("?")[0].rpartition("/")[2]
    for link in page.tree.select("a[href]")[:MAX_LINKS] if len(own) >= _MIN_OWN_PATH else ():
        if last not in (target := attribute_of(link, "href")) or "#" in target:
            continue
        if _path_of(page.base.resolve(target) or "") not in known:
            continue
        for element in (link, *islice(ancestors(link), 2)):
            text = " ".join(element.text[:_MAX_TEASER_CHARS].split())
            if element is not link and len(element.select("a[href]")) > _MAX_TEASER_LINKS:
                break
            if _DIGIT.search(text) and not words.CLOCK.search(text):
                yield "published", text


def _path_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path.rstrip('/')}?{parts.query}"


def _pictured(page: Document, _: Heading) -> Iterator[tuple[str, str]]:
    """Yields the date in the URL of the page's main picture."""
    for meta in page.tree.select('meta[property="og:image"]')[:3]:
        yield "published", _date_in(attribute_of(meta, "content"))


def _date_in(url: str) -> str:
    """Returns the date in a URL that begins with the year, or ''."""
    found = _ADDRESS.search(url[:2000])
    return f"{found[1]}-{int(found[3]):02}-{int(found[4]):02}" if found else ""


def _before(element: Any) -> str:
    """Returns the last 25 characters of the text that precedes an element within its parent."""
    parent = element.parent
    whole, own = (parent.text if parent is not None and hasattr(parent, "text") else "")[:500], element.text
    return whole.partition(own)[0][-25:] if own.strip() else ""


_SOURCES: Final = (
    _linked,
    _metas,
    _marked,
    _timed,
    _teased,
    _called,
    _addressed,
    _labelled,
    _near,
    _called_elsewhere,
    _loosely_labelled,
    _cited,
    _scripted,
    _pictured,
)
"""The sources of dates, the most reliable first."""
