"""A model's bytes come from a file that ends."""
from __future__ import annotations

from pathlib import Path

import pytest

from tflfuse.cli import main
from tflfuse.errors import TflfuseError
from tflfuse.source import model_bytes


def test_it_reads_as_many_bytes_as_are_allowed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert model_bytes(path, most=5) == b"12345"
    with pytest.raises(TflfuseError, match="no .tflite file has more than 4 bytes"):
        model_bytes(path, most=4)


def test_what_never_ends_is_refused() -> None:
    with pytest.raises(TflfuseError, match="more than 1,000 bytes"):
        model_bytes(Path("/dev/zero"), most=1000)


def test_of_a_folder_it_says_how_to_take_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), str(tmp_path / "out.tflite")]) == 2
    assert capsys.readouterr().err == f"tflfuse: {tmp_path}: a folder; IN/*.tflite -o OUT/ takes each file in it\n"
