"""MinHash sketches are the same on every machine, and sketches are as similar as their texts."""

from __future__ import annotations

import random

import pytest

from gossamer.model import minhash
from gossamer.model.minhash import bands, likeness, make_sketch

WORDS = [f"word{n}" for n in range(3000)]


def text(seed: int, n: int = 600) -> list[str]:
    return random.Random(seed).choices(WORDS, k=n)


def changed(words: list[str], every: int) -> str:
    """Replaces every `every`-th word by "other"."""
    return " ".join("other" if n % every == 0 else word for n, word in enumerate(words))


def shared(one: str, other: str) -> float:
    """Returns the share of word triples that two texts have in common, counted directly."""
    a, b = (
        {tuple(words[n : n + 3]) for n in range(len(words) - 2)} for words in (one.split(), other.split())
    )
    return len(a & b) / len(a | b)


def test_a_sketch_never_changes() -> None:
    """Fleets of mixed versions compare sketches, so these bytes must never change."""
    assert (
        make_sketch("one two three four " * 10, "A heading").hex()
        == "f72bd4c218c01872187272c07218c018181872727272c018c07272c0c0c01872c018c0c0ddd9efcdbe4d7bfcffeeffb83eff77ff1bd7eb7ffc57baeffbeff85a"
    )
    assert len(make_sketch(" ".join(text(1)))) == minhash.SIZE


@pytest.mark.parametrize("every", [400, 100, 60, 40])
def test_likeness_is_the_share_of_triples(every: int) -> None:
    for seed in range(10):
        words = text(seed)
        true, told = (
            shared(" ".join(words), changed(words, every)),
            likeness(make_sketch(" ".join(words)), make_sketch(changed(words, every))),
        )
        assert told == pytest.approx(true, abs=0.15)


def test_texts_that_are_alike_share_a_band() -> None:
    found = [
        set(bands(make_sketch(" ".join(words)))) & set(bands(make_sketch(changed(words, 40))))
        for words in map(text, range(100))
    ]
    assert sum(map(bool, found)) >= 98


def test_others_share_nothing() -> None:
    sketches = [make_sketch(" ".join(text(seed, 200))) for seed in range(100)]
    assert all(
        likeness(a, b) == 0 and not set(bands(a)) & set(bands(b))
        for n, a in enumerate(sketches)
        for b in sketches[:n]
    )


def test_headings_tell_two_things_of_one_template_apart() -> None:
    body = " ".join(text(1))
    assert likeness(make_sketch(body, "Green tea, 100 g"), make_sketch(body, "Green tea, 100 g")) == 1.0
    assert likeness(make_sketch(body, "Green tea, 100 g"), make_sketch(body, "Coffee mill of brass")) == 0
    assert likeness(make_sketch(body, "Green tea, 100 g"), make_sketch(body, "Green tea, 250 g")) == 0
    assert likeness(make_sketch(body, "Green tea, 100 g"), make_sketch(body)) == 1.0
    assert likeness(make_sketch(body, "E.5. Release 15.14"), make_sketch(body, "E.7. Release 15.14")) == 1.0


def test_dates_and_times_make_no_difference() -> None:
    body = " ".join(text(1))
    one, other = (
        make_sketch(f"Read 2024-{n}-11 at 1{n}:30, {body}, 0{n}.11.2021", f"Tea 2024/{n}/1") for n in (1, 2)
    )
    assert one == other
    assert likeness(make_sketch(body, "Release 1.2.3"), make_sketch(body, "Release 1.2.4")) == 0


def test_few_words_are_compared_whole() -> None:
    assert make_sketch("too few words to tell") == b""
    assert bands(b"") == []


def test_writing_without_blanks_has_words() -> None:
    story = "".join(
        random.Random(3).choices("春夏秋冬山川草木花鳥風月日星空海雨雪雲水火土金石田里人心", k=400)
    )
    assert likeness(make_sketch(story), make_sketch(story[:200] + "狐" + story[200:])) > 0.9
