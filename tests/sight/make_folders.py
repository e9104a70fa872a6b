"""Writes an embedder and a reranker of random weights into a folder.

usage: make_folders.py FOLDER"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parents[1] / "encode"))
import make_folder  # noqa: E402

make_folder.make(str(Path(sys.argv[1]) / "embedder"))
make_folder.make(str(Path(sys.argv[1]) / "reranker"), ["score"])
