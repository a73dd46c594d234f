// SPDX-License-Identifier: BSD-3-Clause
// Runs the programs of tests/data/corpus and compares their results with those of PyTorch eager: in Node.js and in a browser.

/** The effect of one rounding in a sum of a few hundred terms, relative to |value| + min(1, the largest |value|); 0 for other types. */
const TOLERANCES = { Half: 2e-3, Float: 1e-5, Double: 1e-12 };
/** In this program, eager mode quantises all activations with one scale, but the backend has a scale for each row. */
const QUANTIZED_BY_ROW = "q8_dynamic_linear_xnn";
/** A program whose backend has no float16 kernels for WebAssembly. */
const FLOAT16 = "xnn_fp16";
const TYPES = {
  uint8: "Byte",
  int8: "Char",
  int16: "Short",
  int32: "Int",
  int64: "Long",
  float16: "Half",
  float32: "Float",
  float64: "Double",
  bool: "Bool",
  bfloat16: "BFloat16",
};

function expect(condition, message) {
  if (!condition) throw new Error(message);
}

/** The position of each element of a row-major array in memory that has this dim order. */
function positions(sizes, dimOrder) {
  const strides = [];
  let stride = 1;
  for (const d of [...dimOrder].reverse()) {
    strides[d] = stride;
    stride *= sizes[d];
  }
  const count = sizes.reduce((product, size) => product * size, 1);
  return Array.from({ length: count }, (_, i) => {
    let position = 0;
    for (let d = sizes.length - 1; d >= 0; d--) {
      position += (i % sizes[d]) * strides[d];
      i = Math.floor(i / sizes[d]);
    }
    return position;
  });
}

async function tensorOf(et, value, folder, read) {
  const type = et.ScalarType[TYPES[value.dtype]];
  const bytes = await read(`${folder}/${value.file}`);
  const rowMajor = new type.array(bytes, 0, bytes.byteLength / type.array.BYTES_PER_ELEMENT);
  const data = new type.array(rowMajor.length);
  positions(value.shape, value.orig_dim_order).forEach((position, i) => (data[position] = rowMajor[i]));
  return new et.Tensor(data, value.shape, type, value.orig_dim_order);
}

async function inputOf(et, value, folder, read) {
  if (value.type === "tensor") return tensorOf(et, value, folder, read);
  return value.type === "none" ? null : value.value;
}

function compareTensor(found, expected, tolerance) {
  expect(found.scalarType === expected.scalarType, `expected ${expected.scalarType}, found ${found.scalarType}`);
  expect(String(found.sizes) === String(expected.sizes), `expected the sizes [${expected.sizes}], found [${found.sizes}]`);
  expect(String(found.dimOrder) === String(expected.dimOrder), `expected the dim order [${expected.dimOrder}], found [${found.dimOrder}]`);
  const [a, b] = [found.toNumbers(), expected.toNumbers()];
  const largest = b.reduce((most, x) => (Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most), 0);
  b.forEach((wanted, i) => {
    const isRight =
      tolerance === 0
        ? found.data[i] === expected.data[i]
        : Number.isFinite(wanted)
          ? Math.abs(a[i] - wanted) <= tolerance * (Math.abs(wanted) + Math.min(largest, 1))
          : Object.is(a[i], wanted);
    expect(isRight, `element ${i}: expected ${wanted}, found ${a[i]}`);
  });
}

/** A method whose backend is not in this build, or cannot run it, is refused with the backend's name. */
async function checkRefusal(module, method, backend, code) {
  let found;
  try {
    await module.loadMethod(method);
  } catch (error) {
    found = error;
  }
  expect(found?.code === code && found.backend === backend, `expected ${code} of ${backend}, found ${found?.code} of ${found?.backend}: ${found}`);
}

/** Runs the calls of one program. `backends` are those of this build. */
export async function checkProgram(et, name, read, backends, options = {}) {
  const folder = `corpus/${name}`;
  const manifest = JSON.parse(new TextDecoder().decode(await read(`${folder}/manifest.json`)));
  const data = await Promise.all((manifest.ptd ?? []).map((file) => read(`${folder}/${file}`)));
  const module = await et.Module.load(await read(`${folder}/${manifest.pte}`), { ...options, data });
  try {
    for (const call of manifest.calls) {
      const { backends: needed } = await module.getMethodMetadata(call.method);
      const missing = needed.find((backend) => !backends.includes(backend));
      if (missing !== undefined) {
        await checkRefusal(module, call.method, missing, "NotFound");
        continue;
      }
      if (name === FLOAT16) {
        await checkRefusal(module, call.method, needed[0], "NotSupported");
        continue;
      }
      const inputs = await Promise.all(call.inputs.map((value) => inputOf(et, value, folder, read)));
      const outputs = await module.execute(call.method, inputs);
      expect(outputs.length === call.outputs.length, `expected ${call.outputs.length} outputs, found ${outputs.length}`);
      for (const [i, wanted] of call.outputs.entries()) {
        try {
          if (wanted.type === "tensor") {
            const expected = await tensorOf(et, wanted, folder, read);
            compareTensor(outputs[i], expected, name === QUANTIZED_BY_ROW ? 1e-2 : (TOLERANCES[expected.scalarType.name] ?? 0));
          } else {
            const value = wanted.type === "none" ? null : wanted.value;
            expect(outputs[i] === value, `expected ${value}, found ${outputs[i]}`);
          }
        } catch (error) {
          throw new Error(`${name}, method ${call.method}, output ${i}: ${error.message}`);
        }
      }
    }
  } finally {
    await module.delete();
  }
}

/**
 * How far the float outputs of the first call of the program in `folder` are from the expected ones: the largest difference,
 * relative to the largest number, and the signal over the noise in decibels.
 */
export async function differenceOf(et, folder, read, options = {}) {
  const manifest = JSON.parse(new TextDecoder().decode(await read(`${folder}/manifest.json`)));
  const module = await et.Module.load(await read(`${folder}/${manifest.pte}`), options);
  const [{ method, inputs, outputs }] = manifest.calls;
  const found = await module.execute(method, await Promise.all(inputs.map((value) => inputOf(et, value, folder, read))));
  const { backends } = await module.getMethodMetadata(method);
  await module.delete();
  let [difference, largest, signal, noise] = [0, 0, 0, 0];
  for (const [i, wanted] of outputs.entries()) {
    const [a, b] = [found[i].toNumbers(), (await tensorOf(et, wanted, folder, read)).toNumbers()];
    expect(a.length === b.length, `expected ${b.length} elements, found ${a.length}`);
    b.forEach((number, k) => {
      // The difference may be NaN, which Math.max() returns.
      difference = Math.max(difference, Math.abs(a[k] - number));
      largest = Math.max(largest, Math.abs(number));
      signal += number ** 2;
      noise += (a[k] - number) ** 2;
    });
  }
  return { difference: difference / largest, decibels: 10 * Math.log10(signal / noise), backends };
}

/** tests/data/errors.json: the same mistake gives the same code and the same words in every language. */
export async function checkMistake(et, mistake, read) {
  let bytes;
  if (mistake.text !== undefined) bytes = new TextEncoder().encode(mistake.text).buffer;
  else {
    const program = mistake.program.startsWith("../") ? `${mistake.program.slice(3)}/model.pte` : `corpus/${mistake.program}/model.pte`;
    bytes = (await read(program)).slice(0, mistake.keep);
  }
  const value = (input) =>
    input.type === "tensor" ? et.Tensor.zeros(input.shape, et.ScalarType[TYPES[input.dtype]]) : input.type === "int" ? 0 : "";
  let module;
  let found;
  try {
    module = await et.Module.load(bytes);
    await module.execute(mistake.method, mistake.inputs.map(value));
  } catch (error) {
    found = error;
  } finally {
    await module?.delete();
  }
  expect(found instanceof et.ExecuTorchError, `${mistake.case}: expected an error, found ${found}`);
  expect(found.code === mistake.error, `${mistake.case}: expected ${mistake.error}, found ${found.code}: ${found.message}`);
  for (const words of mistake.words) expect(found.message.includes(words), `${mistake.case}: expected "${words}" in "${found.message}"`);
}
