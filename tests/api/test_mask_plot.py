# SPDX-License-Identifier: Apache-2.0
"""plot-mask: the density is counted pair by pair here, and the band is compared with the one the checks explain."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ascend_attention import explain, mask_plot, plot_mask
from ascend_attention.golden import GoldenError

MODES = [
    # sparse_mode, pre_tokens, next_tokens, queries, keys
    (0, 2147483647, 2147483647, 5, 7),
    (0, 3, 2, 9, 7),
    (0, -2, 4, 9, 7),
    (2, 0, 0, 9, 7),
    (3, 0, 0, 6, 11),
    (3, 0, 0, 11, 6),
    (4, 2, 1, 9, 9),
    (4, -1, 3, 7, 12),
    (4, 2**62, 2**62, 7, 12),
    (4, 1, -5, 12, 7),
]


def brute(mode: int, pre: int, after: int, s1: int, s2: int, masked: bool) -> np.ndarray:
    """The document's words, pair by pair."""

    def sees(i: int, j: int) -> bool:
        if mode == 0:
            return not masked or i - pre <= j <= i + after
        if mode == 2:
            return j <= i
        d = i + s2 - s1
        return j <= d if mode == 3 else d - pre <= j <= d + after

    return np.array([[sees(i, j) for j in range(s2)] for i in range(s1)])


def drawn(text: str) -> np.ndarray:
    """The plain text of a small region, one character for each pair."""
    return np.array([[mark == "#" for mark in line.split()[1]] for line in text.splitlines()[2:]])


@pytest.mark.parametrize(("mode", "pre", "after", "s1", "s2"), MODES)
def test_modes(mode: int, pre: int, after: int, s1: int, s2: int) -> None:
    mask = np.zeros((s1, s2), bool) if mode == 0 and pre < 2**31 - 1 else None
    picture = plot_mask(
        queries=s1, keys=s2, sparse_mode=mode, pre_tokens=pre, next_tokens=after, atten_mask=mask
    )  # fmt: skip
    want = brute(mode, pre, after, s1, s2, mask is not None)
    np.testing.assert_array_equal(drawn(picture.text()), want)
    assert picture.density == want.mean() and picture.blind_rows == (~want.any(axis=1)).sum()
    assert ("see no key" in picture.text()) == (picture.blind_rows > 0)
    if mode == 4 and pre + after < 0:
        return  # the checks refuse it
    # The compiled checks have the rule a second time.
    tensors = {name: torch.empty(1, 1, n, 64, device="meta", dtype=torch.float16) for name, n in
               (("query", s1), ("key", s2), ("value", s2))}  # fmt: skip
    shape = (s1, s2) if mode == 0 else (2048, 2048)
    given = None if mode == 0 and mask is None else torch.empty(shape, dtype=torch.bool, device="meta")
    text = explain(
        "npu_fused_infer_attention_score_v2", **tensors, atten_mask=given, sparse_mode=mode, pre_tokens=pre,
        next_tokens=after, input_layout="BNSD", softmax_scale=1.0,
    )  # fmt: skip
    seen = re.search(r"(?:row 0 \w* ?sees? (.+?), row \d+ (.+?)|every row \w* ?sees? (.+?))$", text, re.MULTILINE)
    assert seen, text
    for row, said in ((0, seen[1] or seen[3]), (s1 - 1, seen[2] or seen[3])):
        keys = np.flatnonzero(want[row])
        few = {0: "no key", 1: f"key {keys[0] if len(keys) else ''}"}
        assert said == few.get(len(keys), f"keys {keys[0] if len(keys) else ''} to {keys[-1] if len(keys) else ''}")


def test_large_band_is_counted_exactly() -> None:
    """In cells of many pairs; a row i of 3000 sees min(i + 1 + 1000, 400 + 1) keys of 4000 at most."""
    picture = plot_mask(queries=3000, keys=4000, sparse_mode=4, pre_tokens=300, next_tokens=100)
    distance = np.arange(4000)[None, :] - np.arange(3000)[:, None] - 1000
    want = (distance >= -300) & (distance <= 100)
    assert picture.seen.sum() == want.sum() and picture.seen.shape == (512, 512)
    assert len(picture.text().splitlines()) == 34
    assert max(map(len, picture.text().splitlines()[2:])) == 4 + 1 + 64


@pytest.mark.parametrize("shape", [(700, 900), (3, 700, 900), (3, 1, 700, 900)], ids=str)
def test_full_mask(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    mask = (rng.random(shape) < 0.7).astype(np.int8)
    mask[..., 5, :] = 1
    batch = 2 if len(shape) > 2 else 0
    plane = mask.reshape(-1, 700, 900)[batch]
    for mode in (0, 1):
        picture = plot_mask(atten_mask=mask, sparse_mode=mode, batch=batch)
        assert picture.seen.sum() == (plane == 0).sum() and picture.blind_rows == 1
    part = plot_mask(atten_mask=torch.from_numpy(mask), queries=60, keys=50, batch=batch)
    assert part.density == (plane[:60, :50] == 0).mean()


@pytest.mark.parametrize("lengths", [(None, None), (37, 41), (8, 1)], ids=str)
@pytest.mark.parametrize("head", [None, 1])
def test_block_map(lengths: tuple[int | None, int | None], head: int | None) -> None:
    rng = np.random.default_rng(2)
    blocks = (rng.random((2, 3, 5, 4)) < 0.4).astype(np.int8)
    blocks[1, 1, 0] = 0
    picture = plot_mask(
        block_sparse_mask=blocks, block_shape=(8, 16), queries=lengths[0], keys=lengths[1], batch=1, head=head
    )
    seen = blocks[1].repeat(8, axis=1).repeat(16, axis=2)[:, : lengths[0], : lengths[1]]
    seen = seen if head is None else seen[1:2]
    assert picture.seen.sum() == seen.sum() and picture.density == pytest.approx(seen.mean())
    assert picture.blind_rows == (~seen.any(axis=2)).sum()


def test_block_map_of_many_blocks() -> None:
    """More blocks than cells: cells are of whole blocks, and their shares those of the blocks."""
    blocks = np.random.default_rng(3).random((1100, 700)) < 0.2
    picture = plot_mask(block_sparse_mask=blocks, block_shape=(1, 128), queries=1100, keys=700 * 128 - 5)
    weights = np.full(700, 128)
    weights[-1] -= 5
    assert picture.seen.shape == (512, 512) and picture.seen.sum() == (blocks * weights).sum()
    assert picture.shares().max() <= 1


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({}, "queries"),
        ({"queries": 3}, "keys"),
        ({"queries": -1, "keys": 3}, "queries"),
        ({"queries": 3, "keys": 3, "sparse_mode": 5}, "sparse_mode"),
        ({"queries": 3, "keys": 3, "sparse_mode": 1}, "atten_mask"),
        ({"atten_mask": np.zeros((3, 3), np.float16)}, "atten_mask"),
        ({"atten_mask": np.zeros(3, bool)}, "atten_mask"),
        ({"atten_mask": np.zeros((3, 3), bool), "keys": 4}, "atten_mask"),
        ({"atten_mask": np.zeros((2, 3, 3), bool), "batch": 2}, "batch"),
        ({"block_sparse_mask": np.full((2, 2), 3, np.int8)}, "block_sparse_mask"),
        ({"block_sparse_mask": np.zeros(2, np.int8)}, "block_sparse_mask"),
        ({"block_sparse_mask": np.zeros((2, 2), np.int8), "block_shape": (0, 1)}, "block_shape"),
        ({"block_sparse_mask": np.zeros((2, 2), np.int8), "head": 1}, "head"),
        ({"block_sparse_mask": np.zeros((2, 2), np.int8), "queries": 257}, "queries"),
        ({"block_sparse_mask": np.zeros((2, 2), np.int8), "sparse_mode": 3}, "block_sparse_mask"),
    ],
)
def test_what_means_nothing_is_named(arguments: dict[str, Any], argument: str) -> None:
    with pytest.raises(GoldenError) as caught:
        plot_mask(**arguments)
    assert caught.value.argument == argument


def test_nothing_to_see() -> None:
    for picture in (plot_mask(queries=0, keys=5), plot_mask(queries=4, keys=0, sparse_mode=3)):
        assert picture.density == 0 and len(picture.text().splitlines()) == 1
    assert picture.blind_rows == 4


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name, start in (("a.png", b"\x89PNG"), ("b.svg", b"<?xml")):
        written = [tmp_path / f"{count}{name}" for count in (1, 2)]
        for path in written:
            plot_mask(queries=40, keys=50, sparse_mode=3, path=path)
        assert written[0].read_bytes().startswith(start)
        assert written[0].read_bytes() == written[1].read_bytes()
    assert "density 0.61" in written[0].read_text(encoding="utf-8")
    plot_mask(queries=0, keys=0, path=tmp_path / "empty.png")
    with pytest.raises(ValueError, match=r"\.png or \.svg"):
        plot_mask(queries=4, keys=5, path=tmp_path / "a.gif")


def test_text_needs_no_matplotlib_and_no_compiled_parts() -> None:
    code = (
        "import sys; from ascend_attention import plot_mask; plot_mask(queries=3, keys=3, sparse_mode=2).text(); "
        "assert not {'torch', 'matplotlib', 'ascend_attention._core'} & set(sys.modules)"
    )
    package = Path(mask_plot.__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(package), "PATH": ""})


def test_errors_are_its_own() -> None:
    for given, text in (
        ({"queries": 3, "keys": 3, "sparse_mode": 9}, "plot_mask: sparse_mode: 9"),
        ({"queries": -3, "keys": 3}, "plot_mask: queries: -3 is negative"),
        ({"block_sparse_mask": np.full((2, 2), 3, np.int8)}, "plot_mask: block_sparse_mask: must hold 1"),
    ):
        with pytest.raises(ValueError, match=f"^{text}") as caught:
            plot_mask(**given)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(TypeError, match=r"^plot_mask: .* argument 'mask'; did you mean 'atten_mask'"):
        plot_mask(mask=np.zeros((3, 3), bool))  # type: ignore[call-arg]


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from ascend_attention.__main__ import main

    def call(*words: object) -> str:
        monkeypatch.setattr(sys, "argv", ["ascend_attention", "plot-mask", *map(str, words)])
        main()
        return capsys.readouterr().out

    blocks = np.eye(3, 4, dtype=np.int8)
    np.save(tmp_path / "map.npy", blocks)
    file = tmp_path / "map.npy"
    text = call("--block-sparse-mask", file, "--block-shape", 16, 8)
    assert text == plot_mask(block_sparse_mask=blocks, block_shape=(16, 8)).text() + "\n"
    text = call("--sparse-mode", 4, "--pre-tokens", 2, "--next-tokens", -1, "--queries", 5, "--keys", 6)
    assert text == plot_mask(sparse_mode=4, pre_tokens=2, next_tokens=-1, queries=5, keys=6).text() + "\n"
    assert len(call("--block-sparse-mask", file, "-o", tmp_path / "map.svg").splitlines()) == 1
    assert (tmp_path / "map.svg").exists()
    np.save(tmp_path / "pickle.npy", np.array([{}], object), allow_pickle=True)
    np.savez(tmp_path / "several.npz", blocks)
    (tmp_path / "text.npy").write_text("text")
    for name in ("pickle.npy", "several.npz", "text.npy", "absent.npy"):
        with pytest.raises(SystemExit, match=name.replace(".", r"\.")):
            call("--block-sparse-mask", tmp_path / name)
    with pytest.raises(SystemExit, match=r"error: .*queries: is needed"):
        call("--sparse-mode", 3)
