// Times ONNX Runtime's CPU operators on a benchmark case, and checks what they compute.
//
//   node peer_ort.js CASE [SECONDS] [check]
//
// CASE is a name such as attention/prefill/B:1/H:16/KV:16/S:512/T:512/D:64/causal:0/threads:1.
// onnxruntime-node and onnx-proto are looked up from the current folder. Prints one line for each
// operator that can express the case, after SECONDS (1) of repetitions:
//   OPERATOR MICROSECONDS ERROR
// ERROR: the largest deviation of sampled rows from float64, relative to the largest value; "-"
// without check. An operator that fails or deviates by more than 1e-4 is reported on stderr only.
'use strict';

const fromHere = (name) => require(require.resolve(name, { paths: [process.cwd()] }));
const ort = fromHere('onnxruntime-node');
const { onnx } = fromHere('onnx-proto');
const { expectedRows, largestError } = require('./peer_float64.js');

const MICROSOFT = 'com.microsoft';
const FLOAT = onnx.TensorProto.DataType.FLOAT;
const INT32 = onnx.TensorProto.DataType.INT32;
const LARGEST_ERROR = 1e-4;

function parseCase(name) {
  const [family, kind, ...fields] = name.split('/');
  const value = Object.fromEntries(fields.map((f) => f.split(':')));
  const size = (key) => Number(value[key]);
  return {
    isLayer: family === 'layer' || kind === 'layer',
    B: size('B'), H: size('H'), KV: size('KV'), S: size('S'), T: size('T'), D: size('D'),
    causal: value.causal === '1',
    window: value.window ? size('window') : 0,
    threads: size('threads'),
  };
}

// Uniform in [-scale, scale), the same in every run (a linear congruential generator).
function random(n, scale, seed) {
  const x = new Float32Array(n);
  let state = seed >>> 0;
  for (let i = 0; i < n; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    x[i] = (state / 0x80000000 - 1) * scale;
  }
  return x;
}

// The arrays of a case; past keys and values only for what asks the last S of T positions.
function makeData(c) {
  const E = c.H * c.D, EK = c.KV * c.D, P = c.T - c.S;
  const scale = Math.sqrt(3 / E);
  const data = { x: random(c.B * c.S * E, 1, 1) };
  if (c.isLayer) {
    data.wq = random(E * E, scale, 2);
    data.wk = random(E * EK, scale, 3);
    data.wv = random(E * EK, scale, 4);
    data.wo = random(E * E, scale, 5);
  } else {
    data.k = random(c.B * c.T * EK, 1, 6);
    data.v = random(c.B * c.T * EK, 1, 7);
  }
  if (c.isLayer && P > 0) throw new Error('layers with a past are not measured');
  return data;
}

// Which operators can express the case. Causal: the last S of T positions ask.
function operatorsOf(c) {
  const names = [];
  const square = c.S === c.T;
  const plainMask = c.window === 0 && (!c.causal || square);
  if (c.KV === c.H && plainMask) names.push('MultiHeadAttention');
  if (plainMask) names.push('Attention');
  if (c.causal || c.S === 1) names.push('GroupQueryAttention');
  return names;
}

function intAttribute(name, i) {
  return { name, type: onnx.AttributeProto.AttributeType.INT, i };
}

// The attention node. Inputs are (batch, row, head * column), the past is (batch, head, row, column).
function attentionNode(c, operator, [q, k, v], output, suffix) {
  if (operator === 'MultiHeadAttention')
    return {
      opType: operator, domain: MICROSOFT, input: [q, k, v], output: [output],
      attribute: [intAttribute('num_heads', c.H), intAttribute('unidirectional', c.causal ? 1 : 0)],
    };
  if (operator === 'Attention')
    return {
      opType: operator, input: [q, k, v], output: [output],
      attribute: [intAttribute('q_num_heads', c.H), intAttribute('kv_num_heads', c.KV),
                  intAttribute('is_causal', c.causal ? 1 : 0)],
    };
  const past = c.T > c.S ? ['past_key', 'past_value'] : ['', ''];
  return {
    opType: operator, domain: MICROSOFT,
    input: [q, k, v, ...past, 'last_key', 'total_keys'],
    output: [output, `present_key${suffix}`, `present_value${suffix}`],
    attribute: [intAttribute('num_heads', c.H), intAttribute('kv_num_heads', c.KV),
                ...(c.window ? [intAttribute('local_window_size', c.window)] : [])],
  };
}

// A chain of links, each of whose outputs is the next one's query: the cost of entering the runtime
// from JavaScript is shared out, and no link can be left out.
function buildNodes(c, operator, links) {
  const nodes = [];
  for (let i = 0; i < links; i++) {
    const input = i === 0 ? 'x' : `y${i - 1}`;
    if (!c.isLayer) {
      nodes.push(attentionNode(c, operator, [input, 'k', 'v'], `y${i}`, i));
      continue;
    }
    for (const p of ['q', 'k', 'v'])
      nodes.push({ opType: 'MatMul', input: [input, `w${p}`], output: [`${p}${i}`] });
    nodes.push(attentionNode(c, operator, [`q${i}`, `k${i}`, `v${i}`], `heads${i}`, i));
    nodes.push({ opType: 'MatMul', input: [`heads${i}`, 'wo'], output: [`y${i}`] });
  }
  return nodes;
}

function valueInfo(name, dims, elemType = FLOAT) {
  const shape = { dim: dims.map((dimValue) => ({ dimValue })) };
  return { name, type: { tensorType: { elemType, shape } } };
}

function weight(name, dims, data) {
  return { name, dims, dataType: FLOAT, rawData: new Uint8Array(data.buffer) };
}

// Rows first ... first+n-1 of (batch, row, head * column) as (batch, head, row, column).
function rowsByHead(c, data, first, n) {
  const out = new Float32Array(c.B * c.KV * n * c.D);
  for (let b = 0, at = 0; b < c.B; b++)
    for (let g = 0; g < c.KV; g++)
      for (let r = 0; r < n; r++, at += c.D) {
        const from = ((b * c.T + first + r) * c.KV + g) * c.D;
        out.set(data.subarray(from, from + c.D), at);
      }
  return out;
}

// The last n rows of each batch entry of (batch, row, column).
function lastRows(c, data, n, width) {
  const out = new Float32Array(c.B * n * width);
  for (let b = 0; b < c.B; b++)
    out.set(data.subarray(((b + 1) * c.T - n) * width, (b + 1) * c.T * width), b * n * width);
  return out;
}

// Inputs as [name, dims, data, type].
function buildInputs(c, operator, data) {
  const EK = c.KV * c.D;
  const inputs = [['x', [c.B, c.S, c.H * c.D], data.x, FLOAT]];
  const grouped = operator === 'GroupQueryAttention';
  if (!c.isLayer) {
    const n = grouped ? c.S : c.T;
    inputs.push(['k', [c.B, n, EK], lastRows(c, data.k, n, EK), FLOAT]);
    inputs.push(['v', [c.B, n, EK], lastRows(c, data.v, n, EK), FLOAT]);
  }
  if (grouped) {
    const P = c.T - c.S;
    if (P > 0) {
      inputs.push(['past_key', [c.B, c.KV, P, c.D], rowsByHead(c, data.k, 0, P), FLOAT]);
      inputs.push(['past_value', [c.B, c.KV, P, c.D], rowsByHead(c, data.v, 0, P), FLOAT]);
    }
    inputs.push(['last_key', [c.B], Int32Array.from({ length: c.B }, () => c.T - 1), INT32]);
    inputs.push(['total_keys', [1], Int32Array.of(c.T), INT32]);
  }
  return inputs;
}

async function open(c, operator, data, links) {
  const E = c.H * c.D, EK = c.KV * c.D;
  const inputs = buildInputs(c, operator, data);
  const output = `y${links - 1}`;
  const weights = c.isLayer
    ? [weight('wq', [E, E], data.wq), weight('wk', [E, EK], data.wk),
       weight('wv', [E, EK], data.wv), weight('wo', [E, E], data.wo)]
    : [];
  const model = onnx.ModelProto.create({
    irVersion: 10,
    opsetImport: [{ domain: '', version: 23 }, { domain: MICROSOFT, version: 1 }],
    graph: {
      name: 'peer',
      node: buildNodes(c, operator, links),
      input: inputs.map(([name, dims, , type]) => valueInfo(name, dims, type)),
      initializer: weights,
      output: [valueInfo(output, [c.B, c.S, E])],
    },
  });
  const session = await ort.InferenceSession.create(onnx.ModelProto.encode(model).finish(), {
    intraOpNumThreads: c.threads, interOpNumThreads: 1, graphOptimizationLevel: 'all',
  });
  const feeds = Object.fromEntries(inputs.map(([name, dims, values, type]) =>
    [name, new ort.Tensor(type === FLOAT ? 'float32' : 'int32', values, dims)]));
  return { run: async () => (await session.run(feeds))[output].data,
           close: () => session.release() };
}

// --- measuring ---

// Long calls hide the cost of entering the runtime by themselves.
function linksOf(c) {
  if (c.S === 1) return 20;
  return c.B * c.H * c.S * c.T * c.D > 1e9 ? 1 : 4;
}

async function fastest(c, operator, data, seconds) {
  const links = linksOf(c);
  const session = await open(c, operator, data, links);
  await session.run(); // memory is taken in the first call
  let best = Infinity;
  const end = process.hrtime.bigint() + BigInt(Math.round(seconds * 1e9));
  do {
    const begin = process.hrtime.bigint();
    await session.run();
    best = Math.min(best, Number(process.hrtime.bigint() - begin));
  } while (process.hrtime.bigint() < end);
  await session.close();
  return best / links / 1e3;
}

async function errorOf(c, operator, data, rows) {
  const session = await open(c, operator, data, 1);
  const error = largestError(await session.run(), rows);
  await session.close();
  return error;
}

async function main([name, seconds = '1', check]) {
  const c = parseCase(name);
  const data = makeData(c);
  const rows = check ? expectedRows(c, data) : [];
  for (const operator of operatorsOf(c)) {
    try {
      const error = check ? await errorOf(c, operator, data, rows) : 0;
      if (!(error <= LARGEST_ERROR)) throw new Error(`deviates from float64 by ${error}`);
      const us = await fastest(c, operator, data, Number(seconds));
      console.log(`${operator} ${us.toFixed(1)} ${check ? error.toExponential(1) : '-'}`);
    } catch (e) {
      console.error(`peer_ort: ${operator}: ${String(e.message || e).split('\n')[0].slice(0, 300)}`);
    }
  }
}

main(process.argv.slice(2)).catch((e) => {
  console.error(`peer_ort: ${e.message || e}`);
  process.exit(1);
});
