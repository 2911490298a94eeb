#!/usr/bin/env python3
"""Draws what benchmarks/peers/run found, as SVG: benchmarks/peers/plot.py PEERS.json FOLDER.

A dot is a p50, a line leads from it to the p99. The axis is logarithmic: a peer that polls is a thousand times slower than
one that is told.
"""
import html
import json
import math
import pathlib
import sys

from report import TITLES

WIDTH, LABELS, RIGHT, ROW, TOP = 860, 330, 80, 22, 64
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-weight: 600; font-size: 15px } .engine { font-weight: 600 }
.quiet { fill: #57606a } .grid { stroke: #d0d7de } .peer { fill: #57606a; stroke: #57606a } .pawl { fill: #0969da; stroke: #0969da }
.floor { fill: none; stroke: #57606a; stroke-width: 1.5 } .name-pawl { font-weight: 600; fill: #0969da } .back { fill: #ffffff }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .quiet { fill: #9198a1 } .grid { stroke: #3d444d } .back { fill: #0d1117 }
.peer { fill: #9198a1; stroke: #9198a1 } .pawl { fill: #4493f8; stroke: #4493f8 } .floor { stroke: #9198a1 } .name-pawl { fill: #4493f8 } }
"""


def duration(micros):
    if micros >= 1e6:
        return f"{micros / 1e6:g} s"
    return f"{micros / 1000:g} ms" if micros >= 1000 else f"{micros:g} µs"


def rounded(micros):
    return duration(float(f"{micros:.3g}"))


class Axis:
    """Logarithmic, from a round number below the least to one above the greatest."""

    STEPS = [base * 10**power for power in range(0, 8) for base in (1, 2, 5)]

    def __init__(self, values):
        self.least = max(step for step in self.STEPS if step <= max(min(values), 1))
        self.greatest = min(step for step in self.STEPS if step >= max(values))

    def x(self, value):
        share = math.log(value / self.least) / math.log(self.greatest / self.least)
        return round(LABELS + share * (WIDTH - LABELS - RIGHT), 1)

    def ticks(self):
        inside = [step for step in self.STEPS if self.least <= step <= self.greatest]
        return inside if len(inside) <= 9 else [step for step in inside if math.log10(step) % 1 == 0]


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{html.escape(words)}</text>'


def mark(axis, y, kind, p50, p99):
    """A dot for p50; with a p99, a line to it."""
    shapes = []
    if p99 is not None:
        shapes.append(f'<line x1="{axis.x(p50)}" x2="{axis.x(p99)}" y1="{y}" y2="{y}" class="{kind}"/>')
        shapes.append(f'<line x1="{axis.x(p99)}" x2="{axis.x(p99)}" y1="{y - 4}" y2="{y + 4}" class="{kind}"/>')
    shapes.append(f'<circle cx="{axis.x(p50)}" cy="{y}" r="5" class="{kind}"/>')
    return shapes


def draw(title, subtitle, groups):
    """Groups: (engine, [(name, kind, p50, p99 or None)])."""
    axis = Axis([value for _, rows in groups for row in rows for value in row[2:] if value is not None])
    height = TOP + sum(ROW * (len(rows) + 1) + 8 for _, rows in groups) + 16
    shapes = [f'<rect width="{WIDTH}" height="{height}" class="back"/>', text(16, 24, title, "title"), text(16, 43, subtitle, "quiet")]
    for tick in axis.ticks():
        shapes.append(f'<line x1="{axis.x(tick)}" x2="{axis.x(tick)}" y1="{TOP}" y2="{height - 12}" class="grid"/>')
        shapes.append(text(axis.x(tick), TOP - 6, duration(tick), "quiet", "middle"))
    y = TOP
    for engine, rows in groups:
        y += ROW
        shapes.append(text(16, y, engine, "engine"))
        for name, kind, p50, p99 in rows:
            y += ROW
            shapes.append(text(LABELS - 12, y, name.replace("`", ""), "name-pawl" if kind == "pawl" else "", "end"))
            shapes += mark(axis, y - 4, kind, p50, p99)
            shapes.append(text(WIDTH - 12, y, rounded(p50), "name-pawl" if kind == "pawl" else "quiet", "end"))
        y += 8
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">'
            f"<title>{html.escape(title)}</title><style>{STYLE}</style>\n" + "\n".join(shapes) + "\n</svg>\n")


def short(name):
    """What a floor does stands in the table."""
    return "floor: the bare client" if name.startswith("floor: ") else name


def draw_all(found, folder):
    engines = found["engines"].items()
    pairs = [(TITLES[engine], [(short(one["name"]), one["kind"], one["pair"]["p50_us"], one["pair"]["p99_us"]) for one in of["clients"]])
             for engine, of in engines]
    waits = [(TITLES[engine], [(one["name"], one["kind"], one["hand_over"]["p50_us"], None) for one in of["clients"] if "hand_over" in one])
             for engine, of in engines]
    pictures = {
        "peers-pairs.svg": ("Acquire + release, one caller", "dot: p50, line: to p99; logarithmic, less is better", pairs),
        "peers-hand-over.svg": ("Hand-over of a contended key", "from release to grant of the waiter, p50; logarithmic, less is better", waits),
    }
    for name, (title, subtitle, groups) in pictures.items():
        if filled := [group for group in groups if group[1]]:
            (pathlib.Path(folder) / name).write_text(draw(title, subtitle, filled))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: plot.py PEERS.json FOLDER")
    draw_all(json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2])
