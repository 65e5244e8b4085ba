"""Finds the forms of a page, fills them in, and builds the requests that a browser would send (HTML Standard,
4.10.21). The requests include hidden fields and tokens. This module does no I/O. A control belongs to the
form around it or to the form that its `form` attribute names. A control in a table may also belong to an
empty form before the control, because HTML does not allow a form around table rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote_plus

import turbohtml

from gossamer.config.redaction import suggests_secret
from gossamer.model.request import Request, split
from gossamer.parsing.encodings import display_name, encoding, named, output_codec
from gossamer.parsing.html import Document

CONTROLS: Final = "input, select, textarea, button"
_PARTS: Final = ("table", "thead", "tbody", "tfoot", "tr")


def controls_by_form(
    tree: turbohtml.Document,
) -> Iterator[tuple[turbohtml.Element | None, turbohtml.Element]]:
    """Yields (form, control) for each control of a page, in tree order. `form` is the form with which the
    control is sent, or None if it is not sent with any form.

    The parser produces an empty element for a form between the rows of a table. As in a browser, the controls
    that follow the empty form in the same table belong to the form.
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
    """Returns the form to which an element belongs, or None. If the element is a form, returns the element
    itself. A control may also belong to a form that does not contain the control."""
    if found.tag == "form":
        return found
    return found.closest("form") or next(
        (form for form, control in controls_by_form(tree) if control == found), None
    )


def _within(one: Any, table: Any) -> bool:
    while one is not None:
        if one == table:
            return True
        one = one.parent
    return False


URLENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
BUTTONS: Final = ("submit", "image")
_NO_SUBMIT: Final = ("button", "reset")
_LINES: Final = re.compile(r"\r\n|\r|\n")

Pairs = list[tuple[str, str]]


class FormError(ValueError):
    """Raised if a form cannot be found or filled in as requested. The message lists the forms, fields or
    choices that the page has."""


class Form:
    """One HTML form of a page. `url`: the URL that the form is sent to. `method`: GET or POST. `fields`: the
    names and values that the page sets."""

    def __init__(
        self,
        element: turbohtml.Element,
        document: Document,
        charset: str,
        make: Callable[..., Request] = Request,
    ) -> None:
        self._element, self._document, self._charset, self._make = element, document, charset, make
        self._controls = list(_controls(element, document))
        self.names = tuple(dict.fromkeys(name for one in self._controls if (name := _attr(one, "name"))))
        """The names of all fields of the form, whether or not a field has a value."""

    @property
    def method(self) -> str:
        """The HTTP method of the form, GET or POST."""
        return "POST" if _attr(self._element, "method").lower() == "post" else "GET"

    @property
    def url(self) -> str:
        """The URL that the form is sent to. Raises FormError if the form is not sent to an http(s) URL."""
        return self._where(None)

    @property
    def fields(self) -> dict[str, str]:
        """The names and values that the form sends if nothing is filled in and no button is pressed. If
        several values have the same name, only the last value is included."""
        return dict(_entries(self._controls, None, self._charset))

    def fill(
        self,
        values: Mapping[str, str | bool | list[str]] | None = None,
        /,
        *,
        submit: str | None = None,
        needs: Mapping[str, Any] = MappingProxyType({}),
        **more: Any,
    ) -> Request:
        """Returns the request that a browser makes when the form is filled in with these values and sent.

        `values` (or keyword arguments) maps field names to texts. A checkbox takes True or False. For a group
        of checkboxes or radio buttons, or for a multiple select, the value is one choice or a list of
        choices. Fields that are not named keep the values of the page. `submit`: the button to press, by its
        name, value or text. By default the first button is pressed. `needs`: the options of `page.request`,
        for example `{"use": "results"}`. Raises FormError for an unknown field, an unknown choice or an
        unknown button.
        """
        wanted = {**(values or {}), **more}
        for name in wanted:
            if name not in self.names:
                raise FormError(
                    f"the form at {self._document.url} has no field {name!r}: it has {_told(self.names)}"
                )
        button = self._button(submit)
        pairs = _filled(_entries(self._controls, button, self._charset), self._controls, wanted)
        method = (_attr(button, "formmethod") if button is not None else "").upper() or self.method
        url, page = self._where(button), self._document.url
        headers = {"Referer": _referrer(page, url)} if _referrer(page, url) else {}
        if method != "POST":
            return self._make(
                url.partition("?")[0] + "?" + self._encode(pairs), headers=headers or None, **needs
            )
        kind = (_attr(button, "formenctype") if button is not None else "") or _attr(self._element, "enctype")
        body, kind = self._body(pairs, kind.lower())
        scheme, host, _ = split(page)
        headers = {"Origin": f"{scheme}://{host}", "Content-Type": kind, **headers}
        return self._make(url, method="POST", body=body, headers=headers, **needs)

    def _button(self, submit: str | None) -> turbohtml.Element | None:
        """Returns the button that is pressed. If `submit` is None, returns the first submit button (implicit
        submission). If `submit` is None and the form has no button, returns None."""
        buttons = [one for one in self._controls if _submits(one)]
        if submit is None:
            return buttons[0] if buttons else None
        for one in buttons:
            if submit in (_attr(one, "name"), _attr(one, "value"), " ".join(one.text.split())):
                return one
        said = [_attr(one, "name") or _attr(one, "value") or " ".join(one.text.split()) for one in buttons]
        raise FormError(f"the form at {self._document.url} has no button {submit!r}: it has {_told(said)}")

    def _where(self, button: turbohtml.Element | None) -> str:
        action = (_attr(button, "formaction") if button is not None else "") or _attr(
            self._element, "action"
        ).strip()
        resolved = self._document.base.resolve(action) if action else self._document.url
        if resolved is None:
            raise FormError(
                f"the form at {self._document.url} leads to a URL that is not http(s): {action[:80]!r}"
            )
        return resolved.partition("#")[0]

    def _encode(self, pairs: Pairs) -> str:
        return "&".join(f"{self._quoted(_crlf(name))}={self._quoted(_crlf(value))}" for name, value in pairs)

    def _quoted(self, text: str) -> str:
        return quote_plus(text.encode(output_codec(self._charset), "xmlcharrefreplace"), safe="*-._")

    def _body(self, pairs: Pairs, kind: str) -> tuple[str, str]:
        """Returns the body and its content type. The multipart boundary is a hash of the entries, so that
        equal entries give an equal body."""
        if kind == "text/plain":
            return "".join(f"{name}={value}\r\n" for name, value in pairs), kind
        if kind != MULTIPART:
            return self._encode(pairs), URLENCODED
        boundary = "----" + blake2b(repr(pairs).encode("utf-8", "replace"), digest_size=16).hexdigest()
        files = {_attr(one, "name") for one in self._controls if _kind(one) == "file"}
        parts = []
        for name, value in pairs:
            head = f'Content-Disposition: form-data; name="{_disposed(name)}"'
            if name in files:
                head += '; filename=""\r\nContent-Type: application/octet-stream'
            parts.append(f"--{boundary}\r\n{head}\r\n\r\n{_crlf(value)}\r\n")
        return "".join(parts) + f"--{boundary}--\r\n", f"{MULTIPART}; boundary={boundary}"


def find_form(
    document: Document,
    page: bytes,
    content_type: str | None,
    selector: str | None,
    make: Callable[..., Request] = Request,
) -> Form:
    """Returns the first form that a CSS selector finds. The selector may also find an element in a form. If
    there is no selector, returns the form with a password field, or else the page's only form. Raises
    FormError if there is no such form, and ValueError if the selector is invalid."""
    tree = document.tree
    forms = list(tree.select("form"))
    chosen: turbohtml.Element | None = None
    if selector is not None:
        found = tree.select_one(selector)
        chosen = None if found is None else owner_of(found, tree)
    elif forms:
        asking = [
            form for form, one in controls_by_form(tree) if form is not None and _kind(one) == "password"
        ]
        chosen = asking[0] if asking else forms[0] if len(forms) == 1 else None
    if chosen is None:
        what = f"form {selector!r}" if selector is not None else "form that asks for a password"
        said = _told([_shown(one) for one in forms], "no form at all")
        raise FormError(f"there is no {what} on {document.url}: it has {said}")
    labels = _attr(chosen, "accept-charset").replace(",", " ").split()
    charset = next((name for label in labels if (name := named(label))), "utf-8") if labels else None
    if charset is None:
        charset = encoding(page, content_type)
    return Form(chosen, document, "utf-8" if output_codec(charset) == "utf-8" else charset, make)


def _controls(form: turbohtml.Element, document: Document) -> Iterator[turbohtml.Element]:
    """Returns the enabled controls of a form, in tree order."""
    return (
        one
        for owner, one in controls_by_form(document.tree)
        if owner is not None and owner == form and not _off(one)
    )


def _off(control: turbohtml.Element) -> bool:
    """Whether a control is disabled: by its own attribute, by a fieldset around it, or because it is in a
    datalist. Controls in the first legend of a disabled fieldset stay enabled."""
    if "disabled" in control.attrs or control.closest("datalist") is not None:
        return True
    fieldset = control.closest("fieldset[disabled]")
    if fieldset is None:
        return False
    legend = fieldset.select_one("legend")
    return legend is None or not any(one == control for one in legend.select(CONTROLS))


def _entries(controls: list[turbohtml.Element], button: turbohtml.Element | None, charset: str) -> Pairs:
    """Returns the names and values to send (the entry list), in tree order. `button`: the button that is
    pressed. `charset`: the encoding of the form."""
    out: Pairs = []
    for one in controls:
        name, kind = _attr(one, "name"), _kind(one)
        if _submits(one) or kind in _NO_SUBMIT:
            if button is None or one != button:
                continue
            if kind == "image":
                before = f"{name}." if name else ""
                out += [(f"{before}x", "0"), (f"{before}y", "0")]
            elif name:
                out.append((name, _attr(one, "value")))
        elif not name:
            continue
        elif kind in ("checkbox", "radio"):
            if "checked" in one.attrs:
                out.append((name, _choice(one)))
        elif kind == "select":
            out += [(name, _option(option)) for option in _selected(one)]
        elif kind == "textarea":
            out.append((name, one.text))
        elif kind == "hidden" and name.lower() == "_charset_":
            out.append((name, display_name(charset)))
        else:
            out.append((name, "" if kind == "file" else _LINES.sub("", _attr(one, "value"))))
    return out


def _filled(pairs: Pairs, controls: list[turbohtml.Element], wanted: Mapping[str, Any]) -> Pairs:
    """Returns the entries with new values for the fields in `wanted`. The entries keep the order in which the
    fields occur in the form, so a new value is inserted at the position of the field's first control."""
    out = [pair for pair in pairs if pair[0] not in wanted]
    order = {name: place for place, name in enumerate(dict.fromkeys(_attr(one, "name") for one in controls))}
    for name, value in wanted.items():
        own = [one for one in controls if _attr(one, "name") == name]
        values = [(name, text) for text in _values(name, own, value)]
        at = next((i for i, (other, _) in enumerate(out) if order.get(other, -1) > order[name]), len(out))
        out[at:at] = values
    return out


def _values(name: str, own: list[turbohtml.Element], value: Any) -> list[str]:
    """Returns the values to send for the field `name`. Raises FormError for an unknown choice and for a value
    of the wrong type."""
    boxes = [one for one in own if _kind(one) in ("checkbox", "radio")]
    options = [_option(one) for box in own if box.tag == "select" for one in box.select("option")]
    if isinstance(value, bool):
        if not boxes:
            raise FormError(f"the field {name!r} is not a checkbox: give it a text")
        return [_choice(boxes[0])] if value else []
    several = list(value) if isinstance(value, list | tuple) else [value]
    if bad := [one for one in several if not isinstance(one, str)]:
        raise FormError(
            f"the value of the field {name!r} is a {type(bad[0]).__name__}: it is a text, or True or False"
        )
    choices = [_choice(one) for one in boxes] or options
    if choices and len(own) == len(boxes) + sum(one.tag == "select" for one in own):
        for one in several:
            if one not in choices:
                shown = "..." if suggests_secret(name) else repr(one)
                raise FormError(f"the field {name!r} has no choice {shown}: it has {_told(choices)}")
    return several


def _selected(select: turbohtml.Element) -> list[turbohtml.Element]:
    """Returns the selected options. If a drop-down list has no selected option, returns its first enabled
    option."""
    options = list(select.select("option"))
    chosen = [one for one in options if "selected" in one.attrs]
    if "multiple" not in select.attrs:
        first = [one for one in options if _is_on(one)][:1] if _attr(select, "size") in ("", "1") else []
        chosen = chosen[-1:] or first
    return [one for one in chosen if _is_on(one)]


def _is_on(option: turbohtml.Element) -> bool:
    return "disabled" not in option.attrs and option.closest("optgroup[disabled]") is None


def _option(option: turbohtml.Element) -> str:
    return _attr(option, "value") if "value" in option.attrs else " ".join(option.text.split())


def _choice(box: turbohtml.Element) -> str:
    return _attr(box, "value") if "value" in box.attrs else "on"


def _submits(control: turbohtml.Element) -> bool:
    return _kind(control) in BUTTONS


def _kind(control: turbohtml.Element) -> str:
    """Returns the type of an `input` or `button`, such as `text`, `checkbox` or `submit`. For other elements,
    returns the tag."""
    if control.tag == "input":
        return _attr(control, "type").lower() or "text"
    if control.tag == "button":
        kind = _attr(control, "type").lower()
        return kind if kind in _NO_SUBMIT else "submit"
    return control.tag


def _attr(element: turbohtml.Element | None, name: str) -> str:
    value = element.attrs.get(name) if element is not None else None
    return " ".join(value) if isinstance(value, list) else value or ""


def _referrer(page: str, url: str) -> str:
    """Returns the Referer that a browser sends by default (strict-origin-when-cross-origin)."""
    here, there = split(page)[:2], split(url)[:2]
    if here == there:
        return page.partition("#")[0]
    return "" if here[0] == "https" and there[0] == "http" else f"{here[0]}://{here[1]}/"


def _crlf(text: str) -> str:
    return _LINES.sub("\r\n", text)


def _disposed(name: str) -> str:
    return name.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")


def _shown(form: turbohtml.Element) -> str:
    """Describes a form for an error message, by attributes that a selector could use."""
    for name in ("id", "name", "action"):
        if value := _attr(form, name):
            return f"form#{value}" if name == "id" else f"form[{name}={value!r}]"
    return "form"


def _told(words: Any, none: str = "none") -> str:
    """Joins at most 20 words for an error message. `none`: the text that is returned if `words` is empty."""
    some = [str(word) for word in words]
    return ", ".join(some[:20]) + (" ..." if len(some) > 20 else "") or none
