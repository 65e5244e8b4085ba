"""Makes `service_methods.pyi`, from which editors and type checkers know the methods of the client:

python -m gossamer.client.service_stub > src/gossamer/client/service_methods.pyi
"""

from __future__ import annotations

import inspect
import textwrap
import types
import typing
from collections.abc import Iterator
from typing import Any, Literal, Union

import msgspec

from gossamer.client.service_calls import parameters, returned
from gossamer.operations.operation import Operation
from gossamer.operations.table import OPERATIONS

HEAD = '''"""Made by `python -m gossamer.client.service_stub` from the table of operations."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Literal

{imports}
from gossamer.client.service_calls import ServiceCalls
'''
LINE_CHARS = 110


def stub() -> str:
    """Returns the text of the stub."""
    modules: set[str] = set()
    sync = "\n".join(line for one in OPERATIONS for line in _method(one, modules, is_async=False))
    other = "\n".join(line for one in OPERATIONS for line in _method(one, modules, is_async=True))
    head = HEAD.format(imports="\n".join(f"import {name}" for name in sorted(modules)))
    return f"{head}\nclass ServiceMethods(ServiceCalls):\n{sync}\n\nclass AsyncServiceMethods:\n{other}\n"


def _method(one: Operation, modules: set[str], *, is_async: bool) -> Iterator[str]:
    words = ["self"]
    is_named = False
    for parameter in parameters(one):
        text = _text(parameter.annotation, modules, is_given=True)
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            words.append(f"*{parameter.name}: {_text(_element(parameter.annotation), modules)}")
            is_named = True
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not is_named:
            words.append("*")
            is_named = True
        end = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
        words.append(f"{parameter.name}: {text}{end}")
    kind, name = returned(one)
    hints = typing.get_type_hints(one.result) if kind != "text" else {}
    iterator = "AsyncIterator" if is_async else "Iterator"
    if kind == "rows":
        result = f"{iterator}[dict[str, Any]]"
    elif kind == "pages":
        result = f"{iterator}[{_text(_element(hints['items']), modules)}]"
    else:
        result = _text(str if kind == "text" else hints[name] if kind == "field" else one.result, modules)
    begin = "    async def" if is_async and kind not in ("rows", "pages") else "    def"
    line = f"{begin} {one.method_of_client}({', '.join(words)}) -> {result}:"
    if len(line) > LINE_CHARS:
        line = f"{begin} {one.method_of_client}(\n        {(',' + chr(10) + ' ' * 8).join(words)},\n    ) -> {result}:"
    yield line
    about = textwrap.fill(
        f'"""{one.about}',
        LINE_CHARS,
        initial_indent=" " * 8,
        subsequent_indent=" " * 8,
        break_on_hyphens=False,
    )
    yield f'{about}"""'


def _element(annotation: Any) -> Any:
    """Returns the type of the elements of a list."""
    if typing.get_origin(annotation) is typing.Annotated:
        return _element(typing.get_args(annotation)[0])
    return typing.get_args(annotation)[0]


def _text(annotation: Any, modules: set[str], *, is_given: bool = False) -> str:
    """Returns a type as text. `is_given`: whether it is the type of an argument, for which any sequence may be given."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _text(args[0], modules, is_given=is_given)
    if origin in (Union, types.UnionType):
        return " | ".join(_text(one, modules, is_given=is_given) for one in args)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if origin in (list, dict):
        name = "Sequence" if is_given and origin is list else origin.__name__
        return f"{name}[{', '.join(_text(one, modules) for one in args)}]"
    if annotation is type(None):
        return "None"
    if annotation is Any:
        return "Any"
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        modules.add(annotation.__module__)
        return f"{annotation.__module__}.{annotation.__name__}"
    return str(annotation.__name__)


if __name__ == "__main__":
    print(stub(), end="")
