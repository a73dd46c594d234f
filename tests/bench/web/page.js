// SPDX-License-Identifier: BSD-3-Clause
// Loads one program with one engine, and measures its calls. An engine is a function that returns another one: it makes a call
// and returns the elements of the first result. Each call passes inputs from JavaScript and returns results to it, as an application's does.
const peers = new URL("./peers/", location.href).href;

/** Runs in a worker, as the package does by default. */
async function sdk(program, inputs, threads) {
  const { Module, Tensor } = await import("./package/dist/esm/index.js");
  const module = await Module.load(program, { threads });
  const tensors = inputs.map(({ data, shape }) => new Tensor(data, shape));
  return async () => (await module.forward(tensors))[0].data;
}

async function onnxruntime(program, inputs, threads) {
  const ort = await import("./peers/onnxruntime-web/dist/ort.wasm.min.mjs");
  Object.assign(ort.env.wasm, { wasmPaths: `${peers}onnxruntime-web/dist/`, numThreads: threads });
  const session = await ort.InferenceSession.create(program, { executionProviders: ["wasm"] });
  const kinds = new Map([[BigInt64Array, "int64"], [Float32Array, "float32"]]);
  const tensor = ({ data, shape }) => new ort.Tensor(kinds.get(data.constructor), data, shape);
  const feeds = Object.fromEntries(inputs.map((input, index) => [session.inputNames[index], tensor(input)]));
  return async () => (await session.run(feeds))[session.outputNames[0]].data;
}

async function litert(program, inputs, threads) {
  const { loadLiteRt, loadAndCompile, Tensor } = await import("./peers/@litertjs/core/dist/index.js");
  await loadLiteRt(`${peers}@litertjs/core/wasm/`, { threads: threads > 1 });
  const model = await loadAndCompile(program, { accelerator: "wasm", cpuOptions: { numThreads: threads } });
  // LiteRT's converter changes int64 to int32.
  const narrow = (data) => (data instanceof BigInt64Array ? Int32Array.from(data, Number) : data);
  return async () => {
    const tensors = inputs.map(({ data, shape }) => new Tensor(narrow(data), shape));
    const results = await model.run(tensors);
    const found = results[0].toTypedArray().slice();
    for (const each of [...tensors, ...results]) each.delete();
    return found;
  };
}

const engines = { sdk, onnxruntime, litert };
const arrays = { float32: Float32Array, int64: BigInt64Array };
let call;
let startTime;

/**
 * Loads an engine and a program and returns the elements of its first result. `inputs` are `{ path, dtype, shape }` of files with the elements.
 */
async function load(engine, program, inputs, threads) {
  const read = async ({ path, dtype, shape }) => ({ data: new arrays[dtype](await (await fetch(path)).arrayBuffer()), shape });
  const elements = await Promise.all(inputs.map(read));
  const start = performance.now();
  call = await engines[engine](new URL(program, location.href).href, elements, threads);
  const result = await call();
  startTime = performance.now() - start;
  return Array.from(result);
}

/** Milliseconds of a call, the mean over `seconds` of calls. */
async function measure(seconds) {
  await call(); // the caches then have this engine's data and not that of others
  const start = performance.now();
  let calls = 0;
  do {
    await call();
    calls += 1;
  } while (performance.now() - start < seconds * 1000);
  return (performance.now() - start) / calls;
}

Object.assign(globalThis, { load, measure, startMs: () => startTime });
document.documentElement.dataset.ready = "true";
