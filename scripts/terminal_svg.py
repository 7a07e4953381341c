#!/usr/bin/env python3
"""Turns a captured terminal screen into an SVG picture.

Reads what `tmux capture-pane -e -p` prints from standard input and writes an SVG of
COLUMNS x ROWS cells to standard output. Needs nothing but Python.
"""

import argparse
import re
import sys
import unicodedata
from dataclasses import dataclass, replace
from html import escape

CELL_WIDTH = 8.4
CELL_HEIGHT = 17
BASELINE = 13
FONT_SIZE = 14
MARGIN = 10
FOREGROUND, BACKGROUND = "#d8d8d8", "#16181d"
PALETTE = [
    "#3b3f46", "#e05561", "#8cc265", "#d7a34f", "#4aa5f0", "#c162de", "#42b3c2", "#c8ccd4",
    "#6b717d", "#ff6b78", "#a5e075", "#f0bd66", "#6cb8ff", "#de8af5", "#5fd1e0", "#ffffff",
]
FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
ESCAPE = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()].|[\x0e\x0f]")
# Parts of a cell that a character fills: x, y, width, height, opacity.
BLOCKS = {"█": (0, 0, 1, 1, 1), "▀": (0, 0, 1, 0.5, 1), "▐": (0.5, 0, 0.5, 1, 1)}
BLOCKS |= {c: (0, 1 - n / 8, 1, n / 8, 1) for n, c in enumerate("▁▂▃▄▅▆▇", start=1)}
BLOCKS |= {c: (0, 0, n / 8, 1, 1) for n, c in enumerate("▏▎▍▌▋▊▉", start=1)}
BLOCKS |= {"░": (0, 0, 1, 1, 0.25), "▒": (0, 0, 1, 1, 0.5), "▓": (0, 0, 1, 1, 0.75)}


@dataclass(frozen=True)
class Style:
    """What the escape sequences so far ask for."""

    foreground: str | None = None
    background: str | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False

    def colours(self):
        front, back = self.foreground or FOREGROUND, self.background
        return (back or BACKGROUND, front) if self.reverse else (front, back)


FLAGS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse"}


def colour_of(number):
    """The colour of one of the 256 palette numbers."""
    if number < 16:
        return PALETTE[number]
    if number < 232:
        levels = [0, 95, 135, 175, 215, 255]
        number -= 16
        return "#%02x%02x%02x" % (
            levels[number // 36], levels[number // 6 % 6], levels[number % 6])
    grey = 8 + 10 * (number - 232)
    return "#%02x%02x%02x" % (grey, grey, grey)


def extended(codes):
    """The colour after 38 or 48, taken from the front of `codes`."""
    kind = codes.pop(0) if codes else None
    if kind == 5 and codes:
        return colour_of(codes.pop(0) & 255)
    if kind == 2 and len(codes) >= 3:
        return "#%02x%02x%02x" % tuple(codes.pop(0) & 255 for _ in range(3))
    return None


def restyle(style, parameters):
    """`style` after one `ESC [ … m`."""
    codes = [int(code or 0) for code in re.split("[;:]", parameters)]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = Style()
        elif code in FLAGS:
            style = replace(style, **{FLAGS[code]: True})
        elif code == 22:
            style = replace(style, bold=False, dim=False)
        elif code - 20 in FLAGS:
            style = replace(style, **{FLAGS[code - 20]: False})
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style = replace(style, foreground=PALETTE[code - 30 if code < 90 else code - 82])
        elif 40 <= code <= 47 or 100 <= code <= 107:
            style = replace(style, background=PALETTE[code - 40 if code < 100 else code - 92])
        elif code == 38:
            style = replace(style, foreground=extended(codes))
        elif code == 48:
            style = replace(style, background=extended(codes))
        elif code == 39:
            style = replace(style, foreground=None)
        elif code == 49:
            style = replace(style, background=None)
    return style


def cells(line, style):
    """The cells of a line as (column, width, character, style), and the style after it."""
    found, column, at = [], 0, 0
    while at < len(line):
        sequence = ESCAPE.match(line, at)
        if sequence:
            if sequence.group(1) is not None:
                style = restyle(style, sequence.group(1))
            at = sequence.end()
            continue
        character = line[at]
        at += 1
        width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        found.append((column, width, character, style))
        column += width
    return found, style


def rectangle(x, y, width, height, colour, opacity=1):
    faint = f' fill-opacity="{opacity:g}"' if opacity != 1 else ""
    return (f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" '
            f'fill="{colour}"{faint}/>')


def runs(row):
    """Neighbouring cells of one style, blocks apart from text."""
    current = []
    for cell in row:
        same = current and current[-1][3] == cell[3] and (
            (current[-1][2] in BLOCKS) == (cell[2] in BLOCKS))
        if current and not same:
            yield current
            current = []
        current.append(cell)
    if current:
        yield current


def draw_run(run, top):
    """The shapes of one run."""
    style = run[0][3]
    front, back = style.colours()
    left = MARGIN + run[0][0] * CELL_WIDTH
    width = sum(cell[1] for cell in run) * CELL_WIDTH
    shapes = []
    if back:
        shapes.append(rectangle(left, top, width, CELL_HEIGHT, back))
    fade = 0.6 if style.dim else 1
    if run[0][2] in BLOCKS:
        for column, cell_width, character, _ in run:
            x, y, part, height, opacity = BLOCKS[character]
            shapes.append(rectangle(
                MARGIN + (column + x) * CELL_WIDTH, top + y * CELL_HEIGHT,
                part * cell_width * CELL_WIDTH, height * CELL_HEIGHT, front, opacity * fade))
        return shapes
    text = "".join(cell[2] for cell in run)
    if text.strip() or style.underline:
        attributes = f'fill="{front}"'
        attributes += ' font-weight="bold"' if style.bold else ""
        attributes += ' font-style="italic"' if style.italic else ""
        attributes += ' text-decoration="underline"' if style.underline else ""
        attributes += f' fill-opacity="{fade:g}"' if fade != 1 else ""
        shapes.append(
            f'<text x="{left:.2f}" y="{top + BASELINE:.2f}" textLength="{width:.2f}" '
            f'lengthAdjust="spacingAndGlyphs" {attributes}>{escape(text)}</text>')
    return shapes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=80)
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("--title", default="statetop")
    options = parser.parse_args()

    width = options.columns * CELL_WIDTH + 2 * MARGIN
    height = options.rows * CELL_HEIGHT + 2 * MARGIN
    shapes, style = [], Style()
    lines = sys.stdin.read().split("\n")
    for number, line in enumerate(lines[: options.rows]):
        row, style = cells(line, style)
        for run in runs(row):
            shapes += draw_run(run, MARGIN + number * CELL_HEIGHT)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
          f'width="{width:g}" height="{height:g}" role="img" font-family="{FONTS}" '
          f'font-size="{FONT_SIZE}" shape-rendering="crispEdges" xml:space="preserve">')
    print(f"<title>{escape(options.title)}</title>")
    print(f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{BACKGROUND}"/>')
    print("\n".join(shapes))
    print("</svg>")


if __name__ == "__main__":
    main()
