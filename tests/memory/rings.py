"""A chain run row by row with the addresses of its rings: every row that is read must still be the one it was."""
from __future__ import annotations

from tflfuse.chain import Chain, Table
from tflfuse.layout import Layout, laid_out
from tflfuse.walk import steps


def overwritten(chain: Chain, layout: Layout | None = None) -> str | None:
    """None where no ring row is overwritten before it was read for the last time; else what went wrong."""
    layout = layout or laid_out(chain)
    links, places, count = layout.links, layout.places, len(chain.inputs)
    owner: dict[int, tuple[int, int]] = {}  # which row of which value each byte of scratch memory holds

    def bytes_of(value: int, row: int) -> range:
        place = places[value]
        begin = place.offset + row % place.rows * place.pitch
        return range(begin, begin + place.pitch)

    for step in steps(chain.inputs, links):
        read: set[int] = set()
        for value, row in ((v, row) for v, rows in step.reads if v >= count for row in rows):
            read.update(bytes_of(value, row))
            if any(owner.get(at) != (value, row) for at in bytes_of(value, row)):
                return f"stage {step.stage} reads row {row} of value {value}, which is not there any more"
        if not step.done or step.stage == len(links) - 1:
            continue
        out = count + step.stage
        written = bytes_of(out, step.row)
        if not isinstance(links[step.stage].stage, Table) and not read.isdisjoint(written):
            return f"stage {step.stage} writes over what it reads"
        owner.update(dict.fromkeys(written, (out, step.row)))
    return None
