"""The rooms: who may include whom. docs/architecture.md draws the same."""

TIERS = ["scalar", "avx2", "avx512", "neon"]
SHARED = ["simd", "x86"]
# Tiers that compile the files of simd/, and those that compile the files of x86/.
SIMD_TIERS = ["avx2", "avx512", "neon"]
X86_TIERS = ["avx2", "avx512"]

# Rooms of each library, lowest first, with the rooms that each may include besides itself.
ARITHMETIC = ["kernels", "simd", "x86"]
LOW = ["base", "kernels"]
MIDDLE = LOW + ["tensors", "context", "cache", "positions"]
ROOMS = {
    "src": {
        "base": [],
        "kernels": ["base"],
        "simd": ["kernels"],
        "x86": ["kernels", "simd"],
        "scalar": ["kernels", "simd"],
        "avx2": ARITHMETIC,
        "avx512": ARITHMETIC,
        "neon": ["kernels", "simd"],
        "tensors": LOW,
        "context": LOW,
        "cache": LOW + ["tensors", "context"],
        "positions": LOW + ["tensors", "context"],
        "rows": LOW + ["context"],
        "linear": MIDDLE + ["rows"],
        "attention": MIDDLE,
        "layer": MIDDLE + ["rows", "linear", "attention"],
        "heads": MIDDLE + ["rows", "linear", "attention", "layer"],
        "api": MIDDLE + ["rows", "linear", "attention", "layer", "heads"],
    },
    "io": {
        "files": [],
        "json": ["files"],
        "safetensors": ["files", "json"],
        "gguf": ["files"],
        "checkpoint": ["files", "json", "safetensors", "gguf"],
    },
    "model": {
        "base": [],
        "text": ["base"],
        "families": ["base"],
        "block": ["base", "families"],
        "stack": ["base", "families", "block"],
        "encode": ["base", "text", "families", "block", "stack"],
        "generate": ["text", "families", "block", "stack"],
        "sight": ["base", "text", "families", "block", "stack", "encode", "generate"],
        "api": ["base", "text", "families", "block", "stack", "encode", "generate", "sight"],
    },
    "tools": {
        "common": [],
        "calls": ["common"],
        "inspect": ["common", "calls"],
        "sight": ["common", "calls", "inspect"],
        "sweep": ["common", "calls"],
        "commands": ["common", "calls", "inspect", "sight", "sweep"],
    },
    "measure": {"": []},
}

# Public headers, and single headers of other folders, that a library may include.
PUBLIC = {
    "src": ["headwise"],
    "io": ["headwise", "headwise-io"],
    "model": ["headwise", "headwise-io", "headwise-model"],
    "tools": ["headwise", "headwise-io", "headwise-model"],
    "measure": ["headwise"],
}
DOORS = {
    "measure": ["context/timing.h", "kernels/dot.h", "measure/clock.h", "measure/groups.h",
                "measure/shares.h", "measure/timed.h"],
    "tools": ["measure/clock.h", "measure/shares.h", "json/reader.h", "json/writer.h"],
    "model": ["json/reader.h", "files/map.h", "base/float_mode.h"],
}

# Headers that the shared files of simd/ and x86/ find in the folder of the tier they are compiled for.
TIER_HEADERS = ["vec.h", "tile.h", "exponentiate.h"]

# The only files that touch what lies outside: name of the check -> folder -> files.
OWNERS = {
    "threads": {"src": ["src/context/parallel.c", "src/context/threads.c"], "tools": ["tools/calls/lapack.c"]},
    "files": {
        "src": ["src/context/quota.c"],
        "io": ["io/files/map.c", "io/files/replace.c"],
        "tools": ["tools/calls/tokens.c", "tools/calls/text_input.c", "tools/calls/vector_file.c",
                  "tools/common/hub.c"],
    },
    "environment": {
        "src": ["src/base/environment.c"],
        "tools": ["tools/common/context.c", "tools/common/hub.c"],
    },
}

# Headers whose includes serve their includers; public headers do so all.
OFFERS = {f"src/{tier}/vec.h" for tier in TIERS} | {
    "model/text/unicode.h", "src/api/check.h", "src/simd/words.h", "src/x86/gemm.h", "measure/shares.h"}

# Sets HEADWISE_ERR_INVALID outside src/api: why.
INVALID = {
    "src/base/error.c": "names every status",
    "src/base/options.h": "the size that begins every struct of options",
    "src/kernels/dispatch.c": "HEADWISE_ISA of the environment, and numbers that are no tier",
    "src/context/budget.c": "HEADWISE_NUM_THREADS of the environment",
    "src/context/context.c": "contexts and pools are made before any call, and check themselves",
    "src/context/pool.c": "contexts and pools are made before any call, and check themselves",
    "src/cache/save.c": "what saved bytes say is known only while they are read",
    "src/linear/pack.c": "whether a weight fits its type is known only while it is packed",
}

# Functions longer than 50 lines, up to 120: register-blocked micro-kernels.
MICRO_KERNELS = set()
