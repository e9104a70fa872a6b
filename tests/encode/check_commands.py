"""headwise embed, rerank and classify on small folders: what is printed and written, what a stopped run
leaves, and the lines of failures."""
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import make_folder

tool = sys.argv[1]
wrapper = [os.environ["HEADWISE_TOOL_WRAPPER"]] if os.environ.get("HEADWISE_TOOL_WRAPPER") else []
folder = tempfile.mkdtemp(prefix="headwise-encode-")
embedder, classifier, reranker = (os.path.join(folder, name) for name in ("embedder", "classifier", "reranker"))
make_folder.make(embedder)
make_folder.make(classifier, ["bad", "good", "neither"])
make_folder.make(reranker, ["score"])
TEXTS = ["A man is eating food.", "Two dogs run.", "the girl carries bread", "", "a a a"]


def run(*arguments, code=0, env=None, text=None):
    done = subprocess.run(wrapper + [tool, *arguments], capture_output=True, text=True, input=text,
                          env={**os.environ, **(env or {})}, check=False)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    assert code or not done.stderr, done.stderr
    return done.stdout if code == 0 else done.stderr


def read_npy(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    (n,) = struct.unpack("<H", data[8:10])
    head = eval(data[10:10 + n])  # a dict of the format's own
    return head, data[10 + n:]


def read_safetensors(path):
    data = open(path, "rb").read()
    (n,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8:8 + n])["embeddings"], data[8 + n:]


def vectors_are_the_same_however_they_come():
    lines = run("embed", embedder, "--jsonl", *TEXTS).splitlines()
    vectors = [json.loads(line)["embedding"] for line in lines]
    assert len(vectors) == len(TEXTS) and all(len(v) == make_folder.WIDTH for v in vectors)
    for vector in vectors:
        assert abs(math.fsum(x * x for x in vector) - 1) < 1e-6
    path = os.path.join(folder, "texts")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(text + "\n" for text in TEXTS))
    for name, read in (("v.npy", read_npy), ("v.safetensors", read_safetensors)):
        output = os.path.join(folder, name)
        run("embed", embedder, "--input", path, "--output", output, "--threads", "2")
        head, data = read(output)
        assert list(head["shape"]) == [len(TEXTS), make_folder.WIDTH], head
        got = struct.unpack(f"<{len(data) // 4}f", data)
        want = [x for vector in vectors for x in vector]
        assert all(struct.pack("<f", x) == struct.pack("<f", y) for x, y in zip(got, want))
        assert not os.path.exists(output + ".part")
    for text, vector in zip(TEXTS, vectors):
        alone = [float(x) for x in run("embed", embedder, text).split()]
        assert [struct.pack("<f", x) for x in alone] == [struct.pack("<f", x) for x in vector]
    table = run("embed", embedder, *TEXTS[:2]).splitlines()
    cosine = math.fsum(x * y for x, y in zip(*vectors[:2]))
    assert table[0].split()[:3] == ["0", "1.000", f"{cosine:.3f}"], table


def prompts_and_cuts():
    plain = run("embed", embedder, "a man")
    named = run("embed", embedder, "--prompt-name", "query", "a man")
    assert named != plain and named == run("embed", embedder, "query: a man")
    assert named == run("embed", embedder, "--prompt", "query: ", "a man")
    assert len(run("embed", embedder, "--truncate-dim", "5", "a man").split()) == 5
    words = " ".join(["man"] * 50)
    done = subprocess.run(wrapper + [tool, "embed", embedder, words], capture_output=True, text=True, check=True)
    assert done.stderr == "headwise: 1 text was cut to 16 tokens\n", done.stderr
    assert "has 52 tokens, expected at most 16" in run("embed", embedder, "--refuse-long", words, code=2)
    assert "no prompt 'passage'" in run("embed", embedder, "--prompt-name", "passage", "a", code=2)
    broken = os.path.join(folder, "invalid")
    with open(broken, "wb") as file:
        file.write(b"a \xff man\n")
    assert "invalid: embed: text 0: " in run("embed", embedder, "--input", broken, code=2)
    assert run("embed", embedder, "--input", broken, "--replace-invalid") == run("embed", embedder, "a \ufffd man")


def precisions():
    path = os.path.join(folder, "texts")
    output = os.path.join(folder, "p.npy")
    run("embed", embedder, "--input", path, "--output", output)
    rows = read_npy(output)[1]
    values = struct.unpack(f"<{len(rows) // 4}f", rows)
    for precision, descr, columns in (("f16", "<f2", 32), ("int8", "|i1", 32), ("uint8", "|u1", 32),
                                      ("binary", "|i1", 4), ("ubinary", "|u1", 4)):
        run("embed", embedder, "--input", path, "--output", output, "--precision", precision)
        head, data = read_npy(output)
        assert head["descr"] == descr and head["shape"] == (len(TEXTS), columns), head
        if precision == "f16":
            assert data == struct.pack(f"<{len(values)}e", *values)
        if precision == "ubinary":
            bits = "".join("1" if x > 0 else "0" for x in values)
            assert data == bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
    assert "expected f32, f16" in run("embed", embedder, "a", "--output", output, "--precision", "f8", code=2)


def a_stopped_run_goes_on():
    path = os.path.join(folder, "texts")
    output, whole = os.path.join(folder, "r.npy"), os.path.join(folder, "whole.npy")
    lines = [f"{text} {i}\n".encode() for i in range(100) for text in TEXTS]
    with open(path, "wb") as file:
        file.write(b"".join(lines))
    run("embed", embedder, "--input", path, "--output", whole)
    part, broken = output + ".part", os.path.join(folder, "broken")

    def fail_at(i):
        with open(broken, "wb") as file:
            file.write(b"".join(lines[:i] + [b"\xff\n"] + lines[i + 1:]))
        return run("embed", embedder, "--input", broken, "--output", output, "--threads", "2", code=2)

    # Nothing is kept where there is nothing to go on with.
    assert "text 2: encode: " in fail_at(2) and not os.path.exists(part)
    # What was done before the failure is kept: all passes before that of the line.
    assert f"text {len(lines) - 1}: " in fail_at(len(lines) - 1)
    assert os.path.exists(part) and not os.path.exists(output)
    rows, kept = read_npy(whole)[1], open(part, "rb").read()[1024:]
    assert len(kept) >= len(rows) // 2 and rows.startswith(kept), len(kept)
    assert "give --resume" in run("embed", embedder, "--input", broken, "--output", output, code=2)
    assert "other options" in run("embed", embedder, "--input", path, "--output", output, "--resume", code=2)
    # Two rows and a half, as a run leaves it that was killed while it wrote.
    head = open(part, "rb").read()[:1024]
    with open(part, "wb") as file:
        file.write(head + rows[:2 * 128 + 50])
    shutil.copy(path, broken)
    run("embed", embedder, "--input", broken, "--output", output, "--resume")
    assert open(output, "rb").read() == open(whole, "rb").read() and not os.path.exists(part)


def lines_that_embed_does_not_take():
    path = os.path.join(folder, "lines")
    for line, error in (('{"text": "a", "pair": "b"}', '"pair", which classify takes'),
                        ('{"text": "a", "special": false}', 'line 1: "special" is false'),
                        ('{"txt": "a"}', 'line 1: has no "text"')):
        with open(path, "w") as file:
            file.write(line + "\n")
        assert error in run("embed", embedder, "--jsonl", "--input", path, code=2), line


def scores():
    line = json.loads(run("classify", classifier, "--jsonl", "a man"))
    assert abs(math.fsum(line["scores"].values()) - 1) < 1e-6 and line["label"] == max(line["scores"], key=line["scores"].get)
    raw = json.loads(run("classify", classifier, "--jsonl", "--score", "raw", "a man"))["scores"]
    total = math.fsum(math.exp(x) for x in raw.values())
    for label, x in raw.items():
        assert abs(math.exp(x) / total - line["scores"][label]) < 1e-6
    documents = ["two dogs", "food", "a man is eating"]
    ranked = [json.loads(text) for text in run("rerank", reranker, "--query", "a man", "--jsonl", *documents).splitlines()]
    assert sorted(r["index"] for r in ranked) == [0, 1, 2]
    assert [r["score"] for r in ranked] == sorted((r["score"] for r in ranked), reverse=True)
    for r in ranked:
        alone = json.loads(run("classify", reranker, "--jsonl", "a man", "--pair", documents[r["index"]]))
        assert struct.pack("<f", alone["scores"]["score"]) == struct.pack("<f", r["score"])
    assert len(run("rerank", reranker, "--query", "a", "--top-k", "2", *documents).splitlines()) == 2
    assert "expected the one score" in run("rerank", classifier, "--query", "a", "b", code=2)
    assert "gives vectors" in run("classify", embedder, "a", code=2)
    assert "gives scores" in run("embed", classifier, "a", code=2)


def names_of_the_hub():
    cache = os.path.join(folder, "hub")
    snapshot = os.path.join(cache, "models--sentence-transformers--small", "snapshots", "0123abcd")
    shutil.copytree(embedder, snapshot)
    refs = os.path.join(cache, "models--sentence-transformers--small", "refs")
    os.makedirs(refs)
    with open(os.path.join(refs, "main"), "w", encoding="utf-8") as file:
        file.write("0123abcd")
    env = {"HF_HUB_CACHE": cache}
    want = run("embed", embedder, "a man")
    assert run("embed", "small", "a man", env=env) == want
    assert run("embed", "sentence-transformers/small", "a man", env=env) == want
    assert "no snapshot of that name" in run("embed", "nobody/small", "a", env=env, code=2)
    assert "is no file or folder" in run("embed", "../../nobody", "a", env=env, code=2)


def folders_that_are_refused():
    other = os.path.join(folder, "other")
    shutil.copytree(embedder, other)
    for name, value, line in (
            ("modules.json", [{"path": "", "type": "sentence_transformers.models.CNN"}], "module"),
            ("modules.json", [{"path": "../embedder", "type": "sentence_transformers.models.Transformer"}], "leads out"),
            ("modules.json", {}, "is no list"),
            ("1_Pooling/config.json", {"pooling_mode": "median"}, "pooling_mode 'median' is not supported"),
            ("1_Pooling/config.json", {"word_embedding_dimension": 31}, "is 31, expected 32"),
            ("sentence_bert_config.json", {"max_seq_length": 1}, "limit of 1 tokens"),
            ("config_sentence_transformers.json", {"model_type": "SparseEncoder"}, "SparseEncoder"),
            ("config_sentence_transformers.json", {"default_prompt_name": "none"}, "none of the prompts")):
        kept = open(os.path.join(other, name), encoding="utf-8").read()
        make_folder.write(other, name, value)
        assert line in run("embed", other, "a", code=2), name
        with open(os.path.join(other, name), "w", encoding="utf-8") as file:
            file.write(kept)


for case in (vectors_are_the_same_however_they_come, prompts_and_cuts, precisions, a_stopped_run_goes_on,
             lines_that_embed_does_not_take, scores, names_of_the_hub, folders_that_are_refused):
    case()
    print(f"[       OK ] {case.__name__}")
shutil.rmtree(folder)
