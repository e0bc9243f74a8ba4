"""The files for a firmware project: what is in them, and when they are written."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.build import Build
from tests.converted import DATA
from tflfuse import cli, flatbuffer, resolver
from tflfuse.c_array import constant_of, stem_of
from tflfuse.errors import TflfuseError
from tflfuse.pipeline import fuse

MODEL = DATA / "squeeze_excite_open_batch.tflite"


def made(folder: Path, *options: str, source: Path = MODEL) -> int:
    """The exit code of fusing to folder/out.tflite."""
    return cli.main([str(source), str(folder / "out.tflite"), "--no-verify", "-q", *options])


def custom_model(name: str) -> bytes:
    b = Build()
    x = b.input((1, 4), scale=0.1)
    return b.bytes(b.op(f"CUSTOM:{name}", [x], (1, 4), scale=0.1))


@pytest.mark.parametrize("name, call", [
    ("CONV_2D", "resolver.AddConv2D()"), ("DEPTHWISE_CONV_2D", "resolver.AddDepthwiseConv2D()"),
    ("L2_POOL_2D", "resolver.AddL2Pool2D()"), ("RELU6", "resolver.AddRelu6()"), ("ADD_N", "resolver.AddAddN()"),
    ("SPACE_TO_BATCH_ND", "resolver.AddSpaceToBatchNd()"), ("BATCH_MATMUL", "resolver.AddBatchMatMul()"),
    ("UNIDIRECTIONAL_SEQUENCE_LSTM", "resolver.AddUnidirectionalSequenceLSTM()"), ("PADV2", "resolver.AddPadV2()"),
    ("CUSTOM:TFLFUSE_CHAIN_1", "tflfuse::AddChain(resolver)"), ("CUSTOM:SignalPCAN", "resolver.AddPCAN()"),
    ("CUSTOM:TFLite_Detection_PostProcess", "resolver.AddDetectionPostprocess()")])
def test_a_call_is_named_as_in_tflms_resolver(name: str, call: str) -> None:
    assert resolver.call_of(name) == call


@pytest.mark.parametrize("name", ["RELU_N1_TO_1", "CUSTOM:Mine"])
def test_what_tflms_resolver_cannot_add_is_refused(name: str) -> None:
    with pytest.raises(TflfuseError, match=f"no function that adds {name}"):
        resolver.call_of(name)


def test_the_resolver_has_each_kind_of_operator_once() -> None:
    text = resolver.header(flatbuffer.read((DATA / "bn_after_add.tflite").read_bytes()), "ops.h", "x")
    assert re.findall(r"Add\w+\(\)", text) == ["AddAdd()", "AddConv2D()", "AddMul()"]
    assert "MicroMutableOpResolver<3>" in text and "tflfuse/" not in text


def test_operators_of_every_subgraph_are_in_it() -> None:
    model = flatbuffer.read((DATA / "bn_after_add.tflite").read_bytes())
    other = flatbuffer.read((DATA / "relu_after_mean.tflite").read_bytes())
    model.subgraphs += other.subgraphs
    assert "resolver.AddMean()" in resolver.calls_of(model)


@pytest.mark.parametrize("name, kind", [("ops.h", ""), ("resolver.h", ""), ("person_ops.h", "Person"),
                                        ("person-detect.h", "PersonDetect"), ("2d.h", "Model2d"), ("ü.h", "")])
def test_names_in_the_resolver_follow_the_files(name: str, kind: str) -> None:
    text = resolver.header(flatbuffer.read(MODEL.read_bytes()), name, "x")
    assert f"using {kind}Resolver = " in text and f" Add{kind}Ops({kind}Resolver& resolver)" in text


@pytest.mark.parametrize("name, stem, constant", [("model.cc", "model", "kModel"), ("a-b.c.cc", "a_b_c", "kABC"),
                                                  ("ü.cc", "model", "kModel"), ("2d.cc", "2d", "k2d")])
def test_names_in_the_array_follow_the_files(name: str, stem: str, constant: str) -> None:
    assert stem_of(name) == stem and constant_of(name) == constant


@pytest.mark.parametrize("path", sorted(DATA.glob("*.tflite")), ids=lambda path: path.stem)
def test_the_arena_size_is_that_of_the_report(path: Path, tmp_path: Path) -> None:
    result = fuse(path.read_bytes())
    assert result.report.memory is not None
    assert made(tmp_path, "--c-array", str(tmp_path / "m.cc"), source=path) == 0
    assert f"kMArenaSize = {result.report.memory.after.device};" in (tmp_path / "m.h").read_text()


def test_the_calls_of_a_sketch_fit_its_resolver(tmp_path: Path) -> None:
    assert made(tmp_path, "--sketch", str(tmp_path / "demo")) == 0
    text = (tmp_path / "demo/ops.h").read_text()
    assert "MicroMutableOpResolver<2>" in text and "#include <tflfuse.h>" in text
    assert "tflfuse::AddChain(resolver)" in text and "resolver.AddMul()" in text


def test_a_lowered_model_gets_its_own_files(tmp_path: Path) -> None:
    assert made(tmp_path) == 0
    out = tmp_path / "lowered.tflite"
    assert cli.main([str(tmp_path / "out.tflite"), str(out), "--lower", "-q", "--no-verify", "--sketch",
                     str(tmp_path / "demo")]) == 0
    text = (tmp_path / "demo/ops.h").read_text()
    assert "tflfuse::" not in text and "AddConv2D()" in text
    assert f"kModelLength = {out.stat().st_size};" in (tmp_path / "demo/model.h").read_text()


def test_a_sketch_that_is_there_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sketch = tmp_path / "demo/demo.ino"
    sketch.parent.mkdir()
    sketch.write_text("mine")
    (sketch.parent / "model.h").write_text("old")
    assert cli.main([str(MODEL), str(tmp_path / "out.tflite"), "--no-verify", "--sketch", str(sketch.parent)]) == 0
    assert f"{sketch} was there and is kept" in capsys.readouterr().out
    assert sketch.read_text() == "mine" and "kModelLength" in (sketch.parent / "model.h").read_text()


@pytest.mark.parametrize("options, said", [
    (["--resolver", "out.tflite"], "written over"), (["--resolver", "in.tflite"], "written over"),
    (["--c-array", "m.cc", "--resolver", "m.h"], "written over"), (["--c-array", "model.c"], "does not end in"),
    (["--c-array", 'a"b.cc'], "no #include could name the header"),
    (["--c-array", "a\\.cc"], "no #include could name the header"),
    (["--c-array", "a\udcff.cc"], "no #include could name the header"),
    (["--sketch", "no sketch"], "no name for a sketch"), (["--sketch", "no/folder"], "no/folder"),
    (["--sketch", "in.tflite"], "in.tflite"), (["--sketch", "demo", "--json", "no/x.json"], "no/x.json")])
def test_where_one_cannot_be_written_none_is(options: list[str], said: str, tmp_path: Path,
                                             monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.tflite").write_bytes(MODEL.read_bytes())
    assert made(Path(), *options, source=Path("in.tflite")) == 2
    found = capsys.readouterr()
    assert said in found.err and found.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.tflite"]
    assert Path("in.tflite").read_bytes() == MODEL.read_bytes()


def test_without_an_arena_size_there_is_no_array(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    b = Build()
    model = tmp_path / "in.tflite"
    model.write_bytes(b.bytes(b.op("RELU", [b.input((1, -1), scale=0.1)], (1, -1), scale=0.1)))
    assert made(tmp_path, "--c-array", str(tmp_path / "m.cc"), source=model) == 2
    assert "the arena's size is not known: a dimension is left open" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in.tflite"]


def test_an_operator_that_no_resolver_has_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "in.tflite"
    model.write_bytes(custom_model("Mine"))
    assert made(tmp_path, "--sketch", str(tmp_path / "demo"), source=model) == 2
    assert "no function that adds CUSTOM:Mine" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in.tflite"]


def test_explaining_writes_no_firmware(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main([str(MODEL), "--explain", "--sketch", str(tmp_path / "demo")])
    assert end.value.code == 2 and not list(tmp_path.iterdir())


def test_a_name_of_a_file_cannot_end_a_comment(tmp_path: Path) -> None:
    out = tmp_path / "a\n#error\\"
    assert cli.main([str(MODEL), str(out), "--no-verify", "-q", "--c-array", str(tmp_path / "m.cc")]) == 0
    first, second = (tmp_path / "m.cc").read_text().splitlines()[:2]
    assert first.startswith("// a?#error as an array") and second.startswith("#include")
