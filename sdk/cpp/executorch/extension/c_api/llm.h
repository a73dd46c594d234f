/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The part of the C interface for language models. executorch.h has the rules on errors and
 * ownership, and does not include this header. Since version 1.4. In libraries built without
 * EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER the functions return ET_STATUS_NOT_SUPPORTED with a message.
 *
 * Threads. A runner makes one call at a time: a concurrent one returns ET_STATUS_INVALID_STATE. et_llm_stop may be
 * called from any thread, the callback included.
 */
#ifndef EXECUTORCH_EXTENSION_C_API_LLM_H_
#define EXECUTORCH_EXTENSION_C_API_LLM_H_

#include "executorch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whether the library was built with EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER. */
ET_API bool et_has_llm(void);

/* ---- How to generate --------------------------------------------------------------------------------------------- */

/** The settings of a generation. Defaults: as many tokens as the context holds, temperature 0.8, top_p 0.9, a
 * random seed, no echo of the prompt. */
typedef struct et_llm_config et_llm_config;
ET_API et_status et_llm_config_create(et_llm_config** out, et_error** error);
/** Sets "max_new_tokens" (-1: what the context holds), "seq_len" (tokens of prompt and answer; -1: what fits), "top_k"
 * (0: all), "lookup_tokens" (0: no prompt look-up; 1.7), "draft_tokens" (0: no drafts of et_llm_set_draft; 1.7),
 * "num_bos", "num_eos", "seed" (all 64 bits count), or "echo" and "ignore_eos" (0 or 1). Unknown names are an error;
 * values are checked when a generation starts. */
ET_API et_status et_llm_config_set_int(et_llm_config* config, const char* name, int64_t value, et_error** error);
/** Sets "temperature" (0: the likeliest token), "top_p" (1: all), "min_p" (0: all), "repetition_penalty" (1: none),
 * "presence_penalty" or "frequency_penalty" (0: none). */
ET_API et_status et_llm_config_set_double(et_llm_config* config, const char* name, double value, et_error** error);
/** Sets "grammar", which the answer follows, and its language, "grammar_type": "json_schema", "regex", "gbnf"
 * or "lark". "" for both: anything. et_llm_generate returns ET_STATUS_INVALID_ARGUMENT, with the position, for a wrong
 * grammar, and ET_STATUS_NOT_SUPPORTED without EXECUTORCH_BUILD_LLM_GRAMMAR. (1.7) */
ET_API et_status et_llm_config_set_string(et_llm_config* config, const char* name, const char* value, et_error** error);
/** Adds a text before which the answer ends. */
ET_API et_status et_llm_config_add_stop(et_llm_config* config, const char* text, et_error** error);
/** Adds `bias` to the logits of a token. */
ET_API et_status et_llm_config_add_logit_bias(et_llm_config* config, uint64_t token, double bias, et_error** error);
ET_API void et_llm_config_free(et_llm_config* config);

/* ---- Text -------------------------------------------------------------------------------------------------------- */

/** A language model with the conversation so far as its context. */
typedef struct et_llm et_llm;
/** Loads a program and its tokenizer: `tokenizer_path` is a tokenizer.json, tokenizer.model or tokenizer.bin; NULL: the
 * tokenizer inside the program. `options` may be NULL; its load mode, data files and data buffers apply. */
ET_API et_status et_llm_load_file(const char* path, const char* tokenizer_path, const et_options* options, et_llm** out,
                                  et_error** error);
/** The same for a tokenizer of tiktoken with `count` special tokens, in the order of their ids, instead of those of
 * Llama 3. Other tokenizers contain theirs; for them, and with a count of 0, it acts as et_llm_load_file. (1.5) */
ET_API et_status et_llm_load_file_with_special_tokens(const char* path, const char* tokenizer_path,
                                                      const char* const* special_tokens, size_t count,
                                                      const et_options* options, et_llm** out, et_error** error);
/** Loads `size` bytes at `data`, used in place (copied if not aligned to 16 bytes). `release` (may be NULL) is called
 * when they are not needed any more. `tokenizer`: the `tokenizer_size` bytes of a tokenizer's file, which are not
 * needed after the call; NULL: the tokenizer inside the program. Of `options`, which may be NULL, the data buffers are
 * used; data files are ET_STATUS_NOT_SUPPORTED. (1.7) */
ET_API et_status et_llm_load_buffer(const void* data, size_t size, et_release release, void* context,
                                    const void* tokenizer, size_t tokenizer_size, const et_options* options,
                                    et_llm** out, et_error** error);
ET_API void et_llm_free(et_llm* llm);

/** Receives a piece of the answer: `size` bytes of whole UTF-8 characters, and a NUL. They are valid until the function
 * returns. False ends the answer, as et_llm_stop does. */
typedef bool (*et_llm_text)(const char* text, size_t size, void* context);
/** Adds `prompt` and the model's answer to the conversation. `config` may be NULL, and `text` too.
 * Errors: ET_STATUS_INVALID_ARGUMENT for settings or a prompt that cannot be used, among them one that is too long for
 * the context, and for a tokenizer of another model; ET_STATUS_INVALID_STATE during another call, and after a failure
 * that left the program's state unknown, until et_llm_reset. */
ET_API et_status et_llm_generate(et_llm* llm, const char* prompt, const et_llm_config* config, et_llm_text text,
                                 void* context, et_error** error);
/** Adds text to the context without an answer; et_llm_generate with the prompt "" continues after it. */
ET_API et_status et_llm_prefill(et_llm* llm, const char* prompt, et_error** error);
/** Adds a picture to the context of a program that takes pictures: `channels` planes of `height` rows of `width`
 * bytes, as large as the program takes. ET_STATUS_INVALID_ARGUMENT for another size or a context that is full,
 * ET_STATUS_NOT_SUPPORTED for a program without pictures; the context is then as before. (1.7) */
ET_API et_status et_llm_prefill_image(et_llm* llm, const uint8_t* pixels, int32_t width, int32_t height,
                                      int32_t channels, et_error** error);
/** The same for values that the caller has normalised, as the model's image processor does. (1.7) */
ET_API et_status et_llm_prefill_normalized_image(et_llm* llm, const float* pixels, int32_t width, int32_t height,
                                                 int32_t channels, et_error** error);
/** Adds sound to the context of a program that takes sound: `batch` windows of features, each `bins` rows of `frames`
 * values. Errors as for pictures. (1.7) */
ET_API et_status et_llm_prefill_audio(et_llm* llm, const float* features, int32_t batch, int32_t bins, int32_t frames,
                                      et_error** error);
/** The same for `count` samples from -1 to 1, for a program that computes the features itself. (1.7) */
ET_API et_status et_llm_prefill_samples(et_llm* llm, const float* samples, int32_t count, et_error** error);

/** The kind of a part of a prompt. */
typedef int32_t et_llm_input_type;
enum {
  ET_LLM_INPUT_TEXT = 0,             /**< UTF-8 */
  ET_LLM_INPUT_IMAGE = 1,            /**< as et_llm_prefill_image */
  ET_LLM_INPUT_NORMALIZED_IMAGE = 2, /**< as et_llm_prefill_normalized_image */
  ET_LLM_INPUT_AUDIO_BYTES = 3,      /**< features that are uint8, for an encoder that takes them */
  ET_LLM_INPUT_AUDIO = 4,            /**< as et_llm_prefill_audio */
  ET_LLM_INPUT_RAW_AUDIO = 5 /**< samples, as et_llm_prefill_samples: uint8 around 128, int16 or float32, by the bytes
                                  of a sample, in the byte order of the machine; channels are averaged */
};
/** A part of a prompt. (1.7) */
typedef struct et_llm_input {
  et_llm_input_type type;
  /** Pictures: width, height, channels. Features: batch, bins, frames. Samples: batch, channels, samples. */
  int32_t sizes[3];
  const void* data; /**< not needed after the call */
  size_t size;      /**< bytes of `data` */
} et_llm_input;
/** Adds all parts to the context, or none of them if one cannot be used. Errors as for a single part. (1.7)
 */
ET_API et_status et_llm_prefill_inputs(et_llm* llm, const et_llm_input* inputs, size_t count, et_error** error);
/** et_llm_generate with a prompt of several parts. (1.7) */
ET_API et_status et_llm_generate_inputs(et_llm* llm, const et_llm_input* inputs, size_t count,
                                        const et_llm_config* config, et_llm_text text, void* context, et_error** error);
/** Makes `draft`, a smaller model of the same vocabulary, the draft model of `llm` (see "draft_tokens"), and frees the
 * handle as et_llm_free does. ET_STATUS_INVALID_ARGUMENT for another vocabulary, ET_STATUS_NOT_SUPPORTED for a program
 * whose cache cannot be rewound; `draft` is then as before. (1.7) */
ET_API et_status et_llm_set_draft(et_llm* llm, et_llm* draft, et_error** error);
/** et_llm_save_session writes the conversation and the program's cache to a file, and et_llm_load_session continues
 * from it. ET_STATUS_ACCESS_FAILED for a file that cannot be read or written, ET_STATUS_INVALID_EXTERNAL_DATA for a
 * file that is truncated or was changed, ET_STATUS_INVALID_ARGUMENT for a file of another program; the conversation is
 * then as before. (1.7) */
ET_API et_status et_llm_save_session(et_llm* llm, const char* path, et_error** error);
ET_API et_status et_llm_load_session(et_llm* llm, const char* path, et_error** error);
/** Ends the current generation after the current token, without an error. Has no effect without one. */
ET_API void et_llm_stop(et_llm* llm);
/** Begins a new conversation. Also makes the runner usable again after an error. ET_STATUS_INVALID_STATE during a call.
 */
ET_API et_status et_llm_reset(et_llm* llm, et_error** error);
/** Tokens in the context. Not during a call. */
ET_API int64_t et_llm_position(const et_llm* llm);

/** The prompt of a conversation by the chat template inside the program. `variables`: a JSON object,
 * {"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": true} and what else the template reads.
 * `*out` belongs to the runner and is valid until the next call. ET_STATUS_NOT_FOUND if the program has no template,
 * ET_STATUS_INVALID_ARGUMENT with line and column for JSON or a conversation that it refuses. */
ET_API et_status et_llm_apply_chat_template(et_llm* llm, const char* variables, const char** out, et_error** error);

/** Converts an answer to a message of the conversation, with its tool calls, which are found by the format of the
 * program's chat template: {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function":
 * {"name": "f", "arguments": {}}}]}; without "tool_calls" if there are none. `*out` as above. ET_STATUS_NOT_FOUND if
 * the program has no template, ET_STATUS_NOT_SUPPORTED if its format of tool calls is unknown,
 * ET_STATUS_INVALID_ARGUMENT for an incomplete call. (1.7) */
ET_API et_status et_llm_parse_tool_calls(et_llm* llm, const char* answer, const char** out, et_error** error);

/** Counts of the last generation, and times in milliseconds since the epoch; 0 for events that have not happened. */
typedef struct et_llm_stats {
  int64_t prompt_tokens;
  int64_t generated_tokens; /**< including the one that ended the answer */
  int64_t model_load_start_ms;
  int64_t model_load_end_ms;
  int64_t inference_start_ms;
  int64_t token_encode_end_ms;
  int64_t prompt_eval_end_ms; /**< the prompt is in the cache */
  int64_t first_token_ms;     /**< the first token is sampled */
  int64_t inference_end_ms;
  int64_t sampling_ms; /**< total time spent in sampling */
} et_llm_stats;
/** Fills `stats`; `size` is the caller's sizeof(et_llm_stats). Not during a call. */
ET_API et_status et_llm_get_stats(const et_llm* llm, et_llm_stats* stats, size_t size, et_error** error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* EXECUTORCH_EXTENSION_C_API_LLM_H_ */
