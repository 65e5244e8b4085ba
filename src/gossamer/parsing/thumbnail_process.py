"""The program of the process that `thumbnails` starts. The program runs Pillow with limited memory, without
access to files, and with a time limit for each image. The program imports no other module of gossamer."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import resource
import signal
import struct
import sys
import warnings
from typing import Any

MAX_MEMORY_BYTES = 1 << 30
"""Maximum address space of the process in bytes."""
FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "MPO", "PNG", "TIFF", "WEBP")
"""Pillow's names of the formats that are read."""
JPEG_QUALITY = 85
ORIENTATION = 0x0112
"""The EXIF tag of the orientation."""
UPRIGHT = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}
"""Maps each EXIF orientation to the transposition that makes the image upright."""
_REQUEST, _BOX, _SIZE = struct.Struct("<QdQB"), struct.Struct("<HH"), struct.Struct("<I")


def main() -> None:
    """Reads images until the standard input ends. For each image, writes an error message ('' on success),
    and then its thumbnails if there was no error."""
    from PIL import Image, ImageCms, ImageColor, ImagePalette, UnidentifiedImageError

    # Pillow would import these modules when it needs them, but then the process can no longer open files.
    _ = copy, ImageCms, ImageColor, ImagePalette
    Image.init()
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    bounds = {
        resource.RLIMIT_AS: MAX_MEMORY_BYTES,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 3,
    }
    for what, most in bounds.items():  # only three open files: the standard streams
        with contextlib.suppress(ValueError, OSError):  # macOS has no memory limit
            resource.setrlimit(what, (most, most))
    source = os.fdopen(0, "rb", buffering=1 << 20)
    while head := source.read(_REQUEST.size):
        size, seconds, pixels, count = _REQUEST.unpack(head)
        boxes = [_BOX.unpack(source.read(_BOX.size)) for _ in range(count)]
        body = source.read(size)
        Image.MAX_IMAGE_PIXELS = pixels
        signal.setitimer(signal.ITIMER_REAL, seconds)  # SIGALRM kills the process even if Pillow hangs
        try:
            parts = [b"", *_thumbnails(Image, body, boxes)]
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            parts = [b"it has more than %d pixels" % pixels]
        except MemoryError:
            parts = [b"decoding it takes more than 1 GiB of memory"]
        except UnidentifiedImageError:
            parts = [b"it is broken: Pillow does not recognize it"]
        except Exception as error:  # noqa: BLE001 - Pillow raises almost anything for a broken image
            parts = [f"it is broken: {str(error) or type(error).__name__}"[:300].encode("utf-8", "replace")]
        signal.setitimer(signal.ITIMER_REAL, 0)
        for part in parts:
            _put(_SIZE.pack(len(part) + 1) + part)
        _put(_SIZE.pack(0))


def _thumbnails(image_module: Any, body: bytes, boxes: list[tuple[int, int]]) -> list[bytes]:
    """Returns the thumbnails as JPEG files. The image is shrunk once, to the longest side of all boxes. All
    thumbnails are made from the shrunk image."""
    side = max(max(box) for box in boxes)
    image = image_module.open(io.BytesIO(body), formats=[one for one in FORMATS if one in image_module.OPEN])
    image.draft(None, (2 * side, 2 * side))  # a JPEG is decoded at a smaller scale, which is much faster
    orientation = _orientation(image)
    small = _flat(image_module, image, side)
    if method := UPRIGHT.get(orientation):
        small = small.transpose(image_module.Transpose[method])
    small.info = {}  # drops the comments and profiles of the image
    made = []
    for box in boxes:
        one = small.copy()
        one.thumbnail(box, image_module.Resampling.LANCZOS)
        out = io.BytesIO()
        one.save(out, "JPEG", quality=JPEG_QUALITY, optimize=True)
        made.append(out.getvalue())
    return made


def _orientation(image: Any) -> int:
    """Returns the EXIF orientation of an image, or 1 (upright) if the image has no readable orientation."""
    try:
        return int(image.getexif().get(ORIENTATION, 1))
    except Exception:  # noqa: BLE001 - broken EXIF data does not make the image unreadable
        return 1


def _flat(image_module: Any, image: Any, side: int) -> Any:
    """Returns an image in RGB or shades of grey, at most `side` pixels wide and high. Transparent parts become
    white."""
    if image.has_transparency_data:
        image = image.convert("RGBA")
    elif image.mode.startswith("I;16"):  # 16 bits per pixel
        image = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    elif image.mode not in ("L", "RGB"):
        image = image.convert("L" if image.mode[0] in "1IF" else "RGB")
    image.thumbnail((side, side), image_module.Resampling.LANCZOS)
    if image.mode != "RGBA":
        return image
    white = image_module.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white


def _put(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
