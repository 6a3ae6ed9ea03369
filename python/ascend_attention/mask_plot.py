# SPDX-License-Identifier: Apache-2.0
"""What a mask lets rows see, as a picture or as plain text with its density: for checking one's mask by eye.

The rules are the golden model's (golden/visibility.py). Needs NumPy alone; pictures need matplotlib.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ascend_attention._other_names import suggesting
from ascend_attention.golden.errors import GoldenError
from ascend_attention.golden.lengths import as_integers
from ascend_attention.golden.numbers import Array, as_array, as_integer
from ascend_attention.golden.visibility import Visibility, mask_planes, of_sequences
from ascend_attention.precision.arrays import as_numpy

UNLIMITED = 2147483647
_MOST_CELLS = 512  # along an axis of a picture
_TEXT_CELLS = (32, 64)  # rows and columns of the plain text
_MARKS = ".:+#"  # nothing, less than half, half or more, all of a cell's pairs are seen


@dataclass(frozen=True)
class MaskPicture:
    """The pairs of one sequence, of all heads together, cut into cells."""

    title: str
    queries: int
    keys: int
    heads: int  # what ``seen`` is summed over
    seen: Array  # int64 (row cells, key cells): pairs that are seen
    blind_rows: int  # rows (of a head) that see no key
    unit: tuple[int, int]  # blocks of a block map, which cells do not cut; (1, 1) otherwise

    @property
    def density(self) -> float:
        """Seen pairs over all pairs; 0 where there are none."""
        pairs = self.queries * self.keys * self.heads
        return float(self.seen.sum()) / pairs if pairs else 0.0

    def shares(self) -> Array:
        """Of each cell the share that is seen, 0 to 1."""
        rows, keys = (np.diff(_edges(n, c, u)) for n, c, u in zip(*self._axes(), self.unit, strict=True))
        return np.asarray(self.seen / np.maximum(rows[:, None] * keys[None, :] * self.heads, 1))

    def summary(self) -> str:
        total = self.queries * self.keys * self.heads
        of_heads = f", {self.heads} heads together" if self.heads > 1 else ""
        text = (
            f"{self.title}: {self.queries} queries, {self.keys} keys{of_heads}; "
            f"{int(self.seen.sum())} of {total} pairs are seen, density {self.density:.4g}"
        )
        if self.blind_rows:
            of_a_head = " (counted for each head)" if self.heads > 1 else ""
            text += f"; {self.blind_rows} rows see no key{of_a_head}: zeros, softmax_lse +inf"
        return text

    def text(self) -> str:
        """Plain text, 32 lines by 64 columns at most."""
        rows, keys = (_edges(n, most, u) for n, most, u in zip(self._sizes(), _TEXT_CELLS, self.unit, strict=True))
        given_rows, given_keys = (_edges(n, c, u) for n, c, u in zip(*self._axes(), self.unit, strict=True))
        lines = [self.summary()]
        if not self.seen.size:
            return lines[0]
        # Cells of the text are made of whole cells of the picture, so the edges of both are taken from the latter.
        row_at, key_at = (np.unique(np.searchsorted(g, e)) for g, e in ((given_rows, rows), (given_keys, keys)))
        seen = np.add.reduceat(np.add.reduceat(self.seen, row_at[:-1], axis=0), key_at[:-1], axis=1)
        rows, keys = given_rows[row_at], given_keys[key_at]
        pairs = np.diff(rows)[:, None] * np.diff(keys)[None, :] * self.heads
        mark = np.where(seen == 0, 0, np.where(seen == pairs, 3, np.where(2 * seen < pairs, 1, 2)))
        lines.append(
            f"a character: {_size_text(rows, 'row')} by {_size_text(keys, 'key')}; "
            f"'{_MARKS[3]}' all seen, '{_MARKS[2]}' half or more, '{_MARKS[1]}' less, '{_MARKS[0]}' none"
        )
        width = len(str(self.queries))
        lines += [
            f"{first:>{width}} {''.join(_MARKS[m] for m in line)}" for first, line in zip(rows[:-1], mark, strict=True)
        ]
        return "\n".join(lines)

    def save(self, path: str | Path) -> None:
        """Writes a PNG or an SVG, by the name. Needs matplotlib."""
        suffix = Path(path).suffix.lower()
        if suffix not in (".png", ".svg"):
            raise ValueError(f"plot_mask: path {str(path)!r}: the name has to end in .png or .svg")
        Path(path).write_bytes(_picture(self, suffix))

    def _sizes(self) -> tuple[int, int]:
        return self.queries, self.keys

    def _axes(self) -> tuple[tuple[int, int], tuple[int, ...]]:
        return self._sizes(), self.seen.shape


@suggesting
def plot_mask(
    *,
    queries: int | None = None,
    keys: int | None = None,
    sparse_mode: int = 0,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
    atten_mask: Any = None,
    block_sparse_mask: Any = None,
    block_shape: Sequence[int] = (128, 128),
    batch: int = 0,
    head: int | None = None,
    path: str | Path | None = None,
) -> MaskPicture:
    """What the rows of one sequence see, by sparse_mode, by a full mask, or by a map of blocks.

    queries, keys        actual lengths of the sequence; without them, what the mask or the map covers
    sparse_mode, pre_tokens, next_tokens
                         as npu_fused_infer_attention_score_v2 takes them (prompt flash attention: next_tokens is 0)
    atten_mask           full mask of modes 0 and 1: (S, S), (B, S, S) or (B, 1, S, S), bool, int8 or uint8; non-zero
                         hides. Modes 2, 3 and 4 do without: the content of the 2048 x 2048 mask is never read
    block_sparse_mask    map of block_sparse_attention_v2, 1 is computed: (B, N, blocks of rows, blocks of keys), or of
                         one sequence (N, ..., ...), or of one head (..., ...)
    block_shape          rows and keys of a block of the map
    batch, head          which sequence; which query head of the map, None for all together
    path                 where to write a picture, PNG or SVG

    NumPy arrays or torch tensors. The result has ``density``, ``text()``, ``summary()`` and ``save(path)``. What means
    nothing raises GoldenError, a ValueError that names the argument.
    """
    atten_mask, block_sparse_mask = as_numpy(atten_mask), as_numpy(block_sparse_mask)
    try:
        if block_sparse_mask is not None:
            if atten_mask is not None or sparse_mode != 0:
                raise GoldenError("block_sparse_mask", "excludes atten_mask and sparse_mode")
            picture = _of_map(block_sparse_mask, block_shape, queries, keys, batch, head)
        else:
            picture = _of_mode(sparse_mode, pre_tokens, next_tokens, atten_mask, queries, keys, batch)
    except GoldenError as error:
        raise error.of("plot_mask") from None
    if path is not None:
        picture.save(path)
    return picture


def _of_mode(
    mode: int, pre_tokens: int, next_tokens: int, mask: Any, queries: int | None, keys: int | None, batch: int
) -> MaskPicture:
    explicit = mask is not None and mode in (0, 1)
    if explicit:
        shape = as_array(mask, "atten_mask").shape
        if len(shape) < 2:
            raise GoldenError("atten_mask", f"shape {shape} has no rows and keys")
        queries, keys = shape[-2] if queries is None else queries, shape[-1] if keys is None else keys
    s1, s2 = _length(queries, "queries"), _length(keys, "keys")
    batches = len(mask) if explicit and mask.ndim > 2 else 1
    if explicit and not 0 <= as_integer(batch, "batch") < batches:
        raise GoldenError("batch", f"{batch} is none of the {batches} in atten_mask")
    plane = mask_planes(mask, batches, s1, s2)[batch] if explicit else None
    sees = of_sequences(mode, pre_tokens, next_tokens, plane, [s1], [s2], (s1, s2))[0]
    counts, blind = _counts(sees, s1, s2)
    return MaskPicture(_title(mode, pre_tokens, next_tokens, explicit), s1, s2, 1, counts, blind, (1, 1))


def _title(mode: int, pre_tokens: int, next_tokens: int, explicit: bool) -> str:
    tokens = f", pre_tokens {pre_tokens}, next_tokens {next_tokens}"
    counted = mode == 4 or (mode == 0 and explicit and (pre_tokens, next_tokens) != (UNLIMITED, UNLIMITED))
    mask = " with atten_mask" if explicit else " without atten_mask" if mode == 0 else ""
    return f"sparse_mode {mode}{mask}{tokens if counted else ''}"


def _counts(sees: Visibility, queries: int, keys: int) -> tuple[Array, int]:
    """Seen pairs in each cell, and the number of rows without any."""
    rows, columns = _edges(queries, _MOST_CELLS), _edges(keys, _MOST_CELLS)
    seen = np.zeros((len(rows) - 1, len(columns) - 1), np.int64)
    blind = 0
    for cell, (first, last) in enumerate(pairwise(rows)):
        if sees.hidden is None:
            ranges = np.array([sees.window(int(row), int(row) + 1) for row in range(first, last)])
            ends = [np.clip(ranges[:, side, None], columns[:-1], columns[1:]) for side in (0, 1)]
            seen[cell] = (ends[1] - ends[0]).sum(axis=0)
            blind += int((ranges[:, 0] == ranges[:, 1]).sum())
            continue
        near, kept = sees.rows(int(first), int(last))
        assert kept is not None and isinstance(near, slice)
        pairs = np.zeros((last - first, keys), bool)
        pairs[:, near] = kept
        blind += int((~pairs.any(axis=1)).sum())
        if keys:
            seen[cell] = np.add.reduceat(pairs.sum(axis=0), columns[:-1])
    return seen, blind


def _of_map(
    given: Any, block_shape: Sequence[int], queries: int | None, keys: int | None, batch: int, head: int | None
) -> MaskPicture:
    name = "block_sparse_mask"
    blocks = as_array(given, name)
    if blocks.dtype not in (np.bool_, np.int8, np.uint8) or not np.isin(blocks, (0, 1)).all():
        raise GoldenError(name, "must hold 1 (computed) and 0 (skipped), as int8, uint8 or bool")
    if not 2 <= blocks.ndim <= 4:
        raise GoldenError(name, f"shape {blocks.shape} is not (B, N, blocks of rows, blocks of keys)")
    blocks = blocks.reshape((1,) * (4 - blocks.ndim) + blocks.shape) != 0
    sizes = as_integers(block_shape, "block_shape")
    if len(sizes) != 2 or min(sizes) < 1:
        raise GoldenError("block_shape", f"{block_shape} is not the two positive sizes of a block")
    for argument, number, count in (("batch", batch, blocks.shape[0]), ("head", head, blocks.shape[1])):
        if number is not None and not 0 <= as_integer(number, argument) < count:
            raise GoldenError(argument, f"{number} is none of the {count} in {name}")
    chosen = blocks[batch] if head is None else blocks[batch, head : head + 1]
    lengths = []
    for argument, length, count, size in zip(
        ("queries", "keys"), (queries, keys), chosen.shape[1:], sizes, strict=True
    ):
        lengths.append(count * size if length is None else _length(length, argument))
        if lengths[-1] > count * size:
            raise GoldenError(argument, f"{length} is more than the {count} blocks of {size} that {name} has")
    s1, s2 = lengths
    # How much of each block lies in each cell, along both axes.
    in_rows, in_keys = (
        _overlaps(_edges(n, _MOST_CELLS, size), count, size, n)
        for n, count, size in zip(lengths, chosen.shape[1:], sizes, strict=True)
    )
    seen = np.rint(in_rows @ chosen.sum(axis=0).astype(np.float64) @ in_keys.T).astype(np.int64)
    used = in_keys.sum(axis=0) > 0
    blind = (~chosen[:, :, used].any(axis=2)) @ in_rows.sum(axis=0)
    which = f"block map, blocks of {sizes[0]} x {sizes[1]}" + ("" if head is None else f", head {head}")
    return MaskPicture(which, s1, s2, len(chosen), seen, int(blind.sum()), (sizes[0], sizes[1]))


def _overlaps(edges: Array, blocks: int, size: int, length: int) -> Array:
    """float64 (cells, blocks): how many positions of a block lie in a cell."""
    ends = np.minimum(np.arange(blocks + 1) * size, length)
    low, high = (np.clip(end, edges[:-1, None], edges[1:, None]) for end in (ends[:-1], ends[1:]))
    return np.asarray(high - low, np.float64)


def _edges(length: int, most: int, unit: int = 1) -> Array:
    """Where cells begin and end: ``most`` of them, or fewer, made of whole units."""
    units = -(-length // unit)
    cells = min(units, most)
    return np.minimum(np.arange(cells + 1) * units // max(cells, 1) * unit, length)


def _length(given: int | None, argument: str) -> int:
    if given is None:
        raise GoldenError(argument, "is needed where no mask says how many there are")
    if as_integer(given, argument) < 0:
        raise GoldenError(argument, f"{given} is negative")
    return int(given)


def _size_text(edges: Array, noun: str) -> str:
    sizes = np.diff(edges)
    low, high = int(sizes.min()), int(sizes.max())
    return f"{low if low == high else f'{low} to {high}'} {noun}{'' if high == 1 else 's'}"


def _picture(mask: MaskPicture, suffix: str) -> bytes:
    from ascend_attention import _trace_plot

    _trace_plot.require_matplotlib("plot_mask")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with _trace_plot.own_settings():
        figure = Figure(figsize=(7.0, 6.0), dpi=_trace_plot.DOTS, layout="constrained")
        area = figure.subplots()
        extent = (0, max(mask.keys, 1), max(mask.queries, 1), 0)
        if mask.seen.size:
            shown = area.imshow(
                mask.shares(), cmap="Blues", vmin=0, vmax=1, extent=extent, aspect="auto", interpolation="nearest"
            )
            figure.colorbar(shown, ax=area, label="share of pairs seen")
        area.set_xlabel("key")
        area.set_ylabel("query row")
        area.set_title(mask.summary().replace(": ", ":\n", 1).replace("; ", ";\n"), fontsize=9, loc="left")
        file = io.BytesIO()
        if suffix == ".svg":
            FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None, "Creator": None})
        else:
            FigureCanvasAgg(figure).print_png(file, metadata={"Software": None})
    return file.getvalue()


# ---- the command -----------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=int, help="query rows of the sequence (with a mask or map: all it covers)")
    parser.add_argument("--keys", type=int, help="keys of the sequence (the same)")
    parser.add_argument("--sparse-mode", type=int, default=0, help="0 to 4")
    parser.add_argument("--pre-tokens", type=int, default=UNLIMITED)
    parser.add_argument("--next-tokens", type=int, default=UNLIMITED)
    parser.add_argument("--atten-mask", metavar="FILE.npy", help="full mask of sparse_mode 0 or 1")
    parser.add_argument("--block-sparse-mask", metavar="FILE.npy", help="map of blocks")
    parser.add_argument("--block-shape", type=int, nargs=2, default=(128, 128), metavar=("ROWS", "KEYS"))
    parser.add_argument("--batch", type=int, default=0, help="which sequence of the file")
    parser.add_argument("--head", type=int, help="which query head of the map; all together if not given")
    parser.add_argument("-o", "--output", metavar="PICTURE", help="write a .png or .svg instead of plain text")


def run(options: argparse.Namespace) -> None:
    """Prints plain text; with an output, writes that and prints one line."""
    try:
        picture = plot_mask(
            queries=options.queries,
            keys=options.keys,
            sparse_mode=options.sparse_mode,
            pre_tokens=options.pre_tokens,
            next_tokens=options.next_tokens,
            atten_mask=_loaded(options.atten_mask),
            block_sparse_mask=_loaded(options.block_sparse_mask),
            block_shape=options.block_shape,
            batch=options.batch,
            head=options.head,
            path=options.output,
        )
    except (ValueError, OSError, ModuleNotFoundError) as error:
        raise SystemExit(f"error: {error}") from error
    print(picture.summary() if options.output else picture.text())


def _loaded(name: str | None) -> Array | None:
    if name is None:
        return None
    try:
        array = np.load(name, allow_pickle=False)
    except (ValueError, EOFError) as error:  # a pickle, or no NumPy file at all
        raise ValueError(f"{name} is not an array that NumPy saved: {error}") from error
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} holds several arrays: an .npy file is needed")
    return array
