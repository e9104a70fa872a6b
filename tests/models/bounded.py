"""Attention in float64, written from the formulas with plain loops, and beside every value a bound on
how far an f32 engine may be from it.

A number is a pair (value, bound). u = 2^-24 is the unit roundoff of f32; n roundings in a chain give a
relative error of at most gamma(n) = n u / (1 - n u) (Higham, Accuracy and Stability of Numerical
Algorithms, 3.1). Nothing here knows how model files lay out their tensors.
"""
import math

U = 2.0 ** -24
TINY = 2.0 ** -149
NORMAL = 2.0 ** -126


def gamma(n):
    return n * U / (1 - n * U)


def exact(values):
    return [(v, 0.0) for v in values]


def linear(x, weight, bias):
    """y = W x + b; one rounding a term, one for the bias."""
    out = []
    for row, b in zip(weight, bias or [0.0] * len(weight)):
        total = magnitude = carried = 0.0
        for (v, e), w in zip(x, row):
            total += v * w
            magnitude += abs(v * w)
            carried += e * abs(w)
        total += b
        out.append((total, carried + gamma(len(row) + 1) * (magnitude + carried) + U * abs(total) + TINY))
    return out


def rms_norm(x, weight, eps, add_one):
    """x / sqrt(mean(x^2) + eps) * w. The derivative by x is w r (1 - x x^T r^2 / n)."""
    n = len(x)
    r = 1 / math.sqrt(sum(v * v for v, _ in x) / n + eps)
    shared = sum(abs(v) * e for v, e in x) / n * r * r
    out = []
    for (v, e), w in zip(x, weight):
        w = 1 + w if add_one else w
        y = v * r * w
        # n squares and their sum, the mean, eps, the root, its reciprocal (under a root: halves),
        # 1 + w and three products; 1.01 for the terms of second order
        out.append((y, 1.01 * (abs(w) * r * (e + abs(v) * shared) + gamma(n + 8) * abs(y)) + TINY))
    return out


def layer_norm(x, weight, bias, eps):
    """(x - mean) / sqrt(var + eps) * w + b."""
    n = len(x)
    mean = sum(v for v, _ in x) / n
    error = sum(e for _, e in x) / n + gamma(n + 1) * sum(abs(v) for v, _ in x) / n
    centred = [(v - mean, e + error + U * abs(v - mean)) for v, e in x]
    normed = rms_norm(centred, weight, eps, False)
    return [(y + b, e + U * (abs(y + b) + e)) for (y, e), b in zip(normed, bias)]


def rotate(x, position, frequencies, interleaved, factor):
    """Pairs turned by position * frequency, the rest as it is. cos and sin times factor are f32
    numbers: 2 u off where they are computed in double, a product and a sum more."""
    half = len(frequencies)
    out = list(x)
    for j, frequency in enumerate(frequencies):
        a, b = (2 * j, 2 * j + 1) if interleaved else (j, j + half)
        (p, pe), (q, qe) = x[a], x[b]
        c, s = math.cos(position * frequency) * factor, math.sin(position * frequency) * factor
        size = abs(p * c) + abs(q * s)
        out[a] = (p * c - q * s, pe * abs(c) + qe * abs(s) + gamma(5) * (size + pe + qe) + TINY)
        size = abs(p * s) + abs(q * c)
        out[b] = (p * s + q * c, pe * abs(s) + qe * abs(c) + gamma(5) * (size + pe + qe) + TINY)
    return out


def score(q, k, scale, cap, bias):
    total = magnitude = carried = 0.0
    for (a, ae), (b, be) in zip(q, k):
        total += a * b
        magnitude += abs(a * b)
        carried += abs(a) * be + ae * abs(b) + ae * be
    value = scale * total
    bound = abs(scale) * (carried + gamma(len(q) + 4) * (magnitude + carried)) + TINY
    if cap:
        value = cap * math.tanh(value / cap)
        bound += gamma(6) * abs(value) + TINY
    for added in bias:  # the bias itself is a product or a table's f32
        value += added
        bound += gamma(3) * abs(added) + U * (abs(value) + bound)
    return value, bound


def softmax(scores, sink):
    """Weights and their bounds; see tests/support/oracle.c for the count of roundings."""
    top = max([s for s, _ in scores] + ([sink] if sink is not None else []))
    blocks = math.ceil(len(scores) / 256) + 1
    numerators = []
    total = error = 0.0
    for value, bound in scores + ([(sink, 0.0)] if sink is not None else []):
        x = value - top
        relative = math.expm1(bound + 4 * U * (abs(x) + bound) + (3 * blocks + 6) * U)
        numerators.append((math.exp(x), relative))
        total += math.exp(x)
        error += math.exp(x) * relative
    spread = (error + len(scores) * NORMAL) / total + gamma(20 + 3 * blocks + len(scores))
    return [(w / total, w / total * (r + spread) / (1 - spread) + 2 * NORMAL)
            for w, r in numerators[:len(scores)]]


def context(weights, values):
    """Sum of weight * value for every component; weights and values of the visible keys only."""
    out = []
    for c in range(len(values[0])):
        total = carried = magnitude = 0.0
        for (w, we), v in zip(weights, values):
            reach = abs(v[c][0]) + v[c][1]
            total += w * v[c][0]
            carried += we * reach + w * v[c][1]
            magnitude += (w + we) * reach
        out.append((total, carried + gamma(len(values) + 8) * magnitude + 2 * TINY))
    return out


def attention(layer, x, memory):
    """y of a layer (layers.py) for the rows x, keys and values from memory."""
    keys, values = [], []
    for g in range(layer.kv_heads):
        ks = [linear(exact(row), layer.k[g], layer.bk[g]) for row in memory]
        ks = [layer.place(layer.norm_k(k), j) for j, k in enumerate(ks)]
        keys.append(ks)
        values.append([linear(exact(row), layer.v[g], layer.bv[g]) for row in memory])
    out = []
    for i, row in enumerate(x):
        joined = []
        for h in range(layer.heads):
            g = h // (layer.heads // layer.kv_heads)
            q = layer.place(layer.norm_q(linear(exact(row), layer.q[h], layer.bq[h])), i)
            seen = [j for j in range(len(memory)) if layer.sees(i, j)]
            scores = [score(q, keys[g][j], layer.scale, layer.cap, layer.bias(h, i, j)) for j in seen]
            sink = layer.sinks[h] if layer.sinks else None
            joined += context(softmax(scores, sink), [values[g][j] for j in seen])
        out.append(linear(joined, layer.o, layer.bo))
    return out
