"""A chain run row by row with the addresses of its rings: every row that is read must still be the one it was."""
from __future__ import annotations

from tflfuse.chain import Chain, Table, Transpose
from tflfuse.layout import Layout, laid_out


def overwritten(chain: Chain, layout: Layout | None = None) -> str | None:
    """None where no ring row is overwritten before it was read for the last time; else what went wrong."""
    layout = layout or laid_out(chain)
    links, places, count = layout.links, layout.places, len(chain.inputs)
    heights = [p.value.height for p in places]
    last = len(links) - 1
    owner: dict[int, tuple[int, int]] = {}  # which row of which value each byte of scratch memory holds
    made, consumed, waiting = [0] * len(links), [0] * len(links), [last] * len(links)

    def bytes_of(value: int, row: int) -> range:
        place = places[value]
        begin = place.offset + row % place.rows * place.pitch
        return range(begin, begin + place.pitch)

    def rows_of(stage: int, value: int) -> range:
        rows = links[stage].stage.rows
        if isinstance(links[stage].stage, Transpose):
            return range(heights[value])
        if rows.accumulates:
            return range(consumed[stage], consumed[stage] + 1)
        return range(rows.first(made[stage], heights[value]), rows.end(made[stage], heights[value]))

    current = last
    while made[last] < heights[-1]:
        link = links[current]
        inner = [v for v in link.reads if v >= count]
        missing = next((v - count for v in inner if made[v - count] < rows_of(current, v).stop), None)
        if missing is not None:
            waiting[missing], current = current, missing
            continue
        out = count + current
        for value in inner:
            for row in rows_of(current, value):
                if any(owner.get(at) != (value, row) for at in bytes_of(value, row)):
                    return f"stage {current} reads row {row} of value {value}, which is not there any more"
        sums_up = link.stage.rows.accumulates and consumed[current] + 1 < heights[link.reads[0]]
        consumed[current] += 1
        if sums_up:
            continue
        if current != last:
            written = bytes_of(out, made[current])
            read = {at for v in inner for row in rows_of(current, v) for at in bytes_of(v, row)}
            in_place = isinstance(link.stage, Table)
            if not in_place and not read.isdisjoint(written):
                return f"stage {current} writes over what it reads"
            owner.update(dict.fromkeys(written, (out, made[current])))
        made[current] += 1
        if current != last:
            current = waiting[current]
    return None
