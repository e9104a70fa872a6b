#!/bin/sh
# The first C program in README.md is examples/first.c, to the letter: what readers copy is what is compiled.
# usage: check_readme.sh README.md first.c
awk '/^```c$/ { inside = 1; next } /^```$/ && inside { exit } inside' "$1" | diff - "$2" || {
    echo "README.md's program differs from $2" >&2
    exit 1
}
