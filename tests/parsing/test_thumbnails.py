"""Thumbnails are correct for valid images of every kind, and bounded for hostile images."""

from __future__ import annotations

import io
import random
import re
from typing import Any

import pytest
from PIL import Image

from gossamer.parsing import thumbnails as module
from gossamer.parsing.thumbnails import thumbnails

RED, BLUE, WHITE = (200, 10, 10), (10, 10, 200), (255, 255, 255)


def image(
    form: str, mode: str = "RGB", size: tuple[int, int] = (300, 200), color: Any = RED, **how: Any
) -> bytes:
    """Returns an image file of one colour."""
    out = io.BytesIO()
    Image.new(mode, size, color).save(out, form, **how)
    return out.getvalue()


def opened(body: bytes, *sizes: tuple[int, int]) -> list[Image.Image]:
    """Returns the decoded thumbnails of an image."""
    made, why = thumbnails(body, sizes or [(90, 90)])
    assert why == ""
    found = [Image.open(io.BytesIO(one)) for one in made]
    assert {one.format for one in found} == {"JPEG"}
    return found


def near(pixel: Any, color: tuple[int, ...]) -> bool:
    """Returns whether a pixel has a colour, within the accuracy of JPEG."""
    found = pixel if isinstance(pixel, tuple) else (pixel,) * 3
    return all(abs(a - b) < 12 for a, b in zip(found, color, strict=True))


def test_proportions_are_kept_and_nothing_is_enlarged() -> None:
    sizes = [(90, 90), (30, 90), (90, 10), (300, 200), (5000, 5000)]
    assert [one.size for one in opened(image("JPEG"), *sizes)] == [
        (90, 60),
        (30, 20),
        (15, 10),
        (300, 200),
        (300, 200),
    ]
    assert [one.size for one in opened(image("PNG", size=(1, 60_000)), (90, 90))] == [(1, 90)]
    assert [one.size for one in opened(image("JPEG", size=(4000, 3000)), (90, 90))] == [(90, 68)]


@pytest.mark.parametrize(
    ("form", "mode", "color", "shown"),
    [
        ("JPEG", "RGB", RED, RED),
        ("PNG", "RGB", RED, RED),
        ("WEBP", "RGB", RED, RED),
        ("AVIF", "RGB", RED, RED),
        ("BMP", "RGB", RED, RED),
        ("TIFF", "RGB", RED, RED),
        ("JPEG", "CMYK", (0, 255, 255, 0), (255, 0, 0)),
        ("TIFF", "CMYK", (0, 255, 255, 0), (255, 0, 0)),
        ("TIFF", "LAB", (255, 128, 128), WHITE),
        ("JPEG", "L", 90, (90, 90, 90)),
        ("PNG", "1", 1, WHITE),
        ("PNG", "I;16", 128 << 8, (128, 128, 128)),
        ("TIFF", "I;16B", 128 << 8, (128, 128, 128)),
        ("PNG", "RGBA", (*RED, 0), WHITE),
        ("WEBP", "RGBA", (*RED, 0), WHITE),
        ("PNG", "LA", (0, 128), (127, 127, 127)),
    ],
)
def test_each_mode_has_its_colour_on_white(form: str, mode: str, color: Any, shown: tuple[int, ...]) -> None:
    (one,) = opened(image(form, mode, color=color))
    assert (one.size, one.mode in ("L", "RGB")) == ((90, 60), True)
    assert near(one.getpixel((45, 30)), shown), one.getpixel((45, 30))


def test_a_transparent_colour_is_white() -> None:
    for body in (image("PNG", transparency=RED), image("GIF", "P", color=3, transparency=3)):
        assert near(opened(body)[0].getpixel((45, 30)), WHITE)


@pytest.mark.parametrize("form", ["GIF", "PNG", "WEBP", "AVIF", "TIFF", "MPO"])
def test_an_animation_yields_its_first_frame(form: str) -> None:
    frames, out = [Image.new("RGB", (60, 60), color) for color in (RED, BLUE, BLUE)], io.BytesIO()
    frames[0].save(out, form, save_all=True, append_images=frames[1:])
    (one,) = opened(out.getvalue(), (30, 30))
    assert near(one.getpixel((15, 15)), RED)


def turned(orientation: int) -> bytes:
    """Returns a JPEG of 200 x 100 pixels with a red left half and the given EXIF orientation."""
    whole, exif, out = Image.new("RGB", (200, 100), BLUE), Image.Exif(), io.BytesIO()
    whole.paste(RED, (0, 0, 100, 100))
    exif[0x0112] = orientation
    whole.save(out, "JPEG", exif=exif, quality=95)
    return out.getvalue()


@pytest.mark.parametrize(
    ("orientation", "size", "red"),
    [
        (1, (60, 30), (5, 15)),
        (2, (60, 30), (55, 15)),
        (3, (60, 30), (55, 15)),
        (4, (60, 30), (5, 15)),
        (5, (30, 60), (15, 5)),
        (6, (30, 60), (15, 5)),
        (7, (30, 60), (15, 55)),
        (8, (30, 60), (15, 55)),
        (0, (60, 30), (5, 15)),
        (99, (60, 30), (5, 15)),
    ],
)
def test_a_thumbnail_is_upright(orientation: int, size: tuple[int, int], red: tuple[int, int]) -> None:
    (one,) = opened(turned(orientation), (60, 60))
    assert (one.size, near(one.getpixel(red), RED), 0x0112 in one.getexif()) == (size, True, False)


def test_broken_exif_data_does_no_harm() -> None:
    body = bytearray(turned(6))
    at = body.index(b"Exif\0\0") + 6
    body[at : at + 12] = bytes(12)
    assert opened(bytes(body), (60, 60))[0].size == (60, 30)


def test_broken_images_have_a_reason_that_is_always_the_same() -> None:
    noise = random.Random(1).randbytes(300 * 200 * 3)
    out = io.BytesIO()
    Image.frombytes("RGB", (300, 200), noise).save(out, "PNG")
    for body in (
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"<svg/>",
        out.getvalue()[:90_000],
        image("JPEG")[:200],
        image("GIF")[:20],
    ):
        made, why = thumbnails(body, [(90, 90)])
        assert (made, why[:13], thumbnails(body, [(90, 90)])[1]) == ([], "it is broken:", why)
        assert not re.search("0x[0-9a-f]{6}", why)


@pytest.mark.parametrize("form", ["PNG", "GIF", "TIFF"])
def test_more_pixels_than_the_limit_are_not_decoded(form: str) -> None:
    assert thumbnails(image(form, "1", (9000, 9000), 0), [(90, 90)]) == (
        [],
        "it has more than 67108864 pixels",
    )


def test_an_image_that_needs_too_much_memory_has_none_and_the_next_is_read() -> None:
    made, why = thumbnails(image("WEBP", "RGBA", (8190, 8190), (0, 0, 0, 0), method=0), [(90, 90)])
    assert (made, "1 GiB of memory" in why) == ([], True)
    assert opened(image("JPEG"))[0].size == (90, 60)


def test_an_image_that_takes_too_long_has_none_and_the_next_is_read() -> None:
    made, why = thumbnails(image("PNG", "RGB", (5000, 5000)), [(90, 90)], seconds=0.01)
    assert (made, "more than 0.01 s" in why) == ([], True)
    assert opened(image("JPEG"))[0].size == (90, 60)


def test_too_large_a_file_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    assert thumbnails(bytes(101), [(90, 90)]) == ([], "it has more than 100 bytes")


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG", "AVIF", "TIFF", "JPEG", "BMP"])
def test_mutants_have_thumbnails_or_a_reason(form: str) -> None:
    rng, body = random.Random(form), image(form, size=(60, 50))
    for _ in range(60):
        changed = bytearray(body)
        for _ in range(rng.randint(1, 10)):
            changed[rng.randrange(2, len(body))] = rng.randrange(256)
        made, why = thumbnails(bytes(changed), [(20, 20), (10, 10)])
        assert (len(made), bool(why)) in ((2, False), (0, True))
    assert opened(body, (30, 30))[0].size == (30, 25)
