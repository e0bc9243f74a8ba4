"""The fuzzer: python -m tests.fuzz FOLDER [libFuzzer's options]

Keeps the corpus, the findings and the figures in FOLDER, goes on after a finding, and ends as libFuzzer is told to.
"""
from __future__ import annotations

import hashlib
import signal
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["tflfuse"]):
    from tests.fuzz import target

from tests.fuzz.findings import Findings
from tests.fuzz.limits import bounded, cap_memory
from tests.fuzz.mutator import mutated
from tests.fuzz.seeds import LARGEST, seeds


def main(arguments: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # libFuzzer takes it from there, also where a shell left it ignored
    folder = Path(arguments[0])
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds():
        (corpus / hashlib.sha1(seed).hexdigest()).write_bytes(seed)  # named as libFuzzer does
    target.strict()
    findings = Findings(folder)

    def one(data: bytes) -> None:
        try:
            with bounded(len(data)):
                reached = target.attack(data)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            findings.failed(data, error)
        else:
            findings.passed(reached)

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        return mutated(data, seed, largest, lambda old: atheris.Mutate(old, largest))

    atheris.Setup([sys.argv[0], *arguments[1:], f"-max_len={LARGEST}", "-len_control=0", "-timeout=120",
                   "-rss_limit_mb=4096", str(corpus)], one, custom_mutator=mutate)
    cap_memory()
    findings.write()
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
