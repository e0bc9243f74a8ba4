"""What a run of the fuzzer says when it ends, as figures."""
from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from ..kernels.conftest import GLUE, KERNELS, PACK

FILE = Path(__file__).with_name("figures.json")


@dataclass(frozen=True)
class Figures:
    """executions: inputs run. evaluated: of these, accepted by Prepare and run by Eval, twice. refused: told by a
    sentence. sentences: different ones. edges: of the pack's code covered, of all_edges. seconds: of the run.
    pack: digest of the kernels and the glue that ran.
    """

    executions: int
    evaluated: int
    refused: int
    sentences: int
    edges: int
    all_edges: int
    seconds: int
    pack: str

    @property
    def share(self) -> float:
        """Of the executions that reached Eval."""
        return self.evaluated / self.executions

    def text(self) -> str:
        return (f"{self.executions:,} executions in {self.seconds:,} s, {self.share:.0%} of them run by Eval, "
                f"{self.refused:,} refused with {self.sentences} different sentences; "
                f"{self.edges:,} of {self.all_edges:,} edges covered")


def of_log(log: str) -> Figures:
    """Of what libFuzzer and fuzz_chain.cc print; ValueError where the run did not end by itself."""
    counts = re.search(r"cases (\d+), .*refused (\d+), too .*, evaluated (\d+), refused in Eval (\d+)", log)
    done = re.search(r"DONE +cov: (\d+)", log)
    seconds = re.search(r"Done \d+ runs in (\d+) second", log)
    edges = re.search(r"Loaded 1 modules +\((\d+) inline", log)
    if not (counts and done and seconds and edges):
        raise ValueError("the fuzzer did not end by itself")
    cases, refused, evaluated, late = map(int, counts.groups())
    sentences = len(re.findall(r"^tflfuse: message \d+ \S", log, re.M))
    return Figures(cases, evaluated, refused + late, sentences, int(done[1]), int(edges[1]), int(seconds[1]), digest())


def digest() -> str:
    """Of everything that is compiled from the pack."""
    sources = sorted({*KERNELS, *GLUE, *(PACK / "src/kernels").glob("*.h"), *(PACK / "include/tflfuse").glob("*.h")})
    return sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def add(figures: Figures, file: Path = FILE) -> list[Figures]:
    """Write one more run into the file; all that it holds then."""
    runs = [*read(file), figures]
    lines = ",\n".join("  " + json.dumps(asdict(run)) for run in runs)
    file.write_text(f'{{"command": "scripts/fuzz_device SECONDS", "runs": [\n{lines}\n]}}\n')
    return runs


def read(file: Path = FILE) -> list[Figures]:
    return [Figures(**run) for run in json.loads(file.read_text())["runs"]] if file.exists() else []
