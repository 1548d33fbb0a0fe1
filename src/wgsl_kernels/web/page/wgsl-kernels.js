// Runs a program that wk.web.export has written. No dependencies; see docs/web.md for program.json.
// @ts-check

/** @typedef {import("./wgsl-kernels.d.ts").TypedArray} TypedArray */
/** @typedef {import("./wgsl-kernels.d.ts").LoadOptions} LoadOptions */

const FORMAT = "wgsl-kernels-program";
const VERSION = 1;

// GPUBufferUsage, GPUMapMode and GPUShaderStage, which Node has not as globals.
const STORAGE = 0x80, UNIFORM = 0x40, COPY_DST = 8, COPY_SRC = 4, MAP_READ = 1, COMPUTE = 4;

/**
 * How each dtype is on the page, how many of its numbers make an element, and whether a buffer has
 * a u32 for each.
 * @type {Record<string, {array: any, per: number, wide?: boolean}>}
 */
const DTYPES = {
  float32: { array: Float32Array, per: 1 },
  int32: { array: Int32Array, per: 1 },
  bool: { array: Uint8Array, per: 1, wide: true },
  int8: { array: Int8Array, per: 1 },
  uint8: { array: Uint8Array, per: 1 },
  float16: { array: Uint16Array, per: 1 },
  complex64: { array: Float32Array, per: 2 },
};

/**
 * Loads a program.
 * @param {string | URL} url The folder, or its program.json.
 * @param {LoadOptions} [options] By default the GPU of the page.
 */
export async function load(url, options = {}) {
  const base = new URL(url, globalThis.location?.href);
  const at = base.pathname.endsWith(".json") || base.pathname.endsWith("/") ? base : new URL(base.href + "/");
  const json = await fetched(new URL(at.pathname.endsWith("/") ? "program.json" : at.href, at));
  const program = await json.json();
  if (program.format !== FORMAT || program.version !== VERSION) {
    throw new Error(`${json.url} is ${program.format} ${program.version}; want ${FORMAT} ${VERSION}.`);
  }
  const paths = [...new Set(program.pipelines.map((/** @type {any} */ one) => one.shader))];
  const [device, tensors, ...texts] = await Promise.all([
    options.device ?? requestDevice(program.requires, options.gpu ?? globalThis.navigator?.gpu),
    fetched(new URL("weights.safetensors", at)).then((found) => found.arrayBuffer()).then(tensorsOf),
    ...paths.map((path) => fetched(new URL(path, at)).then((found) => found.text())),
  ]);
  const model = new Model(program, device, !options.device);
  const shaders = new Map(paths.map((path, number) => [path, texts[number]]));
  try {
    await model._prepare(shaders, tensors);
  } catch (error) {
    model.dispose();
    throw error;
  }
  return model;
}

/** @param {URL} url */
async function fetched(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} cannot be loaded: ${response.status} ${response.statusText}.`);
  return response;
}

/**
 * Asks for a device that has what the program requires, or says by name what is missing.
 * @param {{features: string[], limits: Record<string, number>}} requires
 * @param {any} gpu
 */
async function requestDevice(requires, gpu) {
  if (!gpu) throw new Error("This browser has no WebGPU, or the page is neither on https nor on localhost.");
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error("This browser has WebGPU, but no adapter for it.");
  const missing = requires.features.filter((name) => !adapter.features.has(name));
  if (missing.length) throw new Error(`This adapter lacks the features ${missing.join(", ")}.`);
  for (const [name, wanted] of Object.entries(requires.limits)) {
    const own = adapter.limits[name];
    const fits = name.startsWith("min") ? own <= wanted : own >= wanted;
    if (!fits) throw new Error(`This adapter's ${name} is ${own}; the program needs ${wanted}.`);
  }
  const device = await adapter.requestDevice({
    requiredFeatures: requires.features,
    requiredLimits: requires.limits,
  });
  device.wgslKernelsAdapter = adapter.info;
  return device;
}

/**
 * Reads a safetensors file: an array of bytes for each tensor.
 * @param {ArrayBuffer} file
 * @returns {Map<string, Uint8Array>}
 */
function tensorsOf(file) {
  const length = Number(new DataView(file).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, length)));
  const found = new Map();
  for (const [name, one] of Object.entries(header)) {
    const [begin, end] = one.data_offsets ?? [0, 0];
    found.set(name, new Uint8Array(file, 8 + length + begin, end - begin));
  }
  return found;
}

/** @param {number[]} shape */
const sizeOf = (shape) => shape.reduce((all, one) => all * one, 1);

/**
 * Returns bytes as a buffer has them: a bool is a u32, and all is a multiple of four bytes long.
 * @param {Uint8Array} bytes @param {string} dtype
 */
function toDevice(bytes, dtype) {
  const words = DTYPES[dtype].wide ? Uint32Array.from(bytes, (one) => (one ? 1 : 0)) : bytes;
  const plain = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
  if (plain.length % 4 === 0) return plain;
  const padded = new Uint8Array(Math.ceil(plain.length / 4) * 4);
  padded.set(plain);
  return padded;
}

/** A program on a device. */
export class Model {
  /** @param {any} program @param {any} device @param {boolean} owned */
  constructor(program, device, owned) {
    /** What program.json says. */
    this.program = program;
    /** The GPUDevice. */
    this.device = device;
    /** What `run` takes: name, dtype and shape of each. */
    this.inputs = program.inputs.map(described);
    /** What `run` gives. */
    this.outputs = program.outputs.map(described);
    /** The adapter, as far as the browser tells. */
    this.adapter = device.wgslKernelsAdapter ?? device.adapterInfo ?? {};
    /** The WGSL texts, by the names of their files. @type {Map<string, string>} */
    this.shaders = new Map();
    this._owned = owned;
    /** @type {any[]} */ this._buffers = [];
    /** @type {any[]} */ this._uniforms = [];
    /** @type {any[]} */ this._steps = [];
    /** @type {Promise<any>} */ this._last = Promise.resolve();
    /** Why it can no longer run. */ this._ended = "";
    device.lost.then((/** @type {any} */ info) => {
      this._ended ||= `The GPU device was lost: ${info.message || info.reason}. Load the model again.`;
    });
  }

  /** @param {Map<string, string>} shaders @param {Map<string, Uint8Array>} tensors */
  async _prepare(shaders, tensors) {
    const { device, program } = this;
    this.shaders = shaders;
    device.pushErrorScope("validation");
    device.pushErrorScope("out-of-memory");
    for (const one of program.buffers) {
      const buffer = device.createBuffer({
        label: one.name ?? one.role, size: one.bytes, usage: STORAGE | COPY_DST | COPY_SRC,
      });
      if (one.tensor) {
        const bytes = tensors.get(one.tensor);
        if (!bytes) throw new Error(`weights.safetensors lacks ${one.tensor}.`);
        device.queue.writeBuffer(buffer, 0, toDevice(bytes, one.dtype));
      }
      this._buffers.push(buffer);
    }
    const memory = await device.popErrorScope();
    if (memory) throw new Error(`The model does not fit the GPU's memory: ${memory.message}`);
    const made = await Promise.all(
      program.pipelines.map((/** @type {any} */ one) => this._pipeline(one, shaders.get(one.shader) ?? "")),
    );
    this._steps = program.dispatches.map((/** @type {any} */ one) => this._step(one, made[one.pipeline]));
    const error = await device.popErrorScope();
    if (error) throw new Error(`The program is not valid here: ${error.message}`);
  }

  /** @param {any} one @param {string} code */
  async _pipeline(one, code) {
    const { device } = this;
    const layout = device.createBindGroupLayout({
      entries: one.bindings.map((/** @type {any} */ entry) => ({
        binding: entry.binding, visibility: COMPUTE, buffer: { type: entry.type },
      })),
    });
    const module = device.createShaderModule({ label: one.shader, code });
    const pipeline = await device.createComputePipelineAsync({
      label: one.shader,
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module, entryPoint: one.entryPoint, constants: one.constants },
    });
    const uniform = one.bindings.find((/** @type {any} */ entry) => entry.type === "uniform");
    return { pipeline, layout, uniform };
  }

  /** @param {any} dispatch @param {any} made */
  _step(dispatch, { pipeline, layout, uniform }) {
    const { device } = this;
    const entries = dispatch.bindings.map((/** @type {any} */ one) => ({
      binding: one.binding,
      resource: { buffer: this._buffers[one.buffer], offset: one.offset, size: one.size },
    }));
    if (uniform) {
      const words = new Uint32Array(dispatch.params);
      const buffer = device.createBuffer({ size: words.byteLength, usage: UNIFORM | COPY_DST });
      device.queue.writeBuffer(buffer, 0, words);
      this._uniforms.push(buffer);
      entries.push({ binding: uniform.binding, resource: { buffer } });
    }
    const group = device.createBindGroup({ label: dispatch.label, layout, entries });
    return { pipeline, group, workgroups: dispatch.workgroups };
  }

  /**
   * Runs the program once; what it keeps as state is there in the next run. Runs take turns.
   * @param {Record<string, TypedArray>} inputs
   * @returns {Promise<Record<string, {data: TypedArray, shape: number[]}>>}
   */
  run(inputs = {}) {
    const turn = this._last.then(() => this._run(inputs));
    this._last = turn.catch(() => {});
    return turn;
  }

  /** @param {Record<string, TypedArray>} inputs */
  async _run(inputs) {
    if (this._ended) throw new Error(this._ended);
    const { device, program } = this;
    const checked = this._checked(inputs);
    device.pushErrorScope("validation");
    for (const [buffer, bytes] of checked) device.queue.writeBuffer(this._buffers[buffer], 0, bytes);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (const one of this._steps) {
      pass.setPipeline(one.pipeline);
      pass.setBindGroup(0, one.group);
      pass.dispatchWorkgroups(...one.workgroups);
    }
    pass.end();
    for (const one of program.copies) {
      encoder.copyBufferToBuffer(this._buffers[one.from], 0, this._buffers[one.to], 0, one.bytes);
    }
    const wanted = program.outputs.map((/** @type {any} */ one) => {
      const { array, per, wide } = DTYPES[one.dtype];
      const bytes = sizeOf(one.shape) * per * (wide ? 4 : array.BYTES_PER_ELEMENT);
      return { buffer: one.buffer, bytes: Math.ceil(bytes / 4) * 4 };
    });
    if (program.reports) wanted.push({ buffer: program.reports.buffer, bytes: 8 * program.reports.slots.length });
    const total = wanted.reduce((/** @type {number} */ all, /** @type {any} */ one) => all + one.bytes, 0);
    const staging = device.createBuffer({ size: Math.max(total, 4), usage: MAP_READ | COPY_DST });
    try {
      let at = 0;
      for (const one of wanted) {
        if (one.bytes) encoder.copyBufferToBuffer(this._buffers[one.buffer], 0, staging, at, one.bytes);
        at += one.bytes;
      }
      device.queue.submit([encoder.finish()]);
      const error = await device.popErrorScope();
      if (error) throw new Error(`The program failed: ${error.message}`);
      await staging.mapAsync(MAP_READ);
      const read = staging.getMappedRange().slice(0);
      /** @type {ArrayBuffer[]} */ const pieces = [];
      at = 0;
      for (const one of wanted) pieces.push(read.slice(at, (at += one.bytes)));
      if (program.reports) this._raise(new Int32Array(/** @type {ArrayBuffer} */ (pieces.pop())));
      return Object.fromEntries(program.outputs.map((/** @type {any} */ one, /** @type {number} */ number) => [
        one.name, { data: fromDevice(pieces[number], one), shape: [...one.shape] },
      ]));
    } catch (error) {
      throw this._ended ? new Error(this._ended) : error;
    } finally {
      staging.destroy();
    }
  }

  /** @param {Record<string, TypedArray>} inputs @returns {[number, Uint8Array][]} */
  _checked(inputs) {
    const names = this.inputs.map((/** @type {any} */ one) => one.name);
    const unknown = Object.keys(inputs).filter((name) => !names.includes(name));
    if (unknown.length) throw new Error(`run: there is no input ${unknown.join(", ")}; want ${names.join(", ")}.`);
    return this.program.inputs.map((/** @type {any} */ one) => {
      const given = inputs[one.name];
      const { array, per } = DTYPES[one.dtype];
      const size = sizeOf(one.shape) * per;
      if (!(given instanceof array) || given.length !== size) {
        const what = given === undefined ? "is missing" : `is ${given?.constructor?.name} of ${given?.length}`;
        throw new Error(
          `run: ${one.name} ${what}; want ${array.name} of ${size}: ${one.dtype} [${one.shape.join(", ")}].`,
        );
      }
      return [one.buffer, toDevice(new Uint8Array(given.buffer, given.byteOffset, given.byteLength), one.dtype)];
    });
  }

  /** Throws what kernels have reported of values, such as an index out of range. @param {Int32Array} words */
  _raise(words) {
    const { buffer, slots } = this.program.reports;
    for (let slot = 0; slot < slots.length; slot++) {
      const code = words[2 * slot];
      if (code) {
        this.device.queue.writeBuffer(this._buffers[buffer], 0, new Uint8Array(8 * slots.length));
        const said = slots[slot][code] ?? `A kernel reports ${code} of {value}.`;
        throw new RangeError(said.replace("{value}", String(words[2 * slot + 1])));
      }
    }
  }

  /** Frees everything; `run` throws afterwards. */
  dispose() {
    this._ended ||= "The model was disposed.";
    for (const one of [...this._buffers, ...this._uniforms]) one.destroy();
    this._buffers = [];
    this._uniforms = [];
    this._steps = [];
    if (this._owned) this.device.destroy();
  }
}

/** @param {any} one */
const described = ({ name, dtype, shape }) => ({ name, dtype, shape: [...shape] });

/** @param {ArrayBuffer} bytes @param {any} output */
function fromDevice(bytes, { dtype, shape }) {
  const { array, per, wide } = DTYPES[dtype];
  if (wide) return array.from(new Uint32Array(bytes), (/** @type {number} */ one) => (one ? 1 : 0));
  return new array(bytes, 0, sizeOf(shape) * per);
}
