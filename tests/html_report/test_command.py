"""--report, and Result.write with a report."""
from __future__ import annotations

from pathlib import Path

import pytest

from tests.html_report.models import blocks
from tests.html_report.page import parsed
from tflfuse import cli
from tflfuse.pipeline import fuse


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "secret folder" / "model.tflite"
    path.parent.mkdir()
    path.write_bytes(blocks(1))
    return path


def test_the_command_writes_the_page_beside_the_model(model: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out.tflite", tmp_path / "report.html"
    assert cli.main([str(model), str(out), "--report", str(page), "-q"]) == 0
    text = page.read_text("utf-8")
    assert parsed(text).one("h1").text == "model.tflite" and "secret folder" not in text
    assert "all outputs equal" in parsed(text).one("section", id="verification").text
    assert out.is_file()


def test_it_goes_with_explain(model: Path, tmp_path: Path) -> None:
    assert cli.main([str(model), "--explain", "--no-verify", "--report", str(tmp_path / "r.html"), "-q"]) == 0
    assert {p.name for p in tmp_path.iterdir()} == {"secret folder", "r.html"}


def test_it_has_the_notes_of_the_firmware_files(model: Path, tmp_path: Path,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    page, sketch = tmp_path / "r.html", tmp_path / "sketch"
    options = ["--sketch", str(sketch), "--report", str(page), "--no-verify"]
    for _ in range(2):  # the second time the sketch is there and keeps its .ino file, which a note tells
        assert cli.main([str(model), str(tmp_path / "o.tflite"), *options]) == 0
    said = capsys.readouterr().out
    note = next(line for line in said.splitlines() if ".ino" in line)
    assert note.removeprefix("note: ").strip() in parsed(page.read_text("utf-8")).one("section", id="refusals").text


def test_it_is_not_written_where_nothing_else_is(model: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    assert cli.main([str(model), str(tmp_path / "missing" / "o.tflite"), "--report", str(page), "-q"]) == 2
    assert not page.exists()


def test_it_takes_no_other_outputs_place(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "o.tflite"
    assert cli.main([str(model), str(out), "--report", str(out), "-q"]) == 2
    assert "would be written over by another output" in capsys.readouterr().err and not out.exists()


def test_it_is_for_one_model(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.tflite"
    other.write_bytes(model.read_bytes())
    with pytest.raises(SystemExit):
        cli.main([str(model), str(other), "-o", f"{tmp_path / 'out'}/", "--report", "r.html"])
    assert "--report is for one IN, not for several" in capsys.readouterr().err


def test_a_result_writes_it_too(tmp_path: Path) -> None:
    fuse(blocks(1)).write(tmp_path / "fused.tflite", report=tmp_path / "r.html")
    assert parsed((tmp_path / "r.html").read_text("utf-8")).one("h1").text == "fused.tflite"
