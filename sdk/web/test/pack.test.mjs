// SPDX-License-Identifier: BSD-3-Clause
// What `npm pack` makes, installed in an empty folder: complete, with types that `tsc --strict` accepts, for both kinds of modules.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { data, packageFolder } from "./support.mjs";

const CODE = `import { ExecuTorchError, Module, Runtime, ScalarType, Tensor, type MethodMeta, type Output } from "executorch-web";

async function main(): Promise<void> {
  const module: Module = await Module.load("model.pte", { threads: 1, onProgress: ({ loaded, total }) => void (loaded / total) });
  const meta: MethodMeta = await module.getMethodMetadata("forward");
  const inputs = meta.inputTensorMeta.map(({ sizes, scalarType }) => Tensor.ones(sizes, scalarType));
  const outputs: Output[] = await module.forward(inputs);
  const [first] = outputs;
  if (first instanceof Tensor && first.scalarType === ScalarType.Float) console.log("sum", first.data[0]);
  // @ts-expect-error an input is a value, not a function
  await module.forward([() => 0]).catch((error: unknown) => console.log(error instanceof ExecuTorchError && error.code));
  const runtime: Runtime = await Runtime.create({ threads: 1 });
  // @ts-expect-error what is internal has no types
  void runtime.native;
  runtime.dispose();
  await module.dispose();
}
void main();
`;

function typescript() {
  const folder = fileURLToPath(new URL("../../../.cache/web/", import.meta.url));
  const found = readdirSync(folder).find((name) => name.startsWith("typescript-"));
  assert.ok(found, `sdk/web/build puts TypeScript into ${folder}`);
  return join(folder, found, "package", "bin", "tsc");
}

test("the package is installed, type-checked and run in an empty folder", () => {
  const folder = mkdtempSync(join(tmpdir(), "web-pack-"));
  const run = (...command) => execFileSync(command[0], command.slice(1), { cwd: folder, encoding: "utf8", timeout: 120000, stdio: ["ignore", "pipe", "pipe"] });
  try {
    const packed = JSON.parse(execFileSync("npm", ["pack", "--json", "--pack-destination", folder], { cwd: fileURLToPath(packageFolder), encoding: "utf8" }))[0];
    assert.ok(packed.files.every(({ path }) => /^(dist\/|package\.json$|README\.md$|LICENSE$|NOTICE$)/.test(path)));
    writeFileSync(join(folder, "package.json"), '{ "name": "app", "version": "1.0.0", "private": true }');
    run("npm", "install", "--offline", "--no-audit", "--no-fund", join(folder, packed.filename));
    copyFileSync(`${data}corpus/add/model.pte`, join(folder, "model.pte"));
    for (const [name, type] of [
      ["main.mts", "mjs"],
      ["main.cts", "cjs"],
    ]) {
      writeFileSync(join(folder, name), CODE);
      try {
        run(process.execPath, typescript(), "--strict", "--target", "es2022", "--module", "nodenext", name);
      } catch (error) {
        assert.fail(error.stdout);
      }
      assert.equal(run(process.execPath, `main.${type}`), "sum 2\nInvalidArgument\n");
    }
    const module = statSync(new URL("dist/executorch.wasm", packageFolder)).size;
    console.log(`executorch.wasm: ${module} bytes; the package: ${packed.size} bytes packed, ${packed.unpackedSize} unpacked`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
