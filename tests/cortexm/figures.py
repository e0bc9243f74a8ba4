"""What the fused operators of models cost on two boards: figures.json, which scripts/bench_cortexm --write writes.

The README shows them beside what the whole models take in TFLM with CMSIS-NN.
"""
from __future__ import annotations

import json
import re
import subprocess
from dataclasses import asdict
from pathlib import Path

from .meter import Counts

FILE = Path(__file__).with_name("figures.json")
README = Path(__file__).resolve().parents[2] / "README.md"
TABLE = re.compile(r"(?m)^\| model \| M4: instructions .*\n(?:\|.*\n)+")

BASELINE = {
    "cortex-m4": {
        "mlperftiny_vww_96_int8": Counts(24_102_343, 15_424_408, 2_890_624),
        "mlperftiny_kws_ref_model": Counts(7_698_067, 5_004_354, 825_312),
        "mlperftiny_pretrainedResnet_quant": Counts(29_861_887, 23_272_651, 6_510_550),
        "mlperftiny_model_ToyCar_quant_fullint_micro_intio": Counts(583_124, 239_756, 26_036),
        "tflm_person_detect": Counts(22_928_835, 14_481_576, 2_534_618),
        "tinyengine_vww": Counts(48_486_136, 32_432_149, 9_011_471),
        "mltk_keyword_spotting_mobilenetv2": Counts(10_895_010, 7_550_043, 1_676_326),
        "cfu_model_mobilenetv2_160_035": Counts(132_584_949, 89_287_769, 17_341_672)},
    "cortex-m55": {
        "mlperftiny_vww_96_int8": Counts(6_559_089, 13_185_466, 3_102_860),
        "mlperftiny_kws_ref_model": Counts(1_814_464, 4_137_180, 841_408),
        "mlperftiny_pretrainedResnet_quant": Counts(4_910_795, 16_476_637, 1_912_434),
        "tflm_person_detect": Counts(6_508_400, 12_896_005, 3_061_566),
        "mltk_keyword_spotting_mobilenetv2": Counts(3_483_679, 5_253_643, 1_755_922),
        "tinyengine_vww": Counts(11_961_770, 22_007_261, 5_961_095)}}
"""One inference of the whole model in TFLM of 2026-11 with the CMSIS-NN of that month, gcc 12.2 -O2, on the boards
of boards.py, counted by a plugin in the same way (2026-11-29). Its flash loads were not counted."""

PARTLY = {"mlperftiny_model_ToyCar_quant_fullint_micro_intio"}
"""Models whose large layers are not fused: the fused operators are no measure of the whole."""


def compiler() -> str:
    """The version of the cross compiler that is installed, on which every figure depends."""
    done = subprocess.run(["arm-none-eabi-g++", "-dumpfullversion"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def read() -> tuple[str, dict[str, dict[str, Counts]]]:
    """The compiler's version; the figures by CPU and model."""
    found = json.loads(FILE.read_text())
    return found["gcc"], {cpu: {model: Counts(**counts) for model, counts in models.items()}
                          for cpu, models in found["figures"].items()}


def write(cpu: str, measured: dict[str, Counts]) -> None:
    """Into the file, and into the README. Figures of another compiler go."""
    version, found = read()
    kept = found if version == compiler() else {}
    kept[cpu] = measured
    plain = {name: {model: asdict(counts) for model, counts in kept[name].items()} for name in sorted(kept)}
    FILE.write_text(json.dumps({"gcc": compiler(), "figures": plain}, indent=1) + "\n")
    README.write_text(TABLE.sub(lambda _: table(kept), README.read_text()))


def table(measured: dict[str, dict[str, Counts]]) -> str:
    rows = ["| model | M4: instructions | SRAM bytes | M55: instructions | SRAM bytes |", "|---|---|---|---|---|"]
    for model in BASELINE["cortex-m4"]:
        if model not in PARTLY:
            cells = [cell for cpu, theirs in BASELINE.items()
                     for cell in cells_of(measured.get(cpu, {}).get(model), theirs.get(model))]
            rows.append(f"| {model} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def cells_of(ours: Counts | None, theirs: Counts | None) -> list[str]:
    """Instructions, and bytes loaded and stored."""
    if ours is None or theirs is None:
        return ["", ""]
    pairs = (ours.instructions, theirs.instructions), (ours.loaded + ours.stored, theirs.loaded + theirs.stored)
    return [f"{a:,} ({a / b:.2f})" for a, b in pairs]
