// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch.extension.asr

/**
 * Receives the text of speech, in the thread that called `transcribe`. It may call [AsrModule.stop] and no other function
 * of the module.
 */
public fun interface AsrCallback {
  /** A piece of the text: whole characters, usually of one token. */
  public fun onToken(token: String)

  /** Called before `transcribe` throws a failure of the runtime, with its code and message. */
  public fun onError(errorCode: Int, message: String) {}
}
