"""Forms as browsers submit them: the entry list of the HTML Standard (4.10.21.4), its encoding, and the
target URL."""

from __future__ import annotations

import pytest

from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView

URL = "https://shop.example/a/login?next=/x#top"


def page(body: str, charset: str = "utf-8", url: str = URL) -> PageView:
    kind = [("content-type", f"text/html; charset={charset}")]
    return PageView(Page(url, 200, kind, body.encode(charset), 0.0, 0.0, 0))


@pytest.mark.parametrize(
    ("inner", "sent"),
    [
        ("<input name=a value=1><input value=2><input name='' value=3>", "a=1"),
        ("<input type=hidden name=t value='x y&amp;+é'>", "t=x+y%26%2B%C3%A9"),
        (
            "<input name=a disabled value=1><fieldset disabled><legend><input name=b></legend><input name=c></fieldset>",
            "b=",
        ),
        (
            "<input type=checkbox name=a checked><input type=checkbox name=b value=2><input type=radio name=c value=3 checked>",
            "a=on&c=3",
        ),
        ("<select name=s><option>one <option value=2>two</select>", "s=one"),
        (
            "<select name=s multiple><option selected>1<option>2<option selected>3</select><select name=e size=3><option>1</select>",
            "s=1&s=3",
        ),
        # like a browser, a form omits a disabled selected option, and without a selection it sends the first
        # enabled option
        ("<select name=s><option disabled selected>Choose<option>yes</select><input name=z>", "z="),
        (
            "<select name=s><option disabled>no<optgroup disabled><option>off</optgroup><option>yes</select>",
            "s=yes",
        ),
        ("<textarea name=t>\none\ntwo</textarea>", "t=one%0D%0Atwo"),
        ("<button name=a value=1>x</button><input type=submit name=b value=2>", "a=1"),
        (
            "<button type=button name=a value=1></button><input type=reset name=r><input type=image name=i>",
            "i.x=0&i.y=0",
        ),
        ("<datalist><option>x</datalist><input type=file name=f><output name=o>1</output>", "f="),
        ("<input type=hidden name=_charset_>", "_charset_=UTF-8"),
        (
            "</form><form id=other><input name=no></form><input form=f name=far value=1><input form=other name=no2>",
            "far=1",
        ),
    ],
)
def test_what_is_sent_of_a_form_that_nobody_touched(inner: str, sent: str) -> None:
    request = page(f"<form id=f method=post action=/go>{inner}").form("#f").fill()
    assert (request.method, request.url, request.body) == ("POST", "https://shop.example/go", sent)
    assert request.headers == {
        "Origin": "https://shop.example",
        "Content-Type": "application/x-www-form-urlencoded",
        "Referer": "https://shop.example/a/login?next=/x",
    }


FORM = """<form method=post action=in?s=1><input type=hidden name=token value=T><input name=user><input type=password name=password>
<input type=checkbox name=stay><input type=checkbox name=c value=1><input type=checkbox name=c value=2><select name=s><option>a<option>b</select>
<button name=go value=in>Log in</button><button name=go value=up formaction=/join formmethod=get>Sign up</button></form>"""


def test_it_is_filled_in_at_the_places_of_its_fields() -> None:
    form = page(FORM).form()
    assert (form.url, form.method, form.fields["token"]) == ("https://shop.example/a/in?s=1", "POST", "T")
    assert (
        form.fill(password="p", user="u", stay=True, c=["2"], s="b").body
        == "token=T&user=u&password=p&stay=on&c=2&s=b&go=in"
    )
    pressed = form.fill({"user": "u"}, submit="Sign up", needs={"use": "joined"})
    assert (pressed.method, pressed.body, pressed.use) == ("GET", None, "joined")
    assert pressed.url == "https://shop.example/join?token=T&user=u&password=&s=a&go=up"


@pytest.mark.parametrize(
    ("values", "submit", "said"),
    [
        ({"usr": "u"}, None, "has no field 'usr': it has token, user, password, stay, c, s, go"),
        ({"s": "z"}, None, "no choice 'z': it has a, b"),
        ({"c": ["3"]}, None, "no choice '3': it has 1, 2"),
        ({"user": True}, None, "is not a checkbox"),
        ({"password": 7}, None, "is a int"),
        ({}, "Buy", "has no button 'Buy': it has go, go"),
    ],
)
def test_what_does_not_fit_is_said(values: dict[str, object], submit: str | None, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        page(FORM).form().fill(values, submit=submit)  # type: ignore[arg-type] # what is wrong is the point


def test_which_form() -> None:
    two = page("<form id=one><input name=q></form><form id=two><input type=PASSWORD name=p></form>")
    assert two.form().names == ("p",)
    assert two.form("input[name=q]").names == ("q",)
    with pytest.raises(ValueError, match=r"no form '#three' on .*: it has form#one, form#two"):
        two.form("#three")
    with pytest.raises(ValueError, match="no form at all"):
        page("<p>nothing").form()
    with pytest.raises(ValueError, match="it has form#a, form#b"):
        page("<form id=a></form><form id=b></form>").form()


def test_other_encodings_and_other_origins() -> None:
    body = "<form method=post action=//pay.example/x enctype=multipart/form-data><input name=a value='\"é'><input type=file name=f>"
    request = page(body, "windows-1252").form().fill()
    kind = (request.headers or {})["Content-Type"]
    boundary = kind.partition("boundary=")[2]
    assert request.body == (
        f'--{boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n"é\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="f"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n\r\n'
        f"--{boundary}--\r\n"
    )
    assert (request.headers or {})["Referer"] == "https://shop.example/"
    latin = page("<form method=post><input name=a value='é€&#1078;'>", "windows-1252").form().fill()
    assert (latin.url, latin.body) == ("https://shop.example/a/login?next=/x", "a=%E9%80%26%231078%3B")
    down = page("<form method=post action=http://shop.example/x><input name=a>").form().fill()
    assert "Referer" not in (down.headers or {})


LOGIN = """<form id=s action=/find><input name=q></form><table><tr><td><input name=before></td></tr><form method=post action=/in>
<tr><td><input name=user class=who></td></tr><tr><td><input type=password name=pass><input type=submit name=go value=Go></td></tr></form></table>
<input name=after><table><tr><td><input name=later></td></tr></table>"""


@pytest.mark.parametrize("selector", [None, ".who", "form[method=post]"])
def test_a_form_among_the_rows_of_a_table_has_what_comes_behind_it(selector: str | None) -> None:
    request = page(LOGIN).form(selector).fill({"user": "ann", "pass": "x"})
    assert (request.url, request.body) == ("https://shop.example/in", "user=ann&pass=x&go=Go")


def test_the_encoding_of_a_form_is_told_and_used() -> None:
    body = "<meta charset=sjis><form action=/go><input type=hidden name=_CHARSET_><input name=q value=①>"
    sent = (
        PageView(
            Page(
                "https://shop.example/",
                200,
                [("content-type", "text/html")],
                body.encode("cp932"),
                0.0,
                0.0,
                0,
            )
        )
        .form()
        .fill()
    )
    assert sent.url == "https://shop.example/go?_CHARSET_=Shift_JIS&q=%87%40"
