"""A tree of Tables -> Model: every number that refers to something becomes the thing itself."""
from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from .errors import BadModel
from .ir import (LONGEST_LABEL, Array, Buffer, Metadata, Model, Operator, OperatorCode, Quantization, Signature,
                 Subgraph, Table, Tensor)
from .schema_tables import names_in, spec

VERSION = 3

T = TypeVar("T")


def model(root: Table) -> Model:
    """The IR of a Model table. Raises BadModel where a number refers to nothing."""
    if root["version"] != VERSION:
        raise BadModel(f"the model has schema version {root['version']}; only {VERSION} is known")
    buffers = [_buffer(table, number) for number, table in enumerate(root["buffers"] or ())]
    codes = [OperatorCode(t["builtin_code"], t["deprecated_builtin_code"], t["version"], t["custom_code"])
             for t in root["operator_codes"] or ()]
    graphs = [_subgraph(table, number, buffers, codes) for number, table in enumerate(root["subgraphs"] or ())]
    out = Model(graphs, codes, buffers, VERSION, root["description"],
                absent=_absent(root, "subgraphs", "operator_codes", "buffers"))
    if root["signature_defs"] is not None:
        out.signatures = [_signature(table, graphs) for table in root["signature_defs"]]
    if root["metadata"] is not None:
        out.metadata = [Metadata(t["name"], _pick(buffers, t["buffer"], f"metadata {quoted(t['name'])}", "buffer"))
                        for t in root["metadata"]]
    if root["metadata_buffer"] is not None:
        out.metadata_buffer = [_pick(buffers, n, "metadata_buffer", "buffer") for n in root["metadata_buffer"].tolist()]
    return out


def quoted(name: bytes | None) -> str:
    """A name as Python writes it, its beginning where it is long."""
    return repr(name) if name is None or len(name) <= LONGEST_LABEL else repr(name[:LONGEST_LABEL]) + "..."


def _pick(things: Sequence[T], number: int, who: str, what: str) -> T:
    if not 0 <= number < len(things):
        raise BadModel(f"{who} refers to {what} {number}; the model has {len(things)}")
    return things[number]


def _absent(table: Table, *names: str) -> frozenset[str]:
    return frozenset(name for name in names if table.values[name] is None)


def _buffer(table: Table, number: int) -> Buffer:
    if table["offset"] or table["size"]:
        raise BadModel(f"buffer {number} lies behind the flatbuffer (Buffer.offset and size), which is not supported")
    return Buffer(table["data"])


def _subgraph(table: Table, number: int, buffers: list[Buffer], codes: list[OperatorCode]) -> Subgraph:
    name = f"subgraph {number}"
    tensors = [_tensor(t, f"{name} tensor {i}", buffers) for i, t in enumerate(table["tensors"] or ())]
    prefix = f"{number}:#" if number else "#"
    operators = [_operator(t, f"{prefix}{i}", tensors, codes) for i, t in enumerate(table["operators"] or ())]
    return Subgraph(tensors, _required(table["inputs"], tensors, f"{name} inputs"),
                    _required(table["outputs"], tensors, f"{name} outputs"), operators, table["name"],
                    table["debug_metadata_index"], _absent(table, "tensors", "inputs", "outputs", "operators"))


def _required(numbers: Array | None, tensors: list[Tensor], who: str) -> list[Tensor]:
    if numbers is None:
        return []
    return [_pick(tensors, number, who, "tensor") for number in numbers.tolist()]


def _optional(numbers: Array | None, tensors: list[Tensor], who: str) -> list[Tensor | None]:
    if numbers is None:
        return []
    return [None if number == -1 else _pick(tensors, number, who, "tensor") for number in numbers.tolist()]


def _tensor(table: Table, who: str, buffers: list[Buffer]) -> Tensor:
    value = table.values
    shape, signature = value["shape"], value["shape_signature"]
    return Tensor(
        () if shape is None else tuple(shape.tolist()), value["type"], _pick(buffers, value["buffer"], who, "buffer"),
        value["name"], None if value["quantization"] is None else _quantization(value["quantization"], who),
        value["is_variable"], value["sparsity"], None if signature is None else tuple(signature.tolist()),
        value["has_rank"], value["variant_tensors"], shape is not None)


def _quantization(table: Table, who: str) -> Quantization:
    value = table.values
    if value["details_type"] and value["details"] is None:
        raise BadModel(f"{who} has a quantization details_type but no details")
    return Quantization(value["scale"], value["zero_point"], value["quantized_dimension"], value["min"], value["max"],
                        value["details"])


def _operator(table: Table, place: str, tensors: list[Tensor], codes: list[OperatorCode]) -> Operator:
    value, who = table.values, f"operator {place}"
    if value["large_custom_options_offset"] or value["large_custom_options_size"]:
        raise BadModel(f"{who} keeps its custom options behind the flatbuffer (large_custom_options_offset), "
                       "which is not supported")
    options, missing = _options(value, "builtin_options", who)
    options_2, missing_2 = _options(value, "builtin_options2", who)
    intermediates = value["intermediates"]
    return Operator(
        _pick(codes, value["opcode_index"], who, "operator code"), _optional(value["inputs"], tensors, f"{who} inputs"),
        _required(value["outputs"], tensors, f"{who} outputs"), options, options_2, value["custom_options"],
        value["custom_options_format"], value["mutating_variable_inputs"],
        None if intermediates is None else _required(intermediates, tensors, f"{who} intermediates"), place,
        value["debug_metadata_index"], _absent(table, "inputs", "outputs") | missing | missing_2)


def _options(value: Any, name: str, who: str) -> tuple[Table | None, frozenset[str]]:
    """The options, and the field's name where the file has only their type, which means all defaults."""
    code, table = value[f"{name}_type"], value[name]
    if table is not None or not code:
        return table, frozenset()
    kind = names_in({"builtin_options": "BuiltinOptions", "builtin_options2": "BuiltinOptions2"}[name]).get(code)
    if kind is None:
        raise BadModel(f"{who} has {name} of type {code}, which the tflite package does not know: a newer schema")
    return Table(kind, MappingProxyType(dict(spec(kind).defaults))), frozenset({name})


def _signature(table: Table, graphs: list[Subgraph]) -> Signature:
    who = f"signature {quoted(table['signature_key'])}"
    number = table["subgraph_index"]
    tensors = _pick(graphs, number, who, "subgraph").tensors

    def tensors_of(maps: Sequence[Table] | None) -> list[tuple[bytes | None, Tensor]]:
        return [(m["name"], _pick(tensors, m["tensor_index"], f"{who} {quoted(m['name'])}", "tensor"))
                for m in maps or ()]

    return Signature(table["signature_key"], tensors_of(table["inputs"]), tensors_of(table["outputs"]), number,
                     _absent(table, "inputs", "outputs"))
