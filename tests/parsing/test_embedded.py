"""Data embedded in scripts, under the names that the scripts use."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.parsing.embedded import embedded
from support.repetitions import repetitions

V = {"a": 1, "b": "x"}
J = '{"a":1,"b":"x"}'


def S(text: str, more: str = "") -> str:
    return f"<html><body><script{more}>{text}</script></body></html>"


KINDS: list[tuple[str, str, dict[str, Any]]] = [
    (
        "next",
        S('{"props":{"a":1}}', ' id="__NEXT_DATA__" type="application/json"'),
        {"__NEXT_DATA__": {"props": {"a": 1}}},
    ),
    ("win", S("window.__INITIAL_STATE__ = " + J + ";"), {"__INITIAL_STATE__": V}),
    ("win nosemi", S("window.__INITIAL_STATE__=" + J), {"__INITIAL_STATE__": V}),
    ("win br", S('window["__APOLLO_STATE__"] = ' + J + ";"), {"__APOLLO_STATE__": V}),
    ("var", S("var data = " + J + "; foo();"), {"data": V}),
    ("const", S("const data = [" + J + "];"), {"data": [V]}),
    ("var list", S('var cfg = {"x":1}, data = ' + J + ";"), {"cfg": {"x": 1}, "data": V}),
    ("parse dq", S(r'window.S = JSON.parse("{\"a\":1,\"b\":\"x\"}");'), {"S": V}),
    ("parse sq", S("window.S = JSON.parse('" + J + "');"), {"S": V}),
    ("parse esc", S(r'window.S = JSON.parse("{\u0022a\u0022:1,\u0022b\u0022:\u0022x\u0022}");'), {"S": V}),
    ("parse hex", S(r"window.S = JSON.parse('\x7b\x22a\x22:1,\x22b\x22:\x22x\x22\x7d');"), {"S": V}),
    (
        "parse uri",
        S('window.S = JSON.parse(decodeURIComponent("%7B%22a%22%3A1%2C%22b%22%3A%22x%22%7D"));'),
        {"S": V},
    ),
    ("parse b64", S('window.S = JSON.parse(atob("eyJhIjoxLCJiIjoieCJ9"));'), {"S": V}),
    ("js keys", S("window.S = {a:1,b:'x'};"), {"S": V}),
    ("trailing", S("window.S = {a:1,b:'x',};"), {"S": V}),
    ("comments", S("window.S = { // first\n a:1, /* two */ b:'x' };"), {"S": V}),
    ("undefined", S("window.S = {a:1,u:undefined,b:'x'};"), {"S": {"a": 1, "u": None, "b": "x"}}),
    (
        "funcs",
        S("window.S = {a:1,f:function(x){return {y:1,z:'}'}},b:'x'};"),
        {"S": {"a": 1, "f": None, "b": "x"}},
    ),
    (
        "arrow",
        S("window.S = {a:1,f:(x)=>{return {y:1}},g:x=>x+1,b:'x'};"),
        {"S": {"a": 1, "f": None, "g": None, "b": "x"}},
    ),
    ("method", S("window.S = {a:1,f(x){return 1},b:'x'};"), {"S": {"a": 1, "f": None, "b": "x"}}),
    (
        "date",
        S('window.S = {a:1,d:new Date("2024-01-02"),b:"x"};'),
        {"S": {"a": 1, "d": "2024-01-02", "b": "x"}},
    ),
    (
        "minified",
        S("window.S={a:!0,b:!1,c:void 0,d:1e3,e:.5,f:-1,g:0x10};"),
        {"S": {"a": True, "b": False, "c": None, "d": 1000, "e": 0.5, "f": -1, "g": 16}},
    ),
    ("concat", S('window.S={a:"x"+"y",b:1};'), {"S": {"a": "xy", "b": 1}}),
    ("or", S("window.S = window.S || {a:1};"), {"S": {"a": 1}}),
    ("or2", S("window.S = window.S || {};"), {}),
    ("ident", S("window.S = {a:foo.bar(1,2),b:1};"), {"S": {"a": None, "b": 1}}),
    ("ternary", S("window.S = {a: x ? 1 : 2,b:1};"), {"S": {"a": None, "b": 1}}),
    ("regex", S('window.S = {a:/[{}"]/g,b:1};'), {"S": {"a": None, "b": 1}}),
    ("template", S("window.S = {a:`x\ny`,b:1};"), {"S": {"a": "x\ny", "b": 1}}),
    ("brace in string", S('window.S = {"a":"};","b":1};'), {"S": {"a": "};", "b": 1}}),
    (
        "escaped slash",
        S(r'window.S = {"a":"<\/script>","b":"\u003cb\u003e"};'),
        {"S": {"a": "</script>", "b": "<b>"}},
    ),
    ("nested names", S('window.app.state = {"a":1};'), {"app.state": {"a": 1}}),
    ("push", S('dataLayer.push({"a":1}); dataLayer.push({"b":2});'), {"dataLayer": [{"a": 1}, {"b": 2}]}),
    ("dl", S('dataLayer = [{"a":1}];'), {"dataLayer": [{"a": 1}]}),
    (
        "dl2",
        S('window.dataLayer = window.dataLayer || []; dataLayer.push({event:"x"});'),
        {"dataLayer": [{"event": "x"}]},
    ),
    ("dl3", S('dataLayer = [{"a":1}]; dataLayer.push({"b":2})'), {"dataLayer": [{"a": 1}, {"b": 2}]}),
    ("nextf", S(r'self.__next_f.push([1,"x:{\"a\":1}"])'), {"__next_f": [[1, 'x:{"a":1}']]}),
    (
        "nuxt",
        S('window.__NUXT__=(function(a,b){return {data:[{n:a,p:b}],s:a}}("x",5));'),
        {"__NUXT__": {"data": [{"n": "x", "p": 5}], "s": "x"}},
    ),
    ("nuxt2", S('window.__NUXT__=(function(a){return {n:a}})("x");'), {"__NUXT__": {"n": "x"}}),
    ("iife arrow", S('window.__N__=((a)=>({n:a}))("x");'), {"__N__": {"n": "x"}}),
    ("escaped", S("{&quot;a&quot;:1}", ' type="application/json" id=s'), {"s": {"a": 1}}),
    ("unnamed", S('{"a":1}', ' type="application/json"'), {"": [{"a": 1}]}),
    ("ld no", S('{"a":1}', ' type="application/ld+json"'), {}),
    ("src no", S('var a={"x":1}', " src=x.js"), {}),
    ("comment out", S('// var data = {"a":1};\n/* var b={"c":1} */'), {}),
    ("in string", S('var s = "x = {\\"a\\":1}";'), {}),
    ("in func", S('(function(){ var config = {"a":1}; init(config); })();'), {"config": {"a": 1}}),
    ("call arg", S('initApp({"a":1,"b":"x"});'), {"initApp": V}),
    ("call arg2", S('ReactDOM.hydrate(React.createElement(App, {"a":1}), root);'), {}),
    ("data-page", '<div id=app data-page="{&quot;a&quot;:1}"></div>', {"data-page": {"a": 1}}),
    ("Object.freeze", S("window.S = Object.freeze({a:1});"), {"S": {"a": 1}}),
    ("paren", S("window.S = ({a:1});"), {"S": {"a": 1}}),
    ("two stmts nl", S("window.A = {a:1}\nwindow.B = {b:2}"), {"A": {"a": 1}, "B": {"b": 2}}),
    ("html comment", S("<!--\nwindow.A = {a:1};\n//-->"), {"A": {"a": 1}}),
    ("cdata", S("//<![CDATA[\nwindow.A = {a:1};\n//]]>"), {"A": {"a": 1}}),
    ("broken", S("window.A = {a:1, b:"), {"A": {"a": 1}}),
    ("numeric key", S('window.A = {1:"x",2:"y"};'), {"A": {"1": "x", "2": "y"}}),
    ("spread", S("window.A = {...b, a:1};"), {"A": {"a": 1}}),
    ("shorthand", S("window.A = {b, a:1};"), {"A": {"b": None, "a": 1}}),
    (
        "big int",
        S("window.A = {a:123456789012345678901234567890n};"),
        {"A": {"a": 123456789012345678901234567890}},
    ),
    ("chain", S("window.A = window.B = {a:1};"), {"B": {"a": 1}, "A": {"a": 1}}),
    (
        "yt",
        S('var ytInitialData = {"a":{"b":[1,2]}};</script><script>var x'),
        {"ytInitialData": {"a": {"b": [1, 2]}}},
    ),
    ("as string", S('window.S = "{\\"a\\":1}";'), {}),
    ("if compare", S("if (a == {}) {} ; if (x === [1]) {}"), {}),
    ("minified bundle", S("!function(e,t){var n={a:1};e=[1,2]}(1,2)"), {}),
    ("default param", S("function foo(opts = {a:1}) {}"), {}),
    (
        "nuxt ref",
        S('window.S={a:Array(3),b:new Map([["x",1]]),c:1}'),
        {"S": {"a": None, "b": [["x", 1]], "c": 1}},
    ),
]


@pytest.mark.parametrize(("html", "found"), [row[1:] for row in KINDS], ids=[row[0] for row in KINDS])
def test_kinds_of_scripts(html: str, found: dict[str, Any]) -> None:
    assert embedded(html.encode()) == found


@pytest.mark.parametrize(
    "part",
    [
        "/*",
        "a=(b ",
        "x=[{",
        "`",
        "a=b=",
        "((a)=>",
        "x={...",
        "f({a:",
        'x="\\',
        "(function(){",
        "a=!",
        "a=-",
        "a.b[",
        "x=new Map(",
    ],
)
def test_a_part_again_and_again_takes_a_bounded_time(part: str) -> None:
    assert isinstance(embedded(f"<script>{part * 20_000}</script>".encode()), dict)


@settings(max_examples=repetitions(200))
@given(st.text("ab={}[]()<>!'\"`/*\\,;:.+-|?$0 \nfunction", max_size=60))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(embedded(f"<script>x={text}</script>".encode()), dict)
