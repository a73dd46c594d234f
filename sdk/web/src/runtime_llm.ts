// SPDX-License-Identifier: BSD-3-Clause
// A language model in the runtime of this thread.
import { checkOptions, ExecuTorchError } from "./errors.js";
import { OwnedBytes, type Bytes } from "./memory.js";
import { Refused, type Native } from "./native.js";
import { withOptions } from "./runtime_module.js";

export interface LlmLoadOptions {
  /** The `.ptd` files with weights that the program was exported with. */
  data?: Bytes[];
  /** The file of the tokenizer: tokenizer.json, tokenizer.model or tokenizer.bin; by default the one inside the program. */
  tokenizer?: Bytes;
}

/** How an answer is generated. */
export interface GenerationOptions {
  /** The most tokens of the answer: by default what the context has room for. */
  maxNewTokens?: number;
  /** The most tokens of prompt and answer together. */
  seqLen?: number;
  /** 0: always the likeliest token; higher values make the answer more random. By default 0.8. */
  temperature?: number;
  /** Only so many of the likeliest tokens; 0, the default: all. */
  topK?: number;
  /** Only the likeliest tokens whose probabilities reach this sum: by default 0.9. */
  topP?: number;
  /** Only tokens of at least this probability, relative to the likeliest one; by default 0: all. */
  minP?: number;
  repetitionPenalty?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  /** The same seed gives the same answer again; by default a random one. */
  seed?: number | bigint;
  /** Texts before which the answer ends. */
  stop?: string | readonly string[];
  /** Values that are added to the logits of tokens, by token id. */
  logitBias?: Readonly<Record<number, number>>;
  /** The most tokens that prompt look-up checks at once; 0, the default: no look-up. */
  lookupTokens?: number;
  /** The number of begin tokens before the prompt, and of end tokens after it; by default 0. */
  numBos?: number;
  numEos?: number;
  /** Whether the text begins with the prompt. */
  echo?: boolean;
  /** Whether the answer goes on after a token that ends sequences. */
  ignoreEos?: boolean;
}

/** Numbers of tokens and times in milliseconds of the last answer. */
export interface LlmStats {
  promptTokens: number;
  /** Includes the token that ended the answer. */
  generatedTokens: number;
  loadMs: number;
  /** Time until the prompt was in the cache. */
  promptMs: number;
  /** Time from the first token to the last. */
  generationMs: number;
  samplingMs: number;
}

// The names of the settings in llm.h.
const INTEGERS: Record<string, string> = {
  maxNewTokens: "max_new_tokens",
  seqLen: "seq_len",
  topK: "top_k",
  lookupTokens: "lookup_tokens",
  numBos: "num_bos",
  numEos: "num_eos",
  seed: "seed",
};
const SWITCHES: Record<string, string> = { echo: "echo", ignoreEos: "ignore_eos" };
const NUMBERS: Record<string, string> = {
  temperature: "temperature",
  topP: "top_p",
  minP: "min_p",
  repetitionPenalty: "repetition_penalty",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
};

function refuse(message: string): never {
  throw new Refused(new ExecuTorchError("InvalidArgument", message));
}

function set(native: Native, config: number, name: string, value: unknown): void {
  const expected = (what: string): never => refuse(`expected ${what} for the option ${name}, found ${String(value)}`);
  if (name in INTEGERS) {
    if (typeof value !== "bigint" && !Number.isSafeInteger(value)) expected("an integer");
    const integer = BigInt(value as number | bigint);
    const signed = BigInt.asIntN(64, integer);
    // Seeds are unsigned.
    if (integer !== signed && !(name === "seed" && integer === BigInt.asUintN(64, integer))) expected("an integer of 64 bits");
    native.withString(INTEGERS[name]!, (key) => native.check("et_llm_config_set_int", config, key, signed));
  } else if (name in SWITCHES) {
    if (typeof value !== "boolean") expected("true or false");
    native.withString(SWITCHES[name]!, (key) => native.check("et_llm_config_set_int", config, key, value ? 1n : 0n));
  } else if (name in NUMBERS) {
    if (typeof value !== "number") expected("a number");
    native.withString(NUMBERS[name]!, (key) => native.check("et_llm_config_set_double", config, key, value as number));
  } else if (name === "stop") {
    for (const text of Array.isArray(value) ? value : [value]) {
      if (typeof text !== "string") expected("a text or several");
      native.withString(text as string, (address) => native.check("et_llm_config_add_stop", config, address));
    }
  } else if (name === "logitBias") {
    if (typeof value !== "object" || value === null) expected("an object of numbers");
    for (const [token, bias] of Object.entries(value as object)) {
      if (!/^\d+$/.test(token) || typeof bias !== "number") expected("an object of numbers by tokens' numbers");
      native.check("et_llm_config_add_logit_bias", config, BigInt(token), bias as number);
    }
  }
}

const GENERATION_OPTIONS: Record<string, true> = Object.fromEntries(
  [...Object.keys(INTEGERS), ...Object.keys(SWITCHES), ...Object.keys(NUMBERS), "stop", "logitBias"].map((name) => [name, true]),
);

const finalization = new FinalizationRegistry((free: () => void) => free());
const STATS = 10; // 64-bit numbers of et_llm_stats

/** A language model with the conversation so far as its context. */
export class RuntimeLlm {
  private handle: number;

  /** @internal */
  constructor(
    private readonly native: Native,
    program: Bytes,
    options: LlmLoadOptions,
  ) {
    if (!("et_llm_load_buffer" in native.call)) {
      throw new ExecuTorchError("NotSupported", "this runtime has no language models: start it with { llm: true }, or use a wasm with them");
    }
    checkOptions(options, { data: true, tokenizer: true } satisfies Record<keyof LlmLoadOptions, true>);
    const { data = [], tokenizer } = options;
    const files = tokenizer === undefined ? [] : [tokenizer];
    this.handle = OwnedBytes.use(native, [program, ...data, ...files], (owned) => {
      const file = tokenizer === undefined ? { address: 0, size: 0 } : owned.take();
      try {
        return withOptions(native, owned, {}, (settings, release) => {
          const { address, size } = owned.take();
          return native.make("et_llm_load_buffer", address, size, release, 0, file.address, file.size, settings);
        });
      } finally {
        native.free(file.address);
      }
    });
    finalization.register(this, freeLlm(native, this.handle), this);
  }

  private guard<T>(body: () => T): T {
    if (this.handle === 0) throw new ExecuTorchError("InvalidState", "this language model was disposed of");
    return this.native.guard(body);
  }

  /**
   * Adds `prompt` and the model's answer to the conversation. `onText` receives the pieces of the answer; false ends
   * it.
   */
  generate(prompt: string, options: GenerationOptions, onText: (text: string) => boolean | void): LlmStats {
    checkOptions(options, GENERATION_OPTIONS);
    let failure: unknown;
    const stats = this.guard(() => {
      const { native } = this;
      const config = native.make("et_llm_config_create");
      try {
        for (const [name, value] of Object.entries(options)) if (value !== undefined) set(native, config, name, value);
        native.onText((text) => {
          try {
            return onText(text) !== false;
          } catch (error) {
            // The exception must not pass through frames of the module.
            failure = { error };
            return false;
          }
        });
        native.withString(prompt, (text) => native.check("et_llm_generate", this.handle, text, config, native.call["et_web_text_function"]!(), 0));
        return this.readStats();
      } finally {
        native.call["et_llm_config_free"]!(config);
      }
    });
    if (failure !== undefined) throw (failure as { error: unknown }).error;
    return stats;
  }

  private readStats(): LlmStats {
    const { native } = this;
    const place = native.allocate(8 * STATS);
    try {
      native.check("et_llm_get_stats", this.handle, place, 8 * STATS);
      const view = native.view;
      const [prompt, generated, loadStart, loadEnd, start, , promptEnd, first, end, sampling] = Array.from({ length: STATS }, (_, i) =>
        Number(view.getBigInt64(place + 8 * i, true)),
      ) as [number, number, number, number, number, number, number, number, number, number];
      return {
        promptTokens: prompt,
        generatedTokens: generated,
        loadMs: loadEnd - loadStart,
        promptMs: promptEnd - start,
        generationMs: first === 0 ? 0 : end - first,
        samplingMs: sampling,
      };
    } finally {
      native.free(place);
    }
  }

  /** Adds text to the context without an answer; generate("") goes on after it. */
  prefill(prompt: string): void {
    this.guard(() => this.native.withString(prompt, (text) => this.native.check("et_llm_prefill", this.handle, text)));
  }

  /** Adds a picture, of a program that takes pictures: planes of rows of bytes, or of numbers that are normalised. */
  prefillImage(pixels: Uint8Array | Float32Array, sizes: { width: number; height: number; channels?: number }): void {
    const { width, height, channels = 3 } = sizes;
    const name = pixels instanceof Float32Array ? "et_llm_prefill_normalized_image" : "et_llm_prefill_image";
    this.media(pixels, channels * height * width, (address) => this.native.check(name, this.handle, address, width, height, channels));
  }

  /** Adds sound, of a program that takes sound: windows of features, each `bins` rows of `frames` numbers. */
  prefillAudio(features: Float32Array, sizes: { batch?: number; bins: number; frames: number }): void {
    const { batch = 1, bins, frames } = sizes;
    this.media(features, batch * bins * frames, (address) => this.native.check("et_llm_prefill_audio", this.handle, address, batch, bins, frames));
  }

  /** The same for samples from -1 to 1, for a program that computes the features itself. */
  prefillSamples(samples: Float32Array): void {
    this.media(samples, samples.length, (address) => this.native.check("et_llm_prefill_samples", this.handle, address, samples.length));
  }

  private media(elements: Uint8Array | Float32Array, count: number, body: (address: number) => void): void {
    this.guard(() => {
      if (elements.length !== count) refuse(`expected ${count} elements for the sizes, found ${elements.length}`);
      const { native } = this;
      const address = native.allocate(elements.byteLength);
      try {
        native.heap.set(new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength), address);
        body(address);
      } finally {
        native.free(address);
      }
    });
  }

  /**
   * The prompt of a conversation by the chat template inside the program. `variables` are what the template reads:
   * `{ messages: [{ role: "user", content: "Hi" }], add_generation_prompt: true }`.
   */
  applyChatTemplate(variables: object): string {
    let json: string;
    try {
      json = JSON.stringify(variables);
    } catch (error) {
      throw new ExecuTorchError("InvalidArgument", `the variables of the chat template cannot be written as JSON: ${(error as Error).message}`);
    }
    return this.guard(() => {
      const { native } = this;
      return native.string(native.withString(json, (text) => native.make("et_llm_apply_chat_template", this.handle, text)));
    });
  }

  /** Begins a new conversation. */
  reset(): void {
    this.guard(() => this.native.check("et_llm_reset", this.handle));
  }

  /** Tokens in the context. */
  get position(): number {
    return this.guard(() => Number(this.native.call["et_llm_position"]!(this.handle)));
  }

  delete(): void {
    if (this.handle === 0) return;
    finalization.unregister(this);
    freeLlm(this.native, this.handle)();
    this.handle = 0;
  }

  dispose(): void {
    this.delete();
  }
}

function freeLlm(native: Native, handle: number): () => void {
  return () => {
    if (native.failure === undefined) native.guard(() => native.call["et_llm_free"]!(handle));
  };
}
