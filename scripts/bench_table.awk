# From Google Benchmark's JSON (one key per line) to rows of a Markdown table.
#   awk -v columns="min_us GFLOPs" -f bench_table.awk FILE.json
# A row for each case: its name and the counters in that order, empty where the case has none. Shares
# and parts of ceilings (share_*, of_*) become per cent. Failed cases show their message.
function finish(  i, row) {
  if (name == "")
    return
  row = "| `" name "` |"
  for (i = 1; i <= n; i++)
    row = row " " (error != "" && i == 1 ? error : format(column[i])) " |"
  print row
  name = ""
}

function format(key,  v) {
  if (!(key in value))
    return ""
  v = value[key] + 0
  if (key ~ /^(share|of)_/)
    return sprintf("%.0f %%", 100 * v)
  return v >= 1000 ? sprintf("%.0f", v) : sprintf("%.3g", v)
}

BEGIN {
  n = split(columns, column, " ")
}

/^ *"name": / {
  finish()
  split("", value)
  error = ""
  name = $0
  sub(/^ *"name": "/, "", name)
  sub(/",?$/, "", name)
}

/^ *"error_message": / {
  error = $0
  sub(/^ *"error_message": "/, "", error)
  sub(/",?$/, "", error)
}

/^ *"[A-Za-z_]+": [-+0-9.]/ {
  key = $1
  gsub(/[":]/, "", key)
  v = $2
  sub(/,$/, "", v)
  value[key] = v
}

END {
  finish()
}
