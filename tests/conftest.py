# SPDX-License-Identifier: Apache-2.0
"""Options and fixtures that every test room shares.

``--random-sample=N``  how many random cases each sampling test draws (20)
``--full``             many more of them: what a night is for
``--random-seed=S``    the seed they start from: an integer, or ``random`` for a fresh one in each session

A test asks for ``seed`` (one integer of its own) or for ``sample_rng`` (then it runs N times, each time with its own
generator; ``@pytest.mark.samples(300, full=6000)`` says another N). Both print what is needed to run the same case
again.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import sys
import zlib
from pathlib import Path

# Before NumPy is loaded. Its matrix library would wait busily for threads that other test processes keep from a CPU:
# twice the CPU time for the same tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

_TESTS = Path(__file__).resolve().parent
if str(_TESTS) not in sys.path:
    sys.path.insert(0, str(_TESTS))  # `from helpers.fia_cases import ...` from any room
if importlib.util.find_spec("ascend_attention") is None:
    sys.path.insert(0, str(_TESTS.parent / "python"))  # golden and precision work from a bare checkout

_DEFAULT_SEED = 20251110
_DEFAULT_SAMPLE = 20


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ascend-attention")
    group.addoption(
        "--random-sample", type=int, metavar="N", help=f"random cases per sampling test ({_DEFAULT_SAMPLE})"
    )
    group.addoption("--full", action="store_true", help="thousands of random cases: ten or twenty times the usual")
    group.addoption(
        "--random-seed", default=str(_DEFAULT_SEED), metavar="S", help="base seed: an integer, or 'random' (printed)"
    )


def pytest_configure(config: pytest.Config) -> None:
    given = str(config.getoption("--random-seed"))
    base = secrets.randbelow(2**31) if given == "random" else int(given)
    config.stash[_BASE_SEED] = base
    config.addinivalue_line("markers", "samples(usual, full): how often a test with sample_rng runs, and with --full")


_BASE_SEED = pytest.StashKey[int]()


def pytest_report_header(config: pytest.Config) -> str:
    base = config.stash[_BASE_SEED]
    sample = config.getoption("--random-sample")
    size = f"--random-sample={sample}" if sample is not None else "--full" if config.getoption("--full") else "usual"
    return f"random cases: {size} --random-seed={base}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "_sample_index" in metafunc.fixturenames:
        count = _sample_size(metafunc)
        metafunc.parametrize("_sample_index", range(count), ids=lambda index: f"sample{index}")


def _sample_size(metafunc: pytest.Metafunc) -> int:
    given, full = metafunc.config.getoption("--random-sample"), metafunc.config.getoption("--full")
    if given is not None:
        return int(given)
    marker = metafunc.definition.get_closest_marker("samples")
    if marker is None:
        return 10 * _DEFAULT_SAMPLE if full else _DEFAULT_SAMPLE
    return int(marker.kwargs["full"] if full else marker.args[0])


def _derive(request: pytest.FixtureRequest) -> int:
    # Each test has a stream of its own, so adding a test does not move the cases of another.
    base = request.config.stash[_BASE_SEED]
    return (base * 1_000_003 + zlib.crc32(request.node.nodeid.encode())) % 2**32


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """A seed of this test's own, printed so that a failure can be repeated."""
    value = _derive(request)
    print(f"seed {value} (session: --random-seed={request.config.stash[_BASE_SEED]})")
    return value


@pytest.fixture
def sample_rng(seed: int, _sample_index: int) -> np.random.Generator:
    """Runs the test as often as there are samples, each time with its own generator."""
    return np.random.default_rng(seed)
