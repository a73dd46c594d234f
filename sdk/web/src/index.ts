// SPDX-License-Identifier: BSD-3-Clause
// ES modules: browsers, bundlers, Deno and Node.js.
import { setLocations } from "./locations.js";

setLocations({
  wasm: () => new URL("../executorch.wasm", import.meta.url),
  llmWasm: () => new URL("../executorch-llm.wasm", import.meta.url),
  relaxedWasm: () => new URL("../executorch-relaxed.wasm", import.meta.url),
  relaxedLlmWasm: () => new URL("../executorch-llm-relaxed.wasm", import.meta.url),
  thread: () => new URL("./thread.js", import.meta.url),
  startThread: () => new Worker(new URL("./thread.js", import.meta.url), { type: "module" }),
  worker: () => new URL("./worker.js", import.meta.url),
  startWorker: () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" }),
});

export * from "./api.js";
