# SPDX-License-Identifier: Apache-2.0
"""Kernels of these tests are compiled into a cache of the session's own."""

from __future__ import annotations

from pathlib import Path

import pytest

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache") / "kernels"


@pytest.fixture(autouse=True)
def own_cache(session_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASCEND_ATTENTION_CACHE", str(session_cache))
    return session_cache


@pytest.fixture
def kernels() -> Path:
    return KERNELS
