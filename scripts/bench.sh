#!/bin/sh
# Builds a release, measures a set of cases (about five minutes on two cores) and writes a Markdown
# table to bench/results.md. bench/README.md says how to read it.
#   scripts/bench.sh [REGEX]      only the cases of the set whose name matches
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
. scripts/bench_build.sh
build_benchmarks
results=bench/results.md
only=${1:-.}

best=$("$bench/bench_kernels" --benchmark_list_tests | sed -n 's|.*/isa:||p' | tail -n 1)

# measure PROGRAM MIN_TIME FILTER COLUMNS: appends the rows of a program's cases that match both
# FILTER and the REGEX of the command line.
measure() {
  names=$("$bench/$1" --benchmark_list_tests | grep -E "$3" | grep -E "$only" || true)
  [ -n "$names" ] || return 0
  echo "$1: $(echo "$names" | wc -l) cases" >&2
  pattern=$(echo "$names" | paste -s -d '|' -)
  json=build/bench/$1.json
  "$bench/$1" --benchmark_min_time="$2" --benchmark_filter="^($pattern)\$" \
    --benchmark_format=json >"$json" 2>>"$bench_log"
  {
    echo
    echo "| case | $(echo "$4" | sed 's/ / | /g') |"
    echo "|---|$(echo "$4" | sed 's/[^ ][^ ]* */---:|/g')"
    awk -v columns="$4" -f scripts/bench_table.awk "$json"
  } >>"$results"
}

{
  echo "# Measured on $(date -u +%Y-%m-%d), $(uname -m), $(nproc) processors"
  sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1
} >"$results"

call="min_us GFLOPs of_peak GBps of_read tokens_per_s"
shares="share_projections share_scores share_softmax share_values share_packing share_rows share_rest"
measure bench_attention 0.4 "isa:$best\$" "$call $shares"
measure bench_cache 0.4 "isa:$best\$" "$call $shares"
measure bench_layer 0.4 "isa:$best\$" "$call $shares"
measure bench_mlp 0.4 "isa:$best\$" "min_us GFLOPs of_peak tokens_per_s $shares"
measure bench_heads 0.4 "isa:$best\$" "$call $shares"
# The other tiers, on one thread and the cases that the tiers' kernels decide.
measure bench_attention 0.2 "prefill/B:1/H:(8|16)/.*threads:1/isa:(scalar|avx2)\$" "$call $shares"
measure bench_layer 0.2 "forward/B:1/H:12/.*threads:1/isa:(scalar|avx2)\$" "$call $shares"
measure bench_kernels 0.05 "^(kernel|ceiling)" \
  "min_ns ns_per_element GFLOPs of_peak GBps of_read"

echo "$PWD/$results"
