// SPDX-License-Identifier: BSD-3-Clause
// Module: programs from addresses, files and bytes, in a worker and in this thread, with progress and its end.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { data, et, packageFolder, read } from "./support.mjs";

const { Module, Tensor } = et;
const fails = (code, words) => (error) => error instanceof et.ExecuTorchError && error.code === code && error.message.includes(words);
const ones = () => [Tensor.ones([2, 3]), Tensor.ones([2, 3])];
let server;
let address;

before(async () => {
  server = createServer(async (request, response) => {
    if (request.url === "/slow.pte") {
      response.writeHead(200, { "content-length": "1000000" });
      response.write(Buffer.alloc(1000));
      return; // never ends
    }
    if (request.url === "/cut.pte") {
      response.writeHead(200, { "content-length": "1000000" });
      response.write(Buffer.alloc(1000), () => setTimeout(() => response.destroy(), 20));
      return;
    }
    try {
      const bytes = Buffer.from(read(request.url.slice(1)));
      // Without a length where the address ends with "?chunked".
      response.writeHead(200, request.headers["x-length"] === "no" ? {} : { "content-length": String(bytes.length) });
      response.end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${server.address().port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
  et.shutdown();
});

for (const worker of [false, true]) {
  const where = worker ? "in a worker" : "in this thread";

  test(`a program from an address, a path, bytes and a file, ${where}`, async () => {
    const path = `${data}corpus/add/model.pte`;
    const bytes = read("corpus/add/model.pte");
    for (const source of [`${address}/corpus/add/model.pte`, path, pathToFileURL(path), bytes, new Uint8Array(bytes), new Blob([bytes])]) {
      const module = await Module.load(source, { worker });
      assert.deepEqual(await module.getMethods(), ["forward"]);
      const [output] = await module.forward(ones());
      assert.deepEqual([...output.data], [2, 2, 2, 2, 2, 2]);
      await module.dispose();
      await module.dispose();
      await assert.rejects(module.forward(ones()), fails("InvalidState", "disposed"));
    }
  });

  test(`progress reaches the size of all files, ${where}`, async () => {
    const reports = [];
    const module = await Module.load(`${address}/corpus/ptd_portable/model.pte`, {
      worker,
      data: `${address}/corpus/ptd_portable/_default_external_constant.ptd`,
      onProgress: (progress) => reports.push(progress),
    });
    const { loaded, total } = reports.at(-1);
    assert.equal(loaded, total);
    assert.equal(loaded, read("corpus/ptd_portable/model.pte").byteLength + read("corpus/ptd_portable/_default_external_constant.ptd").byteLength);
    const meta = await module.getMethodMetadata("forward");
    assert.equal(meta.inputTensorMeta[0].scalarType, et.ScalarType.Float);
    await module.dispose();
  });

  test(`downloads that fail are errors, ${where}`, async () => {
    await assert.rejects(Module.load(`${address}/nothing.pte`, { worker }), fails("AccessFailed", "found 404"));
    await assert.rejects(Module.load("http://127.0.0.1:9/x.pte", { worker }), fails("AccessFailed", "cannot be fetched"));
    await assert.rejects(Module.load(`${address}/cut.pte`, { worker }), fails("AccessFailed", "download"));
    await assert.rejects(Module.load("/nowhere/x.pte", { worker }), fails("AccessFailed", "/nowhere/x.pte"));
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 100);
    await assert.rejects(Module.load(`${address}/slow.pte`, { worker, signal: abort.signal }), fails("Cancelled", "aborted"));
    await assert.rejects(Module.load(`${address}/slow.pte`, { worker, signal: abort.signal }), fails("Cancelled", "aborted"));
    const module = await Module.load(read("corpus/add/model.pte"), { worker });
    assert.equal((await module.forward(ones()))[0].data[0], 2);
    await module.dispose();
  });

  test(`calls at the same time give their own results, ${where}`, async () => {
    const module = await Module.load(read("corpus/add/model.pte"), { worker });
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => module.forward([Tensor.full([2, 3], i), Tensor.ones([2, 3])])));
    results.forEach(([output], i) => assert.equal(output.data[0], i + 1));
    await module.dispose();
  });

  test(`what is not a program's place is refused, ${where}`, async () => {
    for (const source of [null, undefined, 5, {}]) {
      await assert.rejects(Module.load(source, { worker }), fails("InvalidArgument", "expected a program's address, bytes or File"));
    }
    const module = await Module.load(read("corpus/add/model.pte"), { worker });
    await assert.rejects(module.forward([() => 0, 1]), (error) => error instanceof et.ExecuTorchError && error.code === "InvalidArgument");
    await module.dispose();
  });
}

test("a view of a large buffer is sent to the worker alone", async () => {
  const module = await Module.load(read("corpus/add/model.pte"), { worker: true });
  const large = new Float32Array(1 << 20).fill(3);
  const [output] = await module.forward([new Tensor(large.subarray(6, 12), [2, 3]), Tensor.ones([2, 3])]);
  assert.deepEqual([...output.data], [4, 4, 4, 4, 4, 4]);
  await module.dispose();
});

test("inputs that are copied to reused buffers for the worker stay the caller's", async () => {
  const module = await Module.load(read("at_once/portable.pte"), { worker: true });
  const plain = await Module.load(read("at_once/portable.pte"), { worker: false });
  const count = 3 * 64 * 64;
  const picture = (seed) => Float32Array.from({ length: count }, (_, i) => Math.sin(i * (seed + 1)));
  // A view, whose buffer has other elements too; and calls that are not awaited one by one.
  const all = [0, 1, 2].map((seed) => {
    const view = new Float32Array(count + 8).subarray(3, 3 + count);
    view.set(picture(seed));
    return view;
  });
  const found = await Promise.all(all.map((view) => module.forward(new Tensor(view, [1, 3, 64, 64]))));
  for (const [seed, view] of all.entries()) {
    assert.deepEqual(view, picture(seed));
    const [expected] = await plain.forward(new Tensor(view, [1, 3, 64, 64]));
    assert.deepEqual(found[seed][0].data, expected.data);
  }
  await assert.rejects(module.forward(new Tensor(picture(0), [3, 1, 64, 64])), fails("InvalidArgument", "channels"));
  const [again] = await module.forward(new Tensor(picture(0), [1, 3, 64, 64]));
  assert.deepEqual(again.data, found[0][0].data);
  await module.dispose();
  await plain.dispose();
});

test("the caller may change an input as soon as a call returns, also when the run begins later", async () => {
  const module = await Module.load(read("corpus/add/model.pte"), { worker: false });
  const calls = [1, 2, 3].map((value) => {
    const input = new Tensor(new Float32Array(6).fill(value), [2, 3]);
    const call = module.forward([input, Tensor.ones([2, 3])]);
    input.data.fill(100);
    return call;
  });
  assert.deepEqual((await Promise.all(calls)).map(([output]) => output.data[0]), [2, 3, 4]);
  await module.dispose();
});

// The package has it inside another file.
const carriersFile = new URL("../../../build/web-sources/esm/carriers.js", import.meta.url);
const skip = existsSync(carriersFile) ? false : "sdk/web/build has not compiled the sources";

test("buffers for messages are used again, and no more are kept than one call needs", { skip }, async () => {
  const { Carriers } = await import(carriersFile);
  const carriers = new Carriers();
  const types = new Map([[Uint8Array, 0], [BigInt64Array, 4], [Float32Array, 6], [Float64Array, 7]]);
  const carry = (data) => {
    const buffers = [];
    const { tensor } = carriers.load({ tensor: { data, sizes: [data.length], type: types.get(data.constructor), dimOrder: [0] } }, buffers);
    assert.deepEqual(tensor.data, data);
    return buffers[0];
  };
  assert.equal(carry(new Float32Array(1023)), undefined); // the message clones it
  assert.deepEqual(carriers.load({ value: 3 }, []), { value: 3 });
  const first = carry(new Float32Array(1024).fill(2));
  const second = carry(new BigInt64Array(1000).fill(-3n)); // while the worker has the first buffer
  carriers.put([first, second]);
  assert.equal(carry(new Uint8Array(5000).fill(4)), second);
  assert.equal(carry(new Float64Array(512).fill(5)), first);
  carriers.put([first, second]);
  const large = carry(new Float32Array(4000).fill(6));
  carriers.put([large]);
  assert.equal(carry(new Float32Array(1024)), large);
  const other = carry(new Float32Array(1024));
  assert.ok(other !== first && other !== second);
});

test("classes have their names, and an aborted load of a runtime that ends is one error", async () => {
  assert.deepEqual([et.Tensor.name, et.Module.name, et.LlmModule.name], ["Tensor", "Module", "LlmModule"]);
  const abort = new AbortController();
  const load = Module.load(`${address}/slow.pte`, { worker: true, threads: 2, signal: abort.signal });
  await new Promise((resolve) => setTimeout(resolve, 300));
  const failed = assert.rejects(load, et.ExecuTorchError);
  abort.abort();
  et.shutdown();
  await failed;
});

test("a process ends although its runtime has workers, from ES modules and from CommonJS", () => {
  const run = (code, type) =>
    execFileSync(process.execPath, [`--input-type=${type}`, "-e", code], { encoding: "utf8", timeout: 60000 }).trim();
  const body = (load) => `${load}.then(async ({ Module, Tensor }) => {
    const module = await Module.load(${JSON.stringify(`${data}corpus/add/model.pte`)}, { threads: 2, worker: true });
    console.log((await module.forward([Tensor.ones([2, 3]), Tensor.ones([2, 3])]))[0].data[0]);
  });`;
  const folder = fileURLToPath(packageFolder);
  assert.equal(run(body(`import(${JSON.stringify(new URL("dist/esm/index.js", packageFolder).href)})`), "module"), "2");
  assert.equal(run(body(`Promise.resolve(require(${JSON.stringify(`${folder}dist/cjs/index_cjs.js`)}))`), "commonjs"), "2");
});
