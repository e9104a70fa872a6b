#!/usr/bin/env python3
"""The page of headwise inspect in a headless Chromium: opened, used by keyboard and pointer, looked at.

usage: test_page.py FOLDER

Screenshots stay in FOLDER. Any line on the browser's console fails a test. HEADWISE_TOOL is the
command, HEADWISE_SENTENCE the shipped layer, HEADWISE_VECTORS (may be missing) other programs' files.
Exits with 77 where Chromium is not installed."""
import base64
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

import browser
import layers

TOOL = os.environ["HEADWISE_TOOL"]
SENTENCE = os.environ["HEADWISE_SENTENCE"]
FOLDER = Path(sys.argv[1])
NASTY = ["</script><img src=x onerror=hacked=1>", "&lt;b&gt;", "\"'`", "\u2028\u0000", " ", "\n", "",
         "<!--", "${hacked=1}", "한국어", "e\u0301", "🙂", "a" * 300]


def inspect(page, *arguments):
    """Writes the page and returns what --json says of the same layer."""
    report = FOLDER / "report.json"
    subprocess.run([TOOL, "inspect", "-q", "--html", page, "--json", report, *arguments], check=True,
                   timeout=240)
    return json.loads(report.read_text())


def expect(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what} is {found!r}, expected {expected!r}")


class Pages:
    def __init__(self):
        self.browser = browser.Browser()
        self.page = FOLDER / "page.html"

    def open(self, *arguments):
        report = inspect(self.page, *arguments)
        self.browser.open(self.page)
        self.expect_silence()
        expect(self.browser.run("return document.querySelectorAll('.thumb').length"),
               report["layer"]["heads"], "number of thumbnails")
        return report

    def expect_silence(self):
        lines = self.browser.logs()
        if lines:
            raise AssertionError("the console says: " + "; ".join(lines))

    def shot(self, name):
        self.browser.screenshot(FOLDER / f"{name}.png")

    def selected(self):
        return self.browser.run(
            "return [...document.querySelectorAll('.thumb')].findIndex("
            "(t) => t.getAttribute('aria-selected') === 'true')")

    def pixel(self, row, column):
        """Of the first thumbnail, from a copy: the browser warns where one reads its canvases."""
        return self.browser.run(
            "const from = document.querySelector('.thumb canvas');"
            "const to = new OffscreenCanvas(from.width, from.height);"
            "const context = to.getContext('2d', {willReadFrequently: true});"
            "context.drawImage(from, 0, 0);"
            "return [...context.getImageData(arguments[1], arguments[0], 1, 1).data.slice(0, 3)]",
            row, column)

    # Tests.

    def shows_the_sentence(self):
        report = self.open("--weights", SENTENCE, "--input", SENTENCE)
        b = self.browser
        expect(b.text("#title"), "sentence.safetensors", "title")
        expect(b.run("return document.title"), "sentence.safetensors – Headwise", "the tab's title")
        best = max(range(4), key=lambda h: report["heads"][h]["share"])
        expect(self.selected(), best, "the first head shown")
        expect(b.text("#map-name"), f"Head {best}", "the map's name")
        rows = b.run("return [...document.querySelectorAll('#table tbody tr')].map((r) => "
                     "[...r.children].map((c) => c.textContent))")
        for head, row in zip(report["heads"], rows):
            expect(row[1], f"{head['entropy']:.3f}", "entropy in the table")
            expect(row[11], f"{100 * head['alone_off']:.1f} %", "output without it in the table")
        self.shot("light")

    def draws_the_weights(self):
        """The middle of the selected cell has the colour of its weight."""
        report = self.open("--weights", SENTENCE, "--input", SENTENCE)
        b = self.browser
        b.run("document.querySelectorAll('.thumb')[0].click()")
        size = b.run("const c = document.querySelector('.thumb canvas'); return [c.width, c.height]")
        color = [self.pixel(12, 11), self.pixel(12, 3), self.pixel(5, 4)]
        style = b.run("return [0, 4].map((i) => getComputedStyle(document.documentElement)"
                      ".getPropertyValue(`--map-${i}`).trim())")
        zero, one = ([int(text[i:i + 2], 16) for i in (1, 3, 5)] for text in style)
        expect(size, [13, 13], "size of a thumbnail")
        near = lambda a, b: max(abs(x - y) for x, y in zip(a, b)) < 24
        strong, weak = report["heads"][0]["strongest_weight"][12], 0.0
        if not (strong > 0.9 and near(color[0], one) and near(color[2], one)):
            raise AssertionError(f"weight {strong} is drawn as {color[0]}, expected about {one}")
        if not near(color[1], zero):
            raise AssertionError(f"weight {weak} is drawn as {color[1]}, expected about {zero}")

    def moves_by_keyboard(self):
        report = self.open("--weights", SENTENCE, "--input", SENTENCE)
        level = base64.b64decode(report["map"]["cells"][3])[2 * 13 + 1] / 255
        b = self.browser
        b.run("document.querySelector('.thumb[tabindex=\"0\"]').focus()")
        b.press("Home")
        expect(self.selected(), 0, "head after Home")
        b.press("Right", "Right", "Left")
        expect(self.selected(), 1, "head after Right Right Left")
        expect(b.run("return document.activeElement.getAttribute('aria-label').slice(0, 6)"), "Head 1",
               "what has the focus")
        outline = b.run("return getComputedStyle(document.activeElement).outlineWidth")
        expect(outline, "3px", "outline of the focus")
        expect(b.run("return document.querySelectorAll('.thumb[tabindex=\"0\"]').length"), 1,
               "thumbnails in the order of Tab")
        b.press("End", "Right")
        expect(self.selected(), 3, "head after End and beyond")
        b.press("Tab")
        expect(b.run("return document.activeElement.id"), "map", "what Tab goes to")
        expect(b.run("return getComputedStyle(document.activeElement).outlineStyle"), "solid",
               "outline of the map")
        b.press("PageUp", "PageUp", "Home", "Down", "Down", "Right")
        expect(b.text("#status"), f"Query 2 ‘cat’ gives key 1 ‘old’ {level ** 2:.3f} of its attention",
               "the link read out")
        expect(b.text("#token-name"), "Token 2 ‘cat’", "the token")
        b.press("[", "[", "[")
        expect(b.text("#map-name"), "Head 0", "head after [ [ [")
        expect(b.text("#status"), "Query 2 ‘cat’ gives key 1 ‘old’ 1.00 of its attention", "its link")
        self.expect_silence()

    def tells_what_is_under_the_pointer(self):
        self.open("--weights", SENTENCE, "--input", SENTENCE)
        b = self.browser
        expect(b.run("return document.getElementById('tip').hidden"), True, "the tip before")
        b.move("#map-canvas", 0, 0)
        expect(b.run("return document.getElementById('tip').hidden"), False, "the tip is hidden")
        text = b.text("#tip")
        if " → " not in text or "‘" not in text:
            raise AssertionError(f"the tip is {text!r}, expected names of two tokens")
        b.move("#title", 0, 0)
        expect(b.run("return document.getElementById('tip').hidden"), True, "the tip after")
        b.click("#token-heads li:nth-child(2) button")
        expect(b.text("#map-name"), "Head 1", "head after a click in the token's list")
        b.click("#table thead th:nth-child(2) button")
        column = b.run("return [...document.querySelectorAll('#table tbody tr')].map((r) => "
                       "Number(r.children[1].textContent))")
        expect(column, sorted(column, reverse=True), "entropy after sorting")
        self.expect_silence()

    def gates_show_the_stored_change(self):
        report = self.open("--weights", SENTENCE, "--input", SENTENCE)
        b = self.browser
        expect(b.text("#change strong"), "0.0 %", "change with all on")
        b.run("document.querySelector('.gate input').focus()")
        b.press("Home")
        expect(b.text("#change strong"), f"{100 * report['heads'][0]['alone_off']:.1f} %",
               "change without head 0")
        expect(b.run("return document.querySelectorAll('.thumb.off').length"), 1, "heads off")
        b.run("document.getElementById('order').focus()")
        for n, step in enumerate(report["order"]):
            b.run("const o = document.getElementById('order'); o.value = arguments[0];"
                  "o.dispatchEvent(new Event('input'))", n + 1)
            expect(b.text("#change strong"), f"{100 * step['change']:.1f} %", f"change with {n + 1} off")
        b.click("#all-on")
        expect(b.text("#change strong"), "0.0 %", "change after All on")
        b.click("#all-off")
        expect(b.text("#change strong"), "100.0 %", "change after All off")
        self.expect_silence()

    def follows_light_and_dark(self):
        b = self.browser
        theme = "return document.documentElement.dataset.theme"
        try:
            b.color_scheme("dark")
            self.open("--weights", SENTENCE, "--input", SENTENCE, "--causal", "top-left")
            expect(b.run(theme), "dark", "theme as the system's")
            dark = self.pixel(0, 12)
            self.shot("dark")
            b.click("#theme button:nth-child(2)")
            expect(b.run(theme), "light", "theme after a click on Light")
            if not sum(self.pixel(0, 12)) > sum(dark) + 200:
                raise AssertionError("the maps were not drawn anew")
            b.press("Right")
            expect(b.run(theme), "dark", "theme after an arrow")
            b.color_scheme("light")
            expect(b.run(theme), "dark", "theme that was chosen")
            self.expect_silence()
        finally:
            b.color_scheme("light")

    def fits_a_small_window(self):
        try:
            self.browser.resize(390, 800)
            self.open("--weights", SENTENCE, "--input", SENTENCE)
            wide = self.browser.run("return document.documentElement.scrollWidth")
            expect(wide, 390, "width of the page in a window of 390")
            self.shot("small")
        finally:
            self.browser.resize(1440, 1000)

    def shows_any_token_as_text(self):
        names = FOLDER / "tokens.json"
        names.write_text(json.dumps(NASTY))
        self.open("--weights", SENTENCE, "--input", SENTENCE, "--tokens", names)
        b = self.browser
        expect(b.run("return [typeof hacked, document.images.length, document.scripts.length]"),
               ["undefined", 0, 2], "what the tokens made")
        shown = b.run("const n = document.getElementById('token-number'), found = [];"
                      "for (let i = 0; i < 13; i++) { n.value = i; n.dispatchEvent(new Event('input'));"
                      "found.push(document.getElementById('token-name').textContent); } return found")
        expect(shown[0], "Token 0 ‘</script><img src=x one…’", "token 0")
        expect(shown[1], "Token 1 ‘&lt;b&gt;’", "token 1")
        expect(shown[2], "Token 2 ‘\"'`’", "token 2")
        expect(shown[4:7], ["Token 4 ‘␣’", "Token 5 ‘⏎’", "Token 6 ‘∅’"], "blank tokens")
        expect(shown[8], "Token 8 ‘${hacked=1}’", "token 8")
        expect(shown[9], "Token 9 ‘한국어’", "token 9")
        names.write_bytes(b"\xff</script>\n" * 13)
        self.open("--weights", SENTENCE, "--input", SENTENCE, "--tokens", names)
        expect(b.text("#token-name")[-12:], "‘\ufffd</script>’", "a token that is no UTF-8")
        self.expect_silence()

    def opens_what_is_odd(self):
        """One head of one token; NaN; cross attention with more keys than tokens."""
        file = FOLDER / "odd.safetensors"
        layers.random_layer(file, tokens=1, heads=1, size=1, width=1)
        self.open("--weights", file, "--input", file)
        layers.random_layer(file, tokens=5, heads=3, size=2, width=4, first=float("nan"))
        self.open("--weights", file, "--input", file)
        expect(self.browser.text("#change")[:24], "The output is not finite", "the change")
        numbers = [0.5, -1, 2, 1, 0, 3]
        layers.write(file, {"X": ([2, 3], numbers), "memory": ([70, 2], [i % 7 - 3 for i in range(140)]),
                            "W_Q": ([3, 2], numbers), "W_K": ([2, 2], numbers[:4]),
                            "W_V": ([2, 2], numbers[:4]), "W_O": ([2, 3], numbers)},
                     {"num_heads": "2", "memory_tokens": " ".join(f"m{i}" for i in range(70))})
        self.open("--weights", file, "--input", file, "--memory", "memory", "--causal", "none")
        expect(self.browser.text("#facts")[-27:], " · 2 tokens on 70 of memory", "the facts")

    def opens_2048_tokens_of_32_heads(self):
        file = FOLDER / "large.safetensors"
        layers.random_layer(file, tokens=2048, heads=32, size=2, width=64)
        report = inspect(self.page, "--weights", file, "--input", file, "--causal", "top-left")
        size = self.page.stat().st_size
        if size > 5_000_000:
            raise AssertionError(f"the page has {size} bytes, expected at most 5,000,000")
        expect(report["map"]["rows"], 256, "rows of a map")
        begun = time.monotonic()
        self.browser.open(self.page)
        seconds = time.monotonic() - begun
        if seconds > 10:
            raise AssertionError(f"the page took {seconds:.1f} s to open")
        self.expect_silence()
        if "downsampled: a cell is 8 queries by 8 keys" not in self.browser.text("#map-facts"):
            raise AssertionError("the page does not say that its maps are downsampled")
        switch = self.browser.run(
            "const begun = performance.now();"
            "for (const t of document.querySelectorAll('.thumb')) t.click();"
            "return (performance.now() - begun) / 32")
        print(f"opened in {seconds:.2f} s, {size} bytes; another head in {switch:.0f} ms")
        if switch > 500:
            raise AssertionError(f"another head took {switch:.0f} ms")
        self.browser.run("const n = document.getElementById('token-number'); n.value = 1000;"
                         "n.dispatchEvent(new Event('input'))")
        expect(self.browser.text("#keys-name"), "Where tokens 1000–1007 look in head 31", "the keys")
        self.shot("large")

    def opens_stories260k(self):
        if not os.environ.get("HEADWISE_VECTORS"):
            return "HEADWISE_VECTORS is not set"
        folder = Path(os.environ["HEADWISE_VECTORS"]) / "stories260K"
        vocabulary = json.loads((folder / "vocab.json").read_text())
        prompt = json.loads((folder / "greedy.json").read_text())["prompt_ids"]
        names = FOLDER / "prompt.json"
        names.write_text(json.dumps([vocabulary[i]["text"] for i in prompt]))
        report = self.open("--model", folder, "--layer", "2", "--input",
                           folder / "reference_activations.safetensors", "--x",
                           "layers.2.self_attn.input", "--tokens", names)
        expect([report["layer"]["heads"], report["layer"]["kv_heads"], report["layer"]["tokens"]],
               [8, 4, 40], "the layer")
        expect(self.browser.text("#title"), "stories260K, layer 2", "title")
        self.browser.press("]")
        self.expect_silence()
        self.shot("stories260k")
        return None


TESTS = ["shows_the_sentence", "draws_the_weights", "moves_by_keyboard",
         "tells_what_is_under_the_pointer", "gates_show_the_stored_change", "follows_light_and_dark",
         "fits_a_small_window", "shows_any_token_as_text", "opens_what_is_odd",
         "opens_2048_tokens_of_32_heads", "opens_stories260k"]


def main():
    missing = browser.missing()
    if missing:
        print(f"SKIPPED: {missing} not installed (Debian: chromium and chromium-driver)")
        return 77
    FOLDER.mkdir(parents=True, exist_ok=True)
    pages = Pages()
    passed, failed, skipped = 0, [], 0
    try:
        for name in TESTS:
            try:
                why = getattr(pages, name)()
            except Exception:
                traceback.print_exc()
                pages.browser.logs()
                print(f"[  FAILED  ] {name}")
                failed.append(name)
                continue
            print(f"[  SKIPPED ] {name}: {why}" if why else f"[       OK ] {name}")
            passed += not why
            skipped += bool(why)
    finally:
        pages.browser.close()
    print(f"[  PASSED  ] {passed} test(s).")
    if skipped:
        print(f"[  SKIPPED ] {skipped} test(s), listed below:")
    if failed:
        print(f"[  FAILED  ] {len(failed)} test(s), listed below:")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
