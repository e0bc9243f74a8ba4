"""From a fused model to a program of the harness: the operators between the fused ones are replayed from the host."""
from __future__ import annotations

from collections.abc import Sequence

from tflfuse import flatbuffer
from tflfuse.ir import Array, Operator, Tensor
from tflfuse.lowering import lower
from tflfuse.packing import CUSTOM
from tflfuse.tflm import Interpreter

from .image import ALIGNMENT, Program


def program_of(fused: bytes, inputs: Sequence[Array]) -> Program:
    """The fused operators of a model in order, in the places of its memory plan where it has one.

    What they must give is what TFLM's own operators give in the interpreter of the wheel, the fused operators lowered.
    Tensors that the plan leaves to the interpreter lie behind all that it places, none over another.
    """
    graph = flatbuffer.read(fused).subgraphs[0]
    runs = [o for o in graph.operators if o.name == CUSTOM]
    outside = list(dict.fromkeys(t for o in runs for t in [*variables(o), *o.outputs]))
    values = dict(zip(outside, values_of(fused, [graph.tensors.index(t) for t in outside], inputs), strict=True))
    program = Program()
    numbers = {t: program.tensor(t.arena_offset, t.shape) for t in outside if t.arena_offset >= 0}
    for t in outside:
        if t not in numbers:
            numbers[t] = program.tensor(-(-program.arena_bytes // ALIGNMENT) * ALIGNMENT, t.shape)
    for t in graph.inputs:
        if t in numbers:
            program.load(numbers[t], values[t])
    for operator in graph.operators:
        if operator.name == CUSTOM:
            output = operator.outputs[0]
            assert operator.custom_options is not None
            operands = [constant_of(program, t) if t.is_constant else numbers[t] for t in present(operator)]
            program.run(operator.custom_options.tobytes(), operands, numbers[output], values[output])
        else:
            for t in operator.outputs:
                if t in numbers:
                    program.load(numbers[t], values[t])
    return program


def values_of(fused: bytes, tensors: Sequence[int], inputs: Sequence[Array]) -> list[bytes]:
    """What tensors of the main subgraph hold when TFLM's own operators compute them."""
    model = flatbuffer.read(fused)
    graph = model.subgraphs[0]
    wanted = [graph.tensors[n] for n in tensors]
    lower(model)
    for t in graph.tensors:
        t.arena_offset = -1  # the plan would lay others over them
    model.memory_plan_version, model.signatures = None, None
    given = {t: x.tobytes() for t, x in zip(graph.inputs, inputs, strict=True)}
    graph.outputs = [t for t in wanted if t not in given]
    outputs = Interpreter(flatbuffer.write(model)).run(inputs)
    given |= {t: y.tobytes() for t, y in zip(graph.outputs, outputs, strict=True)}
    return [given[t] for t in wanted]


def present(operator: Operator) -> list[Tensor]:
    operands = [t for t in operator.inputs if t is not None]
    assert len(operands) == len(operator.inputs)
    return operands


def variables(operator: Operator) -> list[Tensor]:
    return [t for t in present(operator) if not t.is_constant]


def constant_of(program: Program, tensor: Tensor) -> int:
    return program.constant(tensor.array().tobytes(), tensor.shape)
