// SPDX-License-Identifier: BSD-3-Clause
import { Connection, CONNECTION_OPTIONS, resolveSource, type ConnectionOptions } from "./connection.js";
import { DOWNLOAD_OPTIONS, type DownloadOptions, type Source } from "./download.js";
import { canShareMemory } from "./environment.js";
import { checkOptions, ExecuTorchError } from "./errors.js";
import type { GenerationOptions, LlmStats } from "./runtime_llm.js";

export interface LlmModuleOptions extends ConnectionOptions, DownloadOptions {
  /** The `.ptd` files with weights that the program was exported with. */
  data?: Source | readonly Source[];
  /** The file of the tokenizer: tokenizer.json, tokenizer.model or tokenizer.bin; by default the one inside the program. */
  tokenizer?: Source;
}

export interface AnswerOptions extends GenerationOptions {
  /** Ends the answer, as stop() does. */
  signal?: AbortSignal;
}

/** A message of a conversation; templates may read more of it. */
export interface ChatMessage {
  role: string;
  content: string;
  [name: string]: unknown;
}

/** The pieces of an answer that have not been read yet. */
class Pieces {
  private readonly unread: string[] = [];
  private wake: (() => void) | undefined;
  private hasEnded = false;

  add(piece: string): void {
    this.unread.push(piece);
    this.wake?.();
  }

  end(): void {
    this.hasEnded = true;
    this.wake?.();
  }

  async *read(): AsyncGenerator<string, void> {
    for (;;) {
      while (this.unread.length > 0) yield this.unread.shift()!;
      if (this.hasEnded) return; // pieces that come later are not read
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}

const finalization = new FinalizationRegistry(({ connection, id }: { connection: Connection; id: number }) => {
  connection.call("llmFree", [id]).catch(() => {});
});

/** A language model with the conversation so far as its context, in a worker. */
export class LlmModule {
  private isDisposed = false;
  /** Functions that end the answers that are being generated. */
  private readonly stops = new Set<() => void>();
  /** The text of the context, while only chat() has added to it. */
  private context: string | undefined = "";

  private constructor(
    private readonly connection: Connection,
    private readonly id: number,
  ) {
    finalization.register(this, { connection, id }, this);
  }

  /** Downloads and verifies a program. Modules share a worker, in which one call runs at a time, if their options `wasm`,
   * `threads`, `onLog`, `logLevel` and `worker` are the same. */
  static async load(program: Source, options: LlmModuleOptions = {}): Promise<LlmModule> {
    checkOptions(options, { ...CONNECTION_OPTIONS, ...DOWNLOAD_OPTIONS, data: true, tokenizer: true });
    const { data = [], tokenizer, onProgress, signal, cache, ...runtime } = options;
    const connection = Connection.to({ worker: true, llm: true, ...runtime });
    await connection.started;
    const weights = (Array.isArray(data) ? data : [data]) as readonly Source[];
    const settings = { cache, hasTokenizer: tokenizer !== undefined };
    const sources = [program, ...weights, ...(tokenizer === undefined ? [] : [tokenizer])].map(resolveSource);
    const id = await connection.call<number>("llmLoad", [sources, settings, onProgress !== undefined], onProgress, signal);
    return new LlmModule(connection, id);
  }

  private call<T>(name: string, args: unknown[] = [], onPart?: (part: never) => void): Promise<T> {
    if (this.isDisposed) return Promise.reject(new ExecuTorchError("InvalidState", "this language model was disposed of"));
    return this.connection.call<T>(name, [this.id, ...args], onPart);
  }

  private change<T>(name: string, args: unknown[] = []): Promise<T> {
    this.context = undefined;
    return this.call(name, args);
  }

  /**
   * Adds `prompt` to the conversation and yields the model's answer in pieces of whole characters. A caller that leaves
   * the loop ends the answer.
   */
  async *generate(prompt: string, options: AnswerOptions = {}): AsyncGenerator<string, LlmStats> {
    this.context = undefined;
    return yield* this.answer(prompt, options);
  }

  private async *answer(prompt: string, options: AnswerOptions): AsyncGenerator<string, LlmStats> {
    const { signal, ...settings } = options;
    // The worker receives no messages while it generates. Without shared memory, it computes the answer to its end.
    const ends = canShareMemory ? new Int32Array(new SharedArrayBuffer(4)) : undefined;
    const pieces = new Pieces();
    const stop = (): void => {
      if (ends === undefined) pieces.end();
      else Atomics.store(ends, 0, 1); // the text that was generated before still comes
    };
    if (signal?.aborted) stop();
    this.stops.add(stop);
    signal?.addEventListener("abort", stop, { once: true });
    const done = this.call<LlmStats>("llmGenerate", [prompt, settings, ends], (piece: string) => pieces.add(piece));
    void done.catch(() => {}).finally(() => pieces.end());
    try {
      yield* pieces.read();
    } finally {
      stop();
      this.stops.delete(stop);
      signal?.removeEventListener("abort", stop);
      await done.catch(() => {});
    }
    return done;
  }

  /**
   * The answer to a conversation, which the chat template inside the program turns into a prompt. The part that the context
   * has already is not computed again. If the conversation differs from the context, it starts with an empty context.
   */
  async *chat(messages: readonly ChatMessage[], options: AnswerOptions = {}): AsyncGenerator<string, LlmStats> {
    const prompt = await this.applyChatTemplate({ messages, add_generation_prompt: true });
    const known = this.context;
    const isContinued = known !== undefined && prompt.startsWith(known);
    if (!isContinued) await this.reset();
    this.context = undefined; // until the answer is complete
    let text = "";
    const answer = this.answer(isContinued ? prompt.slice(known.length) : prompt, options);
    try {
      for (;;) {
        const { done, value } = await answer.next();
        if (done) {
          // If the answer ended before a stop text, the context has the tokens of that text and the answer does not.
          if (canShareMemory && options.stop === undefined && !options.echo) this.context = prompt + text;
          return value;
        }
        text += value;
        yield value;
      }
    } finally {
      await answer.return(undefined as never);
    }
  }

  /** Adds text to the context without an answer; generate("") goes on after it. */
  prefill(prompt: string): Promise<void> {
    return this.change("llmCall", ["prefill", prompt]);
  }

  /** Adds a picture, of a program that takes pictures: planes of rows of bytes, or of numbers that are normalised. */
  prefillImage(pixels: Uint8Array | Float32Array, sizes: { width: number; height: number; channels?: number }): Promise<void> {
    return this.change("llmCall", ["prefillImage", pixels.slice(), sizes]);
  }

  /** Adds sound, of a program that takes sound: windows of features, each `bins` rows of `frames` numbers. */
  prefillAudio(features: Float32Array, sizes: { batch?: number; bins: number; frames: number }): Promise<void> {
    return this.change("llmCall", ["prefillAudio", features.slice(), sizes]);
  }

  /** The same for samples from -1 to 1, for a program that computes the features itself. */
  prefillSamples(samples: Float32Array): Promise<void> {
    return this.change("llmCall", ["prefillSamples", samples.slice()]);
  }

  /**
   * The prompt of a conversation by the chat template inside the program. `variables` are what the template reads:
   * `{ messages: [{ role: "user", content: "Hi" }], add_generation_prompt: true }`.
   */
  applyChatTemplate(variables: object): Promise<string> {
    return this.call("llmCall", ["applyChatTemplate", variables]);
  }

  /** Ends the answers that are being generated, without an error. */
  stop(): void {
    for (const stop of this.stops) stop();
  }

  /** Begins a new conversation. */
  async reset(): Promise<void> {
    await this.change("llmCall", ["reset"]);
    this.context = "";
  }

  /** Tokens in the context. */
  position(): Promise<number> {
    return this.call("llmPosition");
  }

  /** Frees the program. */
  async dispose(): Promise<void> {
    if (this.isDisposed) return;
    this.stop();
    const done = this.call<void>("llmFree");
    this.isDisposed = true;
    finalization.unregister(this);
    // The memory of a runtime that ended is gone.
    await done.catch(() => {});
  }
}
