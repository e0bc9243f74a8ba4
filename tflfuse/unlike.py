"""The first thing in which two models differ.

Names, the numbers of tensors and buffers, and bytes that no table refers to do not count.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import zip_longest
from typing import Any

import numpy as np

from . import zip_tail
from .certificate import NAME, options_of, quantization_of
from .chain import Stage
from .ir import NAME_OF_TYPE, Buffer, Model, Operator, Subgraph, Tensor
from .packing import CUSTOM, chain_of


def unlike(model: Model, expected: Model) -> str | None:
    """What is otherwise in the model than in the one expected, as half a sentence; None where they are alike."""
    return next(_of_models(model, expected), None)


def _of_models(a: Model, b: Model) -> Iterator[str]:
    if len(a.subgraphs) != len(b.subgraphs):
        yield f"it has {len(a.subgraphs)} subgraphs instead of {len(b.subgraphs)}"
        return
    pairs = [_Pair(x, y) for x, y in zip(a.subgraphs, b.subgraphs, strict=True)]
    for pair in pairs:
        yield from pair.differences()
    yield from _of_signatures(a, b, pairs)
    told, wanted = _metadata(a), _metadata(b)
    for name in (n for n in {**told, **wanted} if told.get(n) != wanted.get(n)):
        yield f"the metadata '{(name or b'').decode('utf-8', 'replace')}' differ"
    for what in ("buffers", "operator_codes"):
        mine, theirs = len(getattr(a, what)), len(getattr(b, what))
        if mine != theirs:
            yield f"it has {mine} {what.replace('_', ' ')} instead of {theirs}"
    if zip_tail.from_its_start(a.tail) != zip_tail.from_its_start(b.tail):
        yield "the ZIP archive behind the model is another one"


def _metadata(model: Model) -> dict[bytes | None, list[bytes]]:
    """What is stored under each name, but for the certificate; under None the buffers without one."""
    found: dict[bytes | None, list[bytes]] = {}
    for name, buffer in (*((m.name, m.buffer) for m in model.metadata or ()),
                         *((None, b) for b in model.metadata_buffer or ())):
        if name != NAME:
            found.setdefault(name, []).append(_data(buffer))
    return found


def _data(buffer: Buffer) -> bytes:
    return b"" if buffer.data is None else buffer.data.tobytes()


def _of_signatures(a: Model, b: Model, pairs: Sequence[_Pair]) -> Iterator[str]:
    for x, y in zip_longest(a.signatures or (), b.signatures or ()):
        if x is None or y is None or (x.key, x.subgraph_index) != (y.key, y.subgraph_index):
            yield "its signatures differ"
            return
        for mine, theirs in ((x.inputs, y.inputs), (x.outputs, y.outputs)):
            same = pairs[x.subgraph_index].same
            if [(n, same.get(t)) for n, t in mine] != list(theirs):
                yield f"the signature '{(x.key or b'').decode('utf-8', 'replace')}' names other tensors"


@dataclass
class _Pair:
    """Two subgraphs. same: the tensors of the first one that were met, and which ones of the second they are; taken:
    those of the second one."""

    a: Subgraph
    b: Subgraph
    same: dict[Tensor, Tensor] = field(default_factory=dict)
    taken: set[Tensor] = field(default_factory=set)

    def differences(self) -> Iterator[str]:
        yield from self.of_tensors("the inputs", self.a.inputs, self.b.inputs)
        for number, (mine, theirs) in enumerate(zip_longest(_names(self.a), _names(self.b), fillvalue="nothing")):
            if mine != theirs:
                yield f"operator #{number} is {mine} instead of {theirs}"
                return
        pairs = list(zip(self.a.operators, self.b.operators, strict=True))
        for x, y in pairs:  # first the stages, because fused operators have all their constants in one tensor
            yield from _of_fused(x, y) if x.name == CUSTOM else ()
        for x, y in pairs:
            yield from self.of_operators(x, y)
        yield from self.of_tensors("the outputs", self.a.outputs, self.b.outputs)
        if len(self.a.tensors) != len(self.b.tensors):
            yield f"it has {len(self.a.tensors)} tensors instead of {len(self.b.tensors)}"

    def of_operators(self, x: Operator, y: Operator) -> Iterator[str]:
        if _options(x) != _options(y):
            yield f"{x.label}: its options differ"
        yield from self.of_tensors(x.label, x.inputs, y.inputs)
        yield from self.of_tensors(x.label, x.outputs, y.outputs)
        yield from self.of_tensors(x.label, x.intermediates or (), y.intermediates or ())

    def of_tensors(self, where: str, mine: Sequence[Tensor | None], theirs: Sequence[Tensor | None]) -> Iterator[str]:
        if len(mine) != len(theirs):
            yield f"{where}: there are {len(mine)} tensors instead of {len(theirs)}"
        for x, y in zip(mine, theirs, strict=False):
            if x is None or y is None:
                if x is not y:
                    yield f"{where}: a tensor is left out in one of them"
            elif x not in self.same and y not in self.taken:
                self.same[x] = y
                self.taken.add(y)
                yield from (f"{where}: {what} of {x.label} is another one" for what in _of_tensors(x, y))
            elif self.same.get(x) is not y:
                yield f"{where}: {x.label} is read or written instead of another tensor"


def _of_tensors(x: Tensor, y: Tensor) -> Iterator[str]:
    """What of two tensors differs."""
    if x.type != y.type:
        yield f"the type {NAME_OF_TYPE.get(x.type, x.type)}"
    if (x.shape, x.shape_signature) != (y.shape, y.shape_signature):
        yield f"the shape {list(x.shape)}"
    if quantization_of(x.quantization) != quantization_of(y.quantization):
        yield "the quantization"
    if x.is_variable != y.is_variable or _data(x.buffer) != _data(y.buffer):
        yield "the constant"
    if options_of(x.sparsity) != options_of(y.sparsity):
        yield "the sparsity"
    if x.arena_offset != y.arena_offset:
        yield "the place in the arena"


def _names(graph: Subgraph) -> list[str]:
    return [operator.name for operator in graph.operators]


def _options(operator: Operator) -> list[Any]:
    """And what else an operator has beside its tensors."""
    code, arrays = operator.code, (operator.custom_options, operator.mutating_variable_inputs)
    return [code.version, code.custom_code, operator.custom_options_format, options_of(operator.options),
            options_of(operator.options_2), *(None if array is None else array.tolist() for array in arrays)]


def _of_fused(x: Operator, y: Operator) -> Iterator[str]:
    """Where two chains differ, told by stage."""
    first, second = chain_of(x), chain_of(y)
    if len(first.links) != len(second.links):
        yield f"{x.label}: it has {len(first.links)} stages instead of {len(second.links)}"
        return
    if first.inputs != second.inputs:
        yield f"{x.label}: its inputs are described otherwise"
    for number, (a, b) in enumerate(zip(first.links, second.links, strict=True)):
        where = f"{x.label}: stage {number}, a {type(a.stage).__name__},"
        if type(a.stage) is not type(b.stage):
            yield f"{where} should be a {type(b.stage).__name__}"
        elif a.reads != b.reads:
            yield f"{where} reads another value"
        else:
            yield from (f"{where} has other {name}" for name in _of_stages(a.stage, b.stage))


def _of_stages(a: Stage, b: Stage) -> Iterator[str]:
    """The names of the fields that differ."""
    for f in fields(a):
        mine, theirs = getattr(a, f.name), getattr(b, f.name)
        if not (np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs):
            yield f.name
