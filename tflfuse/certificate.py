"""What a fused file says of where it came from: its metadata `tflfuse`, a few lines of text.

    tflfuse 0.1.0 exact=1 arena=65536
    chain_runs 7:q8fK2mZ0aXk 12:mDx0b-Vq4wE

First a line for each rewrite that the file went through: the version of tflfuse and the options that were not at their
defaults. Then the file's fused operators in their order, under the rule that made them: how many stages each has, and
a digest of the operators that it replaced. Nothing tells the machine, the time or a path, and nothing is a number of a
tensor or a buffer: whoever renumbers those leaves the certificate right. A file without fused operators has none.

The digest tells operators apart that differ by accident. It is no signature: whoever can change the file can change its
certificate, which is why `tflfuse.check` derives the file once more.
"""
from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any

import numpy as np

from .errors import BadModel
from .ir import Buffer, Metadata, Model, Operator, Quantization, Table, Tensor
from .packing import CUSTOM, unpack
from .plan import Step
from .schema_tables import spec

NAME = b"tflfuse"
VERSION = "0.1.0"
DIGEST_BYTES = 8


@dataclass(frozen=True)
class Rewrite:
    """The version and the options of one rewrite, see pipeline.fuse. left_out: how many steps were excluded."""

    version: str = VERSION
    exact: bool = False
    keep_dynamic: bool = False
    memory_plan: bool = True
    arena: int = 0
    left_out: int = 0

    def line(self) -> str:
        given = [(f.name, getattr(self, f.name), f.default) for f in fields(self)[1:]]
        return " ".join(["tflfuse", self.version, *(f"{name}={int(v)}" for name, v, default in given if v != default)])

    @staticmethod
    def of(line: str) -> Rewrite:
        """Raises ValueError where the line is none."""
        name, version, *words = line.split(" ")
        found: dict[str, Any] = {key: int(number) for key, _, number in (word.partition("=") for word in words)}
        if name != "tflfuse" or not found.keys() <= {f.name for f in fields(Rewrite)[1:]}:
            raise ValueError(f"'{line}' is no rewrite")
        return Rewrite(version, **found)


@dataclass(frozen=True)
class Group:
    """One fused operator: the rule that made it, its stages, and the digest of the operators that it replaced."""

    rule: str
    stages: int
    digest: str


@dataclass(frozen=True)
class Certificate:
    """rewrites: the first one first. groups: of the model's fused operators, in their order."""

    rewrites: tuple[Rewrite, ...]
    groups: tuple[Group, ...]

    def text(self) -> str:
        lines = [rewrite.line() for rewrite in self.rewrites]
        for rule, groups in groupby(self.groups, lambda group: group.rule):
            lines.append(" ".join([rule, *(f"{group.stages}:{group.digest}" for group in groups)]))
        return "\n".join(lines)

    @staticmethod
    def parsed(text: str) -> Certificate:
        """Raises ValueError where the text is none."""
        lines = text.split("\n")
        rewrites = [Rewrite.of(line) for line in lines if line.startswith("tflfuse ")]
        groups = []
        for rule, *words in (line.split(" ") for line in lines[len(rewrites):]):
            groups += [Group(rule, int(stages), digest) for stages, _, digest in (w.partition(":") for w in words)]
        found = Certificate(tuple(rewrites), tuple(groups))
        if not rewrites or not groups or found.text() != text:
            raise ValueError("it is not written as tflfuse writes it")
        return found


def certificate_of(model: Model) -> Certificate | None:
    """What the model carries; None without one. Raises BadModel where it cannot be read or does not fit the model."""
    found = [m.buffer for m in model.metadata or () if m.name == NAME]
    if not found:
        return None
    data = found[0].data
    try:
        certificate = Certificate.parsed("" if data is None else data.tobytes().decode("ascii"))
    except ValueError as error:
        raise BadModel(f"its certificate, the metadata 'tflfuse', cannot be read: {error}") from error
    operators = fused_operators(model)
    if len(found) > 1 or len(operators) != len(certificate.groups):
        raise BadModel(f"its certificate tells of {len(certificate.groups)} fused operators, it has {len(operators)}")
    return certificate


def carried(model: Model) -> Certificate | None:
    """certificate_of; one that does not fit the model is as good as none, and the notes say so."""
    try:
        return certificate_of(model)
    except BadModel as error:
        model.notes.append(f"{error}; it is not used")
        return None


def certify(model: Model, before: Certificate | None, known: Sequence[Operator], steps: Sequence[Step],
            rewrite: Rewrite) -> None:
    """Let a model carry the certificate of a rewrite.

    before: what it carried, for the fused operators `known`. steps: what was done, on the model's very operators.
    A fused operator that nobody certified leaves the model without a certificate, and says so in the notes.
    """
    groups = dict(zip(known, before.groups if before else ()))
    groups.update(fused_by(steps))
    operators = fused_operators(model)
    uncertified(model)
    if not operators:
        return
    if any(operator not in groups for operator in operators):
        model.notes.append("it gets no certificate: it had fused operators without one")
        return
    rewrites = (*(before.rewrites if before else ()), rewrite)
    text = Certificate(rewrites, tuple(groups[operator] for operator in operators)).text()
    data = np.frombuffer(text.encode("ascii"), np.uint8)
    model.metadata = [*(model.metadata or []), Metadata(NAME, Buffer(data))]


def fused_by(steps: Sequence[Step]) -> dict[Operator, Group]:
    """The group of each fused operator that these steps made."""
    made = [(step, operator) for step in steps if step.replacement for operator in step.replacement.operators]
    return {o: Group(step.rule, stages_of(o), digest_of(step.before)) for step, o in made if o.name == CUSTOM}


def uncertified(model: Model) -> None:
    """Let the model carry no certificate."""
    if model.metadata is None:
        return
    gone = [m.buffer for m in model.metadata if m.name == NAME]
    model.metadata = [m for m in model.metadata if m.name != NAME]
    model.memory_plan_at = min(model.memory_plan_at, len(model.metadata))
    kept = {m.buffer for m in model.metadata} | {t.buffer for g in model.subgraphs for t in g.tensors}
    model.buffers = [b for b in model.buffers if b not in gone or b in kept]


def fused_operators(model: Model) -> list[Operator]:
    """In the order in which they stand in the file."""
    return [operator for operator in model.operators if operator.name == CUSTOM]


def stages_of(operator: Operator) -> int:
    assert operator.custom_options is not None and operator.inputs[-1] is not None
    return len(unpack(operator.custom_options.tobytes(), operator.inputs[-1].array()).links)


def digest_of(operators: Sequence[Operator]) -> str:
    """Of kinds, options, shapes, types, quantizations, constants and who reads what: names and numbers do not count.

    operators: in execution order.
    """
    numbers: dict[Tensor, int] = {}

    def number(tensor: Tensor) -> list[Any]:
        if tensor in numbers:
            return [numbers[tensor]]
        numbers[tensor] = len(numbers)
        return [numbers[tensor], *described(tensor)]

    told = [[o.name, options_of(o.options), options_of(o.options_2),
             None if o.custom_options is None else o.custom_options.tobytes().hex(),
             [t and number(t) for t in o.inputs], [number(t) for t in o.outputs]] for o in operators]
    text = json.dumps(told, separators=(",", ":"))
    return base64.urlsafe_b64encode(hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest())[:-1].decode()


def described(tensor: Tensor) -> list[Any]:
    """Type, shape, quantization and a hash of its data, for JSON."""
    held = tensor.buffer.data if tensor.is_constant else None
    data = hashlib.blake2b(b"" if held is None else held.data).hexdigest()
    return [tensor.type, list(tensor.shape), tensor.is_variable, quantization_of(tensor.quantization), data]


def quantization_of(q: Quantization | None) -> list[Any] | None:
    """Scales, zero points and the dimension they go along, for JSON; None where there are none."""
    if q is None or q.scale is None or not len(q.scale):
        return None
    return [q.scale.tolist(), q.zeros.tolist(), q.quantized_dimension if len(q.scale) > 1 else 0, options_of(q.details)]


def options_of(table: Table | None) -> Any:
    """The fields that are not at their defaults, for JSON."""
    if table is None:
        return None
    defaults = spec(table.kind).defaults
    plain = {name: _plain(value) for name, value in sorted(table.values.items())}
    return [table.kind, {name: value for name, value in plain.items() if value != _plain(defaults[name])}]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Table):
        return options_of(value)
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value
