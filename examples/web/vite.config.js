// SPDX-License-Identifier: BSD-3-Clause
// With these headers a browser lets threads share memory; without them the program runs on one thread.
const headers = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};

export default {
  base: "./",
  // Vite would move the package's scripts away from their workers and executorch.wasm.
  optimizeDeps: { exclude: ["executorch-web"] },
  worker: { format: "es" },
  build: { target: "es2022" },
  server: { headers },
  preview: { headers },
};
