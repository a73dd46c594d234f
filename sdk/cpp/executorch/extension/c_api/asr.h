/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The part of the C interface for speech recognition. executorch.h has the rules on errors and ownership, and does
 * not include this header. Since version 1.7. In libraries built without EXECUTORCH_BUILD_EXTENSION_ASR_RUNNER the
 * functions return ET_STATUS_NOT_SUPPORTED with a message.
 *
 * Threads. A runner makes one call at a time: a concurrent one returns ET_STATUS_INVALID_STATE. et_asr_stop may be
 * called from any thread, the callback included.
 */
#ifndef EXECUTORCH_EXTENSION_C_API_ASR_H_
#define EXECUTORCH_EXTENSION_C_API_ASR_H_

#include "executorch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whether the library was built with EXECUTORCH_BUILD_EXTENSION_ASR_RUNNER. */
ET_API bool et_has_asr(void);

/** A model of speech with an encoder, a decoder and a tokenizer, as Whisper has. */
typedef struct et_asr et_asr;
/** Loads a program and its tokenizer. `tokenizer_path`: as in et_llm_load_file; NULL: the tokenizer inside the program.
 * `preprocessor_path`: a program whose method "forward" computes the encoder's input from samples; NULL: the program's
 * method "preprocessor" or, if it has none, an encoder that takes samples. `options` may be NULL; only the load
 * mode and the data files are used. */
ET_API et_status et_asr_load_file(const char* path, const char* tokenizer_path, const char* preprocessor_path,
                                  const et_options* options, et_asr** out, et_error** error);
ET_API void et_asr_free(et_asr* asr);
/** The sampling rate of the model, in samples per second. */
ET_API et_status et_asr_sampling_rate(et_asr* asr, int32_t* out, et_error** error);
/** The number of a token of the tokenizer, such as "<|en|>". ET_STATUS_NOT_FOUND if it does not have it. */
ET_API et_status et_asr_token_id(et_asr* asr, const char* token, int64_t* out, et_error** error);

/** The settings of a transcription. */
typedef struct et_asr_config et_asr_config;
/** The settings that the program of `asr` names, and the defaults: 128 new tokens a window and temperature 0. */
ET_API et_status et_asr_config_create(et_asr* asr, et_asr_config** out, et_error** error);
/** Sets "max_new_tokens" (of a window of sound) or "decoder_start_token_id". Unknown names are an error; values are
 * checked when a transcription starts. */
ET_API et_status et_asr_config_set_int(et_asr_config* config, const char* name, int64_t value, et_error** error);
/** Sets "word_times": whether et_asr_segments_file and et_asr_segments_samples also find the times of words. */
ET_API et_status et_asr_config_set_bool(et_asr_config* config, const char* name, bool value, et_error** error);
/** Sets "temperature" (0: the likeliest token). */
ET_API et_status et_asr_config_set_double(et_asr_config* config, const char* name, double value, et_error** error);
/** Sets `count` tokens: "prompt_token_ids" (which the model is given after the start token, such as a language and a
 * task), "suppress_token_ids" (never generated), "begin_suppress_token_ids" (not generated as the first token) or
 * "eos_token_ids" (which end the text). */
ET_API et_status et_asr_config_set_tokens(et_asr_config* config, const char* name, const int64_t* tokens, size_t count,
                                          et_error** error);
ET_API void et_asr_config_free(et_asr_config* config);

/** Receives a piece of the text: `size` bytes of whole UTF-8 characters, and a NUL. They are valid until the function
 * returns. False ends the transcription, as et_asr_stop does. */
typedef bool (*et_asr_text)(const char* text, size_t size, void* context);
/** Transcribes a WAV file, in windows of the model's input length. `config` may be NULL (the program's settings), and
 * so may `text`. ET_STATUS_ACCESS_FAILED for a file that cannot be read, ET_STATUS_INVALID_EXTERNAL_DATA for one that
 * is cut or of another format, ET_STATUS_INVALID_ARGUMENT for another sampling rate and for settings that cannot be
 * used, ET_STATUS_NOT_SUPPORTED without a preprocessor. */
ET_API et_status et_asr_transcribe_file(et_asr* asr, const char* wav_path, const et_asr_config* config,
                                        et_asr_text text, void* context, et_error** error);
/** The same for `count` samples from -1 to 1. */
ET_API et_status et_asr_transcribe_samples(et_asr* asr, const float* samples, size_t count, const et_asr_config* config,
                                           et_asr_text text, void* context, et_error** error);

/** A word, with the space before it, and its times, in seconds from the beginning of the sound. `text`: `text_size`
 * bytes of UTF-8, which may include NUL, and a NUL. */
typedef struct et_asr_word {
  double start;
  double end;
  const char* text;
  size_t text_size;
} et_asr_word;
/** A part of a text, such as a sentence, and its times. `words`: with "word_times", its words. */
typedef struct et_asr_segment {
  double start;
  double end;
  const char* text;
  size_t text_size;
  const et_asr_word* words;
  size_t word_count;
} et_asr_segment;
/** Receives a part of the text, which is valid until the function returns. False ends the transcription. */
typedef bool (*et_asr_segment_callback)(const et_asr_segment* segment, void* context);
/** Transcribes a WAV file in parts with their times. A window begins where the last complete part of the previous
 * window ends, so that no word is cut. `segment` may be NULL. Errors as those of et_asr_transcribe_file;
 * ET_STATUS_NOT_SUPPORTED, too, for a program that names no tokens for timestamps, or cannot find times of words;
 * ET_STATUS_INVALID_ARGUMENT if "max_new_tokens" cuts a text before its first time after 0. */
ET_API et_status et_asr_segments_file(et_asr* asr, const char* wav_path, const et_asr_config* config,
                                      et_asr_segment_callback segment, void* context, et_error** error);
/** The same for `count` samples from -1 to 1. */
ET_API et_status et_asr_segments_samples(et_asr* asr, const float* samples, size_t count, const et_asr_config* config,
                                         et_asr_segment_callback segment, void* context, et_error** error);
/** Sets `*token` to the most likely language in the first window of `count` samples, for the beginning of
 * "prompt_token_ids", and `*probability`, which may be NULL, to its probability among the languages of the model.
 * ET_STATUS_NOT_SUPPORTED if the program names no languages. */
ET_API et_status et_asr_detect_language(et_asr* asr, const float* samples, size_t count, int64_t* token,
                                        double* probability, et_error** error);
/** Ends the current transcription after the current token, without an error. Has no effect when nothing runs. */
ET_API void et_asr_stop(et_asr* asr);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* EXECUTORCH_EXTENSION_C_API_ASR_H_ */
