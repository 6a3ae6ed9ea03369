# SPDX-License-Identifier: Apache-2.0
"""The report that docs/timing.md shows: what the document's first example prints. ``python sample_report.py`` puts it
there again after a change of costs, of the engine or of the report."""

from __future__ import annotations

import re
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "timing.md"
BEGIN = "<!-- what the first example prints as run.report.timing: written by tests/timing/sample_report.py -->"
END = "<!-- end of the sample report -->"


def example(text: str) -> str:
    """The first example of the document."""
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found.group(1)


def printed(text: str) -> str:
    """``run.report.timing`` of the first example."""
    lines = [line for line in example(text).splitlines() if not line.startswith("print(")]
    names: dict[str, object] = {}
    exec("\n".join(lines), names)
    return str(names["run"].report.timing)  # type: ignore[attr-defined]


def shown(text: str) -> str:
    return text.split(BEGIN)[1].split(END)[0].strip().removeprefix("```\n").removesuffix("\n```")


def main() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    DOCUMENT.write_text(f"{before}{BEGIN}\n```\n{printed(text)}\n```\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
