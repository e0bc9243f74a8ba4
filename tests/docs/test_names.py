"""Options, files and functions that the docs name exist."""
from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tflfuse

from .markdown import FILES, PROJECT, spans

OURS = ("scripts/", "tests/", "examples/", "tflfuse/", "tflm_kernels/", "schema/", "src/", "python/", "include/")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
OTHER_PROGRAMS = re.compile(r"`(?:pip|mypy|vela|python examples/|scripts/)[^`]*`")
every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: os.fspath(file.relative_to(PROJECT)))


def test_the_options_that_the_readme_names_are_those_of_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "tflfuse", "--help"], capture_output=True, text=True, cwd=PROJECT)
    offered = set(OPTION.findall(done.stdout))
    named = set(OPTION.findall(OTHER_PROGRAMS.sub("", (PROJECT / "README.md").read_text())))
    assert {"--builtin-only", "--arena"} <= named <= offered


def test_what_the_owner_fills_in_is_listed() -> None:
    """Places that hold the place of an address, in the list of what a release needs."""
    release = (PROJECT / "CONTRIBUTING.md").read_text().partition("## Release")[2]
    pack = [path for path in (PROJECT / "tflm_kernels").iterdir() if path.is_file() and path.suffix != ".md"]
    for words in (".example/", "tflfuse maintainers"):
        holding = [path.name for path in (*pack, PROJECT / "setup.cfg") if words in path.read_text()]
        assert holding and words in release and all(f"`tflm_kernels/{name}`" in release for name in holding)


@every_file
def test_paths_lead_somewhere(file: Path) -> None:
    """From the project or from the file's own folder. <name> stands for any."""
    for span in spans(file):
        if not span.startswith(OURS) or " " in span or "(" in span:
            continue
        pattern = re.sub(r"<\w+>", "*", span).rstrip("/")
        assert any(list(folder.glob(pattern)) for folder in (PROJECT, file.parent, file.parent / "include")), span


@every_file
def test_links_lead_somewhere(file: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", file.read_text()):
        assert target.startswith("https://") or (file.parent / target).exists(), target


@every_file
def test_names_of_the_module_exist(file: Path) -> None:
    for name in re.findall(r"\btflfuse\.([a-z]\w+)\b(?!\.|/)", file.read_text()):
        if name not in ("h", "tflite"):
            assert name in dir(tflfuse) or (PROJECT / f"tflfuse/{name}.py").is_file(), name
