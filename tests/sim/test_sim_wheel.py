# SPDX-License-Identifier: Apache-2.0
"""A wheel has what users' kernels need: it compiles and runs one away from the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
import ascend_attention
from ascend_attention import sim
assert Path(ascend_attention.__file__).is_relative_to(sys.argv[1]), ascend_attention.__file__
kernel = sim.compile(sys.argv[2])
x = np.ones(256, np.float16)
assert (kernel(x, x, sim.Out(np.empty_like(x)), 1, mode="checked").outputs[0] == 2).all()
"""


def test_wheel_compiles_a_kernel(tmp_path: Path) -> None:
    # The tree that the package in use was built in: nothing is left to compile. Everything else goes to tmp_path.
    command = [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", str(tmp_path)]
    command += ["build", "--build-base", str(tmp_path / "build"), "bdist_wheel", "--dist-dir", str(tmp_path / "dist")]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=540)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    headers = {
        path.relative_to(ROOT / "simulator" / "include") for path in (ROOT / "simulator" / "include").rglob("*.h")
    }
    assert all((installed / "ascend_attention" / "include" / header).is_file() for header in headers)
    example = ROOT / "examples" / "own_kernel" / "add.cpp"
    environment = dict(os.environ, PYTHONPATH=str(installed))
    program = [sys.executable, "-c", PROGRAM, str(installed), str(example)]
    answer = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stdout + answer.stderr
