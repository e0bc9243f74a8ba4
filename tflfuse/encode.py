"""Model -> a tree of Tables: every object that is referred to gets its number."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import offline_plan
from .ir import Array, Buffer, Model, Operator, OperatorCode, Quantization, Signature, Subgraph, Table, Tensor
from .schema_tables import spec


def model(source: Model) -> Table:
    """The Model table. Objects that are used but not listed are numbered behind those that are."""
    return _Encoder(source).root()


class _Tensors:
    """The tensors of one subgraph and their numbers."""

    def __init__(self, graph: Subgraph) -> None:
        self.all = list(graph.tensors)
        self.numbers = {tensor: number for number, tensor in enumerate(self.all)}

    def number(self, tensor: Tensor | None) -> int:
        if tensor is None:
            return -1
        known = self.numbers.get(tensor)
        if known is None:
            known = self.numbers[tensor] = len(self.all)
            self.all.append(tensor)
        return known

    def numbers_of(self, tensors: Sequence[Tensor | None]) -> list[int]:
        return [self.number(tensor) for tensor in tensors]


class _Encoder:
    def __init__(self, source: Model) -> None:
        self.model = source
        self.buffers = list(source.buffers)
        self.buffer_numbers = {buffer: number for number, buffer in enumerate(self.buffers)}
        self.codes = list(source.operator_codes)
        self.code_numbers = {code: number for number, code in enumerate(self.codes)}
        self.code_keys = {_key(code): number for number, code in reversed(list(enumerate(self.codes)))}
        self.tensors = [_Tensors(graph) for graph in source.subgraphs]

    def root(self) -> Table:
        source = self.model
        graphs = [self.graph_without_tensors(*pair) for pair in zip(source.subgraphs, self.tensors)]
        signatures = None
        if source.signatures is not None:
            signatures = [self.signature(s, self.tensors[s.subgraph_index]) for s in source.signatures]
        graphs = [graph.with_(tensors=_listed(g, "tensors", [self.tensor(t) for t in tensors.all]))
                  for graph, g, tensors in zip(graphs, source.subgraphs, self.tensors)]
        metadata = None
        if source.metadata is not None or source.memory_plan_version is not None:
            metadata = [Table.of("Metadata", name=m.name, buffer=self.buffer_number(m.buffer))
                        for m in source.metadata or ()]
        metadata_buffer = None
        if source.metadata_buffer is not None:
            metadata_buffer = [self.buffer_number(buffer) for buffer in source.metadata_buffer]
        contents = {}
        if source.memory_plan_version is not None and metadata is not None:
            number = self.plan_number(source.memory_plan_buffer)
            contents[number] = self.plan(source.memory_plan_version)
            metadata.insert(source.memory_plan_at, Table.of("Metadata", name=offline_plan.NAME, buffer=number))
        buffers = [Table.of("Buffer", data=contents.get(n, buffer.data)) for n, buffer in enumerate(self.buffers)]
        codes = [Table.of("OperatorCode", builtin_code=c.builtin_code, version=c.version, custom_code=c.custom_code,
                          deprecated_builtin_code=c.deprecated_builtin_code) for c in self.codes]
        return Table.of("Model", version=source.version, description=source.description, signature_defs=signatures,
                        operator_codes=_listed(source, "operator_codes", codes), metadata=metadata,
                        subgraphs=_listed(source, "subgraphs", graphs), metadata_buffer=metadata_buffer,
                        buffers=_listed(source, "buffers", buffers))

    def plan(self, version: int) -> Array:
        offsets = [tensor.arena_offset for tensors in self.tensors for tensor in tensors.all]
        return offline_plan.words_of(version, self.model.memory_plan_subgraphs, offsets)

    def plan_number(self, buffer: Buffer | None) -> int:
        known = None if buffer is None else self.buffer_numbers.get(buffer)
        return self.append_buffer(Buffer()) if known is None else known

    def buffer_number(self, buffer: Buffer) -> int:
        known = self.buffer_numbers.get(buffer)
        if known is not None:
            return known
        if len(buffer) == 0 and self.buffers and len(self.buffers[0]) == 0:
            return 0
        return self.append_buffer(buffer)

    def append_buffer(self, buffer: Buffer) -> int:
        if not self.buffers:
            self.buffers.append(Buffer())  # buffer 0 is the empty one
            if len(buffer) == 0:
                return 0
        self.buffers.append(buffer)
        number = self.buffer_numbers[buffer] = len(self.buffers) - 1
        return number

    def code_number(self, code: OperatorCode) -> int:
        known = self.code_numbers.get(code)
        if known is None:
            known = self.code_keys.get(_key(code))
        if known is None:
            known = self.code_numbers[code] = self.code_keys[_key(code)] = len(self.codes)
            self.codes.append(code)
        return known

    def graph_without_tensors(self, graph: Subgraph, tensors: _Tensors) -> Table:
        inputs, outputs = tensors.numbers_of(graph.inputs), tensors.numbers_of(graph.outputs)
        operators = [self.operator(operator, tensors) for operator in graph.operators]
        return Table.of("SubGraph", inputs=_listed(graph, "inputs", inputs), name=graph.name,
                        outputs=_listed(graph, "outputs", outputs), debug_metadata_index=graph.debug_metadata_index,
                        operators=_listed(graph, "operators", operators))

    def operator(self, operator: Operator, tensors: _Tensors) -> Table:
        inputs, outputs = tensors.numbers_of(operator.inputs), tensors.numbers_of(operator.outputs)
        intermediates = None
        if operator.intermediates is not None:
            intermediates = tensors.numbers_of(operator.intermediates)
        return Table.of(
            "Operator", opcode_index=self.code_number(operator.code), inputs=_listed(operator, "inputs", inputs),
            outputs=_listed(operator, "outputs", outputs), custom_options=operator.custom_options,
            custom_options_format=operator.custom_options_format, intermediates=intermediates,
            mutating_variable_inputs=operator.mutating_variable_inputs,
            debug_metadata_index=operator.debug_metadata_index,
            **_options(operator, "builtin_options", operator.options),
            **_options(operator, "builtin_options2", operator.options_2))

    def tensor(self, tensor: Tensor) -> Table:
        quantization = None if tensor.quantization is None else _quantization(tensor.quantization)
        return Table.of("Tensor", shape=tensor.shape if tensor.has_shape or tensor.shape else None, type=tensor.type,
                        buffer=self.buffer_number(tensor.buffer), name=tensor.name, quantization=quantization,
                        is_variable=tensor.is_variable, sparsity=tensor.sparsity, has_rank=tensor.has_rank,
                        shape_signature=tensor.shape_signature, variant_tensors=tensor.variant_tensors)

    def signature(self, signature: Signature, tensors: _Tensors) -> Table:
        inputs, outputs = ([Table.of("TensorMap", name=name, tensor_index=tensors.number(tensor))
                            for name, tensor in pairs] for pairs in (signature.inputs, signature.outputs))
        return Table.of("SignatureDef", signature_key=signature.key, subgraph_index=signature.subgraph_index,
                        inputs=_listed(signature, "inputs", inputs), outputs=_listed(signature, "outputs", outputs))


def _listed(owner: Any, name: str, values: list[Any]) -> list[Any] | None:
    """None where the file had no such vector and it is still empty."""
    return None if not values and name in owner.absent else values


def _key(code: OperatorCode) -> tuple[int, int, bytes | None]:
    return code.builtin, code.version, code.custom_code


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
