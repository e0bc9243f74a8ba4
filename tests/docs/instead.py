"""The commands of the docs that a test cannot run as they stand: why, and what is run instead.

Every other command is run literally by test_commands.py. A command that is neither there nor runs fails that test.
"""
from __future__ import annotations

import configparser
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests import readme
from tests.cortexm import meter
from tests.packages import test_cmake
from tests.packages.building import PACK, run

from . import training
from .markdown import PROJECT

RECORDER = """#!/bin/sh
echo "$@" >>"{log}"
exec "{python}" {arguments}
"""


@dataclass(frozen=True)
class Instead:
    reason: str
    check: Callable[[str, Path, pytest.MonkeyPatch], None]


def names_extras_that_exist(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = configparser.ConfigParser()
    config.read(PROJECT / "setup.cfg")
    extras = re.findall(r"\[([\w,]+)\]", command)
    assert extras, command
    assert {name for found in extras for name in found.split(",")} <= set(config["options.extras_require"])


def names_dependencies(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages that the project asks for by these names."""
    config = configparser.ConfigParser()
    config.read(PROJECT / "setup.cfg")
    asked = config["options"]["install_requires"].split() + config["options.extras_require"]["test"].split()
    assert set(command.removeprefix("pip install ").replace("--upgrade ", "").split()) <= set(asked)


def copy_of_scripts(folder: Path, arguments: str = '"$@"') -> Path:
    """The project in `folder`, set up with this Python; what it is called with goes to the log that is returned."""
    log = folder / "log"
    for name in ("scripts", "examples"):
        shutil.copytree(PROJECT / name, folder / name)
    (folder / "scripts/setup").write_text(f'#!/bin/sh\necho setup "$@" >>"{log}"\n')
    python = folder / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(RECORDER.format(log=log, python=sys.executable, arguments=arguments))
    python.chmod(0o755)
    return log


def demo(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = copy_of_scripts(folder)
    monkeypatch.setenv("PYTHONPATH", os.fspath(PROJECT))
    assert "in the TFLM interpreter" in run([os.fspath(folder / command)])
    assert log.read_text().startswith("setup tflm\n-m tflfuse examples/residual_net.tflite ")


def whole_suite(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = copy_of_scripts(folder, "-c 'pass'")
    run([os.fspath(folder / command), "-k", "padding"])
    assert log.read_text().splitlines() == ["setup test", "-m flake8", "-m mypy --strict",
                                            "-m pytest -n auto -k padding"]


def setup_boards(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a dpkg-query that has everything it has nothing to do; without root it says what is missing."""
    for name, text in (("dpkg-query", "echo installed"), ("id", "echo 1000")):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    assert run([os.fspath(PROJECT / command)]) == ""
    (folder / "dpkg-query").write_text("#!/bin/sh\nexit 1\n")
    done = subprocess.run([PROJECT / command], capture_output=True, text=True)
    assert done.returncode == 1 and "sudo apt-get install cmake ninja-build" in done.stderr


def update_readme(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file with one small example; the test of the worked examples holds that the README is right."""
    example = "```\n$ python -m tflfuse tests/data/normalization.tflite fused.tflite\n"
    copy = folder / "README.md"
    copy.write_text(f"text\n{example}old\n```\nmore\n")
    monkeypatch.setattr(readme, "README", copy)
    runpy.run_path(os.fspath(PROJECT / command), run_name="__main__")
    assert re.fullmatch(f"text\n{re.escape(example)}operators .*\n```\nmore\n", copy.read_text(), re.DOTALL)


def make_sketch_model(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = "tflm_kernels/examples/fused_model/model.cpp"
    for name in (command, "tests/data/squeeze_excite_open_batch.tflite", kept):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, folder / name)
    (folder / kept).write_text("")
    monkeypatch.setenv("PYTHONPATH", os.fspath(PROJECT))
    run([sys.executable, os.fspath(folder / command)])
    assert (folder / kept).read_text() == (PROJECT / kept).read_text()


def make_test_models(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them; tests/test_converted.py converts them all."""
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: pip install tflfuse[tf]")
    from tests import converted
    name = "normalization"
    monkeypatch.setattr(converted, "DATA", folder)
    monkeypatch.setattr(converted, "FILES", {name: converted.FILES[name]})
    runpy.run_path(os.fspath(PROJECT / command), run_name="__main__")
    assert (folder / f"{name}.tflite").read_bytes()[4:8] == b"TFL3"


def make_example(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a copy, on a tenth of the images."""
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: pip install tflfuse[tf]")
    copy = folder / command
    copy.parent.mkdir()
    copy.write_text((PROJECT / command).read_text().replace("stripes(3000, ", "stripes(300, "))
    monkeypatch.setenv("PYTHONPATH", os.fspath(PROJECT))
    run([sys.executable, os.fspath(copy)])
    assert (folder / "examples/residual_net.tflite").read_bytes()[4:8] == b"TFL3"


def bench_peers(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the example alone: the README shows what it prints now."""
    pytest.importorskip("bakenn", reason="bakenn is not installed: pip install tflfuse[bench]")
    pytest.importorskip("ethosu", reason="Vela is not installed: pip install tflfuse[bench]")
    script = runpy.run_path(os.fspath(PROJECT / command))
    text = (PROJECT / "README.md").read_text()
    *shown, bakenn = script["row"](script["EXAMPLE"])
    assert bakenn == "refused" and f"| {script['EXAMPLE'].stem} | {' | '.join(shown)} |" in text
    assert script["main"](["nowhere.tflite"]) == 2
    assert all(f"\n| {name} | " in text for name in script["MODELS"])


def bench_cortexm(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/cortexm/test_bench.py runs it on a model; here its options, and that it starts."""
    if meter.missing() is not None:
        pytest.skip(str(meter.missing()))
    script = os.fspath(PROJECT / "scripts/bench_cortexm")
    offered = run([sys.executable, script, "--help"])
    assert all(option in offered for option in re.findall(r"--[\w-]+", command))
    done = subprocess.run([sys.executable, script, "nowhere.tflite"], capture_output=True, text=True)
    assert done.returncode == 2 and "nowhere.tflite" in done.stderr


def sizes(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/kernels/test_sizes.py looks at what it prints; here that it knows what it is asked for."""
    done = subprocess.run([PROJECT / command, "cortex-m99"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr


def a_part_of_the_suite(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = command.split()[1:]
    assert paths and all((PROJECT / path).exists() for path in paths)


def cmake(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a project with a target that stands for TFLM."""
    filled = command.replace("<this folder>", os.fspath(PACK)).replace("<the target that is TFLM>", "tflm")
    leads = filled if filled.startswith(("add_", "find_")) else f"add_subdirectory({PACK} tflfuse)"
    link = filled if filled.startswith("target_") else "target_link_libraries(tflfuse_ops PUBLIC tflm)"
    project = folder / "CMakeLists.txt"
    test_cmake.project(folder, leads)
    project.write_text(project.read_text().replace("target_link_libraries(tflfuse_ops PUBLIC tflm)", link))
    run(["cmake", "-S", os.fspath(folder), "-B", os.fspath(folder / "build"), f"-DCMAKE_PREFIX_PATH={PACK}"])
    run(["cmake", "--build", os.fspath(folder / "build")])
    run([os.fspath(folder / "build/application")])


def zephyr(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the folder that has the module's file, or an option that its Kconfig defines or TFLM's module does."""
    if command.startswith("-DZEPHYR_EXTRA_MODULES="):
        assert yaml.safe_load((PACK / "zephyr/module.yml").read_text())["build"]["cmake"] == "zephyr"
        return
    name = command.removeprefix("CONFIG_").removesuffix("=y")
    kconfig = (PACK / "zephyr/Kconfig").read_text()
    assert f"config {name}\n" in kconfig or f"depends on {name}\n" in kconfig


def platformio(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command == "lib_deps = symlink://<this folder>" and (PACK / "library.json").is_file()


NETWORK = "installs packages from the network; scripts/setup has done the same before the tests"
ELSEWHERE = "is for a build system that is not installed here; tests/packages compiles the pack as it does"
PARTS = "is one line of a CMake project: such a project is built"
INSTEAD: dict[str, Instead] = {
    "pip install '.[tflm]'": Instead(NETWORK, names_extras_that_exist),
    "pip install '.[tf]'": Instead(NETWORK, names_extras_that_exist),
    "pip install '.[tflm,tf]'": Instead(NETWORK, names_extras_that_exist),
    "pip install ai-edge-litert": Instead(NETWORK, names_dependencies),
    "pip install --upgrade tflite": Instead(NETWORK, names_dependencies),
    "python examples/train_and_fuse.py build/stripes": Instead("trains for a minute", training.on_few_images),
    "scripts/sizes": Instead("needs a cross compiler, and runs in another test where there is one", sizes),
    "scripts/bench_cortexm": Instead("takes minutes for some models", bench_cortexm),
    "scripts/bench_peers": Instead("takes minutes for all models", bench_peers),
    "scripts/demo": Instead("sets up a virtual environment first, from the network", demo),
    "scripts/test": Instead("sets up a virtual environment first, and runs this test", whole_suite),
    "scripts/setup_boards": Instead("installs packages as root", setup_boards),
    "scripts/update_readme.py": Instead("writes into the project", update_readme),
    "scripts/make_sketch_model.py": Instead("writes into the project", make_sketch_model),
    "scripts/make_test_models.py": Instead("writes into the project, and takes minutes", make_test_models),
    "scripts/make_example.py": Instead("writes into the project, and takes minutes", make_example),
    "add_subdirectory(<this folder> tflfuse)": Instead(PARTS, cmake),
    "find_package(tflfuse 0.1 REQUIRED CONFIG)": Instead(PARTS, cmake),
    "target_link_libraries(tflfuse_ops PUBLIC <the target that is TFLM>)": Instead(PARTS, cmake),
    "lib_deps = symlink://<this folder>": Instead(ELSEWHERE, platformio),
    "-DZEPHYR_EXTRA_MODULES=<this folder>": Instead(ELSEWHERE, zephyr),
    "CONFIG_TENSORFLOW_LITE_MICRO=y": Instead(ELSEWHERE, zephyr),
    "CONFIG_TFLFUSE=y": Instead(ELSEWHERE, zephyr),
}


PYTEST = Instead("runs tests of this suite", a_part_of_the_suite)


def instead_of(command: str) -> Instead | None:
    """What is run in place of a command; a script stands there with any options."""
    first = command.removeprefix("python ").split()[0]
    if first == "pytest":
        return PYTEST
    return INSTEAD.get(command) or (INSTEAD.get(first) if first.startswith("scripts/") else None)
