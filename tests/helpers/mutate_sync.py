# SPDX-License-Identifier: Apache-2.0
"""The program behind scripts/mutate_sync: exit code 0 if the engine needs each piece of its synchronisation and the
simulator notices when it is missing."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ascend_attention.sync_mutation import study, table, to_dict
from ascend_attention.sync_mutation._mutants import KINDS
from helpers.engine_sync import ROOT, SHAPES, case


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mutate_sync", description="Runs the engine without each piece of its "
                                     "synchronisation and says what notices. Nothing is rebuilt.")  # fmt: skip
    names = [shape.name for shape in SHAPES]
    parser.add_argument("--shape", action="append", choices=names, help="only this one (may be repeated)")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind of mutant (may be repeated)")
    parser.add_argument("--every-shape", action="store_true", help="do not stop at the first shape that notices")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all outcomes, with the findings' texts")
    parser.add_argument("--workers", type=int, default=2, help="threads that run mutants (default: 2)")
    options = parser.parse_args(arguments)
    cases = [case(shape) for shape in SHAPES if shape.name in (options.shape or names)]
    result = study(
        cases,
        roots=[ROOT],
        kinds=options.kind or KINDS,
        every_case=options.every_shape,
        workers=options.workers,
    )
    print(table(result))
    if options.json is not None:
        options.json.write_text(json.dumps(to_dict(result), indent=1) + "\n", encoding="utf-8")
    return 0 if result.passed else 1


if __name__ == "__main__":
    sys.exit(main())
