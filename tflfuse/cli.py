"""The command: python -m tflfuse IN OUT, or IN ... -o DIR/.

Exit codes: 0 done; 2 bad arguments, or an input or output that cannot be read or written; 3 the fused model's outputs
differ, nothing written; 4 the result needs more than --arena, nothing written. Of several files the highest.
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence

from . import one_file, several_files
from .arguments import parsed
from .check import check
from .errors import TflfuseError
from .proof import Differs
from .source import model_bytes
from .terminal import Spinner, columns, fail, say
from .workers import Workers
from .wrapping import one_line


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        args = parsed(arguments)
        if args.check:
            return proved(args)
        return run(args) if len(args.pairs) == 1 else run_several(args)
    except KeyboardInterrupt:
        return fail(130, "interrupted; nothing was written")


def proved(args: argparse.Namespace) -> int:
    """--check: whether a file was made of its original."""
    file, original = args.files
    try:
        contents = model_bytes(file), model_bytes(original)
        with Spinner(shown=not args.quiet) as progress:
            progress("deriving the file once more")
            shown = check(*contents, runs=args.verify)
    except Differs as error:
        return fail(3, f"{file}: not made of {original}: {error}")
    except (OSError, TflfuseError) as error:
        return fail(*one_file.failure(error, file))
    return 0 if args.quiet else say(f"proved: {shown}")


def run(args: argparse.Namespace) -> int:
    """One file."""
    (source, target), = args.pairs
    try:
        one_file.check(args, source, target)
        with Spinner(shown=not args.quiet) as progress:
            made = one_file.make(args, source, target, progress)
        made.write()
    except (OSError, TflfuseError) as error:
        return fail(*one_file.failure(error, source))
    try:
        return 0 if args.quiet else say(made.report.text(everything=args.explain or args.verbose))
    except KeyboardInterrupt:
        return fail(130, "interrupted; everything is written" if made.contents else "interrupted")


def run_several(args: argparse.Namespace) -> int:
    """The highest of the files' exit codes."""
    found: list[several_files.Outcome] = []
    code = 0
    try:
        several_files.check(args)
        with Workers(args.jobs) as workers, Spinner(shown=not args.quiet) as progress:
            progress(f"{len(args.pairs)} files")
            for outcome in several_files.outcomes(args, workers):
                found.append(outcome)
                with progress.aside():
                    code = max(code, tell(args, outcome))
                progress(f"{len(found)} of {len(args.pairs)} files")
    except (OSError, TflfuseError) as error:
        return fail(*one_file.failure(error, args.folder))
    except KeyboardInterrupt:
        return fail(130, f"interrupted; what is in {args.folder} is whole")
    if args.quiet:
        return code
    return max(code, say("\n".join(["", *several_files.table(found, columns())]), wrap=False))


def tell(args: argparse.Namespace, found: several_files.Outcome) -> int:
    """What became of one of several files; its exit code."""
    if found.code:
        return fail(found.code, found.said)
    if args.quiet:
        return 0
    name = one_line(str(found.source))
    return say(f"{name}:\n{found.text}\n" if args.verbose else f"{name}: {found.said}")
