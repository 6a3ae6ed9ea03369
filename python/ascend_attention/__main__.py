# SPDX-License-Identifier: Apache-2.0
"""`python -m ascend_attention COMMAND`: small tools around the package."""

from __future__ import annotations

import argparse
from pathlib import Path

from ascend_attention import mask_plot


def cmake_directory() -> Path:
    """Where CMake finds the package: `-DCMAKE_PREFIX_PATH=$(python -m ascend_attention cmake-dir)`."""
    directory = Path(__file__).resolve().parent / "cmake"
    if not (directory / "AscendAttentionConfig.cmake").is_file():
        raise SystemExit(
            f"error: {directory} has no AscendAttentionConfig.cmake: the package was not built by setup.py"
        )
    return directory


def processors() -> str:
    """The names that ``simulator(soc=...)`` and ASCEND_ATTENTION_SOC know, by product."""
    from ascend_attention import _core

    lines = []
    for name, cores, product in _core.processors():
        lines.append(f"{name:17} {product}: {f'{cores} AI cores' if cores else 'calls are checked, no kernel runs'}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ascend_attention", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("cmake-dir", help="print the directory for find_package(AscendAttention)")
    commands.add_parser("processors", help="list the names that simulator(soc=...) knows")
    mask_plot.add_arguments(
        commands.add_parser("plot-mask", help="draw what a mask, a map of blocks or a sparse_mode lets rows see")
    )
    options = parser.parse_args()
    if options.command == "plot-mask":
        mask_plot.run(options)
    elif options.command == "processors":
        print(processors())
    else:
        print(cmake_directory())


if __name__ == "__main__":
    main()
