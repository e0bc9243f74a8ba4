"""The command's arguments: what there is, and which of them make no sense together."""
from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NoReturn

EXAMPLES = """examples:
  python -m tflfuse model.tflite fused.tflite
  python -m tflfuse model.tflite --explain                   what would be done, and why the rest is not
  python -m tflfuse model.tflite model.tflite --exact -q     in place, only steps that keep every bit
  python -m tflfuse model.tflite fused.tflite --sketch demo  and an Arduino sketch that runs it
  python -m tflfuse models/*.tflite -o out/ --jobs 2         each to a file of its name in out/
  python -m tflfuse fused.tflite builtin.tflite --lower      without the custom operators, the same outputs
  python -m tflfuse --check fused.tflite model.tflite        prove that the one was made of the other

exit codes: 0 done; 2 bad arguments, a file that cannot be read or written, or something missing that the proof needs;
3 the outputs differ, nothing written, or --check finds that FILE was not made so; 4 no plan fits --arena, nothing
written. Of several files the highest.
"""

MOST = (1 << 31) - 1
FOR_ONE_FILE = ("json", "report", "resolver", "c_array", "sketch")
"""Options that name what is written beside one OUT."""


Add = Callable[..., argparse.Action]


class Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"tflfuse: {message} (--help shows the options)\n")


def parser() -> argparse.ArgumentParser:
    p = Parser("python -m tflfuse", epilog=EXAMPLES, usage="""%(prog)s [options] IN OUT
       %(prog)s [options] IN [IN ...] -o DIR/
       %(prog)s --check FILE ORIGINAL""", formatter_class=argparse.RawTextHelpFormatter,
               description="Fuse the layers of a .tflite model for microcontrollers.")
    p.add_argument("files", metavar="IN OUT", type=Path, nargs="*",
                   help="the .tflite file to read and the one to write, which may be the same")
    p.add_argument("-o", "--output", metavar="OUT",
                   help="the file to write; or a folder, if it is one or ends in /, which gets a file of IN's name:\n"
                        "then there may be several IN")
    p.add_argument("--jobs", metavar="N", type=a_count, default=processors(),
                   help="how many of several files at a time (default: one for each processor)")
    p.add_argument("--version", action="version", version=f"tflfuse {installed_version()}",
                   help="show which version this is")
    what_is_done(p.add_argument_group("what is done").add_argument)
    what_is_written(p.add_argument_group("what else is written").add_argument)
    proof = p.add_argument_group("proof")
    runs = proof.add_mutually_exclusive_group()
    runs.add_argument("--verify", metavar="N", type=a_count, default=4,
                      help="random inputs to compare the outputs on, besides the extreme ones (default 4)")
    runs.add_argument("--no-verify", action="store_true", help="do not run the models")
    proof.add_argument("--check", action="store_true",
                       help="write nothing: prove that the first file, a fused one, was made of the second")
    voice = p.add_argument_group("what is printed").add_mutually_exclusive_group()
    voice.add_argument("-q", "--quiet", action="store_true", help="nothing but errors")
    voice.add_argument("-v", "--verbose", action="store_true", help="every step, refusal and place in the arena")
    return p


def what_is_done(add: Add) -> None:
    add("--builtin-only", action="store_true", help="use no custom operators: the result runs anywhere")
    add("--exact", action="store_true", help="only steps that keep every output the same bits")
    add("--keep-dynamic", action="store_true", help="keep open (batch) dimensions open")
    add("--no-memory-plan", action="store_true", help="leave it to TFLM where tensors lie in the arena")
    add("--arena", metavar="BYTES", type=a_count,
        help="of what fits into this arena (of the 64-bit interpreter, the line 'arena'), make the\n"
             "model that moves fewest bytes; exit 4 if nothing fits; needs the model to be run")
    add("--explain", action="store_true", help="show every step and every refusal, write nothing")
    add("--lower", action="store_true", help="only turn fused operators back into builtin ones")


def what_is_written(add: Add) -> None:
    add("--sketch", metavar="DIR", type=Path,
        help="an Arduino sketch that runs OUT; a sketch that is there keeps its .ino file")
    add("--c-array", metavar="FILE.cc", type=Path,
        help="OUT as a C++ array, and beside it FILE.h with its length and its arena size")
    add("--resolver", metavar="FILE.h", type=Path,
        help="a resolver with exactly the operators of OUT, for TFLM's MicroInterpreter")
    add("--report", metavar="FILE.html", type=Path,
        help="a page to look at in a browser: the arena over time, what was fused, traffic, proof")
    add("--json", metavar="FILE", type=Path, help="the whole report as data")


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments with what follows from them. Ends the program with code 2 where they make no sense.

    pairs: for each file to read the one to write, None where nothing is written. folder: that they go to, or None.
    """
    p = parser()
    args = p.parse_intermixed_args(arguments)
    if not args.files:
        p.error("IN is missing")
    if args.check:
        check_alone(p, args)
        return args
    if args.explain and (args.resolver or args.c_array or args.sketch):
        p.error("--explain writes no model, so it takes none of --resolver, --c-array, --sketch")
    if args.lower and (args.builtin_only or args.exact or args.keep_dynamic or args.arena):
        p.error("--lower takes none of --builtin-only, --exact, --keep-dynamic, --arena")
    if args.arena and args.no_verify:
        p.error("--arena needs the model to be run: leave out --no-verify")
    args.folder = folder_of(args.output)
    try:
        args.pairs = pairs(args)
    except ValueError as error:
        p.error(str(error))
    return args


def check_alone(p: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """--check takes two files and writes none."""
    if len(args.files) != 2:
        p.error("--check takes two files: the fused one and its original")
    meant = {"files", "check", "verify", "quiet", "verbose", "jobs"}
    other = next((name for name, value in vars(args).items() if name not in meant and value != p.get_default(name)), "")
    if other:
        p.error(f"--check does not take --{other.replace('_', '-')}")


def folder_of(output: str | None) -> Path | None:
    """-o as a folder; None where it is a file."""
    separators = tuple(s for s in (os.sep, os.altsep) if s)
    return Path(output) if output and (output.endswith(separators) or os.path.isdir(output)) else None


def pairs(args: argparse.Namespace) -> list[tuple[Path, Path | None]]:
    """What is read and what is written. Raises ValueError with what is wrong."""
    files: list[Path] = args.files
    if args.output is None:
        if len(files) > 2:
            raise ValueError("several IN need a folder to go to: -o DIR/")
        if len(files) == 1 and not args.explain:
            raise ValueError("OUT is missing (only --explain does without)")
        return [(files[0], None if args.explain else files[1])]
    if len(files) == 1 and args.folder is None:
        return [(files[0], None if args.explain else Path(args.output))]
    if args.folder is None:
        raise ValueError(f"several IN need a folder, and {args.output} is none; {args.output}{os.sep} makes it one")
    if len(files) > 1:
        check_several(args)
    return [(path, None if args.explain else args.folder / path.name) for path in files]


def check_several(args: argparse.Namespace) -> None:
    """Refuse what only one file can have, and files that would be written over one another."""
    if args.explain:
        raise ValueError("--explain shows one model, not several")
    for name in FOR_ONE_FILE:
        if getattr(args, name) is not None:
            raise ValueError(f"--{name.replace('_', '-')} is for one IN, not for several")
    first: dict[str, Path] = {}
    for path in args.files:
        other = first.setdefault(os.path.normcase(path.name), path)
        if other is not path:
            raise ValueError(f"{other} and {path} would both be written to {args.folder / path.name}")


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def installed_version() -> str:
    try:
        return version("tflfuse")
    except PackageNotFoundError:
        return "of a folder, not installed"


def a_count(text: str) -> int:
    if not text.lstrip("+-").isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
    number = int(text)
    if not 1 <= number <= MOST:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and {MOST:,}")
    return number
