"""Small changes of a module's code, each of which some test should notice."""
from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

FLIPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult}
EXCHANGED = {"min": "max", "max": "min", "any": "all", "all": "any"}
Change = Callable[[ast.AST], None]


@dataclass(frozen=True)
class Mutant:
    """place: "folds/x.py function". what: the expression before and after. make: the changed module's source."""

    place: str
    what: str
    make: Callable[[], str]

    @property
    def name(self) -> str:
        return f"{self.place}: {self.what}"


def mutants(name: str, source: str) -> list[Mutant]:
    """Of the module, from its first line to its last; those that read the same get a number."""
    tree = ast.parse(source)
    found: list[Mutant] = []
    seen: dict[str, int] = {}
    for number, (function, node) in enumerate(places(tree)):
        for change in changes(node):
            after = copy.deepcopy(node)
            change(after)
            text = f"{ast.unparse(node)} -> {ast.unparse(after)}"
            key = f"{function} {text}"
            seen[key] = seen.get(key, 0) + 1
            text += f" ({seen[key]})" if seen[key] > 1 else ""
            found.append(Mutant(f"{name} {function}", text, partial(changed, tree, number, change)))
    return found


def changed(tree: ast.Module, number: int, change: Change) -> str:
    """The source of a tree whose place of this number is changed."""
    other = copy.deepcopy(tree)
    change(list(places(other))[number][1])
    return ast.unparse(ast.fix_missing_locations(other))


def places(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Every node of the functions' bodies with the function's name; not what only describes types or says why."""
    for statement in tree.body:
        yield from inside(statement, getattr(statement, "name", "module"))


def inside(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
    yield function, node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "args") and not isinstance(node, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not is_text(child):
                yield from inside(child, function)


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, str)


def changes(node: ast.AST) -> Iterator[Change]:
    """Each changes a copy of the node in place."""
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            if type(op) in FLIPPED:
                yield lambda n, i=i, op=op: n.ops.__setitem__(i, FLIPPED[type(op)]())  # type: ignore[misc]
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in FLIPPED:
        yield lambda n: setattr(n, "op", FLIPPED[type(n.op)]())  # type: ignore[attr-defined]
    elif isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.BoolOp):
        yield lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))  # type: ignore[attr-defined]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "require":
            yield lambda n: n.args.__setitem__(0, ast.Constant(True))  # type: ignore[attr-defined]
        if node.func.id in EXCHANGED:
            yield lambda n: setattr(n.func, "id", EXCHANGED[n.func.id])  # type: ignore[attr-defined]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield lambda n: setattr(n, "value", not n.value)  # type: ignore[attr-defined]
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield lambda n: setattr(n, "value", n.value + 1)  # type: ignore[attr-defined]
