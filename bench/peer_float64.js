// What a benchmark case computes, in float64: sampled rows, and how far a result is from them.
'use strict';

function project(x, rows, k, w, n) {
  const y = new Float64Array(rows * n);
  for (let r = 0; r < rows; r++)
    for (let t = 0; t < k; t++) {
      const a = x[r * k + t];
      for (let j = 0; j < n; j++) y[r * n + j] += a * w[t * n + j];
    }
  return y;
}

// Row i of batch entry b: all heads, concatenated.
function attend(c, q, k, v, b, i) {
  const E = c.H * c.D, EK = c.KV * c.D, position = c.T - c.S + i;
  const last = c.causal ? position : c.T - 1;
  const first = c.window ? Math.max(0, position + 1 - c.window) : 0;
  const out = new Float64Array(E);
  for (let h = 0; h < c.H; h++) {
    const g = Math.floor(h / (c.H / c.KV)), scores = [];
    for (let j = first; j <= last; j++) {
      let s = 0;
      for (let d = 0; d < c.D; d++)
        s += q[(b * c.S + i) * E + h * c.D + d] * k[(b * c.T + j) * EK + g * c.D + d];
      scores.push(s / Math.sqrt(c.D));
    }
    const max = scores.reduce((a, s) => Math.max(a, s), -Infinity);
    const weights = scores.map((s) => Math.exp(s - max));
    const sum = weights.reduce((a, w) => a + w, 0);
    weights.forEach((w, j) => {
      for (let d = 0; d < c.D; d++)
        out[h * c.D + d] += (w / sum) * v[(b * c.T + first + j) * EK + g * c.D + d];
    });
  }
  return out;
}

// Sampled rows of the result: a list of [offset, values].
function expectedRows(c, data) {
  const E = c.H * c.D, EK = c.KV * c.D, rows = [];
  const all = c.B * c.S;
  const q = c.isLayer ? project(data.x, all, E, data.wq, E) : data.x;
  const k = c.isLayer ? project(data.x, all, E, data.wk, EK) : data.k;
  const v = c.isLayer ? project(data.x, all, E, data.wv, EK) : data.v;
  for (const i of new Set([0, c.S >> 1, c.S - 1])) {
    const b = i % c.B, heads = attend(c, q, k, v, b, i);
    rows.push([(b * c.S + i) * E, c.isLayer ? project(heads, 1, E, data.wo, E) : heads]);
  }
  return rows;
}

function largestError(y, rows) {
  let error = 0, largest = 0;
  for (const [offset, values] of rows)
    values.forEach((value, j) => {
      const deviation = Math.abs(y[offset + j] - value);
      error = deviation <= error ? error : deviation; // NaN stays
      largest = Math.max(largest, Math.abs(value));
    });
  return error / largest;
}

module.exports = { expectedRows, largestError };
