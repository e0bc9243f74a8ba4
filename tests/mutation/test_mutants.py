"""The changes that scripts/mutate makes."""
from __future__ import annotations

from .mutants import mutants

SOURCE = '''
"""Text."""
LIMIT: int = 3


@fold(root)
def f(a: int = 1) -> bool:
    """Text."""
    require(a < 2, f"{a + 1} is too large", at=a)
    if not a and max(a, LIMIT) in (7,):
        return True
    return a == 4 and a == 4
'''


def test_each_place_is_changed_once() -> None:
    found = mutants("x.py", SOURCE)
    assert [m.name.removeprefix("x.py ") for m in found] == [
        "module: 3 -> 4",
        "f: require(a < 2, f'{a + 1} is too large', at=a) -> require(True, f'{a + 1} is too large', at=a)",
        "f: a < 2 -> a <= 2", "f: 2 -> 3",
        "f: not a and max(a, LIMIT) in (7,) -> not a or max(a, LIMIT) in (7,)",
        "f: max(a, LIMIT) in (7,) -> max(a, LIMIT) not in (7,)", "f: max(a, LIMIT) -> min(a, LIMIT)", "f: 7 -> 8",
        "f: True -> False", "f: a == 4 and a == 4 -> a == 4 or a == 4", "f: a == 4 -> a != 4", "f: 4 -> 5",
        "f: a == 4 -> a != 4 (2)", "f: 4 -> 5 (2)"]
    assert len({m.make() for m in found}) == len(found)
    assert all("f'{a + 1} is too large'" in m.make() and "a: int=1" in m.make() for m in found)
