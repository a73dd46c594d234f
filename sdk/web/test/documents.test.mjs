// SPDX-License-Identifier: BSD-3-Clause
// The JavaScript of docs/web.md is one program, which is run as a user's would be: with the package in node_modules.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { data, packageFolder } from "./support.mjs";

test("the blocks of docs/web.md", () => {
  const page = readFileSync(fileURLToPath(new URL("../../../docs/web.md", import.meta.url)), "utf8");
  const blocks = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map((match) => match[1]);
  assert.ok(blocks.length >= 8);
  const folder = mkdtempSync(join(tmpdir(), "web-page-"));
  try {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(fileURLToPath(packageFolder), join(folder, "node_modules", "executorch-web"));
    copyFileSync(`${data}corpus/add/model.pte`, join(folder, "model.pte"));
    copyFileSync(`${data}language_model.pte`, join(folder, "language_model.pte"));
    writeFileSync(join(folder, "page.mjs"), blocks.join("\n"));
    const output = execFileSync(process.execPath, ["page.mjs"], { cwd: folder, encoding: "utf8", timeout: 60000 });
    for (const words of ["[ 2, 3 ] Float", "[ 1, 3, 224, 224 ]", "\nW\n{\nl\n", "[ 'forward' ]", "InvalidArgument", "Input 0 must have sizes (2, 3), found (3, 2)"]) {
      assert.ok(output.includes(words), output);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
