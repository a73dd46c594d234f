// SPDX-License-Identifier: BSD-3-Clause
// What the tests in Chromium call: the package, and the programs of tests/data.
import * as et from "./package/dist/esm/index.js";
import { checkMistake, checkProgram, differenceOf } from "./corpus.js";

async function read(path) {
  const response = await fetch(`data/${path}`);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.arrayBuffer();
}

/** The failures of all programs and of all mistakes, with the options of a module. */
async function failures(names, options) {
  const found = [];
  const attempt = async (body) => {
    try {
      await body();
    } catch (error) {
      found.push(`${error.message}`);
    }
  };
  const runtime = await et.Runtime.create({ threads: 1 });
  const { backends } = runtime;
  runtime.dispose();
  for (const name of names) await attempt(() => checkProgram(et, name, read, backends, options));
  const { cases } = JSON.parse(new TextDecoder().decode(await read("errors.json")));
  for (const mistake of cases) await attempt(() => checkMistake(et, mistake, read));
  return found;
}

/** differenceOf() for a program that the server has in a separate folder. */
const modelDifference = (folder, options) =>
  differenceOf(et, folder, async (path) => (await fetch(`models/${path}`)).arrayBuffer(), options);

Object.assign(globalThis, { et, read, failures, modelDifference });
document.documentElement.dataset.ready = "true";
