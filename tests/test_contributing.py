"""The fold that CONTRIBUTING.md shows, as it stands there."""
from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from tests.build import Build, names
from tests.folds.checks import exact
from tflfuse.pattern import Rule

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```python\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


def shown() -> str:
    found = BLOCK.search((ROOT / "CONTRIBUTING.md").read_text())
    assert found is not None
    return textwrap.dedent(found[1])


def test_the_fold_works_and_is_exact() -> None:
    module: dict[str, Any] = {"__name__": "tflfuse.folds.relu_after_relu6", "__package__": "tflfuse.folds"}
    exec(compile(shown(), "CONTRIBUTING.md", "exec"), module)  # what a reader is told to write
    rule = module["relu_after_relu6"]
    assert isinstance(rule, Rule)
    b = Build()
    x = b.input((1, 4, 4, 2), scale=0.1, zero_point=-5)
    y = b.op("RELU6", [x], x.shape, scale=0.1, zero_point=-5)
    y = b.op("RELU", [y], x.shape, scale=0.1, zero_point=-5)
    z = b.op("RESHAPE", [y], (1, 32), scale=0.1, zero_point=-5)
    assert names(exact(b, z, rules=(rule,))) == ["RELU6", "RESHAPE"]


def test_it_has_no_style_error(tmp_path: Path) -> None:
    path = tmp_path / "relu_after_relu6.py"
    path.write_text(shown())
    done = subprocess.run([sys.executable, "-m", "flake8", "--max-line-length", "120", path], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout
