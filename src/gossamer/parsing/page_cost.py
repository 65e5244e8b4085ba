"""Limits the memory and CPU time that reading a page may take, and predicts which pages are costly to read. A
costly page is read in a process that can be killed (`worker.page_process`). The prediction uses only the
bytes of the page.

The HTML parser holds the interpreter lock and cannot be interrupted. The tree of a page takes at most 48
bytes of memory per byte of the page, unless the page leaves formatting elements open. If a page leaves
formatting elements open, as in `<b class=c0><p><b class=c1><p>`, the parser reopens up to 512 of them in
every paragraph. As a result, a page of 100 KB can take 600 MB of memory.
"""

from __future__ import annotations

import resource
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from gossamer.model.content_type import HTML, is_xml, page_type
from gossamer.model.lazy_pattern import lazy_pattern

MEMORY_BYTES = 64 << 20
"""Bytes of memory that reading a page may take, whatever the size of the page. In addition, MEMORY_PER_BYTE
bytes are allowed per byte of the page."""
MEMORY_PER_BYTE = 8
LONG_TEXT_BYTES, LONG_TEXT_PER_BYTE = 2 << 20, 16
"""The additional memory for long texts. If a text without a tag has more than LONG_TEXT_BYTES bytes,
LONG_TEXT_PER_BYTE more bytes of memory are allowed per byte of the text. For a long text, the parser doubles
its buffer repeatedly and keeps the old buffers."""
CPU_SECONDS, CPU_SECONDS_PER_MB = 10.0, 1.0
"""CPU seconds that reading a page may take. CPU_SECONDS is allowed for every page, and CPU_SECONDS_PER_MB is
added per megabyte of the page."""
MAX_UNPACKED_BYTES = 50 << 20
"""Maximum size of an unpacked sitemap in bytes (sitemaps.org)."""
WALL_FACTOR = 3.0
"""The limit on the elapsed time for reading a page, as a multiple of the limit on the CPU time. The elapsed
time may be longer than the CPU time because a site function may sleep."""


def limit_seconds(body: bytes) -> float:
    """Returns the CPU seconds that reading a page may take."""
    return CPU_SECONDS + CPU_SECONDS_PER_MB * len(body) / 1e6


def decoded_size(body: bytes) -> int:
    """Returns the size of a page in bytes. For a gzip file, the size is the unpacked size in the trailer of
    the file, limited to MAX_UNPACKED_BYTES."""
    if body[:2] != b"\x1f\x8b":
        return len(body)
    return max(len(body), min(int.from_bytes(body[-4:], "little"), MAX_UNPACKED_BYTES))


def limit_bytes(body: bytes) -> int:
    """Returns the number of bytes by which a process may grow while it reads a page."""
    longest = 0
    for at in range(LONG_TEXT_BYTES // 2, len(body), LONG_TEXT_BYTES // 2):
        end = body.find(b"<", at)
        longest = max(longest, (len(body) if end < 0 else end) - body.rfind(b"<", 0, at))
    return (
        MEMORY_BYTES
        + MEMORY_PER_BYTE * decoded_size(body)
        + (LONG_TEXT_PER_BYTE * longest if longest > LONG_TEXT_BYTES else 0)
    )


class TooComplex(ValueError):
    """Raised if reading a page takes more memory or time than allowed."""


class Limits:
    """Limits the memory and CPU time of this process while it reads one page. Above the limits, allocations
    fail or a signal kills the process."""

    def __init__(self) -> None:
        self._usual = resource.getrlimit(resource.RLIMIT_AS)
        self._linux = sys.platform == "linux"

    def begin(self, body: bytes, start: int) -> None:
        """Limits this process to `start` bytes of memory plus the memory that the page may take, and to the
        page's CPU time."""
        signal.setitimer(signal.ITIMER_PROF, limit_seconds(body))
        if self._linux:
            most = start + limit_bytes(body)
            hard = self._usual[1]
            resource.setrlimit(
                resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
            )

    def end(self) -> None:
        """Lifts the limits."""
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        if self._linux:
            resource.setrlimit(resource.RLIMIT_AS, self._usual)


def virtual_size() -> int:
    """Returns the size of this process's address space in bytes, or 0 if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


@contextmanager
def limited_memory(body: bytes) -> Iterator[None]:
    """A context manager that limits the growth of this process to the memory that the page may take. Raises
    TooComplex if the page takes more memory."""
    if sys.platform != "linux":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = virtual_size() + limit_bytes(body)
    try:
        resource.setrlimit(
            resource.RLIMIT_AS, (most if soft == resource.RLIM_INFINITY else min(soft, most), hard)
        )
        yield
    except MemoryError:
        raise TooComplex(
            f"the page is too complex: it takes more than {limit_bytes(body) >> 20} MiB"
        ) from None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


MAX_BYTES: Final = 1_000_000
"""Maximum size in bytes of a page that is read in the crawling process."""
MAX_LINKS: Final = 10_000
"""A page with more than MAX_LINKS `href` attributes is not read in the crawling process, because it takes 5
to 10 us to resolve each link of a page. A page with fewer tags has fewer links."""
MAX_TAGS: Final = 50_000
"""A page with more than MAX_TAGS tags is not read in the crawling process, whatever the tags are."""
SMALL_BYTES: Final = 64_000
"""Maximum size in bytes of a page for which MAX_LINKS and MAX_TAGS do not apply. A page of this size cannot
contain too many links."""
FEW_TAGS: Final = 1000
"""Minimum number of tags of a page that may be costly to parse. In the worst case, a page with fewer tags
makes the parser copy 500 formatting elements into each of 500 blocks, which takes 30 MB."""
MAX_CLONES: Final = 500_000
"""Maximum number of elements that the parser may create by reopening formatting elements. Each new element
takes 120 bytes and 0.2 us."""
MAX_REOPENED: Final = 512
"""Maximum number of formatting elements that the parser reopens in a block."""
MAX_WITHOUT_ATTRIBUTES: Final = 39
"""Maximum number of formatting elements without attributes that can be open. There are 13 kinds of formatting
elements, the parser reopens at most 3 equal elements, and only one `a` element can be open."""
_NAMES = (
    rb"[bB](?:[iI][gG])?|[cC][oO][dD][eE]|[eE][mM]|[fF][oO][nN][tT]|[iI]|[nN][oO][bB][rR]"
    rb"|[sS](?:[mM][aA][lL][lL]|[tT][rR][iI][kK][eE]|[tT][rR][oO][nN][gG])?|[tT][tT]|[uU]"
)
_FORMATS: Final = lazy_pattern(rb"<(?:" + _NAMES + rb")[\t\n\f\r /]")
"""Matches the beginning of a start tag of a formatting element that may have attributes."""
_INLINE = rb"/?+(?:span|a(?:bbr)?|br|cite|img|kbd|q|samp|su[bp]|var|wbr)"
_INNER = rb"(b(?:ig)?|code|em|font|i|nobr|s(?:mall|trike|trong)?|tt|u)"
_NAME = (
    rb"[bisuBISU](?=[\t\n\f\r />])|[bcefhnstBCEFHNST][iomtIOMT]"
    rb"(?:[dD][eEyY]|[nN][tT]|[bB][rR]|[aA][lL][lL]|[rR](?:[iI][kK][eE]|[oO][nN][gG])|[mM][lL]|[gG])?"
    rb"(?=[\t\n\f\r />])"
)


def _tail(rest: bytes, number: bytes) -> bytes:
    """Returns a pattern for the content of a formatting element: text, inline elements, and formatting elements
    that contain only text and inline elements. `rest` matches what is between the name of a tag and the next
    tag. `number`: the number of the group that contains the name of the inner formatting element."""
    inner = rb"<" + _INNER + rest + rb"(?>(?:<" + _INLINE + rest + rb")*)</" + b"\\" + number + rest
    return rest + rb"(?>(?:<" + _INLINE + rest + rb"|" + inner + rb")*)"


_TAGS: Final = lazy_pattern(rb"<[bcefhinstuBCEFHINSTU](?:>|[iomtIOMT\t\n\f\r /][^<>]*+>?)")
"""Matches all start tags that `_STARTS` matches, and some others, without what follows them. The first two letters
of a name exclude most tags."""
_STARTS: Final = lazy_pattern(
    rb"<(" + _NAME + rb")(?>(?:(?<![dDmM][yYlL])(" + _tail(rb"[^<]*+", b"3") + rb")</\1>)?)"
)
"""Matches start tags of formatting elements, of `html` and `body`, and of some names that look similar. The first
two letters of a name exclude most tags. If the element may end at its end tag, the match continues to this end
tag, and group 2 contains what is inside. If there are formatting elements inside, group 3 is not empty."""
_CLOSED: Final = lazy_pattern(_tail(rb"(?>(?: [a-z-]+=\"[^\"<>]*+\")*) ?/?>[^<]*+", b"1"))
"""Matches what is inside a formatting element that certainly ends at its end tag. Matches only tags as most pages
write them. Inline elements inside may lack their start or end tag, because the end tag of the formatting element
removes this element from the list of active formatting elements nevertheless (HTML Standard, 13.2.6.4.7)."""
MAX_NESTED: Final = 3
"""Maximum number of formatting elements that are open at the same time although they have an end tag, as
`_unclosed` determines it: one element inside another one, and an `a` element."""
_ATTRIBUTE = rb"""[\t\n\f\r ]+[^\t\n\f\r "'<>/=]+(?:=(?:"[^"<>]*"|'[^'<>]*'|[^\t\n\f\r "'<>=`]+))?"""
_CLEAR: Final = lazy_pattern(rb"<(?:" + _NAMES + rb")(?>(?:" + _ATTRIBUTE + rb")+)[\t\n\f\r ]*+/?>")
"""Matches start tags whose attributes contain no unusual characters. If two of these start tags have the same
text, the parser creates equal elements."""


def is_html(content_type: str | None, body: bytes) -> bool:
    """Whether a page with this Content-Type and body is parsed, as HTML or XML."""
    kind = page_type(content_type, body)
    return kind == HTML or is_xml(kind)


def tags_of(body: bytes) -> int:
    """Returns the number of `<` in a page. This function is five times as fast as `bytes.count`, which checks
    each byte separately."""
    return len(body) - len(body.replace(b"<", b""))


class Cost(NamedTuple):
    """The predicted cost of reading a page. `roots`: the maximum number of html and body start tags, or None
    if they were not counted."""

    is_costly: bool
    roots: int | None = None


def cost_of(body: bytes) -> Cost:
    """Returns the predicted cost of reading an HTML page. A page is costly if it may take more than 64 MiB,
    or hold the interpreter lock for more than 100 ms.

    >>> cost_of(b"<p>text <b class=x>word</b>" * 1000).is_costly, cost_of(b"".join(b"<b id=%d><p>" % n for n in range(1000))).is_costly
    (False, True)
    """
    if len(body) > MAX_BYTES:
        return Cost(True)
    if (tags := tags_of(body)) < FEW_TAGS:
        return Cost(False, tags)  # as for most pages
    narrow = _narrow(body)
    found = _TAGS.findall(narrow)
    return Cost(
        (tags > MAX_LINKS and len(body) > SMALL_BYTES and _has_many_links(narrow, tags))
        or _has_many_clones(body, found, tags),
        len(found),
    )


def may_explode(body: bytes) -> bool:
    """Whether the tree of an HTML page may take far more memory than the size of the page suggests."""
    return _has_many_clones(body, _TAGS.findall(_narrow(body)), tags_of(body))


def _has_many_clones(body: bytes, found: list[bytes], tags: int) -> bool:
    """Whether the parser may reopen more than MAX_CLONES formatting elements. `found`: the matches of `_TAGS` in the
    page. `tags`: the number of tags of the page.

    When an element ends, the parser reopens all formatting elements that are still open inside it. Elements are
    reopened at most once for each start tag.
    """
    if not _may_clone(len(found), tags):
        return False
    narrow = _narrow(body)
    most, starts = _different(found, narrow is body), tags - narrow.count(b"</")
    return _may_clone(most, starts) and _may_clone(_unclosed(body, _STARTS.findall(narrow), starts), starts)


def _different(found: list[bytes], is_text: bool) -> int:
    """Returns an upper bound for the number of formatting elements that the parser reopens at once. `found`: the
    matches of `_TAGS` in the page. `is_text`: whether equal bytes are equal tags."""
    most = MAX_WITHOUT_ATTRIBUTES
    for tag, times in Counter(found).items():
        if _FORMATS.match(tag):
            most += min(3, times) if is_text and _CLEAR.fullmatch(tag) else times
    return min(most, MAX_REOPENED)


def _may_clone(opened: int, tags: int) -> bool:
    """Whether the parser may create more than MAX_CLONES elements for a page with `tags` tags, of which
    `opened` are start tags of formatting elements that may stay open."""
    return tags >= FEW_TAGS and (opened + MAX_NESTED) * tags > MAX_CLONES


def _has_many_links(narrow: bytes, tags: int) -> bool:
    return tags > MAX_TAGS or narrow.lower().count(b"href") > MAX_LINKS


def _count(found: list[tuple[bytes, bytes, bytes]]) -> int:
    """Returns the number of start tags in the matches of `_STARTS`, including the start tags inside of a match."""
    return len(found) + sum(len(_STARTS.findall(inside)) for _, inside, inner in found if inner)


def _unclosed(body: bytes, found: list[tuple[bytes, bytes, bytes]], tags: int) -> int:
    """Returns how many start tags of formatting elements may have no end tag. Stops counting at a harmless
    number. `found`: the matches of `_STARTS` in the page. `tags`: the number of tags of the page."""
    starts = _count(found)
    if _is_ambiguous(body):
        return starts
    for one in found:
        if one[1] and _CLOSED.fullmatch(one[1]):
            starts -= _count([one])
            if not _may_clone(starts, tags):
                break
    return starts


def _is_ambiguous(body: bytes) -> bool:
    """Whether the page may be in ISO-2022-JP or UTF-16, in which the bytes of an end tag may be text."""
    return b"\x1b" in body or b"\0" in body


def is_costly(body: bytes) -> bool:
    """Whether reading an HTML page may take more than 64 MiB, or hold the interpreter lock for more than 100
    ms."""
    return cost_of(body).is_costly


def _narrow(body: bytes) -> bytes:
    """Returns a page without zero bytes. In UTF-16 every ASCII letter has a zero byte before or after it."""
    return body.replace(b"\0", b"") if b"\0" in body else body
