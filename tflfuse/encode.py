"""Model -> a tree of Tables: every object that is referred to gets its number."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from . import offline_plan
from .ir import Buffer, Metadata, Model, Operator, OperatorCode, Quantization, Signature, Subgraph, Table, Tensor
from .schema_tables import spec


def model(source: Model) -> Table:
    """The Model table. Objects that are used but not listed are numbered behind those that are.

    The tables of tensors, operators and buffers are made while they are written: those vectors can be read once.
    """
    return _Encoder(source).root()


class _Tensors:
    """The tensors of one subgraph and their numbers."""

    def __init__(self, graph: Subgraph, signatures: Iterable[Signature]) -> None:
        self.graph = graph
        self.all = list(graph.tensors)
        self.numbers = {tensor: number for number, tensor in enumerate(self.all)}
        self.add(*graph.inputs, *graph.outputs)
        for operator in graph.operators:
            self.add(*operator.inputs, *operator.outputs, *(operator.intermediates or ()))
        for signature in signatures:
            self.add(*(tensor for _, tensor in signature.inputs), *(tensor for _, tensor in signature.outputs))

    def add(self, *tensors: Tensor | None) -> None:
        for tensor in tensors:
            if tensor is not None and tensor not in self.numbers:
                self.numbers[tensor] = len(self.all)
                self.all.append(tensor)

    def numbers_of(self, tensors: Sequence[Tensor | None]) -> list[int]:
        return [-1 if tensor is None else self.numbers[tensor] for tensor in tensors]


class _Buffers:
    """The buffers and their numbers. One without data may be buffer 0, which every model has and which is empty."""

    def __init__(self, listed: list[Buffer]) -> None:
        self.all = list(listed)
        self.numbers = {buffer: number for number, buffer in enumerate(self.all)}

    def add(self, buffer: Buffer) -> int:
        known = self.numbers.get(buffer)
        if known is not None:
            return known
        if not self.all:
            self.all.append(Buffer())
        if len(buffer) == 0 and len(self.all[0]) == 0:
            return 0
        return self.append(buffer)

    def append(self, buffer: Buffer) -> int:
        number = self.numbers[buffer] = len(self.all)
        self.all.append(buffer)
        return number


class _Codes:
    """The operator codes and their numbers; a new one that says the same as an old one is the old one."""

    def __init__(self, listed: list[OperatorCode]) -> None:
        self.all = list(listed)
        self.numbers = {code: number for number, code in enumerate(self.all)}
        self.meanings = {_meaning(code): number for number, code in reversed(list(enumerate(self.all)))}

    def add(self, code: OperatorCode) -> None:
        if code in self.numbers:
            return
        number = self.meanings.setdefault(_meaning(code), len(self.all))
        if number == len(self.all):
            self.all.append(code)
        self.numbers[code] = number


def _meaning(code: OperatorCode) -> tuple[int, int, bytes | None]:
    return code.builtin, code.version, code.custom_code


class _Encoder:
    """Numbers everything, then makes the tables."""

    def __init__(self, source: Model) -> None:
        self.model = source
        self.codes = _Codes(source.operator_codes)
        self.buffers = _Buffers(source.buffers)
        self.tensors = [_Tensors(graph, [s for s in source.signatures or () if s.subgraph_index == number])
                        for number, graph in enumerate(source.subgraphs)]
        for operator in source.operators:
            self.codes.add(operator.code)
        for tensors in self.tensors:
            for tensor in tensors.all:
                self.buffers.add(tensor.buffer)

    def root(self) -> Table:
        source = self.model
        signatures = metadata_buffer = None
        if source.signatures is not None:
            signatures = [self.signature(s, self.tensors[s.subgraph_index]) for s in source.signatures]
        metadata = self.metadata()
        if source.metadata_buffer is not None:
            metadata_buffer = [self.buffers.add(buffer) for buffer in source.metadata_buffer]
        return Table.of(
            "Model", version=source.version, description=source.description, signature_defs=signatures,
            operator_codes=_vector(source, "operator_codes", self.codes.all, _operator_code),
            subgraphs=_vector(source, "subgraphs", self.tensors, self.subgraph), metadata=metadata,
            buffers=_vector(source, "buffers", self.buffers.all, self.buffer), metadata_buffer=metadata_buffer)

    def metadata(self) -> list[Table] | None:
        entries = None if self.model.metadata is None else list(self.model.metadata)
        if self.model.memory_plan_version is not None:
            entries = entries or []
            entries.insert(self.model.memory_plan_at, Metadata(offline_plan.NAME, self.plan_buffer()))
        if entries is None:
            return None
        return [Table.of("Metadata", name=m.name, buffer=self.buffers.add(m.buffer)) for m in entries]

    def plan_buffer(self) -> Buffer:
        """The plan as it is now, in the place of the buffer that held it in the file."""
        source = self.model
        offsets = [tensor.arena_offset for tensors in self.tensors for tensor in tensors.all]
        new = Buffer(offline_plan.words_of(source.memory_plan_version or 0, source.memory_plan_subgraphs, offsets))
        old = source.memory_plan_buffer
        if old is not None and old in self.buffers.numbers:
            number = self.buffers.numbers[new] = self.buffers.numbers.pop(old)
            self.buffers.all[number] = new
        return new

    def buffer(self, buffer: Buffer) -> Table:
        return Table.of("Buffer", data=buffer.data)

    def subgraph(self, tensors: _Tensors) -> Table:
        graph = tensors.graph
        return Table.of(
            "SubGraph", tensors=_vector(graph, "tensors", tensors.all, self.tensor), name=graph.name,
            inputs=_numbers(graph, "inputs", tensors.numbers_of(graph.inputs)),
            outputs=_numbers(graph, "outputs", tensors.numbers_of(graph.outputs)),
            operators=_vector(graph, "operators", graph.operators, lambda operator: self.operator(operator, tensors)),
            debug_metadata_index=graph.debug_metadata_index)

    def operator(self, operator: Operator, tensors: _Tensors) -> Table:
        intermediates = operator.intermediates
        return Table.of(
            "Operator", opcode_index=self.codes.numbers[operator.code],
            inputs=_numbers(operator, "inputs", tensors.numbers_of(operator.inputs)),
            outputs=_numbers(operator, "outputs", tensors.numbers_of(operator.outputs)),
            intermediates=None if intermediates is None else tensors.numbers_of(intermediates),
            custom_options=operator.custom_options, custom_options_format=operator.custom_options_format,
            mutating_variable_inputs=operator.mutating_variable_inputs,
            debug_metadata_index=operator.debug_metadata_index,
            **_options(operator, "builtin_options", operator.options),
            **_options(operator, "builtin_options2", operator.options_2))

    def tensor(self, tensor: Tensor) -> Table:
        return Table.of(
            "Tensor", shape=tensor.shape if tensor.has_shape or tensor.shape else None, type=tensor.type,
            buffer=self.buffers.add(tensor.buffer), name=tensor.name, sparsity=tensor.sparsity,
            quantization=None if tensor.quantization is None else _quantization(tensor.quantization),
            is_variable=tensor.is_variable, has_rank=tensor.has_rank, shape_signature=tensor.shape_signature,
            variant_tensors=tensor.variant_tensors)

    def signature(self, signature: Signature, tensors: _Tensors) -> Table:
        def tensor_map(pair: tuple[bytes | None, Tensor]) -> Table:
            return Table.of("TensorMap", name=pair[0], tensor_index=tensors.numbers[pair[1]])

        return Table.of("SignatureDef", signature_key=signature.key, subgraph_index=signature.subgraph_index,
                        inputs=_vector(signature, "inputs", signature.inputs, tensor_map),
                        outputs=_vector(signature, "outputs", signature.outputs, tensor_map))


def _vector(owner: Any, name: str, things: list[Any], table_of: Callable[[Any], Table]) -> Iterator[Table] | None:
    """None where the file had no such vector and it is still empty."""
    return None if not things and name in owner.absent else map(table_of, things)


def _numbers(owner: Any, name: str, numbers: list[int]) -> list[int] | None:
    """None where the file had no such vector and it is still empty."""
    return None if not numbers and name in owner.absent else numbers


def _operator_code(code: OperatorCode) -> Table:
    return Table.of("OperatorCode", builtin_code=code.builtin_code, version=code.version,
                    custom_code=code.custom_code, deprecated_builtin_code=code.deprecated_builtin_code)


def _quantization(q: Quantization) -> Table:
    return Table.of("QuantizationParameters", scale=q.scale, zero_point=q.zero_point, min=q.minimum, max=q.maximum,
                    quantized_dimension=q.quantized_dimension, details=q.details)


def _options(operator: Operator, name: str, options: Table | None) -> dict[str, Any]:
    """The union's fields; only its type where the file had no more and nothing has changed."""
    if options is None:
        return {}
    if name in operator.absent and _is_default(options):
        members = next(f.members for f in spec("Operator").references if f.name == name)
        return {f"{name}_type": next(code for code, kind in (members or {}).items() if kind == options.kind)}
    return {name: options}


def _is_default(table: Table) -> bool:
    defaults = spec(table.kind).defaults
    return all(not isinstance(value, np.ndarray) and value == defaults[name] for name, value in table.values.items())
