"""Changes of what only some models have: fused operators' options, plans, signatures, sparsity, associated files."""
from __future__ import annotations

import io
import struct
import zipfile
from random import Random

import numpy as np

from tflfuse import offline_plan
from tflfuse.chain_codec import Header, Kind, StageRecord, ValueRecord

from . import values
from .graphs import PLANS, Graph, numbers_of
from .tree import Node, new


def is_chain(operator: Node) -> bool:
    options = operator.values["custom_options"]
    return options is not None and len(options) >= Header.SIZE


def change_words(rng: Random, root: Node) -> None:
    """Numbers of 32 bits among a fused operator's constants: biases, multipliers, the operators that a table is of."""
    graph = Graph(rng, root)
    operators = [o for o in graph.operators if is_chain(o)]
    inputs = numbers_of(rng.choice(operators), "inputs") if operators else []
    if not inputs or not 0 <= inputs[-1] < len(graph.tensors):
        return
    tensor = graph.tensors[inputs[-1]]
    data = graph.data_of(tensor)
    if data is not None and len(data) >= 4:
        words = len(data) & ~3
        changed = values.data(rng, data[:words], np.dtype(rng.choice(("<i4", "<f4"))))
        tensor.values["buffer"] = graph.new_buffer(np.concatenate([changed, data[words:]]))


def change_chain(rng: Random, root: Node) -> None:
    """A field of a fused operator's records."""
    graphs = [node for node in root.nodes() if node.kind == "SubGraph"]
    operators = [o for graph in graphs for o in graph.list_of("operators") if is_chain(o)]
    if not operators:
        return
    operator = rng.choice(operators)
    raw = bytearray(operator.values["custom_options"].tobytes())
    header = Header.unpack(bytes(raw))
    count = header.inputs + header.stages
    for _ in range(rng.choice((1, 1, 2, 3))):
        number = rng.randrange(count + header.stages + 1)
        if number == 0:
            layout, at, names = Header.LAYOUT, 0, [*Header.__dataclass_fields__]
        elif number <= count:
            layout, at = ValueRecord.LAYOUT, Header.SIZE + (number - 1) * ValueRecord.SIZE
            names = [*ValueRecord.__dataclass_fields__]
        else:
            layout = StageRecord.LAYOUT
            at = Header.SIZE + count * ValueRecord.SIZE + (number - 1 - count) * StageRecord.SIZE
            names = [*StageRecord.__dataclass_fields__]
        if at + layout.size > len(raw):
            continue
        record = list(layout.unpack_from(raw, at))
        field = rng.randrange(len(record))
        code = layout.format.lstrip("<")[field]
        if names[field] == "kind":
            record[field] = rng.choice([*Kind, 13, 255])
        elif code == "f":
            record[field] = values.real(rng, record[field])
        else:
            record[field] = values.whole(rng, record[field], np.dtype(f"<{'i4' if code == 'i' else code}"))
        layout.pack_into(raw, at, *record)
    if rng.random() < 0.1:
        del raw[rng.randrange(len(raw)):]
    operator.values["custom_options"] = np.frombuffer(bytes(raw), np.uint8)


def plan_offline(rng: Random, root: Node) -> None:
    """An OfflineMemoryAllocation with as many offsets as there are tensors, or nearly."""
    graph = Graph(rng, root)
    count = sum(len(g.list_of("tensors")) for g in root.list_of("subgraphs")) + rng.choice((0, 0, 0, 0, 1, -1))
    offsets = [rng.choice(PLANS) for _ in range(max(count, 0))]
    words = offline_plan.words_of(rng.choice((1, 1, 0, -1)), rng.choice((1, 1, 0, 2, 2 ** 31 - 1)), offsets)
    if rng.random() < 0.1:
        words = words[:-rng.randrange(1, 4)]
    root.list_of("metadata").append(new("Metadata", name=offline_plan.NAME, buffer=graph.new_buffer(words)))


def sign(rng: Random, root: Node) -> None:
    """A signature of the inputs and outputs, or of any tensors."""
    graph = Graph(rng, root)
    maps = []
    for name in ("inputs", "outputs"):
        numbers = numbers_of(graph.node, name)
        if rng.random() < 0.2 and graph.tensors:
            numbers.append(rng.randrange(len(graph.tensors)))
        maps.append([new("TensorMap", name=values.name(rng, b"x"), tensor_index=n % 2 ** 32) for n in numbers])
    root.list_of("signature_defs").append(new(
        "SignatureDef", signature_key=values.name(rng, b"key"), inputs=maps[0], outputs=maps[1],
        subgraph_index=root.list_of("subgraphs").index(graph.node) if graph.node in root.list_of("subgraphs") else 0))


def make_sparse(rng: Random, root: Node) -> None:
    """A tensor's sparsity, as the converter writes it or not."""
    tensor = Graph(rng, root).a_tensor()
    if tensor is None:
        return
    rank = 0 if tensor.values["shape"] is None else len(tensor.values["shape"])
    dims = []
    for _ in range(rank):
        size = rng.choice((0, 1, 4, 2 ** 31 - 1, -1))
        dim = new("DimensionMetadata", format=rng.choice((0, 1, 1, 2)), dense_size=size)
        if dim.values["format"]:
            kind = rng.choice((("Int32Vector", "<i4"), ("Uint16Vector", "<u2"), ("Uint8Vector", "u1")))
            numbers = np.array([0, rng.randrange(100)], kind[1])
            dim.values.update(array_segments=new(kind[0], values=numbers), array_indices=new(kind[0], values=numbers))
        dims.append(dim)
    tensor.values["sparsity"] = new("SparsityParameters", traversal_order=np.arange(rank, dtype="<i4"),
                                    block_map=values.elements(rng, None, np.dtype("<i4")), dim_metadata=dims)


def add_graph(rng: Random, root: Node) -> None:
    """A second subgraph, that an operator may call."""
    graphs = root.list_of("subgraphs")
    if not graphs or len(graphs) > 3:
        return
    graphs.append(rng.choice(graphs).copy())
    operator = Graph(rng, root).an_operator()
    if operator is not None and rng.random() < 0.7:
        kind = rng.choice(("IfOptions", "WhileOptions", "CallOptions", "CallOnceOptions", "StablehloWhileOptions"))
        name = "builtin_options2" if kind.startswith("Stablehlo") else "builtin_options"
        operator.values[name] = new(kind)


def with_archive(rng: Random, data: bytes) -> bytes:
    """Associated files behind the model, with a number of the archive changed now and then."""
    stream = io.BytesIO(data if rng.random() < 0.5 else b"")
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("labels.txt", "a\nb\n")
    whole = bytearray(stream.getvalue())
    if not whole.startswith(data):
        whole[:0] = data
    if rng.random() < 0.7:
        at = rng.randrange(len(data), len(whole) - 4)
        struct.pack_into("<I", whole, at, rng.choice(values.WHOLE) % 2 ** 32)
    return bytes(whole)


CHANGES = ((change_chain, 8), (change_words, 4), (plan_offline, 2), (sign, 1), (make_sparse, 1), (add_graph, 1))
"""With how often each is taken."""
