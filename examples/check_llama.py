"""Runs examples/llama on stories260K of the vectors folder, on every tier this machine can run, and
compares the text with the reference, byte for byte. Exit code 77: no vectors, skipped.

    check_llama.py LLAMA TOOL
"""
import json
import os
import subprocess
import sys


def start(program, arguments, **variables):
    env = dict(os.environ, **variables)
    wrapper = [w for w in [env.get("HEADWISE_TOOL_WRAPPER")] if w]  # an emulator
    return subprocess.run([*wrapper, program, *arguments], env=env, capture_output=True, check=True)


def usable_tiers(tool):
    tiers = json.loads(start(tool, ["info", "--json"]).stdout)["tiers"]["usable"]
    assert tiers
    return tiers


def run(llama, tier, *arguments):
    done = start(llama, arguments, HEADWISE_ISA=tier)
    assert b"tokens/s (" + tier.encode() in done.stderr, done.stderr
    return done.stdout.decode()


def expect(what, got, want):
    if got != want:
        sys.exit("%s: got %r, expected %r" % (what, got, want))


def check(llama, tier, folder):
    with open(os.path.join(folder, "greedy.json"), encoding="utf-8") as file:
        known = json.load(file)
    prompt = known["prompt_text"]
    expect(tier + " after the prompt", run(llama, tier, folder, "-p", prompt, "-n", "100"),
           prompt + known["greedy_text"] + "\n")
    expect(tier + " from the beginning", run(llama, tier, folder, "-n", "230"),
           known["from_bos_greedy_text"] + "\n")
    drawn = [run(llama, tier, folder, "-n", "60", "-t", "1", "-s", seed) for seed in ("1", "1", "2")]
    expect(tier + " with a seed", drawn[1], drawn[0])
    if drawn[0] == drawn[2]:
        sys.exit(tier + ": two seeds gave the same text")


def main(llama, tool):
    vectors = os.environ.get("HEADWISE_VECTORS")
    if not vectors:
        print("skipped: HEADWISE_VECTORS is not set")
        sys.exit(77)
    only = os.environ.get("HEADWISE_TEST_ISA")
    for tier in [only] if only else usable_tiers(tool):
        check(llama, tier, os.path.join(vectors, "stories260K"))
        print("[       OK ] reference_story[%s]" % tier)


if __name__ == "__main__":
    main(*sys.argv[1:])
