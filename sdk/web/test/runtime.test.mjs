// SPDX-License-Identifier: BSD-3-Clause
// The runtime in this thread: the parts of Module that the corpus does not test, memory, and its end.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { et, read } from "./support.mjs";

const { Runtime, ScalarType, Tag, Tensor } = et;
const runtime = await Runtime.create({ threads: 1 });
after(() => runtime.dispose());
const load = (name, options) => runtime.Module.load(read(`corpus/${name}/model.pte`), options);
const fails = (code, words) => (error) => error instanceof et.ExecuTorchError && error.code === code && error.message.includes(words);

test("methods and their metadata have the original's names", () => {
  const module = load("multi_method");
  assert.deepEqual(module.getMethods().sort(), ["decode", "forward", "get_list", "get_max_seq_len", "get_scale", "get_tensor", "get_two", "use_kv"]);
  const meta = module.getMethodMetadata("decode");
  assert.equal(meta.name, "decode");
  assert.deepEqual(meta.inputTags, [Tag.Tensor, Tag.Tensor]);
  assert.deepEqual(meta.outputTags, [Tag.Tensor]);
  assert.deepEqual(meta.inputTensorMeta[0], { sizes: [2, 4], dimOrder: [0, 1], scalarType: ScalarType.Float, isMemoryPlanned: true, nbytes: 32, name: "" });
  assert.ok(meta.numInstructions > 0);
  assert.ok(meta.memoryPlannedBufferSizes.every((size) => size >= 0));
  assert.deepEqual(module.getMethodMeta("forward").backends, []);
  assert.throws(() => module.getMethodMetadata("nothing"), fails("InvalidArgument", "forward"));
  assert.throws(() => module.loadMethod("nothing"), fails("InvalidArgument", "nothing"));
  module.loadMethod("forward");
  module.unloadMethod("forward");
  module.delete();
  module.delete();
  assert.throws(() => module.getMethods(), fails("InvalidState", "disposed"));
});

test("a dynamic shape gives outputs of its size, and a later run another", () => {
  const module = load("dyn_batch");
  for (const batch of [1, 7, 32, 2]) {
    const [output] = module.forward(Tensor.ones([batch, 8]));
    assert.equal(output.sizes[0], batch);
  }
  module.delete();
});

test("outputs are copies, or views if the option requests them", () => {
  const module = load("add");
  const [first] = module.forward([Tensor.ones([2, 3]), Tensor.ones([2, 3])]);
  const [view] = module.forward([Tensor.full([2, 3], 2), Tensor.ones([2, 3])], { copy: false });
  assert.ok(view.data.buffer instanceof SharedArrayBuffer);
  assert.deepEqual([...view.data], [3, 3, 3, 3, 3, 3]);
  const [again] = module.forward([view, first]);
  assert.deepEqual([...again.data], [5, 5, 5, 5, 5, 5]);
  module.forward([Tensor.full([2, 3], 9), Tensor.ones([2, 3])]);
  assert.deepEqual([...first.data], [2, 2, 2, 2, 2, 2]);
  module.delete();
});

test("a tensor in the runtime's memory is used in place", () => {
  const module = load("add");
  const input = runtime.empty([2, 3]);
  for (const value of [4, 5]) {
    input.data.fill(value);
    assert.deepEqual([...module.forward([input, input])[0].data], new Array(6).fill(2 * value));
  }
  input.delete();
  module.delete();
});

test("numbers that are not tensors", () => {
  const module = load("scalar_inputs");
  const tensor = Tensor.ones([2, 3]);
  const outputs = [3, 3n].map((int) => [...module.forward([tensor, int, 2.5, true])[0].data]);
  assert.deepEqual(outputs[0], outputs[1]);
  assert.throws(() => module.forward([tensor, 2n ** 64n, 2.5, true]), fails("InvalidArgument", "input 1: expected an int of 64 bits"));
  assert.throws(() => module.forward([tensor, Symbol("x"), 2.5, true]), fails("InvalidArgument", "input 1: expected a Tensor"));
  module.delete();
});

test("an ETDump has what ran", () => {
  const module = load("add", { etdump: true });
  module.forward([Tensor.ones([2, 3]), Tensor.ones([2, 3])]);
  const dump = module.etdump();
  assert.ok(dump.length > 100);
  // The file begins with its size.
  assert.equal(new TextDecoder().decode(dump.slice(8, 12)), "ED00");
  module.delete();
});

test("errors name the operator, the backend and what to do", () => {
  const bytes = new Uint8Array(read("corpus/add/model.pte"));
  const text = Buffer.from(bytes).toString("latin1").replaceAll("aten::add", "aten::xyz");
  assert.throws(
    () => runtime.Module.load(Buffer.from(text, "latin1")).loadMethod("forward"),
    (error) => fails("OperatorMissing", "aten::xyz.out")(error) && error.operator === "aten::xyz.out" && error.hint.includes("export"),
  );
  assert.throws(() => runtime.Module.load(new ArrayBuffer(0)), fails("InvalidArgument", "0 bytes"));
  assert.throws(() => runtime.Module.load("model.pte"), fails("InvalidArgument", "expected an ArrayBuffer"));
});

test("damaged programs are refused, or run without harm", () => {
  const program = new Uint8Array(read("corpus/convs/model.pte"));
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 300; round++) {
    const bytes = program.slice(0, round % 3 ? program.length : random(program.length));
    for (let i = 0; i <= random(4); i++) if (bytes.length) bytes[random(bytes.length)] = random(256);
    try {
      const module = runtime.Module.load(bytes);
      try {
        module.getMethods().forEach((method) => module.execute(method, []));
      } finally {
        module.delete();
      }
    } catch (error) {
      assert.ok(error instanceof et.ExecuTorchError, String(error.stack));
    }
    assert.equal(runtime.failure, undefined);
  }
});

test("1000 loads and runs keep the memory as it is", () => {
  const program = read("corpus/linear/model.pte");
  const run = () => {
    const module = runtime.Module.load(program);
    const { sizes } = module.getMethodMetadata("forward").inputTensorMeta[0];
    module.forward(Tensor.ones(sizes));
    module.delete();
  };
  for (let i = 0; i < 50; i++) run();
  const before = runtime.memoryBytes;
  for (let i = 0; i < 1000; i++) run();
  assert.equal(runtime.memoryBytes, before);
});

test("an unreachable module is freed", { skip: typeof gc === "undefined" && "needs --expose-gc" }, async () => {
  const program = new Uint8Array(4 << 20);
  program.set(new Uint8Array(read("corpus/add/model.pte")));
  for (let i = 0; i < 100; i++) {
    try {
      runtime.Module.load(program);
    } catch {
      // The bytes after the program may be refused.
    }
    if (i % 5 === 0) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
  assert.ok(runtime.memoryBytes < 200 << 20, `${runtime.memoryBytes} bytes`);
});

test("out of memory is an error, and the runtime goes on", () => {
  assert.throws(() => runtime.allocate(0xffffff00), fails("MemoryAllocationFailed", "4 GB"));
  assert.throws(() => runtime.allocate(2 ** 33), fails("MemoryAllocationFailed", "4 GB"));
  const module = load("add");
  assert.deepEqual(module.forward([Tensor.ones([2, 3]), Tensor.ones([2, 3])])[0].data[0], 2);
  module.delete();
});

test("a runtime that was disposed of refuses calls", async () => {
  const other = await Runtime.create({ threads: 2 });
  const module = other.Module.load(read("corpus/add/model.pte"));
  other.dispose();
  assert.throws(() => module.getMethods(), fails("InvalidState", "load the module again"));
});

test("options that are not understood are refused", async () => {
  await assert.rejects(Runtime.create({ threads: 0 }), fails("InvalidArgument", "from 1 to 64, found 0"));
  await assert.rejects(Runtime.create({ logLevel: "loud" }), fails("InvalidArgument", "found loud"));
  await assert.rejects(Runtime.create({ wasm: new Uint8Array([1, 2, 3]) }), fails("NotSupported", "cannot be compiled"));
  await assert.rejects(Runtime.create({ wasm: "/nowhere/executorch.wasm" }), fails("AccessFailed", "/nowhere/executorch.wasm"));
});

test("the log goes to its receiver", async () => {
  const lines = [];
  const other = await Runtime.create({ threads: 1, logLevel: "info", onLog: (level, message) => lines.push([level, message]) });
  assert.throws(() => other.Module.load(new ArrayBuffer(8)));
  assert.ok(lines.some(([level, message]) => level === "error" && message.includes("8 bytes")), JSON.stringify(lines));
  other.dispose();
});

test("the log goes to the console if only its level is given", async (t) => {
  const console_ = t.mock.method(console, "error", () => {});
  for (const [options, isLogged] of [[{ logLevel: "info" }, true], [{}, false]]) {
    const other = await Runtime.create({ threads: 1, ...options });
    assert.throws(() => other.Module.load(new ArrayBuffer(8)));
    assert.equal(console_.mock.calls.some(({ arguments: [line] }) => line.includes("8 bytes")), isLogged);
    other.dispose();
    console_.mock.resetCalls();
  }
});

test("options that no function has are refused, and the runtime goes on", async () => {
  await assert.rejects(Runtime.create({ thread: 2 }), fails("InvalidArgument", "there is no option thread; there are: wasm, llm, threads, onLog, logLevel"));
  await assert.rejects(Runtime.create(null), fails("InvalidArgument", "expected an object of options, found null"));
  assert.throws(() => load("add", { etDump: true }), fails("InvalidArgument", "there is no option etDump"));
  for (const value of [3.7, 2 ** 40, null, undefined, 5n]) {
    const options = { backendOptions: { SomeBackend: { workspace_sharing_mode: value } } };
    assert.throws(() => load("add", options), fails("InvalidArgument", `for the option workspace_sharing_mode of SomeBackend, found ${value}`));
  }
  const module = load("add");
  assert.throws(() => module.execute(7), fails("InvalidArgument", "expected a text, found number"));
  assert.throws(() => module.forward([], { copies: false }), fails("InvalidArgument", "there is no option copies"));
  assert.equal(runtime.failure, undefined);
  assert.equal(module.forward([Tensor.ones([2, 3]), Tensor.ones([2, 3])])[0].data[0], 2);
  module.delete();
});

test("memory that was given away or freed is refused", () => {
  const module = load("add");
  const input = runtime.empty([2, 3]);
  input.delete();
  assert.throws(() => module.forward([input, Tensor.ones([2, 3])]), fails("InvalidArgument", "input 0: expected a tensor with memory, found one that was deleted"));
  const memory = runtime.allocate(8);
  memory.delete();
  for (const use of [() => memory.bytes, () => memory.resize(16), () => runtime.Module.load(memory)]) {
    assert.throws(use, fails("InvalidState", "used or freed already"));
  }
  module.delete();
});
