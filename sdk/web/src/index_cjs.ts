// SPDX-License-Identifier: BSD-3-Clause
// CommonJS, for Node.js. Its workers are the ES modules beside it.
import { setLocations } from "./locations.js";

declare const __filename: string;
declare function require(name: "node:url"): { pathToFileURL(path: string): URL };

const here = require("node:url").pathToFileURL(__filename);
const file = (name: string) => (): URL => new URL(name, here);

setLocations({
  wasm: file("../executorch.wasm"),
  llmWasm: file("../executorch-llm.wasm"),
  relaxedWasm: file("../executorch-relaxed.wasm"),
  relaxedLlmWasm: file("../executorch-llm-relaxed.wasm"),
  thread: file("../esm/thread.js"),
  startThread: () => new Worker(file("../esm/thread.js")(), { type: "module" }),
  worker: file("../esm/worker.js"),
  startWorker: () => new Worker(file("../esm/worker.js")(), { type: "module" }),
});

export * from "./api.js";
