"""The page: its structure, its figures against the report's JSON, and names that are markup."""
from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256

import numpy as np
import pytest

from tests.build import Build
from tests.converted import DATA
from tests.html_report.models import HOSTILE, blocks, hostile, varied
from tests.html_report.page import Element, parsed, rows, table
from tflfuse.html_report import change, render
from tflfuse.pipeline import fuse, lower
from tflfuse.proof import fuse_and_prove
from tflfuse.result import Result

MOST_BYTES = 1_000_000
OPERATORS = 160


@lru_cache
def small() -> Result:
    """With a fold that re-quantizes, a fused run, a refusal and a proof."""
    return fuse_and_prove(varied(), runs=1)


@lru_cache
def large() -> Result:
    return fuse(blocks(OPERATORS // 4))


@lru_cache
def of(which: str) -> tuple[Result, Element]:
    result = {"small": small, "large": large}[which]()
    return result, parsed(render(result, f"{which}.tflite"))


def number(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.parametrize("which", ["small", "large"])
def test_the_page_holds_together(which: str) -> None:
    """One h1, headings without gaps, ids once, links that lead somewhere, tables with captions and headers."""
    result, page = of(which)
    assert page.one("html").attributes["lang"] == "en"
    assert page.one("h1").text == f"{which}.tflite" and page.one("head").one("title").text.startswith(f"{which}.tflite")
    levels = [int(e.tag[1]) for e in page.all() if re.fullmatch("h[1-6]", e.tag)]
    assert levels[0] == 1 and all(b <= a + 1 for a, b in zip(levels, levels[1:]))
    ids = [e.attributes["id"] for e in page.all() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    targets = [e.attributes["href"] for e in page.all("a")]
    assert targets[0] == "#content" and all(t[0] == "#" and t[1:] in ids for t in targets)
    for found in page.all("table"):
        assert found.one("caption").text
        assert all(h.attributes.get("scope") in ("col", "row") for h in found.all("th"))
        columns = sum(int(c.attributes.get("colspan", 1)) for c in found.one("thead").all("th"))
        for row in found.one("tbody").all("tr"):
            assert sum(int(c.attributes.get("colspan", 1)) for c in row.children if isinstance(c, Element)) == columns
    assert all(e.attributes.get("aria-labelledby") in ids for e in page.all("section"))


@pytest.mark.parametrize("which", ["small", "large"])
def test_it_is_one_file_of_modest_size_that_loads_nothing(which: str) -> None:
    result, page = of(which)
    text = render(result, f"{which}.tflite")
    assert len(text.encode()) < MOST_BYTES
    assert not re.search(r"https?:|//[a-z]|url\((?!#)|@import|<link|<img|<iframe", text)
    assert not any(name in e.attributes for e in page.all() for name in ("src", "srcset", "action", "data", "style"))


def test_the_same_result_gives_the_same_page() -> None:
    data = (DATA / "preactivation.tflite").read_bytes()
    assert render(fuse(data), "m.tflite") == render(fuse(data), "m.tflite")


def test_its_policy_lets_its_own_script_and_style_run_and_nothing_else() -> None:
    page = of("small")[1]
    policy = page.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    hashes = {}
    for kind in ("script", "style"):
        source = "".join(c for c in page.one(kind).children if isinstance(c, str))
        hashes[kind] = "sha256-" + b64encode(sha256(source.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src '{hashes['style']}'; script-src '{hashes['script']}'"


@pytest.mark.parametrize("which", ["small", "large"])
def test_each_operator_is_a_column_and_each_buffer_a_rectangle_at_its_address(which: str) -> None:
    result, page = of(which)
    memory = result.report.as_dict()["memory"]
    for key, operators, needs in (("before", result.report.operators_before, memory["before"]),
                                  ("after", result.report.operators_after, memory["after"])):
        chart = page.one("figure", id=f"arena-{key}")
        assert len(chart.all("rect", class_="column")) == operators.total()
        assert f"{needs['head']:,} bytes" in chart.one("text", class_="peak").text
    assert len(page.one(id="arena-after").all("a", class_="band")) == len(memory["buffers"])
    told = sorted([number(n) for n in row[2:4]] for row in rows(page, "Buffers after"))
    assert told == sorted([b["offset"], b["size"]] for b in memory["buffers"])


def test_a_rectangle_lies_where_its_buffer_does() -> None:
    result, page = of("small")
    chart = page.one("figure", id="arena-before")
    top = bytes_to_the_top(chart)
    for band in chart.all("a", class_="band"):
        told = re.search(r": ([\d,]+) bytes at ([\d,]+),", band.attributes["aria-label"])
        assert told is not None
        size, offset = map(number, told.groups())
        rect = band.one("rect").attributes
        height, y = (float(rect[n].rstrip("%")) / 100 * top for n in ("height", "y"))
        assert abs(height - size) <= top / 1e4 and abs(top - y - height - offset) <= top / 1e4
        assert band.one("title").text == band.attributes["aria-label"]


def bytes_to_the_top(chart: Element) -> float:
    """From the last mark beside a picture."""
    mark = chart.one("svg", class_="y-axis").all("text")[-1]
    value, unit = mark.text.split()
    return number(value) * {"KB": 1024, "B": 1}[unit] / (1 - float(mark.attributes["y"].rstrip("%")) / 100)


@pytest.mark.parametrize("which", ["small", "large"])
def test_its_figures_are_those_of_the_json(which: str) -> None:
    result, page = of(which)
    said = result.report.as_dict()
    figures = {f.one("dt").text: [number(f.one("strong").text), number(f.one("span", class_="was").text.split()[1])]
               for f in page.all("div", class_="figure")}
    assert figures["Operators"] == [said["operators"]["after"], said["operators"]["before"]]
    assert figures["File"] == [said["bytes"]["after"], said["bytes"]["before"]]
    assert figures["Arena, 32-bit"] == [said["memory"][t]["device"] for t in ("after", "before")]
    assert figures["Read and written in SRAM"] == [said["traffic"][t]["total"] for t in ("after", "before")]
    assert ("Arena, 64-bit" in figures) == (said["arena"] is not None)
    if said["arena"]:
        assert figures["Arena, 64-bit"] == [said["arena"]["after"], said["arena"]["before"]]
    traffic = table(page, "SRAM traffic")
    for label, key in (("Tensors read", "read"), ("Tensors written", "written"), ("Rows read", "ring_read"),
                       ("Rows written", "ring_written"), ("All", "total")):
        assert [number(n) for n in traffic[label][:2]] == [said["traffic"][t][key] for t in ("before", "after")]
    arena = table(page, "What the arena holds")
    for label, key in (("Head: tensors and scratch memory", "head"),
                       ("kTensorArenaSize for a 32-bit target, with what planning takes", "device")):
        assert [number(n) for n in arena[label][:2]] == [said["memory"][t][key] for t in ("before", "after")]


@pytest.mark.parametrize("which", ["small", "large"])
def test_each_fused_operator_has_its_stages_and_what_it_stands_for(which: str) -> None:
    result, page = of(which)
    traffic = result.report.traffic
    assert traffic is not None and traffic.groups
    fused = page.all("details", class_="group")
    assert len(fused) == len(traffic.groups) == len(page.one("ol", class_="strip").all("li", class_="fused"))
    for shown, group in zip(fused, traffic.groups, strict=True):
        assert group.step is not None and group.before is not None
        assert [o.text for o in shown.one("ol", class_="names").all("li")] == [o.label for o in group.step.before]
        assert f"{group.before.tensors:,} → {group.after.tensors:,} bytes" in shown.text
        sizes = [number(row.all("td")[3].text) for row in shown.one("table").one("tbody").all("tr")]
        assert sizes[-1] == group.after.written
        assert sum(sizes[:-1]) == group.after.ring_written


def test_every_step_and_every_refusal_is_told() -> None:
    result, page = of("small")
    plan = result.report.plan
    assert plan.steps and plan.refusals
    steps = page.one("section", id="plan").all("tbody")
    assert sum(len(body.all("tr")) for body in steps) == len(plan.steps)
    refused = page.one("section", id="refusals").text
    assert all(r.reason in refused and r.label in refused for r in plan.refusals)


def test_the_verdict_is_told() -> None:
    result, page = of("small")
    proof = result.report.proof
    assert proof is not None and proof.measured
    verification = page.one("section", id="verification")
    assert verification.one("p", class_="verdict").text == proof.whole.summary
    assert len(table(page, "Re-quantizing steps")) == len({m.step.label for m in proof.measured})
    assert "The models were not run." in of("large")[1].one("section", id="verification").text


def test_the_estimate_of_energy_says_what_it_is_and_where_it_comes_from() -> None:
    traffic = of("small")[1].one("section", id="traffic").text
    for words in ("This is an estimate", "ISSCC", "10 pJ for 64 bits of 8 KB", "SRAM accesses alone"):
        assert words in traffic


def test_names_that_are_markup_are_text() -> None:
    result = fuse(hostile())
    page = parsed(render(result, HOSTILE))
    ours = parsed(render(fuse(blocks(1)), "ours"))
    assert len(page.all("script")) == 1 and page.one("script").text == ours.one("script").text
    assert not page.all("img") and page.one("h1").text == HOSTILE
    assert any(HOSTILE[:40] in name for name, *_ in rows(page, "Buffers before"))
    assert not any(name.startswith("on") for e in page.all() for name in e.attributes)


def test_a_model_whose_tensors_have_no_size_is_told_without_a_picture() -> None:
    b = Build()
    x = b.input((1, 4), scale=0.1)
    x.shape = (-1, 4)
    page = parsed(render(fuse(b.bytes(b.op("RELU", [x], (1, 4), scale=0.1)), keep_dynamic=True)))
    assert not page.all("figure")
    assert "a dimension is left open" in page.one("section", id="arena").text
    assert "not known" in page.one("section", id="traffic").text


def test_a_model_in_which_nothing_was_done_says_so() -> None:
    b = Build()
    x = b.input((1, 4))
    page = parsed(render(fuse(b.bytes(b.op("L2_NORMALIZATION", [x], x.shape)))))
    assert "Nothing: no rule applies to its L2_NORMALIZATION" in page.one("p", class_="lead").text
    assert not page.all("details", class_="group")


def test_a_model_without_operators_has_a_page() -> None:
    b = Build()
    x = b.input((1, 4))
    page = parsed(render(fuse(b.bytes(x))))
    assert page.one("h1").text == "model.tflite"


def test_a_lowered_model_is_told_too() -> None:
    page = parsed(render(lower(large().model)))
    assert not page.all("details", class_="group")
    assert len(page.one("figure", id="arena-after").all("rect", class_="column")) == OPERATORS


def test_a_fused_file_is_told_with_its_stages_though_not_what_they_stood_for() -> None:
    page = parsed(render(fuse(large().model)))
    assert page.all("details", class_="group") and not page.all("ol", class_="names")


def test_outputs_that_differ_are_not_called_the_same() -> None:
    result = small()
    proof = result.report.proof
    assert proof is not None and not proof.whole.equal
    lead = of("small")[1].one("p", class_="lead").text
    assert "Outputs differ a little" in lead and "the same" not in lead
    equal = replace(proof, whole=replace(proof.whole, equal=True))
    same = replace(result, report=replace(result.report, proof=equal))
    assert "All outputs are the same, bit for bit" in parsed(render(same)).one("p", class_="lead").text


def test_changes_are_written_as_people_write_them() -> None:
    assert [change(*pair) for pair in ((200, 80), (1000, 983), (5, 5), (0, 3), (100, 125))] == [
        "−60%", "−1.7%", "the same", "new", "+25%"]


def test_float_models_are_told() -> None:
    b = Build()
    x = b.input((1, 4, 4, 2))
    w = b.constant(np.ones((3, 1, 1, 2), np.float32))
    page = parsed(render(fuse(b.bytes(b.conv(x, w, b.constant(np.zeros(3, np.float32)))))))
    assert len(page.one("figure", id="arena-before").all("rect", class_="column")) == 1
