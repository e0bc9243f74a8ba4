"""The command: python -m tflfuse IN OUT.

Exit codes: 0 done; 2 bad arguments, or an input or output that cannot be read or written; 3 the fused model's outputs
differ, nothing written; 4 the result needs more than --arena, nothing written.
"""
from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from .errors import TflfuseError
from .files import written_whole
from .firmware import firmware
from .pipeline import fuse, lower
from .proof import Differs, Unproved, fuse_and_prove, lower_and_prove
from .result import Result

EXAMPLES = """examples:
  python -m tflfuse model.tflite fused.tflite
  python -m tflfuse model.tflite --explain                   what would be done, and why the rest is not
  python -m tflfuse model.tflite model.tflite --exact -q     in place, only steps that keep every bit
  python -m tflfuse fused.tflite builtin.tflite --lower      without the custom operators, the same outputs
  python -m tflfuse model.tflite fused.tflite --sketch demo  and an Arduino sketch that runs it
"""


class OverBudget(TflfuseError):
    """The fused model's arena is larger than --arena."""


MOST = (1 << 31) - 1


class Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"tflfuse: {message} (--help shows the options)\n")


def parser() -> argparse.ArgumentParser:
    p = Parser("python -m tflfuse", epilog=EXAMPLES, formatter_class=argparse.RawTextHelpFormatter,
               description="Fuse the layers of a .tflite model for microcontrollers.")
    p.add_argument("input", metavar="IN", type=Path, help="the .tflite file to read")
    p.add_argument("output", metavar="OUT", type=Path, nargs="?", help="the .tflite file to write; may be IN")
    p.add_argument("--builtin-only", action="store_true", help="use no custom operators: the result runs anywhere")
    p.add_argument("--exact", action="store_true", help="only steps that keep every output the same bits")
    p.add_argument("--keep-dynamic", action="store_true", help="keep open (batch) dimensions open")
    p.add_argument("--no-memory-plan", action="store_true", help="leave it to TFLM where tensors lie in the arena")
    p.add_argument("--explain", action="store_true", help="show every step and every refusal, write nothing")
    p.add_argument("--lower", action="store_true", help="only turn fused operators back into builtin ones")
    proof = p.add_mutually_exclusive_group()
    proof.add_argument("--verify", metavar="N", type=a_count, default=4,
                       help="random inputs to compare the outputs on, besides the extreme ones (default 4)")
    proof.add_argument("--no-verify", action="store_true", help="do not run the models")
    p.add_argument("--json", metavar="FILE", type=Path, help="write the whole report here")
    p.add_argument("--arena", metavar="BYTES", type=a_count,
                   help="of what fits into this arena (of the 64-bit interpreter, the line 'arena'), make the model\n"
                        "that moves fewest bytes; exit 4 if nothing fits; needs the model to be run")
    p.add_argument("--resolver", metavar="FILE.h", type=Path,
                   help="write a resolver with exactly the operators of OUT, for TFLM's MicroInterpreter")
    p.add_argument("--c-array", metavar="FILE.cc", type=Path,
                   help="write OUT as a C++ array too, and beside it FILE.h with its length and its arena size")
    p.add_argument("--sketch", metavar="DIR", type=Path,
                   help="write an Arduino sketch that runs OUT; a sketch that is there keeps its .ino file")
    voice = p.add_mutually_exclusive_group()
    voice.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    voice.add_argument("-v", "--verbose", action="store_true", help="print every step and every refusal")
    return p


def a_count(text: str) -> int:
    if not text.lstrip("+-").isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
    number = int(text)
    if not 1 <= number <= MOST:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and {MOST:,}")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    p = parser()
    args = p.parse_intermixed_args(arguments)
    if args.output is None and not args.explain:
        p.error("OUT is missing (only --explain does without)")
    if args.explain and (args.resolver or args.c_array or args.sketch):
        p.error("--explain writes no model, so it takes none of --resolver, --c-array, --sketch")
    if args.lower and (args.builtin_only or args.exact or args.keep_dynamic or args.arena):
        p.error("--lower takes none of --builtin-only, --exact, --keep-dynamic, --arena")
    if args.arena and args.no_verify:
        p.error("--arena needs the model to be run: leave out --no-verify")
    try:
        report = run(args)
    except Differs as error:
        return fail(3, f"{args.input}: {error}; nothing was written")
    except OverBudget as error:
        return fail(4, f"{args.input}: {error}; nothing was written")
    except TflfuseError as error:
        return fail(2, f"{args.input}: {error}")
    except OSError as error:
        name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else str(args.input)
        return fail(2, f"{name}: {error.strerror or error}")
    except KeyboardInterrupt:
        return fail(130, "interrupted; nothing was written")
    return 0 if args.quiet else say(report)


def say(report: str) -> int:
    """Print it, with what the output's encoding lacks as escapes. Whoever reads it may leave early."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(report.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more when it ends
        return 0 if isinstance(error, BrokenPipeError) else fail(2, f"the report cannot be printed: {error.strerror}")
    return 0


def fail(code: int, message: str) -> int:
    print("tflfuse: " + " ".join(message.split()), file=sys.stderr)
    return code


def run(args: argparse.Namespace) -> str:
    """Do what the arguments ask for; the text to print."""
    data = args.input.read_bytes()
    result = fused(args, data)
    report = result.report
    contents: list[tuple[Path, bytes]] = []
    folders: tuple[Path, ...] = ()
    if not args.explain:
        made = firmware(result.model, args.output.name, args.resolver, args.c_array, args.sketch)
        contents, folders = [(args.output, result.model), *made.contents], made.folders
        report = replace(report, notes=report.notes + made.notes)
    if args.json:
        contents.append((args.json, (json.dumps(report.as_dict(), indent=1) + "\n").encode()))
    check_distinct([path for path, _ in contents], args.input)
    written_whole(dict(contents), folders)
    return report.text(everything=args.explain or args.verbose)


def check_distinct(outputs: Sequence[Path], model: Path) -> None:
    """No two outputs may be one file, and none but the first the model that is read."""
    taken: set[str] = set()
    for path in map(os.path.realpath, outputs):
        if path in taken or taken and path == os.path.realpath(model):
            raise TflfuseError(f"{path} would be written over by another output")
        taken.add(path)


def fused(args: argparse.Namespace, data: bytes) -> Result:
    """The rewritten or lowered model, proved unless --no-verify; rewritten, within --arena."""
    options = {"custom_ops": not args.builtin_only, "exact": args.exact, "keep_dynamic": args.keep_dynamic,
               "memory_plan": not args.no_memory_plan}
    bar = Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), transient=True,
                   console=Console(stderr=True), disable=args.quiet or not (sys.stderr and sys.stderr.isatty()))
    with bar:
        task = bar.add_task("reading")
        if args.lower:
            return lower(data) if args.no_verify else lower_and_prove(
                data, args.verify, lambda what: bar.update(task, description=what))
        if args.no_verify:
            return fuse(data, **options, progress=lambda done: bar.update(task, description="rewriting"))
        return within_budget(args.arena, lambda arena: fuse_and_prove(
            data, args.verify, lambda what: bar.update(task, description=what), arena=arena, **options))


def within_budget(budget: int | None, make: Callable[[int | None], Result]) -> Result:
    """The result of `make`, which gets the budget; where that is overdrawn after all, the smallest there is."""
    result = make(budget)
    if budget is None:
        return result
    try:
        check_budget(result, budget)
    except OverBudget:
        result = make(None)
        check_budget(result, budget)
    return result


def check_budget(result: Result, budget: int) -> None:
    arena = result.report.proof.arena_after if result.report.proof else None
    if arena is None:
        raise Unproved("the arena is not known, because TFLM cannot run the model")
    if arena.total > budget:
        memory = result.report.memory
        obstacle = f": {memory.obstacle()}" if memory else ""
        raise OverBudget(f"the smallest arena found is {arena.total} bytes, --arena allows {budget}{obstacle}")
