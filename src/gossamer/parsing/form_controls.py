"""Which controls are a form's: those in it, those that name it, and those after one that a table does not let
be around them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import turbohtml

CONTROLS: Final = "input, select, textarea, button"
_PARTS: Final = ("table", "thead", "tbody", "tfoot", "tr")


def owned(tree: turbohtml.Document) -> Iterator[tuple[turbohtml.Element | None, turbohtml.Element]]:
    """Each control of a page, and the form that it is sent with, in tree order.

    A form among a table's rows is empty in the tree: the controls behind it in that table are its own, as in
    a browser.
    """
    forms: dict[str, turbohtml.Element] = {}
    for form in tree.select("form[id]"):
        forms.setdefault(str(form.attrs["id"]), form)
    stray: Any = None
    table: Any = None
    for one in tree.select(f"form, {CONTROLS}"):
        if one.tag == "form":
            empty = getattr(one.parent, "tag", "") in _PARTS and not one.children
            stray, table = (one, one.closest("table")) if empty else (None, None)
        elif (named := one.attrs.get("form")) is not None:
            yield forms.get(str(named)), one
        else:
            around = one.closest("form")
            yield around or (stray if stray is not None and _within(one, table) else None), one


def owner_of(found: turbohtml.Element, tree: turbohtml.Document) -> turbohtml.Element | None:
    """The form that something found is, is in, or is sent with."""
    if found.tag == "form":
        return found
    return found.closest("form") or next((form for form, control in owned(tree) if control == found), None)


def _within(one: Any, table: Any) -> bool:
    while one is not None:
        if one == table:
            return True
        one = one.parent
    return False
