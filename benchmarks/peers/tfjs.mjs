// The items in TensorFlow.js on WebGPU, in Node through Dawn: runs a program that trace.py wrote.
// Argument: the folder that setup.py made. Requests and answers as worker.py has them.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const WARM_UP = 3;
const folder = path.resolve(process.argv[2]);
const require = createRequire(path.join(folder, 'package.json'));
const log = fs.openSync('/dev/stderr', 'w');
console.log = console.info = console.warn = (...words) => fs.writeSync(log, words.join(' ') + '\n');
const reply = (answer) => process.stdout.write(JSON.stringify(answer) + '\n');

const { create, globals } = await import(
  pathToFileURL(path.join(folder, 'node_modules/webgpu/index.js'))
);
Object.assign(globalThis, globals);
const gpu = create(['backend=vulkan']);
let adapterInfo = {};
// TensorFlow.js asks for features by lists inside the list, and for some that Dawn does not know.
const navigator = {
  userAgent: 'node',
  gpu: {
    requestAdapter: async (options) => {
      const adapter = await gpu.requestAdapter(options);
      if (!adapter) throw new Error('no adapter');
      adapterInfo = adapter.info;
      return {
        features: adapter.features,
        limits: adapter.limits,
        info: adapter.info,
        requestDevice: (wanted) =>
          adapter.requestDevice({
            ...wanted,
            requiredFeatures: wanted.requiredFeatures.flat().filter((f) => adapter.features.has(f)),
          }),
      };
    },
  },
};
Object.defineProperty(globalThis, 'navigator', {
  value: navigator,
  configurable: true,
  writable: true,
});
globalThis.keepGpu = gpu; // Dawn's instance must outlive its devices

const tf = require(path.join(folder, 'bundle.cjs'));
await tf.setBackend('webgpu');
await tf.ready();
const backend = tf.backend();

const layerNorm = (x, scale, offset, epsilon) => {
  const { mean, variance } = tf.moments(x, -1, true);
  const factor = tf.rsqrt(tf.add(variance, epsilon));
  return tf.add(tf.mul(tf.mul(tf.sub(x, mean), factor), scale), offset);
};
const gelu = (x) => {
  const cube = tf.mul(tf.mul(tf.mul(x, x), x), 0.044715);
  const inner = tf.mul(tf.add(x, cube), Math.sqrt(2 / Math.PI));
  return tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(inner), 1));
};
const reach = (filter) => Math.floor(filter.shape[0] / 2);
const axisOf = ({ axis }) => axis ?? undefined;

const WORDS = {
  add: tf.add,
  subtract: tf.sub,
  multiply: tf.mul,
  negative: tf.neg,
  abs: tf.abs,
  sqrt: tf.sqrt,
  exp: tf.exp,
  relu: tf.relu,
  relu6: tf.relu6,
  gelu,
  matmul: (a, b) => tf.matMul(a, b),
  sum: (x, a) => tf.sum(x, axisOf(a)),
  max: (x, a) => tf.max(x, axisOf(a)),
  mean: (x, a) => tf.mean(x, axisOf(a)),
  argmax: (x, { axis }) => (axis === null ? tf.argMax(tf.reshape(x, [-1])) : tf.argMax(x, axis)),
  softmax: (x) => tf.softmax(x),
  log_softmax: (x) => tf.logSoftmax(x),
  layer_norm: (x, scale, offset) => layerNorm(x, scale, offset, work.epsilon),
  reshape: (x, { shape }) => tf.reshape(x, shape),
  transpose: (x, { axes }) => tf.transpose(x, axes),
  conv2d: (x, filter, { stride }) =>
    tf.conv2d(x, filter, stride, reach(filter), 'NHWC', 1, 'floor'),
  depthwise: (x, filter, { stride }) =>
    tf.depthwiseConv2d(x, filter, stride, reach(filter), 'NHWC', 1, 'floor'),
  max_pool: (x, { size }) => tf.maxPool(x, size, size, 'valid'),
  conv3d: (x, filter) => tf.conv3d(x, filter, 1, 'same'),
  max_pool3d: (x, { size }) => tf.maxPool3d(x, size, size, 'valid'),
  avg_pool3d: (x, { size }) => tf.avgPool3d(x, size, size, 'valid'),
  batch_norm: (x, mean, variance, offset, scale) =>
    tf.batchNorm(x, mean, variance, offset, scale, work.epsilon),
  take: (x, indices) => tf.gather(x, indices),
  scatter_add: (updates, indices, { rows }) =>
    tf.scatterND(tf.expandDims(indices, 1), updates, [rows, updates.shape[1]]),
  cumulative_sum: (x) => tf.cumsum(x),
  topk: (x, { k }) => {
    const { values, indices } = tf.topk(x, k);
    return [values, indices];
  },
  fft: (x) => tf.spectral.fft(x),
  cross_entropy: (labels, logits) => tf.losses.softmaxCrossEntropy(labels, logits),
  crop_and_resize: (image, boxes, indices, { size }) =>
    tf.image.cropAndResize(image, boxes, indices, size),
  transform: (image, numbers) => tf.image.transform(image, numbers, 'bilinear'),
  einsum: (a, b, { equation }) => tf.einsum(equation, a, b),
};

let work = {};
let run = () => {};
let alive = [];

const values = ({ file, dtype }) => {
  const bytes = fs.readFileSync(file);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  return dtype === 'int32' ? new Int32Array(buffer) : new Float32Array(buffer);
};

const onDevice = (tensor) => {
  backend.uploadToGPU(tensor.dataId);
  return tensor;
};

const placed = (array) => {
  const data = values(array);
  if (array.dtype !== 'complex64') return onDevice(tf.tensor(data, array.shape, array.dtype));
  const parts = [0, 1].map((part) => data.filter((_, i) => i % 2 === part));
  return tf.complex(...parts.map((part) => onDevice(tf.tensor(part, array.shape))));
};

// The steps as functions over one list of results: an argument's place in it is found only once.
const compiled = (arrays) => {
  const names = Object.keys(arrays);
  const place = (argument) => {
    if (typeof argument === 'object') return () => argument.number;
    if (typeof argument === 'string') {
      const tensor = arrays[names[names.indexOf(argument)]];
      return () => tensor;
    }
    return (found) => found[argument];
  };
  const steps = work.steps.map(([word, args, attrs]) => {
    const places = args.map(place);
    const op = WORDS[word];
    const more = Object.keys(attrs).length ? [attrs] : [];
    return (found) => found.push(op(...places.map((p) => p(found)), ...more));
  });
  return () => {
    const found = [];
    for (const step of steps) step(found);
    return found[work.result];
  };
};

const dispose = (result) => (Array.isArray(result) ? result : [result]).forEach((t) => t.dispose());

const sync = async () => {
  backend.ensureCommandEncoderReady();
  backend.endComputePassEncoder();
  backend.submitQueue();
  await backend.queue.onSubmittedWorkDone();
};

const RUNS = {
  program: (program) => () => tf.tidy(program),
  read: (program) => async () => {
    const y = tf.tidy(program);
    await y.data();
    return y;
  },
  training: (program) => {
    const adam = tf.train.adam(work.learning_rate, 0.9, 0.999, work.adam_epsilon);
    return () => adam.minimize(program, true);
  },
  upload: () => {
    const data = values(work.arrays.x);
    return () => onDevice(tf.tensor(data, work.arrays.x.shape));
  },
  download: (_program, arrays) => {
    const { resource } = backend.tensorMap.get(arrays.x.dataId);
    return async () => {
      const buffer = await backend.getBufferData(resource);
      return { dispose() {}, dtype: 'float32', shape: work.arrays.x.shape, mapped: buffer };
    };
  },
};

const write = async (tensor, file) => {
  const data = tensor.mapped ? new Float32Array(tensor.mapped) : await tensor.data();
  fs.writeFileSync(file, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  return { file, shape: tensor.shape, dtype: tensor.dtype };
};

const drop = () => {
  alive.forEach((tensor) => tensor.dispose());
  tf.disposeVariables();
  alive = [];
  run = () => {};
  return {};
};

const ANSWERS = {
  hello: () => ({
    facts: {
      'tfjs-backend-webgpu': tf.version_core,
      webgpu: require('webgpu/package.json').version,
      node: process.version,
      adapter: adapterInfo.device,
      driver: adapterInfo.description,
    },
  }),
  drop,
  prepare: async ({ program, folder: out }) => {
    const start = performance.now();
    work = JSON.parse(fs.readFileSync(program));
    const arrays = {};
    for (const [name, array] of Object.entries(work.arrays)) {
      const tensor = placed(array);
      arrays[name] = work.variables.includes(name) ? tf.variable(tensor) : tensor;
      if (arrays[name] === tensor) alive.push(tensor);
    }
    run = RUNS[work.kind](compiled(arrays), arrays);
    let first = null;
    let files = [];
    for (let i = 0; i < WARM_UP; i++) {
      const result = await run();
      await sync();
      first ??= (performance.now() - start) / 1e3;
      if (i === WARM_UP - 1) {
        const parts = Array.isArray(result) ? result : [result];
        files = await Promise.all(parts.map((t, j) => write(t, path.join(out, `tfjs-${j}.bin`))));
      }
      dispose(result);
    }
    return { results: { '': files }, first_seconds: first };
  },
  time: async ({ calls }) => {
    const start = performance.now();
    for (let i = 0; i < calls; i++) {
      const result = run();
      dispose(result instanceof Promise ? await result : result);
    }
    await sync();
    return { ms: (performance.now() - start) / calls };
  },
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  try {
    reply(await ANSWERS[request.do](request));
  } catch (error) {
    reply({ error: String(error).slice(0, 400) });
  }
}
process.exit(0);
