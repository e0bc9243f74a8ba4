"""Write into README.md what the commands that it shows print now."""
from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.readme import README, updated  # noqa: E402


def main() -> None:
    README.write_text(updated(README.read_text()))


if __name__ == "__main__":
    main()
