// SPDX-License-Identifier: BSD-3-Clause
// node models.mjs FOLDER THREADS NAME...: prints as JSON how far the results of programs in folders of FOLDER are from the expected ones.
import { readFileSync } from "node:fs";
import { differenceOf } from "./corpus.js";
import { et } from "./support.mjs";

const [folder, threads, ...names] = process.argv.slice(2);
const read = (path) => {
  const bytes = readFileSync(`${folder}/${path}`);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
};
const found = {};
for (const name of names) found[name] = await differenceOf(et, name, read, { threads: Number(threads) });
console.log(JSON.stringify(found));
et.shutdown();
