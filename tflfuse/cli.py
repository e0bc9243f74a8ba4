"""The command: python -m tflfuse IN OUT, or IN ... -o DIR/.

Exit codes: 0 done; 2 bad arguments, or an input or output that cannot be read or written; 3 the fused model's outputs
differ, nothing written; 4 the result needs more than --arena, nothing written. Of several files the highest.
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence

from . import one_file
from .arguments import parsed
from .errors import TflfuseError
from .terminal import Spinner, fail, say


def main(arguments: Sequence[str] | None = None) -> int:
    args = parsed(arguments)
    try:
        return run(args)
    except KeyboardInterrupt:
        return fail(130, "interrupted; nothing was written")


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
    return 0 if args.quiet else say(made.report.text(everything=args.explain or args.verbose))
