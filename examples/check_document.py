"""Holds a document to the programs it tells of: each command of its ```text blocks prints what stands
below it, to the letter and on every tier, and its ```c blocks stand in the sources.

    check_document.py [--write] --tiers=TIER,... DOCUMENT SOURCE.c... PROGRAM...
    TIER: those of the build. --write puts what the first one prints into the document.

A command is a line that begins with "$ " (a backslash at its end goes on in the next one) and runs a
PROGRAM by its name; a line "..." below it stands for any lines. Commands find the models of
HEADWISE_VECTORS, that of HEADWISE_MODELS and examples/ in their folder, and a picture that they write into pictures/ must be
the document's. A block of code is found line for line, indented or not; a whole program equals a
source. In ```sh blocks the options of a PROGRAM must be ones that it takes. Exit code 77: nothing
could run without HEADWISE_VECTORS."""
import filecmp
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(text|c|sh)\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", re.M)
UNUSABLE = "isa: this processor cannot run "
MODELS = ("stories260K", "gpt_nano_sort")
REAL_MODEL = "minilm"  # of HEADWISE_MODELS, with the texts of HEADWISE_VECTORS


class Programs:
    """Runs commands as documents have them, in folders that hold what they name."""

    def __init__(self, paths, pictures):
        self.paths = {os.path.basename(path): os.path.abspath(path) for path in paths}
        self.pictures = pictures
        self.vectors = os.environ.get("HEADWISE_VECTORS")
        self.models = os.environ.get("HEADWISE_MODELS") if self.vectors else None

    def words(self, command):
        words = shlex.split(command.replace("\\\n", " "), comments=True)
        if words[0] not in self.paths:
            sys.exit("%s is none of the programs of this document" % words[0])
        return words

    def lacks_vectors(self, command):
        if REAL_MODEL in command:
            return not self.models
        return not self.vectors and any(model in command for model in MODELS)

    def fill(self, folder):
        os.symlink(os.path.dirname(os.path.abspath(__file__)), os.path.join(folder, "examples"))
        os.mkdir(os.path.join(folder, "pictures"))
        if not self.vectors:
            return
        if self.models:
            os.symlink(os.path.join(self.models, REAL_MODEL), os.path.join(folder, REAL_MODEL))
            with open(os.path.join(self.vectors, REAL_MODEL, "texts.jsonl"), encoding="utf-8") as file, \
                    open(os.path.join(folder, "texts.txt"), "w", encoding="utf-8") as texts:
                texts.writelines(json.loads(line)["text"] + "\n" for line in file)
        for model in MODELS:
            os.symlink(os.path.join(self.vectors, model), os.path.join(folder, model))
        with open(os.path.join(folder, "stories260K", "vocab.json"), encoding="utf-8") as file:
            texts = [entry["text"].strip("\n") for entry in json.load(file)]
        with open(os.path.join(folder, "stories260K", "greedy.json"), encoding="utf-8") as file:
            tokens = [texts[token] for token in json.load(file)["prompt_ids"]]
        with open(os.path.join(folder, "tokens.json"), "w", encoding="utf-8") as file:
            json.dump(tokens, file)

    def start(self, words, folder, **variables):
        wrapper = [w for w in [os.environ.get("HEADWISE_TOOL_WRAPPER")] if w]  # an emulator
        return subprocess.run([*wrapper, self.paths[words[0]], *words[1:]], cwd=folder,
                              env=dict(os.environ, **variables), capture_output=True, text=True)

    def run(self, command, tier, keep_pictures=False):
        """(what it prints, the pictures that differ); None where the processor lacks the tier."""
        with tempfile.TemporaryDirectory() as folder:
            self.fill(folder)
            done = self.start(self.words(command), folder, HEADWISE_ISA=tier)
            if done.returncode != 0 and UNUSABLE in done.stderr:
                return None
            if done.returncode != 0 or done.stderr:
                sys.exit("%son %s: exit code %d\n%s" % (command, tier, done.returncode, done.stderr))
            made = os.path.join(folder, "pictures")
            names = os.listdir(made)
            if keep_pictures:
                for name in names:
                    shutil.copy(os.path.join(made, name), self.pictures)
            return done.stdout, sum(filecmp.cmpfiles(made, self.pictures, names, False)[1:], [])


def split(text):
    """What stands between the lines "...", as lists of lines."""
    parts = [[]]
    for line in text.splitlines():
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def match(got, want):
    """Where each line of want, but for "...", stands in got, or the first part that does not."""
    lines, parts, place = got.splitlines(), split(want), 0
    for number, part in enumerate(parts):
        n = len(part)
        last = len(lines) - n
        first = last if number == len(parts) - 1 and number > 0 else place
        ends = range(first, (place if number == 0 else last) + 1)
        place = next((i + n for i in ends if i >= place and lines[i:i + n] == part), None)
        if place is None:
            return "\n".join(part)
    return None if place == len(lines) else "nothing more"


def check_commands(text, tiers, programs):
    commands = [found for kind, block in BLOCK.findall(text) if kind == "text"
                for found in COMMAND.findall(block)]
    passed, skipped, failed = 0, [], []
    for tier in tiers:
        for number, (command, want) in enumerate(commands, 1):
            label = "%d_%s[%s]" % (number, programs.words(command)[0], tier)
            got = None if programs.lacks_vectors(command) else programs.run(command, tier)
            missing = match(got[0], want) if got else None
            if got is None:
                skipped.append(label)
            elif missing is not None or got[1]:
                failed.append(label)
                print("$ %son %s prints\n%snot\n%s" % (command, tier, got[0], missing)
                      if missing is not None else "$ %son %s draws other %s" % (command, tier, got[1]))
            else:
                passed += 1
                print("[       OK ] " + label)
    return passed, skipped, failed


def lines_of(text):
    """Lines without what leads and trails them, each ended: a block may be indented otherwise."""
    return "\n" + "\n".join(line.strip() for line in text.splitlines()) + "\n"


def stands_in(block, source):
    return block == source if "int main(" in block else lines_of(block) in lines_of(source)


def check_code(text, sources):
    passed, failed = 0, []
    for number, block in enumerate((b for kind, b in BLOCK.findall(text) if kind == "c"), 1):
        if any(stands_in(block, source) for source in sources):
            passed += 1
        else:
            failed.append("code_%d" % number)
            print("in no source:\n" + block)
    return passed, [], failed


def check_options(text, programs):
    passed, failed = 0, []
    blocks = [b.replace("\\\n", " ") for kind, b in BLOCK.findall(text) if kind == "sh"]
    for line in "".join(blocks).splitlines():
        if line.split(" ")[0] in programs.paths:
            words = programs.words(line)
            done = programs.start([*words, "--help"], None)  # comes last: all others are read
            if done.returncode == 0:
                passed += 1
            else:
                failed.append("options_of_" + words[1])
                print("%s\n%s" % (line, done.stderr))
    return passed, [], failed


def check(text, tiers, sources, programs):
    bare = [b for kind, b in BLOCK.findall(text) if kind == "text" and not b.startswith("$ ")]
    if bare:
        sys.exit("no command says where this comes from:\n" + bare[0])
    unused = [name for name in programs.paths if not re.search(r"^(\$ )?%s\b" % name, text, re.M)]
    if unused:
        sys.exit("programs of which the document shows nothing: %s" % unused)
    results = [check_code(text, sources), check_options(text, programs),
               check_commands(text, tiers, programs)]
    passed, skipped, failed = (sum(parts[1:], parts[0]) for parts in zip(*results))
    print("[  PASSED  ] %d test(s)." % passed)
    for word, labels in (("SKIPPED", skipped), ("FAILED ", failed)):
        if labels:
            print("[  %s ] %d test(s), listed below:" % (word, len(labels)))
        for label in labels:
            print("[  %s ] %s" % (word, label))
    if failed or not passed + len(skipped):
        sys.exit(1)
    if not passed:
        sys.exit(77)


def write(document, text, tier, programs):
    """Whole outputs only: what "..." leaves out is for the author to choose."""
    def printed(found):
        got = programs.run(found[1], tier, True)[0]
        return "$ " + found[1] + (found[2] if re.search(r"^\.\.\.$", found[2], re.M) else got)

    def filled(block):
        return "```%s\n%s```" % (block[1], COMMAND.sub(printed, block[2]) if block[1] == "text"
                                 else block[2])
    with open(document, "w", encoding="utf-8") as file:
        file.write(BLOCK.sub(filled, text))


def main(arguments):
    writes = arguments[:1] == ["--write"]
    tiers, document, *files = arguments[writes:]
    tiers = os.environ.get("HEADWISE_TEST_ISA", tiers.removeprefix("--tiers=")).split(",")
    with open(document, encoding="utf-8") as file:
        text = file.read()
    sources = []
    for path in (f for f in files if f.endswith(".c")):
        with open(path, encoding="utf-8") as file:
            sources.append(file.read())
    programs = Programs([f for f in files if not f.endswith(".c")],
                        os.path.join(os.path.dirname(document), "pictures"))
    if writes:
        write(document, text, tiers[0], programs)
    else:
        check(text, tiers, sources, programs)


if __name__ == "__main__":
    main(sys.argv[1:])
