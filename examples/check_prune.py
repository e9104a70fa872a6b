"""Runs examples/prune on gpt_nano_sort of the vectors folder, on every tier, and holds what it prints
against the layers that "headwise layer" makes of the model and of the file. Exit code 77: no vectors.

    check_prune.py PRUNE TOOL"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile


def start(program, *arguments, **variables):
    wrapper = [w for w in [os.environ.get("HEADWISE_TOOL_WRAPPER")] if w]  # an emulator
    done = subprocess.run([*wrapper, program, *arguments], env=dict(os.environ, **variables),
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s: exit code %d\n%s" % (program, done.returncode, done.stderr))
    return done.stdout


def read(path, *names):
    """The metadata of a safetensors file, and F32 tensors."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    found = []
    for name in names:
        first, end = header[name]["data_offsets"]
        assert header[name]["dtype"] == "F32"
        found.append(struct.unpack("<%df" % ((end - first) // 4), data[8 + length:][first:end]))
    return (header.get("__metadata__"), *found)


def check(prune, tool, tier, vectors, folder):
    model, layer = os.path.join(vectors, "gpt_nano_sort"), "1"
    x = os.path.join(model, "reference_activations.safetensors")
    small, y_small, y_whole = (os.path.join(folder, n) for n in ("small", "y_small", "y_whole"))
    text = start(prune, model, layer, x, "h.1.attn.input", "1", small, HEADWISE_ISA=tier)
    head, lost, foretold = re.match(
        r"head (\d) goes: the output changes by ([\d.]+) % \(foretold: ([\d.]+) %\)", text).groups()
    assert lost == foretold, text
    assert text.endswith("\n2 of 3 heads are left\n"), text
    metadata, bias = read(small, "b_O")
    assert metadata == {"num_heads": "2", "num_kv_heads": "2", "pruned_heads": head}, metadata
    common = ["--input", x, "--x", "h.1.attn.input", "--isa", tier]
    start(tool, "layer", "--weights", small, "--causal", "top-left", "-o", y_small, *common)
    start(tool, "layer", "--model", model, "--layer", layer, "-o", y_whole, *common)
    whole, left = read(y_whole, "y")[1], read(y_small, "y")[1]
    change = sum((a - b) ** 2 for a, b in zip(whole, left)) ** 0.5
    size = sum((a - bias[i % len(bias)]) ** 2 for i, a in enumerate(whole)) ** 0.5
    smallest = min(float(p) for p in re.findall(r"by ([\d.]+) %", text))
    assert abs(100 * change / size - smallest) < 0.06, (change / size, text)


def main(prune, tool):
    vectors = os.environ.get("HEADWISE_VECTORS")
    if not vectors:
        print("skipped: HEADWISE_VECTORS is not set")
        sys.exit(77)
    only = os.environ.get("HEADWISE_TEST_ISA")
    for tier in [only] if only else json.loads(start(tool, "info", "--json"))["tiers"]["usable"]:
        with tempfile.TemporaryDirectory() as folder:
            check(prune, tool, tier, vectors, folder)
        print("[       OK ] pruned_layer[%s]" % tier)


if __name__ == "__main__":
    main(*sys.argv[1:])
