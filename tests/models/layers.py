"""A layer as mathematics: a matrix for each head, what is added to its scores, which keys it sees."""
import math
import struct

import bounded
from tensors import Random


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


class Layer:
    """Random weights for H heads of d on width E (keys and values from width M)."""

    def __init__(self, seed, heads, kv_heads, dim, width, memory=None, biases="", out_reach=0.5):
        rng = Random(seed)
        memory = memory or width
        self.heads, self.kv_heads, self.dim, self.width = heads, kv_heads, dim, width
        self.q = [rng.matrix(dim, width) for _ in range(heads)]
        self.k = [rng.matrix(dim, memory) for _ in range(kv_heads)]
        self.v = [rng.matrix(dim, memory) for _ in range(kv_heads)]
        self.o = rng.matrix(width, heads * dim, out_reach)
        self.bq = [rng.vector(dim) if "q" in biases else None for _ in range(heads)]
        self.bk = [rng.vector(dim) if "k" in biases else None for _ in range(kv_heads)]
        self.bv = [rng.vector(dim) if "v" in biases else None for _ in range(kv_heads)]
        self.bo = rng.vector(width) if "o" in biases else None
        self.rng = rng
        self.scale = 1 / math.sqrt(dim)
        self.cap = 0.0
        self.sinks = None
        self.q_norm = self.k_norm = self.q_norm_bias = self.k_norm_bias = None
        self.norm_eps, self.norm_adds_one = 1e-6, False
        self.frequencies, self.interleaved, self.rope_factor = [], False, 1.0
        self.slopes = self.relative = None
        self.causal, self.left, self.right = False, None, None

    def add_norms(self, eps, adds_one=False, with_bias=False):
        self.q_norm, self.k_norm = self.rng.vector(self.dim, 2.0), self.rng.vector(self.dim, 2.0)
        if with_bias:
            self.q_norm_bias, self.k_norm_bias = self.rng.vector(self.dim), self.rng.vector(self.dim)
        self.norm_eps, self.norm_adds_one = eps, adds_one

    def normed(self, x, weight, bias):
        if weight is None:
            return x
        if bias is not None:
            return bounded.layer_norm(x, weight, bias, f32(self.norm_eps))
        return bounded.rms_norm(x, weight, f32(self.norm_eps), self.norm_adds_one)

    def norm_q(self, x):
        return self.normed(x, self.q_norm, self.q_norm_bias)

    def norm_k(self, x):
        return self.normed(x, self.k_norm, self.k_norm_bias)

    def place(self, x, position):
        return bounded.rotate(x, position, self.frequencies, self.interleaved, self.rope_factor)

    def bias(self, head, i, j):
        added = []
        if self.slopes:
            added.append(-self.slopes[head] * abs(i - j))
        if self.relative:
            added.append(self.relative(head, j - i))
        return added

    def sees(self, i, j):
        if self.causal and j > i:
            return False
        if self.left is not None and j < i - self.left:
            return False
        return self.right is None or j <= i + self.right


def rope(dim, base=10000.0):
    return [base ** (-2.0 * j / dim) for j in range(dim // 2)]


def rope_linear(dim, base, factor):
    return [f / factor for f in rope(dim, base)]


def rope_llama3(dim, base, factor, low, high, original):
    """Wavelengths above original / low are stretched, those below original / high are kept."""
    out = []
    for f in rope(dim, base):
        wavelength = 2 * math.pi / f
        smooth = (original / wavelength - low) / (high - low)
        if wavelength > original / low:
            f = f / factor
        elif wavelength >= original / high:
            f = (1 - smooth) * f / factor + smooth * f
        out.append(f)
    return out


def rope_yarn(dim, base, factor, original, fast=32.0, slow=1.0, truncate=True):
    """Peng and others 2023: interpolated below `low` pairs, kept above `high`, a ramp between."""

    def pair(rotations):
        return dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = pair(fast), pair(slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    if low == high:
        high += 0.001
    out = []
    for j, f in enumerate(rope(dim, base)):
        ramp = min(max((j - low) / (high - low), 0.0), 1.0)
        out.append(f / factor * ramp + f * (1 - ramp))
    return out


def rope_longrope(dim, base, factors):
    return [f / e for f, e in zip(rope(dim, base), factors)]


def alibi_slopes(heads):
    """Press, Smith, Lewis 2022: a geometric series; for other counts than powers of two the series
    of the power below, then every other one of the power above."""
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2.0 ** (-8.0 * (i + 1) / power) for i in range(power)]
    slopes += [2.0 ** (-8.0 * (2 * i + 1) / (2 * power)) for i in range(heads - power)]
    return slopes


def t5_bucket(distance, both_ways, buckets, max_distance):
    """distance = key - query. Logarithms as PyTorch takes them, in f32."""
    first = 0
    if both_ways:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = -min(distance, 0)
    half = buckets // 2
    if distance < half:
        return first + distance
    ratio = f32(f32(math.log(f32(distance / half))) / f32(math.log(max_distance / half)))
    return first + min(half + int(f32(ratio * (buckets - half))), buckets - 1)
