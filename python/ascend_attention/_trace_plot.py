# SPDX-License-Identifier: Apache-2.0
"""Pictures of a timed launch. The only place that knows matplotlib, and only its objects: pyplot is left alone."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import PathPatch

    from ascend_attention._timing import Roofline

Bar = tuple[int, str, bool, int, int, str]  # core, pipe, whether it is a wait, begin and end in ns, name
Arrow = tuple[int, str, int, int, str, int]

INSTALL = "pip install 'ascend-attention[plot]', or pip install matplotlib"
PIPES = ("S", "MTE2", "MTE1", "M", "V", "FIX", "MTE3")
WIDTH = 13.0  # inches
DOTS = 144  # per inch
_MARGIN = 0.2  # rows, above and below together
_MOST_ARROWS = 120
_LETTER = 0.062  # inches that a letter of a bar's name takes

# What a bar is, its colour, and how much of its track it fills. Colours that also people with a colour vision
# deficiency can tell apart.
_KINDS: Mapping[str, tuple[str, float]] = {
    "load": ("#0072b2", 0.8),
    "L1 to L0": ("#56b4e9", 0.8),
    "Mmad": ("#d55e00", 0.8),
    "vector": ("#009e73", 0.8),
    "vector: exp, ln, sqrt, div": ("#004d39", 0.8),
    "vector: reduction": ("#8fd744", 0.8),
    "vector: cast": ("#7a9a01", 0.8),
    "Fixpipe": ("#cc79a7", 0.8),
    "store": ("#7b3294", 0.8),
    "scalar": ("#444444", 0.8),
    "waits for a flag or barrier": ("#c8c8c8", 0.36),
    "waits for another core": ("#f2a07b", 0.36),
    "waits for the scalar unit": ("#efe28c", 0.36),
}
_OF_PIPE = {"S": "scalar", "MTE2": "load", "MTE1": "L1 to L0", "M": "Mmad", "FIX": "Fixpipe", "MTE3": "store"}
_SLOW_VECTOR = ("Exp", "Ln", "Sqrt", "Rsqrt", "Div", "Reciprocal")
_WAITS = {
    "other core": "waits for another core",
    "scalar unit": "waits for the scalar unit",
    "full queue": "waits for the scalar unit",
}

_one_picture = threading.Lock()  # matplotlib's settings are those of the process


def kind_of(pipe: str, wait: bool, name: str) -> str:
    """The entry of the legend that a bar belongs to."""
    if wait:
        return _WAITS.get(name, "waits for a flag or barrier")
    if pipe in _OF_PIPE:
        return _OF_PIPE[pipe]
    if name in _SLOW_VECTOR:
        return "vector: exp, ln, sqrt, div"
    if "Reduce" in name:
        return "vector: reduction"
    return "vector: cast" if name.startswith("Cast") else "vector"


def require_matplotlib(caller: str = "trace.plot") -> None:
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{caller}: needs matplotlib, which cannot be imported ({error}): {INSTALL}", name="matplotlib"
        ) from error


@contextmanager
def own_settings() -> Iterator[None]:
    """matplotlib's defaults, whatever the user has set; names in an SVG that do not change from run to run."""
    import matplotlib

    settings: dict[Any, Any] = {
        name: matplotlib.rcParamsDefault[name] for name in matplotlib.rcParamsDefault if name != "backend"
    }
    settings.update(
        {
            "svg.hashsalt": "ascend_attention",
            "svg.fonttype": "none",
            "path.simplify": False,
            "font.family": ["DejaVu Sans"],
        }
    )
    with _one_picture, warnings.catch_warnings():
        warnings.simplefilter("ignore", matplotlib.MatplotlibDeprecationWarning)
        with matplotlib.rc_context(settings):
            yield


def picture(
    suffix: str,
    *,
    title: str,
    tracks: Sequence[tuple[int, str, str]],
    bars: Sequence[Bar],
    arrows: Sequence[Arrow],
    begin: int,
    end: int,
    clock_hz: float,
    roofline: Roofline | None,
    parts: Sequence[str],
) -> bytes:
    """The file's bytes; the same for the same arguments. ``tracks``: (core, pipe, label) from top to bottom."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    heights = {"timeline": 1.9 + 0.3 * max(len(tracks), 1), "roofline": 4.6}
    with own_settings():
        figure = Figure(figsize=(WIDTH, sum(heights[part] for part in parts)), dpi=DOTS, layout="constrained")
        axes = figure.subplots(len(parts), 1, squeeze=False, height_ratios=[heights[part] for part in parts])[:, 0]
        strips: list[tuple[PathPatch, float]] = []
        for part, area in zip(parts, axes, strict=True):
            if part == "timeline":
                strips = _draw_timeline(area, title, tracks, bars, arrows, begin, end, clock_hz)
            else:
                _draw_roofline(area, roofline, title if len(parts) == 1 else "")
        canvas = FigureCanvasSVG(figure) if suffix == ".svg" else FigureCanvasAgg(figure)
        _set_thickness(figure, strips, len(tracks))
        file = io.BytesIO()
        if isinstance(canvas, FigureCanvasSVG):
            canvas.print_svg(file, metadata={"Date": None, "Creator": None})
        else:
            canvas.print_png(file, metadata={"Software": None})
    return file.getvalue()


def _set_thickness(figure: Figure, strips: Sequence[tuple[PathPatch, float]], rows: int) -> None:
    if strips:
        figure.draw_without_rendering()
        axes = strips[0][0].axes
        assert axes is not None
        row = axes.get_window_extent().height / figure.dpi * 72 / (rows + _MARGIN)
        for line, height in strips:
            line.set_linewidth(height * row)


def _draw_timeline(
    area: Axes,
    title: str,
    tracks: Sequence[tuple[int, str, str]],
    bars: Sequence[Bar],
    arrows: Sequence[Arrow],
    begin: int,
    end: int,
    clock_hz: float,
) -> list[tuple[PathPatch, float]]:
    """Gives the bars, whose thickness (a part of a row) can be known only when the layout is."""
    from matplotlib.patches import Patch

    rows = {(core, pipe): row for row, (core, pipe, _) in enumerate(tracks)}
    groups: dict[str, list[tuple[float, float, int]]] = {}
    for core, pipe, wait, bar_begin, bar_end, name in bars:
        left, right = max(bar_begin, begin), min(bar_end, end)
        if right > left:
            groups.setdefault(kind_of(pipe, wait, name), []).append((left / 1000, right / 1000, rows[core, pipe]))
            if not wait:
                _name_bar(area, rows[core, pipe], left, right, end - begin, name)
    strips = [_draw_bars(area, kind, groups[kind]) for kind in _KINDS if kind in groups]
    _draw_arrows(area, rows, arrows, begin, end)

    area.set_title(title, fontsize=10, loc="left")
    area.set_yticks(range(len(tracks)), [label for _, _, label in tracks], fontsize=8)
    area.set_ylim(len(tracks) - 0.5 + _MARGIN / 2, -0.5 - _MARGIN / 2)
    for row in range(1, len(tracks)):
        if tracks[row][0] != tracks[row - 1][0]:
            area.axhline(row - 0.5, color="#888888", linewidth=0.6)
    area.set_xlim(begin / 1000, end / 1000)
    area.set_xlabel("modelled microseconds since the first instruction")
    area.grid(axis="x", linewidth=0.3, color="#dddddd")
    area.set_axisbelow(True)
    per_microsecond = clock_hz / 1e6

    def times(microseconds: Any) -> Any:
        return microseconds * per_microsecond

    def over(count: Any) -> Any:
        return count / per_microsecond

    cycles = area.secondary_xaxis("top", functions=(times, over))
    cycles.set_xlabel(f"cycles at {clock_hz / 1e9:g} GHz", fontsize=8)
    cycles.tick_params(labelsize=7)
    handles = [Patch(facecolor=_KINDS[kind][0], label=kind) for kind in _KINDS if kind in groups]
    if handles:
        area.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.46 / (0.3 * max(len(tracks), 2))),
            ncols=min(7, len(handles)),
            fontsize=8,
            frameon=False,
        )
    return strips


def _draw_bars(area: Axes, kind: str, bars: Sequence[tuple[float, float, int]]) -> tuple[PathPatch, float]:
    """One broken line as thick as a bar: a rectangle for each bar would be a file several times as large."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    colour, height = _KINDS[kind]
    ends = [(time, row) for left, right, row in bars for time in (left, right)]
    path = Path(ends, [Path.MOVETO, Path.LINETO] * len(bars))
    line = PathPatch(path, fill=False, edgecolor=colour, capstyle="butt", snap=False, zorder=1 + height)
    area.add_patch(line)
    return line, height


def _name_bar(area: Axes, row: int, left: int, right: int, width: int, name: str) -> None:
    if (right - left) / width * WIDTH * 0.85 > len(name) * _LETTER:
        area.text(
            (left + right) / 2000,
            row,
            name,
            ha="center",
            va="center",
            fontsize=6,
            color="white",
            clip_on=True,
            parse_math=False,
        )


def _draw_arrows(
    area: Axes, rows: Mapping[tuple[int, str], int], arrows: Sequence[Arrow], begin: int, end: int
) -> None:
    """Flags from core to core. Too many would hide what they are about: none then, and the picture says so."""
    seen = [
        (rows[from_core, from_pipe], told, rows[to_core, to_pipe], heeded)
        for from_core, from_pipe, told, to_core, to_pipe, heeded in arrows
        if (from_core, from_pipe) in rows and (to_core, to_pipe) in rows and begin <= told and heeded <= end
    ]
    if len(seen) > _MOST_ARROWS:
        area.annotate(
            f"{len(seen)} arrows (cross-core flags) not drawn: more than {_MOST_ARROWS}",
            xy=(1, 0),
            xycoords="axes fraction",
            xytext=(0, -22),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=8,
            parse_math=False,
        )
        return
    for from_row, told, to_row, heeded in seen:
        area.annotate(
            "",
            xy=(heeded / 1000, to_row),
            xytext=(told / 1000, from_row),
            arrowprops={"arrowstyle": "->", "linewidth": 0.5, "color": "#333333", "shrinkA": 0, "shrinkB": 0},
        )


def _draw_roofline(area: Axes, roofline: Roofline | None, title: str) -> None:
    if title:
        area.set_title(title, fontsize=10, loc="left")
    if roofline is None or not roofline.flop or not roofline.seconds:
        area.set_axis_off()
        area.text(0.5, 0.5, "roofline: no arithmetic", ha="center", va="center", transform=area.transAxes)
        return
    ridge, peak, attained = roofline.ridge, roofline.peak / 1e12, roofline.attained / 1e12
    # Without any traffic the intensity is infinite: the point is then at the right edge.
    intensity = min(roofline.intensity, 64 * ridge)
    left, right = min(intensity, ridge) / 8, max(intensity, ridge) * 8
    area.loglog([left, ridge, right], [left * peak / ridge, peak, peak], color="#0072b2", linewidth=1.6)
    area.plot([intensity, intensity], [attained, min(peak, intensity * peak / ridge)], color="#888888", linestyle=":")
    area.plot([intensity], [attained], marker="o", color="#d55e00", linestyle="none")
    ceiling = min(peak, intensity * peak / ridge)
    area.annotate(
        f"{attained:.3g} Tflop/s modelled\n"
        f"{attained / ceiling:.1%} of what {_short(roofline.intensity)} flop per byte allow",
        xy=(intensity, attained),
        xytext=(8, -4),
        textcoords="offset points",
        va="top",
        fontsize=8,
        parse_math=False,
    )
    area.annotate(
        f"{peak:.3g} Tflop/s: {roofline.unit}",
        xy=(right, peak),
        xytext=(-4, 4),
        textcoords="offset points",
        ha="right",
        fontsize=8,
        parse_math=False,
    )
    area.annotate(
        f"{roofline.hbm_bandwidth / 1e12:.3g} TB/s: HBM (the slope)",
        xy=(0, 1),  # the corner above the slope, where no point and no other label can be
        xycoords="axes fraction",
        xytext=(4, -4),
        va="top",
        textcoords="offset points",
        fontsize=8,
        parse_math=False,
    )
    area.set_xlim(left, right)
    area.set_ylim(min(attained, left * peak / ridge) / 3, peak * 3)
    area.set_xlabel("flop per byte of HBM traffic")
    area.set_ylabel("Tflop/s (modelled)")
    area.grid(which="major", linewidth=0.3, color="#dddddd")


def _short(number: float) -> str:
    return f"{number:,.0f}" if 100 <= number < 1e9 else f"{number:.3g}"


def labels(cores: Sequence[tuple[str, int, bool]], bars: Sequence[Bar]) -> list[tuple[int, str, str]]:
    """The tracks that have bars: core after core, pipes in the order of work. "AIC MTE2"; the block is in the title."""
    used = {(core, pipe) for core, pipe, *_ in bars}
    ordered: list[tuple[int, str]] = sorted(used, key=lambda track: (track[0], PIPES.index(track[1])))
    return [(core, pipe, f"{cores[core][0].split(' ', 2)[-1]} {pipe}") for core, pipe in ordered]


def title_of(about: Mapping[str, Any], block: int, begin: int, end: int) -> str:
    whole = about["cycles"] / about["clock_hz"] * 1e6
    return (
        f"{about['kernel']} on {about['soc']}, block {block}: modelled, {begin / 1000:.2f} to {end / 1000:.2f} of "
        f"{whole:.1f} us ({about['costs']} costs, middle assumption)"
    )
