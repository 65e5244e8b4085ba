"""Makes thumbnails of images with the library Pillow. Pillow runs in a separate process because any image may
be malicious."""

from __future__ import annotations

import importlib.util
import struct
from collections.abc import Iterable

from gossamer.config.optional_deps import install_command
from gossamer.parsing.isolated_process import IsolatedProcess

MEDIA_TYPES = frozenset(
    ("image/avif", "image/bmp", "image/gif", "image/jpeg", "image/png", "image/tiff", "image/webp")
)
"""The media types of images that are read."""
MAX_PIXELS, MAX_BYTES, MAX_SECONDS = 64 << 20, 64 << 20, 10.0
"""Limits for one image. MAX_PIXELS is the product of width and height, MAX_BYTES is the size of the file, and
MAX_SECONDS is the time for all thumbnails of the image."""
_REQUEST, _BOX = struct.Struct("<QdQB"), struct.Struct("<HH")
_PROCESS = IsolatedProcess("thumbnail_process")


def available() -> bool:
    """Whether the library Pillow is installed."""
    return importlib.util.find_spec("PIL") is not None


def thumbnails(
    body: bytes, sizes: Iterable[tuple[int, int]], seconds: float = MAX_SECONDS
) -> tuple[list[bytes], str]:
    """Returns the thumbnails of an image as JPEG files, and an error message ('' on success). If the error
    message is not empty, the list of thumbnails is empty. `sizes`: the largest width and height of each
    thumbnail in pixels, at most 255 pairs.

    A thumbnail keeps the proportions of the image and is never larger than the image. The thumbnail is
    upright, according to the EXIF orientation. It is in RGB or shades of grey, and has a white background in
    place of transparent parts. The thumbnail of an animation is its first frame.

    Pillow reads the image in a process with at most 1 GiB of memory. Raises RuntimeError if Pillow is not
    installed (`pip install 'gossamer[images]'`). May be called from any thread.
    """
    if len(body) > MAX_BYTES:
        return [], f"it has more than {MAX_BYTES} bytes"
    if not available():
        raise RuntimeError(f"thumbnails need Pillow: {install_command('images')}")
    boxes = [_BOX.pack(*size) for size in sizes]
    head = _REQUEST.pack(len(body), seconds, MAX_PIXELS, len(boxes))
    parts, complete = _PROCESS.parts(head + b"".join(boxes) + body, seconds)
    if not complete or len(parts) != 1 + len(boxes):
        reason = parts[0].decode("utf-8", "replace") if complete and parts else ""
        return [], reason or f"decoding it fails, or takes more than {seconds:g} s or 1 GiB of memory"
    return parts[1:], ""
