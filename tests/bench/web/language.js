// SPDX-License-Identifier: BSD-3-Clause
// Loads a language model with one engine, and measures its answers. An engine is a function that returns another one: it makes an
// answer, calls `onPiece` for each piece of the text, and returns the number of tokens of the prompt.

async function sdk(program, threads) {
  const { LlmModule } = await import("./package/dist/esm/index.js");
  const llm = await LlmModule.load(program, { threads });
  return async (prompt, count, onPiece) => {
    await llm.reset();
    const answer = llm.generate(prompt, { temperature: 0, maxNewTokens: count, ignoreEos: true });
    for (;;) {
      const { value, done } = await answer.next();
      if (done) return value.promptTokens;
      onPiece(value);
    }
  };
}

async function wllama(program, threads) {
  const { Wllama } = await import("./peers/@wllama/wllama/esm/index.js");
  const peer = new Wllama({ default: new URL("./peers/@wllama/wllama/esm/wasm/wllama.wasm", location.href).href }, { suppressNativeLog: true });
  const bytes = await (await fetch(program)).blob();
  await peer.loadModel([bytes], { n_ctx: 1024, n_threads: threads, n_gpu_layers: 0, n_parallel: 1 });
  return async (prompt, count, onPiece) => {
    let tokens = 0;
    await peer.createCompletion({
      prompt,
      max_tokens: count,
      temperature: 0,
      ignore_eos: true,
      cache_prompt: false,
      stream: true,
      onData: (chunk) => {
        tokens = chunk.usage?.prompt_tokens ?? chunk.timings?.prompt_n ?? tokens;
        for (const { text } of chunk.choices) if (text) onPiece(text);
      },
    });
    return tokens;
  };
}

const engines = { sdk, wllama };
let answer;

/** Loads a model; returns the milliseconds until its first piece of text. */
async function load(engine, program, prompt, threads) {
  const start = performance.now();
  answer = await engines[engine](new URL(program, location.href).href, threads);
  let first = 0;
  await answer(prompt, 2, () => (first ||= performance.now() - start));
  return first;
}

/** One answer of `count` tokens: milliseconds until its first piece and from there to its last, and its text. */
async function measure(prompt, count) {
  const times = [];
  let text = "";
  const start = performance.now();
  const promptTokens = await answer(prompt, count, (piece) => {
    times.push(performance.now());
    text += piece;
  });
  return { first: times[0] - start, rest: times.at(-1) - times[0], pieces: times.length, promptTokens, text };
}

Object.assign(globalThis, { load, measure });
document.documentElement.dataset.ready = "true";
