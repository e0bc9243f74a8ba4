"""The certificate of a fused file, and the proof that it was made of its original."""
from __future__ import annotations

from collections.abc import Callable
from configparser import ConfigParser
from pathlib import Path

import numpy as np
import pytest

from tests.build import Build, random_int8
from tflfuse import flatbuffer
from tflfuse.certificate import VERSION, Certificate, Rewrite, certificate_of, digest_of, fused_operators
from tflfuse.check import Uncertified, check, difference_of, rewritten
from tflfuse.chain_codec import Header, Kind, StageRecord, ValueRecord
from tflfuse.errors import BadModel
from tflfuse.ir import Array, Buffer, Model, Quantization, Tensor
from tflfuse.packing import CUSTOM
from tflfuse.pipeline import fuse, lower
from tflfuse.proof import Differs

Change = Callable[[Model], None]


def convolution(b: Build, rng: np.random.Generator, x: Tensor, kind: str, size: int) -> Tensor:
    channels = x.shape[3]
    shape = (1, size, size, channels) if kind == "DEPTHWISE_CONV_2D" else (channels, size, size, channels)
    w = b.constant(random_int8(rng, shape), scale=rng.uniform(0.01, 0.02, channels), axis=3 if shape[0] == 1 else 0)
    bias = b.constant(rng.integers(-99, 99, channels).astype(np.int32))
    return b.conv(x, w, bias, 0.1, 3, kind=kind)


def original(seed: int = 0) -> bytes:
    """Two runs, kept apart by an operator that is not fused."""
    b, rng = Build(), np.random.default_rng(seed)
    x = b.input((1, 8, 8, 8), scale=0.1, zero_point=3)
    for _ in range(2):
        y = convolution(b, rng, convolution(b, rng, x, "CONV_2D", 3), "DEPTHWISE_CONV_2D", 3)
        x = b.op("SOFTMAX", [y], y.shape, scale=1 / 256, zero_point=-128, beta=1.0)
    return b.bytes(x)


def changed(data: bytes, change: Change) -> bytes:
    model = flatbuffer.read(data)
    change(model)
    return flatbuffer.write(model)


def constants(model: Model) -> Tensor:
    tensor = fused_operators(model)[0].inputs[-1]
    assert tensor is not None
    return tensor


def set_bytes(tensor: Tensor, values: Array) -> None:
    tensor.buffer = Buffer(np.frombuffer(values.tobytes(), np.uint8))


def convolution_record(model: Model, position: int = 0) -> StageRecord:
    options = fused_operators(model)[position].custom_options
    assert options is not None
    header = Header.unpack(options.tobytes())
    begin = Header.SIZE + (header.inputs + header.stages) * ValueRecord.SIZE
    records = [StageRecord.unpack(options.tobytes(), begin + k * StageRecord.SIZE) for k in range(header.stages)]
    return next(record for record in records if record.kind == Kind.CONV)


def flip(model: Model, at: int) -> None:
    values = constants(model).array().copy()
    values.reshape(-1).view(np.uint8)[at] ^= 1
    for operator in fused_operators(model):
        tensor = operator.inputs[-1]
        assert tensor is not None
        set_bytes(tensor, values)


def flip_a_weight_of_the_last(model: Model) -> None:
    flip(model, convolution_record(model, -1).weights + 5)


def flip_a_weight(model: Model) -> None:
    flip(model, convolution_record(model).weights + 5)


def flip_a_bias(model: Model) -> None:
    flip(model, convolution_record(model).bias)


def move_a_zero_point(model: Model) -> None:
    """Of the value between the two fused operators."""
    tensor = fused_operators(model)[1].inputs[0]
    assert tensor is not None
    tensor.quantization = Quantization.of(tensor.scale, tensor.zero_point + 1)


def swap_operators(model: Model) -> None:
    """Each fused operator gets the other one's options."""
    a, b = fused_operators(model)
    a.custom_options, b.custom_options = b.custom_options, a.custom_options


def rewrite_certificate(change: Callable[[str], str]) -> Change:
    def apply(model: Model) -> None:
        entry = next(m for m in model.metadata or () if m.name == b"tflfuse")
        assert entry.buffer.data is not None
        text = change(entry.buffer.data.tobytes().decode())
        entry.buffer.data = np.frombuffer(text.encode(), np.uint8)
    return apply


def swap_groups(text: str) -> str:
    first, *lines, groups = text.split("\n")
    rule, a, b = groups.split(" ")
    return "\n".join([first, *lines, f"{rule} {b} {a}"])


def move_a_tensor(model: Model) -> None:
    tensor = fused_operators(model)[0].outputs[0]
    tensor.arena_offset += 16


def renumber(model: Model) -> None:
    """Other numbers for tensors and buffers, and other names."""
    graph = model.subgraphs[0]
    graph.tensors = graph.tensors[::-1]
    model.buffers = [model.buffers[0], *model.buffers[:0:-1]]
    for number, tensor in enumerate(graph.tensors):
        tensor.name = b"other%d" % number


@pytest.fixture(scope="module")
def fused() -> bytes:
    return fuse(original()).model


def test_a_rewrite_is_a_line() -> None:
    rewrite = Rewrite("0.1.0", exact=True, memory_plan=False, arena=50000, left_out=2)
    assert rewrite.line() == "tflfuse 0.1.0 exact=1 memory_plan=0 arena=50000 left_out=2"
    assert Rewrite.of(rewrite.line()) == rewrite


def test_a_fused_file_says_what_its_operators_replace(fused: bytes) -> None:
    source, model = flatbuffer.read(original()).subgraphs[0].operators, flatbuffer.read(fused)
    certificate = certificate_of(model)
    assert certificate is not None and [r.line() for r in certificate.rewrites] == ["tflfuse 0.1.0"]
    told = [(g.rule, g.stages, g.digest) for g in certificate.groups]
    assert told == [("chain_runs", 2, digest_of(source[0:2])), ("chain_runs", 2, digest_of(source[3:5]))]
    assert Certificate.parsed(certificate.text()) == certificate


def test_the_version_is_the_package_s() -> None:
    config = ConfigParser()
    config.read(Path(__file__).parent.parent / "setup.cfg")
    assert config["metadata"]["version"] == VERSION


def test_it_takes_little_room(fused: bytes) -> None:
    bare = flatbuffer.read(fused)
    bare.metadata = [m for m in bare.metadata or () if m.name != b"tflfuse"]
    assert len(fused) - len(flatbuffer.write(bare)) <= 150


def test_no_certificate_without_a_fused_operator() -> None:
    assert certificate_of(flatbuffer.read(fuse(original(), custom_ops=False).model)) is None


def test_lowering_takes_it_away(fused: bytes) -> None:
    lowered = lower(fused).model
    assert certificate_of(flatbuffer.read(lowered)) is None and b"chain_runs" not in lowered


def test_a_second_run_changes_nothing(fused: bytes) -> None:
    assert fuse(fused).model == fused


def test_a_second_run_that_changes_something_adds_to_it() -> None:
    def lengthen(model: Model) -> None:
        """One more run, which the first rewrite did not see."""
        graph = model.subgraphs[0]
        more = flatbuffer.read(original(1)).subgraphs[0]
        more.operators[0].inputs[0] = graph.outputs[0]
        graph.operators += more.operators
        graph.outputs = more.outputs
        graph.tensors += [t for t in more.tensors if t not in more.inputs]

    once = fuse(original(), memory_plan=False).model
    longer = changed(once, lengthen)
    twice = fuse(longer, exact=True).model
    certificates = [certificate_of(flatbuffer.read(data)) for data in (once, twice)]
    assert certificates[0] is not None and certificates[1] is not None
    assert [r.line() for r in certificates[1].rewrites] == ["tflfuse 0.1.0 memory_plan=0", "tflfuse 0.1.0 exact=1"]
    count = len(certificates[0].groups)
    assert certificates[1].groups[:count] == certificates[0].groups and len(certificates[1].groups) > count


def test_an_operator_of_unknown_origin_is_not_certified(fused: bytes) -> None:
    def strip(model: Model) -> None:
        model.metadata = None
        model.memory_plan_version = None

    again = fuse(changed(fused, strip))
    assert again.model != fused and certificate_of(flatbuffer.read(again.model)) is None
    assert any("it gets no certificate" in note for note in again.report.notes)


def test_a_certificate_that_does_not_fit_is_not_used(fused: bytes) -> None:
    def cut(model: Model) -> None:
        rewrite_certificate(lambda text: text.rsplit(" ", 1)[0])(model)
        model.memory_plan_version = None

    again = fuse(changed(fused, cut))
    assert certificate_of(flatbuffer.read(again.model)) is None
    assert any("tells of 1 fused operators, it has 2; it is not used" in note for note in again.report.notes)


def test_the_file_is_proved(fused: bytes) -> None:
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    assert check(fused, original()).startswith("2 fused operators derived once more; all outputs equal")


def test_every_option_is_told() -> None:
    for options in (Rewrite(exact=True), Rewrite(memory_plan=False), Rewrite(arena=50000), Rewrite(keep_dynamic=True)):
        file = rewritten(original(), options).model
        certificate = certificate_of(flatbuffer.read(file))
        assert certificate is not None and certificate.rewrites == (options,)


def test_steps_that_were_left_out_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def settled(model: bytes, **options: object) -> tuple[object]:
        asked.append((model, options))
        return (asked,)

    monkeypatch.setattr("tflfuse.check.settled", settled)
    assert rewritten(b"model", Rewrite(exact=True, left_out=1)) is asked  # type: ignore[comparison-overlap]
    assert asked == [(b"model", {"exact": True, "keep_dynamic": False, "memory_plan": True, "arena": None})]


def test_renumbered_it_is_still_proved(fused: bytes) -> None:
    other = changed(fused, renumber)
    assert other != fused and difference_of(other, fused) is None
    assert check(other, original(), runs=1)


@pytest.mark.parametrize("change, reason", [
    (flip_a_weight, "a Convolution, has other weights"),
    (flip_a_weight_of_the_last, r"#2 .*a Convolution, has other weights"),
    (flip_a_bias, "a Convolution, has other bias"),
    (move_a_zero_point, "the quantization of 't7' is another one"),
    (swap_operators, "its inputs are described otherwise"),
    (rewrite_certificate(swap_groups), "its certificate tells of other operators"),
    (move_a_tensor, "the place in the arena of"),
])
def test_what_was_changed_is_found(fused: bytes, change: Change, reason: str) -> None:
    with pytest.raises(Differs, match=reason):
        check(changed(fused, change), original())


def test_another_original_is_found(fused: bytes) -> None:
    with pytest.raises(Differs, match="a Convolution, has other weights"):
        check(fused, original(1))


def test_a_file_is_not_made_of_itself(fused: bytes) -> None:
    with pytest.raises(Differs, match="as many rewrites are certified in its original"):
        check(fused, fused)


def test_a_rewrite_that_changes_nothing_ends_the_proof(fused: bytes) -> None:
    longer = changed(fused, rewrite_certificate(lambda text: "tflfuse 0.1.0\n" * 1000 + text))
    with pytest.raises(Differs, match="it is certified as 'tflfuse 0.1.0', which changes nothing"):
        check(longer, original())


def test_a_file_of_another_version_says_so(fused: bytes) -> None:
    old = changed(fused, rewrite_certificate(lambda text: text.replace("0.1.0", "0.0.9")))
    with pytest.raises(Differs, match=r"tells of other .* \(it was made by tflfuse 0.0.9, this is 0.1.0\)"):
        check(old, original())


def test_without_a_certificate_nothing_is_proved(fused: bytes) -> None:
    def strip(model: Model) -> None:
        model.metadata = [m for m in model.metadata or () if m.name != b"tflfuse"]

    with pytest.raises(Uncertified, match="it has no certificate"):
        check(changed(fused, strip), original())


@pytest.mark.parametrize("text", ["", "tflfuse", "tflfuse 0.1.0", "tflfuse 0.1.0\nchain_runs",
                                  "other 1\nchain_runs 2:a", "tflfuse 0.1.0 speed=1\nchain_runs 2:a",
                                  "tflfuse 0.1.0 exact=x\nchain_runs 2:a",
                                  "tflfuse 0.1.0\nchain_runs two:a", "tflfuse 0.1.0\nchain_runs 2:a\n"])
def test_a_certificate_that_is_none_is_refused(fused: bytes, text: str) -> None:
    with pytest.raises(BadModel, match="its certificate, the metadata 'tflfuse', cannot be read"):
        check(changed(fused, rewrite_certificate(lambda _: text)), original())


def test_the_digest_is_of_all_that_counts() -> None:
    def digest(change: Change = lambda model: None) -> str:
        model = flatbuffer.read(original())
        change(model)
        return digest_of(model.subgraphs[0].operators)

    def set_weight(model: Model) -> None:
        weights = model.subgraphs[0].operators[0].inputs[1]
        assert weights is not None
        set_bytes(weights, weights.array() ^ 1)

    def set_scale(model: Model) -> None:
        model.subgraphs[0].inputs[0].quantization = Quantization.of(0.25, 3)

    def set_stride(model: Model) -> None:
        operator = model.subgraphs[0].operators[0]
        assert operator.options is not None
        operator.options = operator.options.with_(stride_h=2)

    def swap_readers(model: Model) -> None:
        operators = model.subgraphs[0].operators
        operators[1].inputs[0] = operators[0].inputs[0]

    digests = [digest(), *map(digest, (set_weight, set_scale, set_stride, swap_readers))]
    assert len(set(digests)) == 5 and digest(renumber) == digests[0]
    assert fused_operators(flatbuffer.read(original())) == [] and CUSTOM.startswith("CUSTOM:")
