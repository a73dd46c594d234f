// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch.extension.llm

/**
 * Receives the answer of a language model, in the thread that called `generate`. It may call [LlmModule.stop] and no
 * other function of the module.
 */
public fun interface LlmCallback {
  /** A piece of the answer: whole characters, usually of one token. */
  public fun onResult(result: String)

  /**
   * Called once after the answer.
   *
   * @param stats a JSON object of counts, `prompt_tokens` and `generated_tokens`, and of times in milliseconds since the
   *   epoch, such as `inference_start_ms`, `first_token_ms` and `inference_end_ms`.
   */
  public fun onStats(stats: String) {}

  /** Called before `generate` throws a failure of the runtime, with its code and message. */
  public fun onError(errorCode: Int, message: String) {}
}
