"""The model as objects: a tensor, an operator or a buffer is referred to by itself, never by a number."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from tflite import ActivationFunctionType, BuiltinOperator, TensorType

from .errors import Refused

Array = npt.NDArray[Any]

NAME_OF_BUILTIN: dict[int, str] = {v: k for k, v in vars(BuiltinOperator).items() if not k.startswith("_")}
BUILTIN_OF_NAME: dict[str, int] = {v: k for k, v in NAME_OF_BUILTIN.items()}
NAME_OF_TYPE: dict[int, str] = {v: k for k, v in vars(TensorType).items() if not k.startswith("_")}
NAME_OF_ACTIVATION: dict[int, str] = {v: k for k, v in vars(ActivationFunctionType).items() if not k.startswith("_")}

LONGEST_LABEL = 60  # the converter joins the names of all it merged into names of hundreds of characters

DTYPE: dict[int, np.dtype[Any]] = {
    TensorType.FLOAT32: np.dtype("<f4"), TensorType.FLOAT16: np.dtype("<f2"), TensorType.FLOAT64: np.dtype("<f8"),
    TensorType.INT8: np.dtype("i1"), TensorType.UINT8: np.dtype("u1"), TensorType.INT16: np.dtype("<i2"),
    TensorType.UINT16: np.dtype("<u2"), TensorType.INT32: np.dtype("<i4"), TensorType.UINT32: np.dtype("<u4"),
    TensorType.INT64: np.dtype("<i8"), TensorType.UINT64: np.dtype("<u8"), TensorType.BOOL: np.dtype("?"),
    TensorType.COMPLEX64: np.dtype("<c8"), TensorType.COMPLEX128: np.dtype("<c16"),
}
"""The numpy type of one element, for the types whose elements are whole bytes (INT4 and STRING have none)."""


def shown(name: bytes | None) -> str:
    """A name from a file for messages: printable, in one line, its beginning where it is long."""
    text = "".join(c if c.isprintable() else "?" for c in (name or b"").decode("utf-8", "replace"))
    return text if len(text) <= LONGEST_LABEL else text[:LONGEST_LABEL] + "..."


def float64(numbers: Array) -> Array:
    """The same numbers in float64, without a warning of NaNs that signal."""
    with np.errstate(invalid="ignore"):
        return numbers.astype(np.float64)


@dataclass(frozen=True)
class Table:
    """A flatbuffer table that needs no objects of ours, an operator's options for example.

    kind: the name in the schema, "Conv2DOptions". values: every field by its snake_case name, defaults filled in;
    a vector is a numpy array (None where the file has none), a string is bytes.
    """

    kind: str
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    def with_(self, **changes: Any) -> Table:
        """The same table with some fields changed."""
        return Table(self.kind, MappingProxyType({**self.values, **changes}))

    @staticmethod
    def of(kind: str, **values: Any) -> Table:
        """A new table; fields not named get the schema's default when it is written."""
        return Table(kind, MappingProxyType(values))


@dataclass(eq=False)
class Buffer:
    """Constant data, shared by the tensors and metadata that refer to it.

    data: uint8 [n], a view of the file; None where the file has no data vector.
    """

    data: Array | None = None

    def __len__(self) -> int:
        return 0 if self.data is None else len(self.data)


@dataclass(eq=False)
class Quantization:
    """real = scale * (q - zero_point), per tensor (one element) or along quantized_dimension.

    scale, minimum, maximum: float32 [n]; zero_point: int64 [n]; None where the file has none.
    details: a custom quantization table, carried along.
    """

    scale: Array | None = None
    zero_point: Array | None = None
    quantized_dimension: int = 0
    minimum: Array | None = None
    maximum: Array | None = None
    details: Table | None = None

    @staticmethod
    def of(scale: Any, zero_point: Any = 0, quantized_dimension: int = 0) -> Quantization:
        """From numbers: a float or float32 [n], and an integer or int64 [n] (one zero point serves every channel)."""
        scales = np.atleast_1d(np.asarray(scale, np.float32))
        zeros = np.broadcast_to(np.atleast_1d(np.asarray(zero_point, np.int64)), scales.shape).copy()
        return Quantization(scales, zeros, quantized_dimension)

    def same_as(self, other: Quantization | None) -> bool:
        """True where both map every integer to the same real number."""
        if other is None or self.scale is None or other.scale is None or self.details or other.details:
            return False
        return (np.array_equal(self.scale, other.scale) and np.array_equal(self.zeros, other.zeros)
                and (len(self.scale) == 1 or self.quantized_dimension == other.quantized_dimension))

    @property
    def zeros(self) -> Array:
        """int64 [n]: the zero points, 0 where the file has none."""
        count = 0 if self.scale is None else len(self.scale)
        if self.zero_point is None or len(self.zero_point) == 0:
            return np.zeros(count, np.int64)
        return np.broadcast_to(self.zero_point, (count,)) if len(self.zero_point) == 1 else self.zero_point


@dataclass(eq=False)
class Tensor:
    """A value. It is constant exactly when its buffer has data and it is no variable.

    name: bytes, possibly empty or not unique: never a key. shape: dims as TFLM reads them.
    shape_signature: dims with -1 where the size is open; None where the file has none.
    """

    shape: tuple[int, ...]
    type: int
    buffer: Buffer
    name: bytes | None = None
    quantization: Quantization | None = None
    is_variable: bool = False
    sparsity: Table | None = None
    shape_signature: tuple[int, ...] | None = None
    has_rank: bool = False
    variant_tensors: tuple[Table, ...] | None = None
    has_shape: bool = True
    arena_offset: int = -1

    @property
    def label(self) -> str:
        """The name for messages: printable, in quotes, its beginning where it is long, or what else is known."""
        text = shown(self.name)
        return f"'{text}'" if text else f"an unnamed {NAME_OF_TYPE.get(self.type, self.type)} tensor {list(self.shape)}"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of an element; refused for types without one (INT4, STRING, RESOURCE, ...)."""
        if self.type not in DTYPE:
            raise Refused(f"{NAME_OF_TYPE.get(self.type, self.type)} data are not read", at=self)
        return DTYPE[self.type]

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes of the value in memory; refused for types whose elements are no whole bytes."""
        return self.size * self.dtype.itemsize

    @property
    def is_constant(self) -> bool:
        return len(self.buffer) > 0 and not self.is_variable

    @property
    def is_static(self) -> bool:
        """No dimension is left open."""
        return all(d >= 0 for d in self.shape) and not any(d < 0 for d in self.shape_signature or ())

    @property
    def scale(self) -> float:
        """The scale of a per-tensor quantized tensor, as float64; refused elsewhere."""
        return float(self._per_tensor.scale[0])  # type: ignore[index]

    @property
    def zero_point(self) -> int:
        """The zero point of a per-tensor quantized tensor; refused elsewhere."""
        return int(self._per_tensor.zeros[0])

    @property
    def _per_tensor(self) -> Quantization:
        if not self.is_quantized or len(self.quantization.scale) != 1:  # type: ignore[union-attr,arg-type]
            raise Refused("the tensor is not quantized per tensor", at=self)
        return self.quantization  # type: ignore[return-value]

    @property
    def is_quantized(self) -> bool:
        """It has at least one scale and no custom quantization."""
        q = self.quantization
        return q is not None and q.scale is not None and len(q.scale) > 0 and q.details is None

    def array(self) -> Array:
        """The constant as a read-only numpy array of its shape and type; refused where it is no plain constant."""
        if not self.is_constant:
            raise Refused("the tensor is not constant", at=self)
        if self.sparsity is not None:
            raise Refused("the constant is stored sparse", at=self)
        assert self.buffer.data is not None
        if len(self.buffer) != self.size * self.dtype.itemsize:
            raise Refused("the constant's bytes do not fit its shape", at=self)
        array = np.frombuffer(self.buffer.data, self.dtype).reshape(self.shape)
        array.flags.writeable = False
        return array

    def integers(self) -> tuple[int, ...]:
        """The constant's numbers, flat: a shape, axes, a permutation; refused where it is no constant of integers."""
        array = self.array()
        if array.dtype.kind not in "iu":
            raise Refused(f"the numbers are {array.dtype}, not integers", at=self)
        return tuple(array.reshape(-1).tolist())

    def real(self) -> Array:
        """The constant as float64 of its shape, dequantized where it is quantized."""
        values = float64(self.array())
        if self.dtype.kind == "f":
            return values
        q = self.quantization
        if not self.is_quantized or q is None or q.scale is None:
            raise Refused("an integer constant has no scale", at=self)
        scale, zeros = float64(q.scale), q.zeros
        if not np.isfinite(scale).all():
            raise Refused("the scale is not a positive number", at=self)
        if len(scale) > 1:
            axis = q.quantized_dimension if values.ndim > 1 else 0  # a rank-1 bias may claim axis 3
            if axis >= values.ndim or values.shape[axis] != len(scale):
                raise Refused("the constant's scales do not fit its shape", at=self)
            around = [1] * values.ndim
            around[axis] = -1
            scale, zeros = scale.reshape(around), zeros.reshape(around)
        return (values - zeros) * scale

    def like(self, **changes: Any) -> Tensor:
        """A new tensor with the same properties but for those named."""
        return replace(self, **changes)

    @staticmethod
    def constant(array: Array, name: bytes | None = None, quantization: Quantization | None = None) -> Tensor:
        """A new constant of an array's shape and type on a buffer of its own."""
        code = next(code for code, dtype in DTYPE.items() if dtype == array.dtype)
        data = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        return Tensor(tuple(array.shape), code, Buffer(data), name, quantization)


@dataclass(eq=False)
class OperatorCode:
    """builtin_code and deprecated_builtin_code as in the file; the larger one counts."""

    builtin_code: int
    deprecated_builtin_code: int
    version: int = 1
    custom_code: bytes | None = None

    @property
    def builtin(self) -> int:
        return max(self.builtin_code, self.deprecated_builtin_code)

    @property
    def name(self) -> str:
        """As in the schema, "CONV_2D"; a custom operator is "CUSTOM:<its name>"."""
        if self.builtin == BuiltinOperator.CUSTOM:
            return "CUSTOM:" + (self.custom_code or b"").decode("utf-8", "replace")
        return NAME_OF_BUILTIN.get(self.builtin, f"BUILTIN_{self.builtin}")

    @staticmethod
    def of(name: str, version: int = 1) -> OperatorCode:
        """A new code for a builtin, or for a custom operator by "CUSTOM:<name>"; both fields are set."""
        if name.startswith("CUSTOM:"):
            return OperatorCode(BuiltinOperator.CUSTOM, BuiltinOperator.CUSTOM, version, name[7:].encode())
        builtin = BUILTIN_OF_NAME[name]
        return OperatorCode(builtin, min(builtin, BuiltinOperator.PLACEHOLDER_FOR_GREATER_OP_CODES), version)


@dataclass(eq=False)
class Operator:
    """One node. inputs: None stands for an operand left out. place: where it stood in the file, for messages."""

    code: OperatorCode
    inputs: list[Tensor | None]
    outputs: list[Tensor]
    options: Table | None = None
    options_2: Table | None = None
    custom_options: Array | None = None
    custom_options_format: int = 0
    mutating_variable_inputs: Array | None = None
    intermediates: list[Tensor] | None = None
    place: str = ""
    debug_metadata_index: int = -1
    absent: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.code.name

    @property
    def label(self) -> str:
        """For messages: "CONV_2D #12 'model/conv/BiasAdd'"."""
        out = self.outputs[0].label if self.outputs else "without outputs"
        return f"{shown(self.name.encode())} {self.place + ' ' if self.place else ''}{out}"

    def input(self, position: int) -> Tensor | None:
        """The operand at a position, None where it is left out or beyond the end."""
        return self.inputs[position] if position < len(self.inputs) else None

    def option(self, name: str, default: Any = 0) -> Any:
        """One field of the builtin options; the default where the operator has no options."""
        return default if self.options is None else self.options.get(name, default)

    @property
    def activation(self) -> int:
        """The fused activation, an ActivationFunctionType; NONE where the operator has none."""
        return int(self.option("fused_activation_function", ActivationFunctionType.NONE))

    def like(self, **changes: Any) -> Operator:
        """A new operator with the same properties but for those named."""
        return replace(self, **changes)


@dataclass(eq=False)
class Subgraph:
    """tensors: all of them, in file order; operators: in execution order."""

    tensors: list[Tensor]
    inputs: list[Tensor]
    outputs: list[Tensor]
    operators: list[Operator]
    name: bytes | None = None
    debug_metadata_index: int = -1
    absent: frozenset[str] = frozenset()


@dataclass(eq=False)
class Signature:
    """inputs and outputs: (name, tensor) in file order."""

    key: bytes | None
    inputs: list[tuple[bytes | None, Tensor]]
    outputs: list[tuple[bytes | None, Tensor]]
    subgraph_index: int = 0
    absent: frozenset[str] = frozenset()


@dataclass(eq=False)
class Metadata:
    """A named buffer. OfflineMemoryAllocation is not among them: it lives in Tensor.arena_offset."""

    name: bytes | None
    buffer: Buffer


@dataclass(eq=False)
class Model:
    """buffers[0] is the empty one that values without data share. tail: bytes behind the flatbuffer (a ZIP archive).

    memory_plan_version: of the OfflineMemoryAllocation, whose offsets are in Tensor.arena_offset; None without one.
    memory_plan_at: its place in the metadata. memory_plan_subgraphs: its second word as in the file (writers disagree
    whether it counts subgraphs). memory_plan_buffer: where it is stored, None for a buffer of its own at the end.
    notes: what was left out when the file was read.
    """

    subgraphs: list[Subgraph]
    operator_codes: list[OperatorCode]
    buffers: list[Buffer]
    version: int = 3
    description: bytes | None = None
    signatures: list[Signature] | None = None
    metadata: list[Metadata] | None = None
    metadata_buffer: list[Buffer] | None = None
    memory_plan_version: int | None = None
    memory_plan_at: int = 0
    memory_plan_subgraphs: int = 1
    memory_plan_buffer: Buffer | None = None
    tail: bytes = b""
    notes: list[str] = field(default_factory=list)
    absent: frozenset[str] = frozenset()

    @property
    def operators(self) -> Iterator[Operator]:
        """All operators of all subgraphs."""
        return (o for g in self.subgraphs for o in g.operators)
