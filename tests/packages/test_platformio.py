"""The pack as a library of PlatformIO, by the rules of library.json."""
from __future__ import annotations

import json
import re
from typing import Any

from .building import PACK, SOURCES, TFLM_HEADERS, compile_all, every_cpu, version

FIELDS = {"name", "version", "description", "keywords", "authors", "license", "frameworks", "platforms", "headers",
          "export", "examples"}
"""Those that are used, all of them known to the manifest's rules."""


def manifest() -> Any:
    return json.loads((PACK / "library.json").read_text())


def test_the_manifest_follows_the_rules() -> None:
    m = manifest()
    assert set(m) == FIELDS
    assert re.fullmatch(r"[^:;/,@<>]{1,100}", m["name"])
    assert m["version"] == version()
    assert 0 < len(m["description"]) <= 255
    assert all(re.fullmatch(r"[a-z\d\-+. ]{1,50}", keyword) for keyword in m["keywords"])
    assert m["license"] == "Apache-2.0"
    assert all(author["name"] for author in m["authors"])
    assert m["frameworks"] == m["platforms"] == "*"


def test_files_named_exist() -> None:
    m = manifest()
    for header in m["headers"]:
        assert any((PACK / folder / header).is_file() for folder in ("include", "src"))
    assert all((PACK / folder).is_dir() for folder in m["export"]["exclude"])
    for example in m["examples"]:
        folder = PACK / example["base"]
        assert sorted(example["files"]) == sorted(path.name for path in folder.iterdir())


@every_cpu
def test_every_source_compiles(cpu: str) -> None:
    """By default PlatformIO compiles src and searches include and src; the standard is the framework's."""
    compile_all(cpu, SOURCES, "-std=gnu++11", "-Os", "-w", f"-I{PACK}/include", f"-I{PACK}/src", f"-I{TFLM_HEADERS}")
