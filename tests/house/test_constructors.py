"""How parts are put together: few arguments in a constructor, and nobody sets another object's attribute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from house.tree import Source, package, parse

MOST_ARGUMENTS = 8
"""The maximum number of arguments of a constructor, `self` not counted."""

# Constructors that may have more arguments: class -> (number, reason).
MORE_ARGUMENTS: dict[str, tuple[int, str]] = {
    "Site": (33, "the arguments that a site file gives by name: they are the documentation of a site"),
    "Login": (10, "the arguments that a site file gives by name"),
    "HttpCollector": (21, "the options of a connection, each with its own default, given by name"),
    "BrowserCollector": (15, "the options of a browser, each with its own default, given by name"),
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def classes(sources: tuple[Source, ...]) -> Iterator[tuple[Source, ast.ClassDef, ast.FunctionDef]]:
    """Yields each class that has a constructor of its own, with the constructor."""
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                for part in node.body:
                    if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                        yield source, node, part


def arguments(function: Function) -> list[ast.arg]:
    """Returns all arguments of a function."""
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def test_constructors_have_few_arguments() -> None:
    found = {node.name: len(arguments(init)) - 1 for _, node, init in classes(package())}
    large = {name: n for name, n in found.items() if n > MOST_ARGUMENTS}
    assert large == {name: n for name, (n, _) in MORE_ARGUMENTS.items()}
    assert all(reason for _, reason in MORE_ARGUMENTS.values())


# Classes whose objects are the state of one job, which the parts that do the job advance: class -> reason.
STATES = {
    "Transfer": "one request of curl: the collector and the tolerant reader record its progress, once per event",
    "SteadyServer": "uvicorn's server, which is ended by setting `should_exit`",
}


def targets(node: ast.AST) -> list[ast.Attribute]:
    """Returns the attributes that a statement sets."""
    if isinstance(node, ast.Assign):
        found = list(node.targets)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        found = [node.target]
    else:
        return []
    flat = [part for one in found for part in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])]
    return [one for one in flat if isinstance(one, ast.Attribute)]


def class_name(annotation: ast.expr | None, parts: set[str]) -> str:
    """Returns the part that an annotation names, or ''. `X | None` and `"X"` name `X`."""
    if annotation is None:
        return ""
    text = ast.unparse(annotation).strip("'\"").removesuffix(" | None").rpartition(".")[2]
    return text if text in parts else ""


def known_types(function: Function, parts: set[str]) -> dict[str, str]:
    """Maps the names in a function whose class is evident to that class: from an annotation or a call of the
    constructor."""
    found = {one.arg: class_name(one.annotation, parts) for one in arguments(function)}
    for node in ast.walk(function):
        if isinstance(node, ast.AnnAssign):
            found.setdefault(ast.unparse(node.target), class_name(node.annotation, parts))
        elif isinstance(node, ast.Assign):
            pairs = [(one, node.value) for one in node.targets]
            pairs = [
                pair
                for target, value in pairs
                for pair in (
                    zip(target.elts, value.elts, strict=True)
                    if isinstance(target, ast.Tuple)
                    and isinstance(value, ast.Tuple)
                    and len(target.elts) == len(value.elts)
                    else [(target, value)]
                )
            ]
            for target, value in pairs:
                made = class_name(value.func, parts) if isinstance(value, ast.Call) else ""
                found.setdefault(ast.unparse(target), made or found.get(ast.unparse(value), ""))
    return {name: kind for name, kind in found.items() if kind}


def set_from_outside(sources: tuple[Source, ...], parts: set[str]) -> list[str]:
    """Returns the statements that set an attribute of a part from outside of the part's file. Values, which have
    fields instead of a constructor, may be changed by the function that made them."""
    faults = []
    homes = {node.name: source.path for source, node, _ in classes(sources)}
    for source in sources:
        owners: list[tuple[str, ast.AST]] = [("", source.tree)]
        owners += [(node.name, node) for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)]
        for owner, home in owners:
            own = [node for node in ast.iter_child_nodes(home) if isinstance(node, Function)]
            of_self: dict[str, str] | None = None
            for function in own:
                found = [
                    one
                    for node in ast.walk(function)
                    for one in targets(node)
                    if not (isinstance(one.value, ast.Name) and one.value.id in ("self", "cls"))
                ]
                if not found:
                    continue
                if of_self is None:
                    of_self = {
                        name: kind
                        for init in own
                        if init.name == "__init__"
                        for name, kind in known_types(init, parts).items()
                        if name.startswith("self.")
                    }
                known = of_self | known_types(function, parts)
                for one in found:
                    kind = known.get(ast.unparse(one.value), "")
                    if kind and kind not in STATES and kind != owner and source.path != homes[kind]:
                        faults.append(f"{source.path}:{one.lineno} {ast.unparse(one)} of {kind}")
    return sorted(set(faults))


def test_nobody_sets_an_attribute_of_another_object() -> None:
    parts = {node.name for _, node, _ in classes(package())}
    assert set_from_outside(package(), parts) == []


def test_rule_sees_attributes_that_are_set_from_outside() -> None:
    part = "class Part:\n    def __init__(self) -> None:\n        self.a = 1\n    def on(self) -> None:\n        self.a = 2\n"
    whole = (
        "class Whole:\n    def __init__(self, part: Part) -> None:\n        self.part, self.b = part, 1\n"
        "    def run(self) -> None:\n        self.part.a = 3\n        self.b = 2\n"
        "def build() -> None:\n    made = Part()\n    made.a = 4\n"
    )
    both = (parse("src/gossamer/a.py", part), parse("src/gossamer/b.py", whole))
    assert set_from_outside(both, {"Part", "Whole"}) == [
        "src/gossamer/b.py:5 self.part.a of Part",
        "src/gossamer/b.py:9 made.a of Part",
    ]
