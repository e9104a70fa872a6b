#!/usr/bin/env python3
"""The page of headwise inspect for a whole model in a headless Chromium.

usage: test_sight.py FOLDER MODELS

MODELS has the folders of tests/sight/make_folders.py. Any line on the console fails. Exits with 77 where
Chromium is not installed."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import browser

sys.path.insert(0, str(Path(__file__).parents[1] / "encode"))
import make_folder  # noqa: E402

TOOL = os.environ["HEADWISE_TOOL"]
FOLDER, MODEL = Path(sys.argv[1]), Path(sys.argv[2]) / "embedder"
TEXT = "a man is eating foods . </script><img src=x onerror=hacked=1> \"'` the man"


def expect(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what} is {found!r}, expected {expected!r}")


def silent(page):
    expect(page.logs(), [], "the console")
    expect(page.run("return typeof hacked"), "undefined", "a script of the text")


def inspect(*arguments):
    report = FOLDER / "sight.json"
    subprocess.run([TOOL, "inspect", MODEL, *arguments, "-q", "--json", report, "--output", FOLDER / "sight.html"],
                   check=True, timeout=240)
    return json.loads(report.read_text())


def looks(page):
    report = inspect(TEXT)
    page.open(FOLDER / "sight.html")
    silent(page)
    heads = report["heads"]
    expect(page.run("return document.querySelectorAll('#grid canvas').length"), len(heads), "number of maps")
    expect(page.text("#text"), TEXT, "the text")
    best = max(range(len(heads)), key=lambda h: heads[h]["change"])
    name = lambda h: f"Head {heads[h]['layer']}.{heads[h]['head']}"
    expect(page.text("#lines-name"), name(best), "the head shown first")
    expect(page.text("#numbers dd"), f"{100 * heads[best]['change']:.1f} %", "its change")
    # A click, the address, keys.
    page.click("#grid [data-head='5']")
    expect(page.text("#lines-name"), name(5), "the head that was clicked")
    expect(page.run("return location.hash"), "#1-1", "the address")
    page.press("Left")
    expect(page.text("#lines-name"), name(4), "the head left of it")
    page.press("]")
    expect(page.text("#lines-name"), name(5), "the next head")
    page.run("location.hash = '#0-3'; dispatchEvent(new HashChangeEvent('hashchange'))")
    expect(page.text("#lines-name"), name(3), "the head of the address")
    # A map's colours come from its weights: no canvas is empty.
    expect(page.run("const c = document.querySelector('#grid canvas'); const o = new OffscreenCanvas(c.width, c.height);"
                    "const x = o.getContext('2d'); x.drawImage(c, 0, 0);"
                    "return new Set(x.getImageData(0, 0, c.width, c.height).data).size > 4"), True, "colours")
    # Words: "foods" is one, of two tokens.
    names = "return [...document.querySelectorAll('.lines .left')].map((w) => w.textContent)"
    expect("foods" in page.run(names), True, "a word of two tokens")
    page.click("#joined")
    expect("foods" in page.run(names), False, "words when tokens are asked for")
    # The order.
    page.run("const s = document.getElementById('sort'); s.value = 'norm'; s.dispatchEvent(new Event('input'))")
    order = sorted(range(len(heads)), key=lambda h: (-heads[h]["norm"], h))
    expect(page.run("return [...document.querySelectorAll('#grid button')].map((b) => Number(b.dataset.head))"), order,
           "the order by norm")
    silent(page)
    page.screenshot(FOLDER / "sight.png")
    page.resize(390, 844)
    if page.run("return document.documentElement.scrollWidth") > 390:
        raise AssertionError("the page is wider than a phone")


def a_chosen_head_is_whole(page):
    report = inspect(TEXT, "--cells", "8", "--head", "1.2")
    page.open(FOLDER / "sight.html")
    silent(page)
    expect(report["cell_tokens"] > 1, True, "whether maps are folded")
    expect(page.text("#lines-name"), "Head 1.2", "the head asked for")
    tokens = "return document.querySelector('#map-canvas').width % arguments[0]"
    expect(page.run(tokens, report["n_tokens"]), 0, "its map's side, in tokens")


def a_long_text_of_many_heads_is_small(page):
    """512 tokens on 12 x 12 heads: under 8 MB, and opened at once."""
    model, path = FOLDER / "large", FOLDER / "large.html"
    make_folder.WIDTH, make_folder.HEADS, make_folder.LAYERS, make_folder.POSITIONS = 48, 12, 12, 512
    make_folder.make(str(model))
    make_folder.write(str(model), "sentence_bert_config.json", {"max_seq_length": 512})
    text = " ".join(f"the man carries {'a' if i % 3 else 'bread .'}" for i in range(200))
    subprocess.run([TOOL, "inspect", model, text, "-q", "--no-change", "--output", path], check=True, timeout=240)
    size = path.stat().st_size
    if not 1 << 20 < size < 8 << 20:
        raise AssertionError(f"the page has {size} bytes")
    begin = time.monotonic()
    page.open(path)
    print(f"{size / 1e6:.1f} MB, opened in {time.monotonic() - begin:.1f} s")
    silent(page)
    expect("512 tokens" in page.text("#facts"), True, "512 tokens")
    expect("a cell is 4 by 4 tokens" in page.text("#map-facts"), True, "cells of 4 tokens")


def main():
    gone = browser.missing()
    if gone:
        print(f"SKIPPED: {gone} is not installed")
        sys.exit(77)
    FOLDER.mkdir(parents=True, exist_ok=True)
    page = browser.Browser()
    try:
        for test in (looks, a_chosen_head_is_whole, a_long_text_of_many_heads_is_small):
            test(page)
            print(f"[       OK ] {test.__name__}")
    finally:
        page.close()
    print("[  PASSED  ] 3 test(s).")


if __name__ == "__main__":
    main()
