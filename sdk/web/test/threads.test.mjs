// SPDX-License-Identifier: BSD-3-Clause
// Threads that fail while the runtime waits for them. They run in other processes, because an endless wait would stop the tests.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { data, packageFolder } from "./support.mjs";

const script = (name) => new URL(`dist/esm/${name}.js`, packageFolder).href;
const CODE = `
  import { readFileSync } from "node:fs";
  const { Runtime, Tensor } = await import(${JSON.stringify(script("index"))});
  const { locations, setLocations } = await import(${JSON.stringify(script("locations"))});
  setLocations({ ...locations(), thread: () => new URL(${JSON.stringify(new URL("failing_thread.mjs", import.meta.url).href)}) });
  const runtime = await Runtime.create({ threads: 2 });
  // The program of the corpus whose operators are large enough for two threads.
  const bytes = readFileSync(${JSON.stringify(`${data}corpus/gru_portable/model.pte`)});
  const attempt = () => {
    try {
      const module = runtime.Module.load(bytes);
      const { inputTensorMeta } = module.getMethodMetadata("forward");
      module.forward(inputTensorMeta.map(({ sizes, scalarType }) => Tensor.ones(sizes, scalarType)));
      return "no error";
    } catch (error) {
      return error.code + ": " + error.message;
    }
  };
  let found;
  while ((found = attempt()) === "no error") await new Promise((resolve) => setTimeout(resolve, 10)); // messages arrive
  console.log(found);
  console.log(attempt());
  process.exit();`;

const run = (where) => {
  const env = { ...process.env, SDK_WEB_THREAD: script("thread"), SDK_WEB_FAILS_IN: where };
  return execFileSync(process.execPath, ["--input-type=module", "-e", CODE], { encoding: "utf8", timeout: 60000, env }).trim();
};

test("a thread that fails in a task ends the runtime's wait", () => {
  const [first, second] = run("task").split("\n");
  assert.match(first, /^Internal: a thread of the runtime failed: RuntimeError: /);
  assert.match(second, /^InvalidState: the runtime ended earlier/);
});

test("a thread that fails before it has joined a task ends the runtime, and no task waits for it", () => {
  const [first, second] = run("start").split("\n");
  assert.match(first, /^InvalidState: the runtime ended earlier \(a thread of the runtime failed: Error: planted/);
  assert.equal(first, second);
});
