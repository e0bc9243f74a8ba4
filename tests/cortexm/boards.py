"""The boards that QEMU has for each CPU, and what lies where on them."""
from __future__ import annotations

from dataclasses import dataclass

MEBI = 1 << 20


@dataclass(frozen=True)
class Board:
    """machine: QEMU's name. code, ram, image: addresses of the program, of SRAM and of the test's data.

    ram_bytes, image_bytes: what there is of them. The image stands for flash: the constants of models lie there.
    """

    machine: str
    code: int
    ram: int
    image: int
    ram_bytes: int = 4 * MEBI
    image_bytes: int = 16 * MEBI


BOARDS = {
    "cortex-m3": Board("mps2-an385", 0, 0x20000000, 0x21000000),
    "cortex-m4": Board("mps2-an386", 0, 0x20000000, 0x21000000),
    "cortex-m7": Board("mps2-an500", 0, 0x20000000, 0x60000000),
    "cortex-m33": Board("mps2-an505", 0x10000000, 0x38000000, 0x80000000),
    "cortex-m55": Board("mps3-an547", 0, 0x21000000, 0x60000000),
}
