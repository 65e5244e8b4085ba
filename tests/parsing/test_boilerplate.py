"""Elements around a main text that are dropped because of their class, id and content."""

from __future__ import annotations

import pytest
import turbohtml

from gossamer.parsing.boilerplate import AFTER, BEFORE, INSIDE, MAX_MEASURED_CHARS, Pruner, prune

LONG = "This sentence is long enough to be one of an article's own, for it has more than eighty characters, and commas."
TEXT = f"<p>{LONG}</p>" * 6
STORY = f"<p>{LONG}</p>" * 3


def is_dropped(html: str, where: int = INSIDE) -> bool:
    """Returns whether the first element of a body is dropped when a longer text follows."""
    body = turbohtml.parse(f"<body>{html}<main>{TEXT}{TEXT}</main>").select_one("body")
    assert body is not None
    first = next(one for one in body.children if isinstance(one, turbohtml.Element))
    return Pruner(body).is_dropped(first, where)


@pytest.mark.parametrize(
    "names",
    [
        "field field--name-body field--type-text-with-summary field--label-hidden field__item",  # Drupal 8
        "field field-name-body field-type-text-with-summary field-label-hidden",  # Drupal 7
        "cmp-text",  # AEM
        "cmp-container",
        "widget Blog",  # Blogger
        "elementor-element elementor-widget elementor-widget-text-editor",
        "elementor-widget-container",
        "elementor-column elementor-hidden-mobile",
        "post type-post status-publish hentry category-video tag-gallery has-post-thumbnail",  # WordPress
        "wp-block-group hide-for-print",
        "pmc-not-a-paywall",
        "hidden md:block",
        "article-body print-only",
        "article-teaser",
    ],
)
def test_classes_of_content_systems_are_not_boilerplate(names: str) -> None:
    assert not is_dropped(f"<div class='{names}'>Some words</div>")


@pytest.mark.parametrize(
    "html",
    [
        "<div class='cmp-breadcrumb'>x</div>",
        "<div class='cmp'>x</div>",
        "<div class='elementor-widget elementor-widget-share-buttons'>x</div>",
        "<div class='field field--name-field-tags field--label-above'>x</div>",
        "<div class='widget PopularPosts'>x</div>",
        "<div class='teaser'><a href=/1>Another story</a></div>",
        "<ol class=commentlist><li>x</ol>",
        "<li id=comment-12>x</li>",
        "<dl class=postprofile><dt>Ann</dl>",
        f"<div class='newsletter widget'>{STORY}</div>",
        f"<div class='related gallery'>{STORY}</div>",
    ],
)
def test_boilerplate_of_content_systems_is_dropped(html: str) -> None:
    assert is_dropped(html)


@pytest.mark.parametrize(
    "name", ["widget", "gallery", "carousel", "slideshow", "caption", "menu-tabs", "more"]
)
def test_an_element_with_a_weak_name_is_kept_for_its_paragraphs(name: str) -> None:
    assert is_dropped(f"<div class={name}><a href=/>x</a> A few words</div>")
    assert not is_dropped(f"<div class={name}>{STORY}</div>")
    links = f"<p><a href=/1>{LONG}</a></p>" * 3
    assert is_dropped(f"<div class={name}>{links}</div>")


def test_quoted_posts_are_kept_in_an_embed() -> None:
    assert not is_dropped("<div class=social-embed><blockquote><p>on it</p></blockquote></div>")


@pytest.mark.parametrize("tag", ["h2", "p", "li"])
def test_an_id_that_is_made_from_the_text_is_no_name(tag: str) -> None:
    assert not is_dropped(f"<{tag} id=more-robust-brakes>More robust brakes</{tag}>")
    assert is_dropped("<div id=more>More</div>")
    assert not is_dropped("<section id=related-work><h2>Related work</h2>x</section>")
    assert is_dropped("<section id=related><h2>Stories</h2>x</section>")


def test_outside_of_the_text_more_is_dropped() -> None:
    picture = f"<div class=image>{LONG}</div>"
    assert not is_dropped(picture)
    assert is_dropped(picture, BEFORE)
    assert is_dropped(picture, AFTER)
    assert not is_dropped(f"<div class=image>{TEXT}</div>", AFTER)


def test_a_summary_called_teaser_is_kept_before_the_text_only() -> None:
    linked = "<div class=article-teaser>A <a href=/>summary</a></div>"
    assert not is_dropped(linked, BEFORE)
    assert is_dropped(linked, AFTER)


def test_a_noscript_with_paragraphs_is_kept() -> None:
    assert not is_dropped(f"<noscript>{TEXT}</noscript>")
    assert is_dropped("<noscript><p>Please turn on JavaScript.</p></noscript>")


def test_measuring_is_bounded() -> None:
    """Nested elements are not measured repeatedly."""
    many = MAX_MEASURED_CHARS // len(LONG) // 50
    tree = turbohtml.parse("<main>" + "<div class=widget>" * 200 + f"<p>{LONG}" * many + "</main>")
    main = tree.select_one("main")
    assert main is not None
    pruner = Pruner(main)
    for element in main.select("div"):
        pruner.is_dropped(element)
    assert pruner.measured_chars <= MAX_MEASURED_CHARS + 2 * len(main.text)


def test_pruning_knows_what_is_around_the_text() -> None:
    tree = turbohtml.parse(
        f"<div id=all><div class=teaser>Summary <a href=/>here</a></div><div id=text>{TEXT}<div class=image>In</div></div>"
        "<div class=image>Out</div><div class=teaser><a href=/1>Other</a></div></div>"
    )
    whole, text = tree.select_one("#all"), tree.select_one("#text")
    assert whole is not None
    assert text is not None
    prune(whole, Pruner(whole, inside=text), text)
    found = " ".join(whole.text.split())
    assert found.startswith("Summary here")
    assert found.endswith(f"{LONG}In")
