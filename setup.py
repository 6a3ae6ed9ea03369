# SPDX-License-Identifier: Apache-2.0
"""Builds the C++ parts with CMake and Ninja. Nothing here imports torch: metadata must not need it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import ExecError

ROOT = Path(__file__).resolve().parent
PACKAGE = "ascend_attention"
OLDEST_TORCH = (2, 10)  # first release whose stable ABI covers what csrc/torch uses

# Runs outside pip's isolated build environment (-I), so it sees the torch of the environment that is installed into.
FIND_TORCH = """
import importlib.metadata, importlib.util
spec = importlib.util.find_spec("torch")
if spec and spec.submodule_search_locations:
    print(importlib.metadata.version("torch"))
    print(spec.submodule_search_locations[0])
"""


def find_torch() -> Path | None:
    """The directory of an installed torch that fits; None when there is none."""
    answer = subprocess.run([sys.executable, "-I", "-c", FIND_TORCH], capture_output=True, text=True, check=False)
    if answer.returncode != 0 or not answer.stdout.strip():
        return None
    version, directory = answer.stdout.splitlines()[:2]
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        print(f"torch {version} is older than {oldest}: building without the torch operators", file=sys.stderr)
        return None
    return Path(directory)


class CMakeBuild(build_ext):
    """One CMake build for every library of the package."""

    def run(self) -> None:
        self.build(Path(self.package_directory()))

    def package_directory(self) -> Path:
        in_place = self.inplace or self.editable_mode
        return ROOT / "python" / PACKAGE if in_place else Path(self.build_lib).resolve() / PACKAGE

    def build(self, destination: Path) -> None:
        import pybind11

        build = ROOT / "build" / str(sys.implementation.cache_tag)  # scripts/lib/setup.sh knows this name too
        torch = find_torch()
        configure = [
            *("cmake", "--log-level=WARNING"),
            *("-S", str(ROOT), "-B", str(build), "-G", "Ninja"),
            "-DASCEND_ATTENTION_REQUIRE_DOORS=ON",
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-Dpybind11_DIR={pybind11.get_cmake_dir()}",
            f"-DASCEND_ATTENTION_TORCH_DIR={torch or ''}",
            *shlex.split(os.environ.get("CMAKE_ARGS", "")),
        ]
        for command in (
            configure,
            ["cmake", "--build", str(build)],
            ["cmake", "--install", str(build), "--prefix", str(destination)],
        ):
            if subprocess.run(command, check=False).returncode != 0:
                raise ExecError(f"failed: {shlex.join(command)}")

    def get_outputs(self) -> list[str]:
        return []

    def get_output_mapping(self) -> dict[str, str]:
        return {}


def missing_tools() -> list[str]:
    """CMake and Ninja as packages, but only where the system has none."""
    wanted = {"cmake": "cmake>=3.20", "ninja": "ninja>=1.10"}
    return [requirement for tool, requirement in wanted.items() if shutil.which(tool) is None]


setup(
    ext_modules=[Extension(f"{PACKAGE}._core", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
    setup_requires=missing_tools(),
)
