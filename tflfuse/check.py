"""Does a fused file come from the original that somebody says it does?

The original is rewritten once more with the options that the file's certificate names. Everything must come out as it
is in the file: operators, options, constants, scales, places in the arena, and the certificate itself. Then the file,
and what its fused operators stand for, run beside the original.
"""
from __future__ import annotations

from typing import Any

from . import flatbuffer
from .certificate import VERSION, Rewrite, carried, certificate_of
from .errors import BadModel
from .pipeline import fuse, lower, opened
from .proof import Differs, real_throughout, settled
from .proof import check as require_outputs
from .result import Result
from .summary import count
from .unlike import unlike
from .verify import verify


class Uncertified(BadModel):
    """The file says nothing of where it comes from."""


def check(file: bytes, original: bytes, runs: int = 4) -> str:
    """Prove that a fused file was made of an original; returns one line that says what was shown.

    runs: random inputs to compare outputs on, besides the extreme ones. Raises Uncertified where the file has no
    certificate, BadModel where one of the two cannot be read, Differs with what is otherwise than it should be.
    """
    certificate = certificate_of(opened(file))
    if certificate is None:
        raise Uncertified("it has no certificate: nothing was fused in it, or somebody took the certificate away")
    try:
        source = opened(original)
    except BadModel as error:
        raise BadModel(f"its original cannot be read: {error}") from error
    earlier = carried(source)
    between = certificate.rewrites[len(earlier.rewrites) if earlier else 0:]
    if not between:
        raise Differs("as many rewrites are certified in its original, none lies between them")
    derived, exact = original, True
    for rewrite in between:
        result = rewritten(derived, rewrite)
        if not result.report.changed:  # so that a long list of them ends
            raise Differs(f"it is certified as '{rewrite.line()}', which changes nothing{of_another_version(rewrite)}")
        derived, exact = result.model, exact and result.report.plan.exact
    difference = difference_of(file, derived)
    if difference is not None:
        raise Differs(difference + "".join(of_another_version(r) for r in between))
    whole = verify(original, file, runs=runs)
    require_outputs(whole, exact, real_throughout(source.subgraphs[0]))
    alike = verify(file, lower(file).model, runs=runs)
    require_outputs(alike, exact=True)
    return (f"{count(len(certificate.groups), 'fused operator')} derived once more; {whole.summary}; "
            f"lowered, {alike.summary}")


def rewritten(model: bytes, rewrite: Rewrite) -> Result:
    """What a rewrite makes of a model. Steps were left out by their measured error, so that is measured again."""
    options: dict[str, Any] = {"exact": rewrite.exact, "keep_dynamic": rewrite.keep_dynamic,
                               "memory_plan": rewrite.memory_plan, "arena": rewrite.arena or None}
    return settled(model, **options)[0] if rewrite.left_out else fuse(model, **options)


def difference_of(file: bytes, derived: bytes) -> str | None:
    """What is otherwise in the file than in what was derived; None where they say the same."""
    if file == derived:
        return None
    model, expected = flatbuffer.read(file), flatbuffer.read(derived)
    difference = unlike(model, expected)
    if difference is None and certificate_of(model) != certificate_of(expected):
        return "its certificate tells of other operators than those that its fused ones replace"
    return difference


def of_another_version(rewrite: Rewrite) -> str:
    return "" if rewrite.version == VERSION else f" (it was made by tflfuse {rewrite.version}, this is {VERSION})"
