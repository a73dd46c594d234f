// SPDX-License-Identifier: BSD-3-Clause
// Runs a program on ones and shows what it returns. index.html is for Vite, plain.html works without a bundler.
import { ExecuTorchError, Module, Tensor } from "executorch-web";

const output = document.getElementById("output");
const progress = document.getElementById("progress");

try {
  const module = await Module.load(new URL("model.pte", document.baseURI), {
    onProgress: ({ loaded, total }) => Object.assign(progress, { value: loaded, max: total }),
  });
  const { inputTensorMeta } = await module.getMethodMetadata("forward");
  const inputs = inputTensorMeta.map(({ sizes, scalarType, dimOrder }) => {
    const { data } = Tensor.ones(sizes, scalarType);
    return new Tensor(data, sizes, scalarType, dimOrder);
  });
  const start = performance.now();
  const results = await module.forward(inputs);
  const took = performance.now() - start;
  const lines = results.map((result) =>
    result instanceof Tensor ? `${result.scalarType} [${result.sizes}]: ${[...result.toNumbers().slice(0, 10)].join(", ")}` : String(result),
  );
  output.textContent = [...lines, `${took.toFixed(1)} ms`].join("\n");
  await module.dispose();
} catch (error) {
  output.textContent = error instanceof ExecuTorchError ? `${error.code}: ${error.message}` : String(error);
}
document.documentElement.dataset.ready = "true";
