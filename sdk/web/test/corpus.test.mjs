// SPDX-License-Identifier: BSD-3-Clause
// The programs of tests/data/corpus, and the mistakes of tests/data/errors.json, in this thread and with several threads.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { checkMistake, checkProgram } from "./corpus.js";
import { et, programs, read } from "./support.mjs";

for (const threads of [1, 2]) {
  const runtime = await et.Runtime.create({ threads });
  const here = { ...et, Module: runtime.Module };
  after(() => runtime.dispose());
  for (const name of programs) {
    test(`${name} gives what eager gave, with ${threads} threads`, () => checkProgram(here, name, read, runtime.backends));
  }
  test(`all programs were run, with ${threads} threads`, () => {
    assert.equal(runtime.threads, threads);
    assert.equal(runtime.failure, undefined);
    assert.ok(programs.length >= 58, `found ${programs.length} programs`);
  });
}

for (const mistake of JSON.parse(new TextDecoder().decode(read("errors.json"))).cases) {
  test(`the mistake ${mistake.case} has its code and its words`, () => checkMistake(et, mistake, read));
}

after(() => et.shutdown());
