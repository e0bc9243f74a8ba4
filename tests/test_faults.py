"""Whatever goes wrong while the command writes: its files are the old ones or whole new ones, and it says so.

Faults come at every single call that the command makes of the C library in its folder (tests/faults), and from outside.
"""
from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from .faults.server import MODEL, NOBODY, PROJECT, TRUNCATE, Answer, Run, Server
from .interrupts import heed_interrupts

OLD = b"what was there before"
ROOT = os.geteuid() == 0
INJECTED: Counter[str] = Counter()

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux") or shutil.which("g++") is None,
                                reason="needs Linux and g++")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("shim")) as running:
        yield running
    print(f"\nfaults injected: {INJECTED.total():,}: " + ", ".join(f"{n} {kind}" for kind, n in INJECTED.items()))


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that everybody may use, as pytest's own are not."""
    path = Path(tempfile.mkdtemp(prefix="tflfuse_faults_"))
    path.chmod(0o777)
    yield path
    path.chmod(0o777)
    shutil.rmtree(path)


@dataclass(frozen=True)
class Case:
    """What the command writes in a folder beside in.tflite. new: each file's content after a run without faults."""

    name: str
    arguments: tuple[str, ...]
    before: frozenset[str]
    new: dict[str, bytes]

    def prepare(self, folder: Path) -> None:
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.copyfile(MODEL, folder / "in.tflite")
        for name in self.before - {"in.tflite"}:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(OLD)

    def command(self, folder: Path) -> list[str]:
        return [*(str(folder / a) if "." in a or a == "demo" else a for a in self.arguments), "--no-verify", "-q"]

    def old(self, name: str) -> bytes | None:
        return None if name not in self.before else MODEL.read_bytes() if name == "in.tflite" else OLD

    def check(self, folder: Path, answer: Answer, may_leave_temporary: bool = False) -> bool:
        """Whether the new files are there; each of them or none where the command had its say."""
        held = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        is_new = {name: held.get(name) == new for name, new in self.new.items()}
        for name in self.new:
            assert is_new[name] or held.get(name) == self.old(name), f"{name} is neither old nor new: {answer}"
        assert "in.tflite" in self.new or held["in.tflite"] == MODEL.read_bytes()
        extra = set(held) - set(self.new) - {"in.tflite"}
        assert may_leave_temporary or not extra, f"{extra} are left: {answer}"
        assert "Traceback" not in answer.said, answer.said
        return all(is_new.values())


CASES = (("new", ("in.tflite", "out.tflite"), frozenset[str]()),
         ("old", ("in.tflite", "out.tflite"), frozenset({"out.tflite"})),
         ("same", ("in.tflite", "in.tflite"), frozenset({"in.tflite"})),
         ("many", ("in.tflite", "out.tflite", "--json", "report.json", "--report", "report.html", "--resolver", "ops.h",
                   "--sketch", "demo"), frozenset({"out.tflite", "report.json", "demo/ops.h"})))


@pytest.fixture(params=CASES, ids=[name for name, *_ in CASES])
def case(request: pytest.FixtureRequest, server: Server, folder: Path) -> Case:
    name, arguments, before = request.param
    blank = Case(name, arguments, before, {})
    blank.prepare(folder)
    answer = server.run(Run(blank.command(folder), str(folder)))
    assert answer.code == 0, answer.said
    new = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    if name != "same":
        del new["in.tflite"]
    return Case(name, arguments, before, new)


def calls(case: Case, server: Server, folder: Path) -> int:
    """How many the command makes where nothing goes wrong."""
    case.prepare(folder)
    found = server.run(Run(case.command(folder), str(folder))).calls
    assert found > 8, "the shim is in front of the C library"
    return found


def test_any_call_may_fail(case: Case, server: Server, folder: Path) -> None:
    """Exit code 2 with the reason and the old files, or 0 and the new ones where the call did not matter."""
    codes: Counter[int] = Counter()
    for at in range(1, calls(case, server, folder) + 1):
        error = errno.EIO if at % 2 else errno.ENOSPC
        case.prepare(folder)
        answer = server.run(Run(case.command(folder), str(folder), at, error))
        INJECTED["failing calls"] += 1
        codes[answer.code] += 1
        assert answer.code in (0, 2), answer
        is_new = case.check(folder, answer, may_leave_temporary=False)
        if answer.code == 0:
            assert is_new and not answer.said, answer
        else:
            assert not is_new and answer.said.count("\n") == 1 and os.strerror(error) in answer.said, answer
    assert codes[2] > 4


def test_killed_at_any_call(case: Case, server: Server, folder: Path) -> None:
    """Each file is the old or the new one. A file beside it may be left, whose name says so."""
    for at in range(1, calls(case, server, folder) + 1):
        case.prepare(folder)
        answer = server.run(Run(case.command(folder), str(folder), at, -signal.SIGKILL))
        INJECTED["SIGKILL at a call"] += 1
        assert answer.code == -signal.SIGKILL
        case.check(folder, answer, may_leave_temporary=True)
        left = {p.name for p in folder.rglob("*") if p.is_file()} - {Path(n).name for n in case.new} - {"in.tflite"}
        assert all(name.startswith(".") for name in left)


def test_interrupted_at_any_call(case: Case, server: Server, folder: Path) -> None:
    """130 and all old, or, where the files were about to take their names, 0 and all new."""
    codes: Counter[int] = Counter()
    for at in range(1, calls(case, server, folder) + 1):
        case.prepare(folder)
        answer = server.run(Run(case.command(folder), str(folder), at, -signal.SIGINT))
        INJECTED["SIGINT at a call"] += 1
        codes[answer.code] += 1
        is_new = case.check(folder, answer)
        assert (answer.code, is_new) in ((130, False), (0, True)), answer
        assert answer.said == ("tflfuse: interrupted; nothing was written\n" if answer.code else "")
    assert codes[130] > 4


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_ended_at_any_moment(case: Case, number: signal.Signals, server: Server, folder: Path) -> None:
    for k in range(12):
        case.prepare(folder)
        answer = server.run(Run(case.command(folder), str(folder), action=-number, kill_after=0.007 * (k + 1)))
        INJECTED[f"{number.name} from outside"] += 1
        is_new = case.check(folder, answer, may_leave_temporary=number == signal.SIGKILL)
        assert answer.code in (0, -number if number == signal.SIGKILL else 130), answer
        if number == signal.SIGINT or answer.code == 0:
            assert is_new == (answer.code == 0), answer


def test_input_is_cut_while_it_is_read(server: Server, folder: Path) -> None:
    """The command works on what it got: the whole model, or one that it refuses."""
    case = Case("new", CASES[0][1], CASES[0][2], {})
    whole = written(server, folder, case)
    for at in range(1, 7):
        case.prepare(folder)
        answer = server.run(Run(case.command(folder), str(folder), at, TRUNCATE, str(folder / "in.tflite")))
        INJECTED["input cut"] += 1
        out = folder / "out.tflite"
        assert (answer.code == 0 and out.read_bytes() == whole) or (answer.code == 2 and not out.exists()), answer
        assert answer.said.count("\n") == (answer.code == 2)


def written(server: Server, folder: Path, case: Case, *more: str) -> bytes:
    case.prepare(folder)
    assert server.run(Run([*case.command(folder), *more], str(folder))).code == 0
    return (folder / "out.tflite").read_bytes()


def test_two_runs_with_one_output(server: Server, folder: Path) -> None:
    """The output is that of the one or the other."""
    case = Case("new", CASES[0][1], CASES[0][2], {})
    outcomes = {written(server, folder, case), written(server, folder, case, "--builtin-only")}
    assert len(outcomes) == 2
    for _ in range(10):
        case.prepare(folder)
        runs = [Run([*case.command(folder), *more], str(folder)) for more in ([], ["--builtin-only"])]
        answers = server.run_together(*runs)
        INJECTED["runs at a time"] += 1
        assert [a.code for a in answers] == [0, 0], answers
        assert (folder / "out.tflite").read_bytes() in outcomes
        assert {p.name for p in folder.iterdir()} == {"in.tflite", "out.tflite"}


def test_larger_than_a_file_may_be(case: Case, server: Server, folder: Path) -> None:
    """As on a full disk, where some bytes can still be written."""
    largest = max(map(len, case.new.values()))
    for limit in range(1, largest, largest // 10):
        case.prepare(folder)
        answer = server.run(Run(case.command(folder), str(folder), file_bytes=limit))
        INJECTED["file size limits"] += 1
        assert answer.code == 2 and os.strerror(errno.EFBIG) in answer.said, answer
        assert not case.check(folder, answer)


def test_the_disk_is_full(case: Case, server: Server, folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24k", "none", str(disk)]
    if not ROOT or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        case.prepare(disk)
        (disk / "filler").write_bytes(bytes(shutil.disk_usage(disk).free))
        answer = server.run(Run(case.command(disk), str(disk)))
        INJECTED["full disks"] += 1
        (disk / "filler").unlink()
        assert answer.code == 2 and "No space left on device" in answer.said, answer
        assert not case.check(disk, answer)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("mode", [0o555, 0o111, 0o000])
def test_a_folder_that_cannot_be_written_to(mode: int, server: Server, folder: Path) -> None:
    shutil.copyfile(MODEL, folder / "in.tflite")
    target = folder / "out"
    target.mkdir()
    (target / "out.tflite").write_bytes(OLD)
    target.chmod(mode)
    answer = server.run(Run([str(folder / "in.tflite"), str(target / "out.tflite"), "--no-verify", "-q"], str(folder),
                            as_nobody=ROOT))
    INJECTED["folders without permission"] += 1
    target.chmod(0o755)
    assert answer.code == 2 and "Permission denied" in answer.said and answer.said.count("\n") == 1, answer
    assert [p.name for p in target.iterdir()] == ["out.tflite"] and (target / "out.tflite").read_bytes() == OLD


def test_the_folder_vanishes(server: Server, folder: Path) -> None:
    """At any moment; what cannot be written is told."""
    codes: Counter[int] = Counter()
    for k in range(12):
        target = folder / "out"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        shutil.copyfile(MODEL, folder / "in.tflite")
        command = [sys.executable, "-c", f"import shutil, time; time.sleep({0.01 * k}); shutil.rmtree({str(target)!r})"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL):
            answer = server.run(Run([str(folder / "in.tflite"), str(target / "out.tflite"), "--no-verify", "-q"],
                                    str(folder)))
        INJECTED["vanished folders"] += 1
        codes[answer.code] += 1
        assert answer.code in (0, 2) and answer.said.count("\n") == (answer.code == 2), answer
    assert (folder / "in.tflite").read_bytes() == MODEL.read_bytes()


def test_mode_and_owner_of_the_old_file_are_kept(server: Server, folder: Path) -> None:
    case = Case("old", CASES[1][1], CASES[1][2], {})
    case.prepare(folder)
    out = folder / "out.tflite"
    if ROOT:
        os.chown(out, NOBODY, NOBODY)
    out.chmod(0o640)
    before = out.stat()
    assert server.run(Run(case.command(folder), str(folder))).code == 0
    after = out.stat()
    assert out.read_bytes() != OLD
    assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (before.st_uid, before.st_gid, 0o640)


def test_a_new_file_gets_the_mode_that_the_mask_leaves(server: Server, folder: Path) -> None:
    case = Case("new", CASES[0][1], CASES[0][2], {})
    case.prepare(folder)
    assert server.run(Run(case.command(folder), str(folder))).code == 0
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((folder / "out.tflite").stat().st_mode) == 0o666 & ~mask


def test_links(server: Server, folder: Path) -> None:
    """A symbolic link stays one, its target is replaced or made; a hard link is no longer one."""
    case = Case("new", CASES[0][1], CASES[0][2], {})
    whole = written(server, folder, case)
    out, target = folder / "out.tflite", folder / "target.tflite"
    for there in (True, False):
        case.prepare(folder)
        if there:
            target.write_bytes(OLD)
        out.symlink_to("target.tflite")
        assert server.run(Run(case.command(folder), str(folder))).code == 0
        assert out.is_symlink() and target.read_bytes() == whole
    case.prepare(folder)
    os.link(folder / "in.tflite", out)
    assert server.run(Run(case.command(folder), str(folder))).code == 0
    assert out.read_bytes() == whole and (folder / "in.tflite").read_bytes() == MODEL.read_bytes()
    case.prepare(folder)
    out.symlink_to("in.tflite")  # IN may equal OUT
    assert server.run(Run(case.command(folder), str(folder))).code == 0
    assert out.is_symlink() and (folder / "in.tflite").read_bytes() == whole
    (folder / "in.tflite").unlink()
    shutil.copyfile(MODEL, target)
    (folder / "in.tflite").symlink_to("target.tflite")
    assert server.run(Run(case.command(folder), str(folder))).code == 0
    assert (folder / "in.tflite").is_symlink() and target.read_bytes() == whole
    out.unlink()
    out.symlink_to("out.tflite")
    answer = server.run(Run(case.command(folder), str(folder)))
    assert answer.code == 2 and "symbolic links" in answer.said and out.is_symlink(), answer
    INJECTED["links"] += 6


@pytest.mark.parametrize("kind", ["folder", "fifo", "/dev/null", "/dev/full"])
def test_an_output_that_is_no_file(kind: str, server: Server, folder: Path) -> None:
    shutil.copyfile(MODEL, folder / "in.tflite")
    out = Path(kind) if kind.startswith("/") else folder / "out"
    if kind == "folder":
        out.mkdir()
    elif kind == "fifo":
        os.mkfifo(out)
    before = out.stat().st_mode
    answer = server.run(Run([str(folder / "in.tflite"), str(out), "--no-verify", "-q"], str(folder)))
    INJECTED["outputs that are no file"] += 1
    assert answer.code == 2 and str(out) in answer.said and answer.said.count("\n") == 1, answer
    assert out.stat().st_mode == before and {p.name for p in folder.iterdir()} <= {"in.tflite", "out"}


def test_names_that_are_no_text(server: Server, folder: Path) -> None:
    source, out = (os.fsdecode(os.fsencode(folder) + name) for name in (b"/in\xff\xfe\n.tflite", b"/out\xff.tflite"))
    shutil.copyfile(MODEL, source)
    assert server.run(Run([source, out, "--no-verify", "-q"], str(folder))).code == 0
    assert Path(out).read_bytes() != MODEL.read_bytes()
    Path(source).write_bytes(b"no model")
    answer = server.run(Run([source, out, "--no-verify", "-q"], str(folder)))
    assert answer.code == 2 and answer.said.count("\n") == 1, answer
    INJECTED["odd names"] += 2


CLOSED: list[Sequence[int]] = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)]


@pytest.mark.parametrize("descriptors", CLOSED, ids=str)
def test_standard_streams_that_are_closed(descriptors: Sequence[int], folder: Path) -> None:
    """Proved in the interpreter's process all the same; nothing but the model gets into the file."""
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    out = folder / "out.tflite"
    closing = " ".join(f"{n}{'<' if n == 0 else '>'}&-" for n in descriptors)
    command = f"exec {sys.executable} -m tflfuse {MODEL} {out} --verify 1 {closing}"
    done = subprocess.run(command, shell=True, cwd=PROJECT, capture_output=True, text=True)
    INJECTED["closed streams"] += 1
    assert done.returncode == 0 and not done.stderr, done
    expected = folder / "expected.tflite"
    subprocess.run([sys.executable, "-m", "tflfuse", MODEL, expected, "--verify", "1", "-q"], cwd=PROJECT, check=True)
    assert out.read_bytes() == expected.read_bytes()


def test_interrupted_while_the_models_are_run(folder: Path) -> None:
    """As Ctrl-C does it, to every process of the group: 130, nothing written, no process left."""
    pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed")
    out = folder / "out.tflite"
    codes: Counter[int] = Counter()
    for k in range(8):
        out.unlink(missing_ok=True)
        child = subprocess.Popen([sys.executable, "-m", "tflfuse", MODEL, out, "-q"], cwd=PROJECT, text=True,
                                 stderr=subprocess.PIPE, start_new_session=True, preexec_fn=heed_interrupts)
        children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
        while child.poll() is None and not children.read_text():
            time.sleep(0.01)
        time.sleep(0.05 * k)
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGINT)
        said = child.communicate()[1]  # ends when nobody holds the pipe any more
        INJECTED["Ctrl-C"] += 1
        codes[child.returncode] += 1
        assert child.returncode in (0, 130) and "Traceback" not in said, (child.returncode, said)
        assert out.exists() == (child.returncode == 0)
    assert codes[130]
