"""How files keep a layer: names, fused matrices, Conv1D. One function for each way."""
from tensors import matrix, transposed, vector


def rows(blocks):
    return [row for block in blocks for row in block]


def joined(biases):
    return [b for block in biases for b in block] if biases[0] is not None else None


def put(tensors, name, weight, bias, dtype="F32", conv1d=False):
    tensor = matrix(weight, dtype)
    tensors[name + ".weight"] = transposed(tensor) if conv1d else tensor
    if bias is not None:
        tensors[name + ".bias"] = vector(bias, dtype)


def separate(tensors, stem, names, layer, dtypes=("F32",) * 4):
    """names: of q, k, v, o."""
    put(tensors, stem + names[0], rows(layer.q), joined(layer.bq), dtypes[0])
    put(tensors, stem + names[1], rows(layer.k), joined(layer.bk), dtypes[1])
    put(tensors, stem + names[2], rows(layer.v), joined(layer.bv), dtypes[2])
    put(tensors, stem + names[3], layer.o, layer.bo, dtypes[3])


def add_norms(tensors, stem, names, layer):
    tensors[stem + names[0] + ".weight"] = vector(layer.q_norm)
    tensors[stem + names[1] + ".weight"] = vector(layer.k_norm)
    if layer.q_norm_bias:
        tensors[stem + names[0] + ".bias"] = vector(layer.q_norm_bias)
        tensors[stem + names[1] + ".bias"] = vector(layer.k_norm_bias)


def plain(q, k, v):
    """Everything of q, then of k, then of v."""
    return q + k + v


def triples(q, k, v):
    """q, k, v of head 0, then of head 1, ..."""
    return [block for h in range(len(q)) for block in (q[h], k[h], v[h])]


def groups(q, k, v):
    """For each kv head the queries that read it, then itself, then its values."""
    n = len(q) // len(k)
    return [block for g in range(len(k)) for block in q[g * n:(g + 1) * n] + [k[g], v[g]]]


def fused(tensors, qkv_name, o_name, order, layer, dtype="F32", conv1d=False):
    weight = rows(order(layer.q, layer.k, layer.v))
    bias = joined(order(layer.bq, layer.bk, layer.bv))
    put(tensors, qkv_name, weight, bias, dtype, conv1d)
    put(tensors, o_name, layer.o, layer.bo, dtype, conv1d)
