// SPDX-License-Identifier: BSD-3-Clause
// What the tests in Node.js share: the package that sdk/web/build made, and the files of tests/data.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = new URL("../../../", import.meta.url);
export const packageFolder = process.env.SDK_WEB_PACKAGE ? pathToFileURL(`${process.env.SDK_WEB_PACKAGE}/`) : new URL("build/web-package/", root);
export const et = await import(new URL("dist/esm/index.js", packageFolder));
export const data = fileURLToPath(new URL("tests/data/", root));

/** The bytes of a file below tests/data. */
export function read(path) {
  const bytes = readFileSync(data + path);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}

export const programs = readdirSync(`${data}corpus`, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);
