#!/bin/sh
# Runs the cases of bench/peers.txt on this library, on ONNX Runtime (npm) and on OpenBLAS with a
# plain softmax (Debian), alternately, and prints a Markdown table of minima and ratios.
#   scripts/bench_peers.sh [REGEX]     only cases whose name, threads and isa match
# Environment: ROUNDS (5) times each program runs, TIME (0.5) seconds of each measurement,
# PEERS ("onnxruntime openblas"), HEADWISE_ISA (the best tier), HEADWISE_PEERS (the folder for npm's
# packages, ~/.cache/headwise-peers), OPENBLAS_CORETYPE (default: the fastest here).
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
. scripts/bench_build.sh
build_benchmarks libopenblas-dev
only=${1:-.}
rounds=${ROUNDS:-5}
time=${TIME:-0.5}
peers=${PEERS:-onnxruntime openblas}
source=$PWD
npm_folder=${HEADWISE_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/headwise-peers}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

wants() {
  case " $peers " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# Installs ONNX Runtime where it is not; false, with a message, where that cannot be.
have_onnxruntime() {
  wants onnxruntime || return 1
  if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
    echo "ONNX Runtime skipped: node and npm are needed (Debian: nodejs npm)" >&2
    return 1
  fi
  [ ! -d "$npm_folder/node_modules/onnxruntime-node" ] ||
    [ ! -d "$npm_folder/node_modules/onnx-proto" ] || return 0
  echo "installing onnxruntime-node and onnx-proto into $npm_folder" >&2
  mkdir -p "$npm_folder"
  (cd "$npm_folder" && { [ -f package.json ] || npm init -y; } &&
    npm install --ignore-scripts --no-audit --no-fund \
      onnxruntime-node@1.30.0 onnx-proto@8.0.1) >"$work/npm.log" 2>&1 || {
    echo "ONNX Runtime skipped: npm could not install it: $(tail -n 1 "$work/npm.log")" >&2
    return 1
  }
}

# OpenBLAS takes a processor that is newer than itself for one of 2004. So all its kernels are tried
# on one case; peer_blas refuses those that compute wrong values. A cache size that the environment
# sets (OPENBLAS_L2_SIZE) is left out. Sets $core ("" is OpenBLAS's own choice).
have_openblas() {
  wants openblas || return 1
  if [ ! -x "$bench/peer_blas" ]; then
    echo "OpenBLAS skipped: bench/peer_blas was not built (libopenblas-dev is missing)" >&2
    return 1
  fi
  unset OPENBLAS_L2_SIZE
  if [ -n "${OPENBLAS_CORETYPE:-}" ]; then
    core=$OPENBLAS_CORETYPE
    return 0
  fi
  probe=attention/prefill/B:1/H:4/KV:4/S:512/T:512/D:128/causal:0/threads:1
  for type in "" HASWELL SKYLAKEX COOPERLAKE ZEN NEOVERSEN1 ARMV8; do
    us=$(OPENBLAS_CORETYPE=$type "$bench/peer_blas" "$probe" 0.2 2>/dev/null) || continue
    echo "$us" | sed "s/^[^ ]* \([^ ]*\) .*/\1 $type/"
  done | sort -n | head -n 1 >"$work/core"
  core=$(sed 's/^[^ ]* *//' "$work/core")
  [ -s "$work/core" ] || {
    echo "OpenBLAS skipped: its results are wrong with every kernel" >&2
    return 1
  }
}

# run_headwise PROGRAM NAME: lines "headwise US", "gflops X", ...
run_headwise() {
  "$bench/$1" --benchmark_filter="^$2\$" --benchmark_min_time="$time" --benchmark_format=json \
    2>/dev/null | awk '
      /"error_message"/ { print > "/dev/stderr" }
      /"(min_us|GFLOPs|peak_GFLOPs|GBps|read_GBps)":/ { gsub(/[":,]/, ""); print $1, $2 }'
}

# From the lines of all rounds to a row of the table: smallest times, largest rates.
print_row() {
  awk -v name="$1" -v threads="$2" '
    function least(key, v) { if (!(key in us) || v < us[key]) us[key] = v }
    function most(key, v) { if (v > rate[key]) rate[key] = v }
    function against(best) {
      return best == "" ? " - | - |" : sprintf(" %.1f | %.2f |", us[best], us[best] / us["min_us"])
    }
    $1 == "min_us" { least($1, $2 + 0); next }
    $1 ~ /^(GFLOPs|peak_GFLOPs|GBps|read_GBps)$/ { most($1, $2 + 0); next }
    NF >= 2 { least($1, $2 + 0) }
    END {
      if (!("min_us" in us)) { print "| `" name "` | " threads " | failed |"; exit }
      for (key in us)
        if (key != "min_us" && key != "openblas" && (ort == "" || us[key] < us[ort])) ort = key
      blas = "openblas" in us ? "openblas" : ""
      printf "| `%s` | %s | %.1f | %.1f | %.0f %% | %.1f | %.0f %% |%s %s |%s\n", name, threads,
        us["min_us"], rate["GFLOPs"], 100 * rate["GFLOPs"] / rate["peak_GFLOPs"], rate["GBps"],
        100 * rate["GBps"] / rate["read_GBps"], against(ort), ort == "" ? "-" : ort, against(blas)
    }' "$work/lines"
}

measure() {
  program=bench_${1%%/*}
  : >"$work/lines"
  round=1
  while [ "$round" -le "$rounds" ]; do
    run_headwise "$program" "$1" >>"$work/lines"
    if $ort; then
      check=$([ "$round" -gt 1 ] || echo check)
      # shellcheck disable=SC2086
      (cd "$npm_folder" && node "$source/bench/peer_ort.js" "$1" "$time" $check) \
        >>"$work/lines" || true
    fi
    if $blas; then
      OPENBLAS_CORETYPE=$core "$bench/peer_blas" "$1" "$time" >>"$work/lines" || true
    fi
    round=$((round + 1))
  done
  case_name=${1%/isa:*}
  print_row "${case_name%/threads:*}" "${case_name##*/threads:}"
}

isa=${HEADWISE_ISA:-$("$bench/bench_kernels" --benchmark_list_tests | sed -n 's|.*/isa:||p' | tail -n 1)}
names=$(grep -v '^#' bench/peers.txt | while read -r name; do
  "$bench/bench_${name%%/*}" --benchmark_list_tests | grep -E "^$name/threads:[0-9]+/isa:$isa\$" ||
    echo "bench/peers.txt: no case of isa $isa begins with $name" >&2
done | grep -E "$only") || { echo "no case matches $only" >&2; exit 1; }

if have_onnxruntime; then ort=true; else ort=false; fi
if have_openblas; then blas=true; else blas=false; fi

echo "Minima of $rounds rounds in turn, microseconds. Ratio: how many times as fast Headwise" \
  "(isa $isa) is."
if $blas; then echo "OpenBLAS kernels: ${core:-its own choice}."; fi
echo
echo "| case | threads | Headwise | GFLOP/s | of peak | GB/s | of read | ONNX Runtime | ratio" \
  "| operator | OpenBLAS | ratio |"
echo "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|"
for name in $names; do
  measure "$name"
done
