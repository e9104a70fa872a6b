#!/usr/bin/env python3
"""The picture of headwise inspect, read back as XML: the cells it draws are those of the maps.

usage: test_svg.py FOLDER"""
import base64
import json
import math
import os
import re
import subprocess
import sys
import traceback
import xml.etree.ElementTree as xml
from pathlib import Path

import layers

TOOL = os.environ["HEADWISE_TOOL"]
SENTENCE = os.environ["HEADWISE_SENTENCE"]
FOLDER = Path(sys.argv[1])
SVG = "{http://www.w3.org/2000/svg}"
RUN = re.compile(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z")
STOPS = [(255, 255, 255), (203, 218, 235), (125, 163, 210), (50, 95, 158), (16, 36, 75)]


def expect(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what} is {found!r}, expected {expected!r}")


def draw(*arguments):
    """The picture's root, and what --json says."""
    picture, report = FOLDER / "maps.svg", FOLDER / "report.json"
    subprocess.run([TOOL, "inspect", "-q", "--svg", picture, "--json", report, *arguments],
                   check=True, timeout=240)
    root = xml.parse(picture).getroot()
    expect(root.tag, SVG + "svg", "the root")
    return root, json.loads(report.read_text())


def color_of(level, levels=24):
    at = 4 * level / (levels - 1)
    i = min(3, int(at))
    return [a + (at - i) * (b - a) for a, b in zip(STOPS[i], STOPS[i + 1])]


def cells_of(panel, rows, columns):
    """Colours of a panel's cells, white where nothing is drawn; no cell is drawn twice."""
    cells = {}
    for path in panel:
        color = [int(path.get("fill")[i:i + 2], 16) for i in (1, 3, 5)]
        found = RUN.findall(path.get("d"))
        expect("".join(f"M{x} {y}h{n}v1h-{m}z" for x, y, n, m in found), path.get("d"), "a path")
        for x, y, n, m in found:
            expect(n, m, "length of a run")
            for column in range(int(x), int(x) + int(n)):
                if (int(y), column) in cells or int(y) >= rows or column >= columns:
                    raise AssertionError(f"cell {y}, {column} is drawn twice or outside")
                cells[int(y), column] = color
    return cells


def check_panels(root, report, tall=1, wide=1):
    panels = [g for g in root.iter(SVG + "g") if "scale(" in g.get("transform", "")]
    grid = report["map"]
    expect(len(panels), report["layer"]["heads"], "number of panels")
    rows, columns = -(-grid["rows"] // tall), -(-grid["columns"] // wide)
    for panel, text in zip(panels, grid["cells"]):
        levels = base64.b64decode(text)
        cells = cells_of(panel, rows, columns)
        for row in range(rows):
            for column in range(columns):
                lines = range(row * tall, min((row + 1) * tall, grid["rows"]))
                weight = sum((levels[i * grid["columns"] + j] / 255) ** 2 for i in lines
                             for j in range(column * wide, min((column + 1) * wide, grid["columns"])))
                level = round(23 * math.sqrt(min(1, weight / len(lines))))
                color = cells.get((row, column), [255, 255, 255])
                # half a step of colour, and a neighbouring level where rounding is that near
                near = min(max(abs(a - b) for a, b in zip(color, color_of(level + d)))
                           for d in (0, -1, 1) if 0 <= level + d <= 23)
                if near > 0.51:
                    raise AssertionError(f"cell {row}, {column} is {color}, level {level} expected")


def draws_the_sentence():
    root, report = draw("--weights", SENTENCE, "--input", SENTENCE)
    check_panels(root, report)
    names = [text.text for text in root.iter(SVG + "text")]
    for head in range(4):
        expect(names.count(f"Head {head} "), 1, f"titles of head {head}")
    expect(names.count("young"), 1 + 4, "how often a token is named")  # a row, and above each panel


def draws_large_maps_with_larger_cells():
    file = FOLDER / "large.safetensors"
    layers.random_layer(file, tokens=300, heads=2, size=2, width=4)
    root, report = draw("--weights", file, "--input", file, "--cells", "150")
    expect(report["map"]["rows"], 150, "rows of the map")
    check_panels(root, report, tall=2, wide=2)
    layers.random_layer(file, tokens=130, heads=13, size=1, width=2)
    root, report = draw("--weights", file, "--input", file, "--causal", "top-left")
    check_panels(root, report, tall=3, wide=3)
    expect([t.text for t in root.iter(SVG + "text")].count("129"), 2, "last rows with a number")


def holds_any_token():
    nasty = ["</text><script>", "a&b", "\"'", "\u0007x", " ", "", "\ufffex", "한국어", "🙂", "l" * 300,
             "10", "11", "12"]
    names = FOLDER / "tokens.json"
    names.write_text(json.dumps(nasty))
    root, _ = draw("--weights", SENTENCE, "--input", SENTENCE, "--tokens", names)
    shown = [text.text for text in root.iter(SVG + "text")]
    for wanted in ["</text><scri…", "a&b", "\"'", "·x", "␣", "∅", "한국어", "🙂", "l" * 12 + "…"]:
        if wanted not in shown:
            raise AssertionError(f"{wanted!r} is not among the names {shown}")
    expect(len(list(root.iter(SVG + "script"))), 0, "scripts")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed, tests = [], [draws_the_sentence, draws_large_maps_with_larger_cells, holds_any_token]
    for test in tests:
        try:
            test()
            print(f"[       OK ] {test.__name__}")
        except Exception:
            traceback.print_exc()
            print(f"[  FAILED  ] {test.__name__}")
            failed.append(test)
    print(f"[  PASSED  ] {len(tests) - len(failed)} test(s).")
    if failed:
        print(f"[  FAILED  ] {len(failed)} test(s), listed below:")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
