// SPDX-License-Identifier: BSD-3-Clause
// node language.mjs PROGRAM PROMPT COUNT: prints, as JSON, the greedy continuation of a prompt by a language model, and its statistics.
import { et } from "./support.mjs";

const [program, prompt, count] = process.argv.slice(2);
const llm = await et.LlmModule.load(program);
const answer = llm.generate(prompt, { temperature: 0, maxNewTokens: Number(count) });
let text = "";
let result = await answer.next();
for (; !result.done; result = await answer.next()) text += result.value;
console.log(JSON.stringify({ text, stats: result.value }));
et.shutdown();
