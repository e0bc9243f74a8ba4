"""How large an arena must be: what is computed next to what the interpreter reports, and budgets."""
from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.memory.graphs import random_graph
from tests.memory.test_plans import model
from tflfuse import cli, flatbuffer, memory
from tflfuse.arena import Needs, needs
from tflfuse.errors import Refused
from tflfuse.packing import CUSTOM
from tflfuse.pipeline import fuse
from tflfuse.tail import DEVICE, tail_bytes
from tflfuse.tflm import Interpreter, TflmError

FOLDER = os.environ.get("TFLFUSE_MODELS")
FILES = [f for f in sorted(Path(FOLDER).glob("*.tflite"))] if FOLDER else []
ROUGH = {"mww_okay_nabu", "tflm_keyword_scrambled", "tflm_trained_lstm_int8", "tflm_transpose_conv0", "tinyengine_vww"}
"""Models with kernels whose structures are only counted roughly."""

MEASURED = {"mlperftiny_vww_96_int8": 100_708, "mlperftiny_kws_ref_model": 22_820, "tflm_person_detect": 82_308,
            "mlperftiny_model_ToyCar_quant_fullint_micro_intio": 2_580, "tinyengine_vww": 219_808,
            "mltk_keyword_spotting_mobilenetv2": 114_692, "cfu_model_mobilenetv2_160_035": 450_756}
"""Arenas of TFLM built for a Cortex-M4, as the interpreter there reports them."""


@pytest.mark.parametrize("seed", range(12))
def test_the_arena_of_random_graphs_is_known(seed: int) -> None:
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    for data in (flatbuffer.write(random_graph(seed)), fuse(flatbuffer.write(random_graph(seed))).model):
        graph = flatbuffer.read(data)
        assert needs(graph, memory.of_file(graph)).host == Interpreter(data).arena.total


@pytest.mark.skipif(not FILES, reason="TFLFUSE_MODELS names no folder with .tflite files")
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_the_arena_of_a_real_model_is_known(file: Path) -> None:
    data = fuse(file.read_bytes()).model
    graph = flatbuffer.read(data)
    try:
        total = Interpreter(data).arena.total
    except TflmError as error:
        pytest.skip(f"TFLM does not run it: {error}")
    found = needs(graph, memory.of_file(graph))
    assert found.host == total or file.stem in ROUGH and abs(found.host - total) < 0.2 * total


@pytest.mark.skipif(not FILES, reason="TFLFUSE_MODELS names no folder with .tflite files")
@pytest.mark.parametrize("name", MEASURED)
def test_the_arena_of_a_microcontroller_is_known(name: str) -> None:
    """To 64 bytes; what is told to put into a sketch is enough."""
    assert FOLDER is not None
    graph = flatbuffer.read((Path(FOLDER) / f"{name}.tflite").read_bytes())
    found = needs(graph, memory.of_file(graph))
    assert abs(found.head + found.device_tail - MEASURED[name]) <= 64 and found.device >= MEASURED[name]


def test_what_tflm_notes_while_it_plans() -> None:
    """Of a tensor or scratch buffer 24 bytes, of a place 40, of a request for scratch memory 12, and 12 more."""
    graph = flatbuffer.read(fuse(model()).model)
    scratch = sum(o.name == CUSTOM for o in graph.subgraphs[0].operators)
    constants = sum(t.is_constant for t in graph.subgraphs[0].tensors)
    tensors = len(graph.subgraphs[0].tensors)
    assert scratch and constants
    noted = 12 * (scratch + 12) + 24 * (tensors + scratch) + 40 * (tensors - constants + scratch)
    assert needs(graph, memory.of_file(graph)).planning == noted + tail_bytes(graph, DEVICE, planning=True)


def test_what_to_put_into_a_sketch() -> None:
    """What is kept, or what is noted while TFLM plans, whichever is more; 64 bytes besides; a multiple of 16."""
    assert Needs(head=480, host_tail=100, device_tail=32, planning=0).as_dict() == {
        "head": 480, "host": 580, "device": 576}
    assert Needs(head=480, host_tail=100, device_tail=32, planning=528).device == 592
    assert Needs(head=480, host_tail=100, device_tail=33, planning=512).device == 592


def files(folder: Path) -> tuple[str, str, str]:
    source = folder / "in.tflite"
    source.write_bytes(model())
    return str(source), str(folder / "out.tflite"), str(folder / "report.json")


def test_a_budget_buys_fewer_bytes_moved(tmp_path: Path) -> None:
    """With room to spare the whole network is one operator; the smallest arena takes what it takes."""
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    source, out, report = files(tmp_path)
    moved, totals = [], []
    for options in ([], ["--arena", "100000"]):
        assert cli.main([source, out, "-q", "--json", report, *options]) == 0
        found = json.loads(Path(report).read_text())
        totals.append(found["arena"]["after"])
        moved.append(sum(b["size"] for b in found["memory"]["buffers"] if not b["scratch"]))
    assert totals[0] <= totals[1] <= 100_000 and moved[1] <= moved[0]


def test_a_budget_is_kept_to_the_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The smallest arena fits itself; one byte less fits nothing, and the message names what stands in the way."""
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    source, out, report = files(tmp_path)
    assert cli.main([source, out, "-q", "--json", report]) == 0
    least = json.loads(Path(report).read_text())["arena"]["after"]
    assert cli.main([source, out, "-q", "--arena", str(least)]) == 0
    assert Interpreter(Path(out).read_bytes()).arena.total == least
    Path(out).unlink()
    assert cli.main([source, out, "-q", "--arena", str(least - 1)]) == 4
    said = capsys.readouterr().err
    assert f"the smallest arena found is {least:,} bytes" in said and "'t0' (1,152)" in said and "at once" in said
    assert not Path(out).exists()


def test_the_report_says_where_everything_lies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out, report = files(tmp_path)
    assert cli.main([source, out, "-v", "--no-verify", "--json", report]) == 0
    found = json.loads(Path(report).read_text())["memory"]
    assert found["plan"] == "written to the file" and found["head"] < found["head_by_interpreter"]
    assert found["before"]["device"] > found["after"]["device"] >= found["head"]
    scratch = [b for b in found["buffers"] if b["scratch"]]
    assert scratch and all(b["first"] == b["last"] for b in scratch)
    assert max(b["offset"] + b["size"] for b in found["buffers"]) == found["head"]
    said = capsys.readouterr().out
    assert f"-> {found['after']['device']:,} bytes" in said and "from step 0 to 1: 't0'" in said


def test_no_memory_plan_leaves_it_to_tflm(tmp_path: Path) -> None:
    source, out, report = files(tmp_path)
    assert cli.main([source, out, "-q", "--no-memory-plan", "--json", report]) == 0
    assert flatbuffer.read(Path(out).read_bytes()).memory_plan_version is None
    assert json.loads(Path(report).read_text())["memory"]["plan"].startswith("left to the interpreter")


def test_sizes_that_are_not_known_are_said() -> None:
    graph = flatbuffer.read(model())
    graph.subgraphs[0].tensors[0].shape = (1, -1, 12, 8)
    with pytest.raises(Refused, match="a dimension is left open"):
        memory.of_file(graph)
