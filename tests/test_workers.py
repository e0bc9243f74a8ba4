"""Processes that calls are made in."""
from __future__ import annotations

import os
import signal
import time
from operator import add

import pytest

from tflfuse.workers import Call, Died, Workers


@pytest.mark.parametrize("count", [1, 2, 9])
def test_each_call_is_answered_once(count: int) -> None:
    calls: list[Call] = [(add, (number, 100)) for number in range(7)]
    with Workers(count) as workers:
        assert sorted(workers.answers(calls)) == [(number, number + 100) for number in range(7)]


def test_they_run_elsewhere_and_one_after_the_other_in_the_same_process() -> None:
    with Workers(1) as workers:
        first, second = (answer for _, answer in workers.answers([(os.getpid, ())] * 2))
    assert first == second != os.getpid()


@pytest.mark.parametrize("call, how", [
    ((os._exit, (3,)), "exit 3"), ((signal.raise_signal, (signal.SIGKILL,)), "SIGKILL"),
    ((add, (1, "x")), "exit 1 (TypeError: unsupported operand type(s) for +: 'int' and 'str')")])
def test_a_process_that_ends_takes_only_its_own_call_with_it(call: Call, how: str) -> None:
    with Workers(1) as workers:
        assert list(workers.answers([call, (add, (1, 2)), call])) == [(0, Died(how)), (1, 3), (2, Died(how))]


def test_what_a_call_prints_does_not_get_between_the_answers() -> None:
    with Workers(1) as workers:
        assert list(workers.answers([(os.write, (1, b"noise")), (print, ("more",))])) == [(0, 5), (1, None)]


def test_leaving_ends_calls_that_would_take_for_ever() -> None:
    with Workers(2) as workers:
        assert next(workers.answers([(add, (1, 2)), (time.sleep, (10**6,)), (time.sleep, (10**6,))])) == (0, 3)
