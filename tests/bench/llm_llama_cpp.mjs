// SPDX-License-Identifier: BSD-3-Clause
// Runs llama.cpp from node-llama-cpp in one process. It answers the requests of llm_worker.py, and `continue` with the
// likeliest tokens after given ones.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { getLlama } from "node-llama-cpp";

const threads = Number(process.argv[2]);
let sequence;

const promptOf = (length, seed) =>
  Array.from({ length }, (_, i) => 1000 + ((seed * 7919 + 104729 * (i + 1)) % 39000));

async function load({ path, context }) {
  const llama = await getLlama({ gpu: false, build: "never", maxThreads: threads, logLevel: "error" });
  const model = await llama.loadModel({ modelPath: path });
  const made = await model.createContext({ contextSize: context, batchSize: 512, threads });
  sequence = made.getSequence();
  await run({ prompt: 1, answer: 1, seed: 0 });
}

async function run({ prompt, answer, seed }) {
  await sequence.clearHistory();
  const start = performance.now();
  let middle = start;
  let count = 0;
  for await (const _ of sequence.evaluate(promptOf(prompt, seed), { temperature: 0, yieldEogToken: true })) {
    if (count === 0) {
      middle = performance.now();
    }
    if (count === answer) {
      break;
    }
    count += 1;
  }
  const end = performance.now();
  return { prefill: (prompt * 1000) / (middle - start), decode: (answer * 1000) / (end - middle) };
}

async function complete({ tokens, count }) {
  await sequence.clearHistory();
  const found = [];
  for await (const token of sequence.evaluate(tokens, { temperature: 0, yieldEogToken: true })) {
    found.push(token);
    if (found.length === count) {
      break;
    }
  }
  return { tokens: found };
}

function memory() {
  const line = readFileSync("/proc/self/status", "utf8").match(/VmHWM:\s+(\d+) kB/);
  return { memory_bytes: Number(line[1]) * 1024 };
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  let answer;
  try {
    if (request.do === "load") {
      const start = performance.now();
      await load(request);
      answer = { start: (performance.now() - start) / 1000 };
    } else if (request.do === "continue") {
      answer = await complete(request);
    } else {
      answer = request.do === "run" ? await run(request) : memory();
    }
  } catch (error) {
    answer = { error: String(error).slice(0, 500) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
