"""Files that appear whole or not at all."""
from __future__ import annotations

import errno
import os
import signal
import stat
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import TflfuseError


def check_distinct(outputs: Iterable[Path], model: Path | None = None) -> None:
    """Raise TflfuseError where two outputs are one file, or one but the first is the model that is read."""
    taken: set[str] = set()
    for path in map(os.path.realpath, outputs):
        if path in taken or taken and model is not None and path == os.path.realpath(model):
            raise TflfuseError(f"{path} would be written over by another output")
        taken.add(path)


def check_places(paths: Iterable[Path], folders: Iterable[Path] = ()) -> None:
    """Raise OSError where written_whole would, as far as that can be told before there is anything to write."""
    missing = {os.path.realpath(folder): folder for folder in folders if not folder.is_dir()}
    for place, folder in missing.items():
        if folder.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(folder))
        check_folder(Path(place).parent, folder)
    for path in paths:
        target = checked(path)
        if os.fspath(target.parent) not in missing:
            check_folder(target.parent, path)


def check_folder(folder: Path, asked: Path) -> None:
    """Raise OSError where no file can be made in it. Nothing is ever seen of the file that this makes."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(asked)) from error


def checked(path: Path) -> Path:
    """What is behind links. Raises OSError where it is there and no regular file."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return target


def written_whole(contents: Mapping[Path, bytes], folders: Iterable[Path] = ()) -> None:
    """Write some files; every one is complete on disk before the first takes its name.

    A symbolic link stays one: its target is replaced. Permissions of a file that is replaced are kept, its owner where
    that is allowed. folders: are made where they are missing.
    Raises OSError and leaves the old files as they were where any of them cannot be written; KeyboardInterrupt
    likewise, but not once the first has its name.
    """
    with interrupts_held() as interrupts:
        _written(contents, folders, interrupts)


def _written(contents: Mapping[Path, bytes], folders: Iterable[Path], interrupts: list[int]) -> None:
    ready: list[tuple[str, Path]] = []
    made: list[Path] = []
    try:
        for folder in folders:
            if not folder.is_dir():
                folder.mkdir()
                made.append(folder)
        for path, data in contents.items():
            target = checked(path)
            ready.append((temporary(target, data, path), target))
        if interrupts:
            raise KeyboardInterrupt
        while ready:
            os.replace(*ready[0])
            ready.pop(0)
        made.clear()
    finally:
        for name, _ in ready:
            with suppress(OSError):  # gone with its folder; what has gone wrong first is told
                os.unlink(name)
        for folder in made:
            with suppress(OSError):  # it holds something after all
                folder.rmdir()


@contextmanager
def interrupts_held() -> Iterator[list[int]]:
    """Ctrl-C waits: the list tells whether it came. Where somebody else handles it, or in another thread, to which
    it does not come, nothing changes.
    """
    came: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield came
        return
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def temporary(target: Path, data: bytes, asked: Path) -> str:
    """The data on disk under another name beside the target."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(asked)) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        keep_owner(name, target)
        os.chmod(name, permissions(target))
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    return name


def keep_owner(name: str, target: Path) -> None:
    """Give a file to whom the one that it replaces belongs, as far as that is allowed."""
    if not target.exists() or not hasattr(os, "chown"):
        return
    status = target.stat()
    try:
        os.chown(name, status.st_uid, status.st_gid)
    except OSError:
        with suppress(OSError):
            os.chown(name, -1, status.st_gid)


def permissions(target: Path) -> int:
    """Of the file that stands there, else what a new file gets."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
