"""Makes a stored page safe to look at: nothing in it runs, loads, leads away or sends."""

from __future__ import annotations

import re
from typing import Final

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The Content-Security-Policy under which a still page is shown, in a sandboxed frame. It holds also where a damaged
page confuses `still_page`."""
_ELEMENTS = re.compile(
    r"<(script|iframe|object|embed|noscript|template|audio|video)\b.*?(?:</\1\s*>|\Z)|<(?:meta|link|base|frame)\b[^>]*>",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTES = re.compile(
    r"""(?<=[\s"'/])(?:on\w+|src|srcset|imagesrcset|poster|background|action|formaction|ping|data|autofocus|(?:xlink:)?href)"""
    r"""\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)""",
    re.IGNORECASE,
)
_LOADS = re.compile(r"""url\(\s*(?:"[^"]*"|'[^']*'|[^)]*)\s*\)|@import[^;<]*;?""", re.IGNORECASE)


def still_page(text: str) -> str:
    """Returns the HTML of a page without scripts, frames, media, links and anything that loads.

    >>> still_page('<base href="/"><a href="javascript:x()" onclick=y()>A</a><p style="background:url(b.png)">B')
    '<a  >A</a><p style="background:none">B'
    """
    return _LOADS.sub("none", _ATTRIBUTES.sub("", _ELEMENTS.sub("", text)))
