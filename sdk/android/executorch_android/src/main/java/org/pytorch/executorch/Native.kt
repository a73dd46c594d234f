// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.nio.Buffer
import java.nio.ByteBuffer

/**
 * The functions of libexecutorch.so, registered when it is loaded: sdk/android/jni. Texts are UTF-8. Functions that fail
 * throw [ExecutorchRuntimeException].
 */
internal object Native {
  @Volatile
  var isLoaded = false
    private set

  init {
    System.loadLibrary("executorch")
    isLoaded = true
  }

  /** Loads the library: a call runs the class initializer, which does so. */
  fun load() = Unit

  @JvmStatic
  external fun loadFile(path: ByteArray, dataPaths: Array<ByteArray>, loadMode: Int, options: Array<Any>): Long

  /** @param bytes a direct buffer, from its start to its capacity; kept until the module is freed. */
  @JvmStatic
  external fun loadBuffer(bytes: ByteBuffer, dataPaths: Array<ByteArray>, loadMode: Int, options: Array<Any>): Long

  @JvmStatic
  external fun loadDescriptor(
    descriptor: Int,
    offset: Long,
    length: Long,
    dataPaths: Array<ByteArray>,
    loadMode: Int,
    options: Array<Any>,
  ): Long

  @JvmStatic external fun freeModule(module: Long)

  @JvmStatic external fun loadMethod(module: Long, method: ByteArray)

  @JvmStatic external fun methods(module: Long): Array<ByteArray>

  @JvmStatic external fun methodBackends(module: Long, method: ByteArray): Array<ByteArray>

  /** See [ValueMetadata.read]. */
  @JvmStatic external fun methodValues(module: Long, method: ByteArray, outputs: Boolean): LongArray

  /** Tensors among the outputs refer to the module's memory. [run] owns the native result: the call sets `run.result`. */
  @JvmStatic
  external fun execute(
    module: Long,
    method: ByteArray,
    inputs: Array<out EValue>,
    run: Run,
    cancellation: Long,
  ): Array<EValue>

  /** The outputs as they are in memory now, without a run. */
  @JvmStatic external fun outputs(module: Long, method: ByteArray, run: Run): Array<EValue>

  @JvmStatic external fun newCancellation(): Long

  @JvmStatic external fun cancel(cancellation: Long)

  @JvmStatic external fun freeCancellation(cancellation: Long)

  @JvmStatic
  external fun loadBundledFile(path: ByteArray, dataPaths: Array<ByteArray>, loadMode: Int, options: Array<Any>): Long

  @JvmStatic external fun bundledCaseCount(module: Long, method: ByteArray): Int

  /** Like [execute], with the inputs of test case [index]. */
  @JvmStatic external fun executeBundled(module: Long, method: ByteArray, index: Int, run: Run): Array<EValue>

  @JvmStatic external fun verifyBundled(module: Long, method: ByteArray, index: Int, rtol: Double, atol: Double)

  /** Empty if nothing ran. Only called if [recordsEvents]. */
  @JvmStatic external fun takeEtdump(module: Long): ByteArray?

  /** Whether modules record ETDumps. */
  @JvmStatic external fun recordsEvents(): Boolean

  @JvmStatic external fun freeResult(result: Long)

  /**
   * Writes an image to a FLOAT tensor of the shape 1, 3, height, width. The order of the numbers is that of
   * ImageProcessor.numbers().
   */
  @JvmStatic
  external fun imageToTensor(lengths: IntArray, factors: FloatArray, pixels: ByteBuffer, chroma: ByteBuffer?, out: Buffer)

  /** Columns to the left and rows above. */
  @JvmStatic external fun imagePadding(lengths: IntArray, factors: FloatArray): IntArray

  /** Receives text in UTF-8, in the thread that called. False ends the text. */
  interface Receiver {
    fun receive(text: ByteArray): Boolean
  }

  /** Receives a part of a text with times, in the thread that called. False ends the text. */
  interface SegmentReceiver {
    /** @param times the start and the end of each word. */
    fun receive(start: Double, end: Double, text: ByteArray, times: DoubleArray, words: Array<ByteArray>): Boolean
  }

  /** Whether this library can run language models. */
  @JvmStatic external fun hasLlm(): Boolean

  /** @param tokenizerPath null: the tokenizer inside the program. */
  @JvmStatic
  external fun llmLoad(
    path: ByteArray,
    tokenizerPath: ByteArray?,
    dataPaths: Array<ByteArray>,
    loadMode: Int,
    options: Array<Any>,
  ): Long

  /**
   * @param image the bytes of a picture before [prompt], with its width, height and channels; null: none.
   * @param names settings of et_llm_config_set_int, with their [values].
   * @param grammar settings of et_llm_config_set_string: the grammar and its type.
   */
  @JvmStatic
  external fun llmGenerate(
    llm: Long,
    image: ByteArray?,
    sizes: IntArray,
    prompt: ByteArray,
    names: Array<ByteArray>,
    values: LongArray,
    temperature: Double,
    grammar: Array<ByteArray>,
    receiver: Receiver,
  )

  @JvmStatic external fun llmPrefill(llm: Long, prompt: ByteArray)

  /**
   * Adds a picture or sound to the context: the bytes or floats of an array, or the bytes of a direct buffer.
   *
   * @param type a number of et_llm_input_type, with three [sizes].
   */
  @JvmStatic external fun llmPrefillMedia(llm: Long, type: Int, sizes: IntArray, numbers: ByteArray)

  @JvmStatic external fun llmPrefillMedia(llm: Long, type: Int, sizes: IntArray, numbers: FloatArray)

  @JvmStatic external fun llmPrefillMedia(llm: Long, type: Int, sizes: IntArray, numbers: ByteBuffer)

  /** Frees [draft], unless it throws. */
  @JvmStatic external fun llmSetDraft(llm: Long, draft: Long)

  @JvmStatic external fun llmSaveSession(llm: Long, path: ByteArray)

  @JvmStatic external fun llmLoadSession(llm: Long, path: ByteArray)

  @JvmStatic external fun llmStop(llm: Long)

  @JvmStatic external fun llmReset(llm: Long)

  /** Tokens in the context. */
  @JvmStatic external fun llmPosition(llm: Long): Long

  /** The numbers of et_llm_stats, in its order. */
  @JvmStatic external fun llmStats(llm: Long): LongArray

  /** @param variables a JSON object. */
  @JvmStatic external fun llmApplyChatTemplate(llm: Long, variables: ByteArray): ByteArray?

  /** @return a message as a JSON object. */
  @JvmStatic external fun llmParseToolCalls(llm: Long, answer: ByteArray): ByteArray?

  @JvmStatic external fun llmFree(llm: Long)

  /** Whether this library can run models of speech. */
  @JvmStatic external fun hasAsr(): Boolean

  /**
   * @param tokenizerPath null: the tokenizer inside the program.
   * @param preprocessorPath null: none beside the program.
   */
  @JvmStatic
  external fun asrLoad(
    path: ByteArray,
    tokenizerPath: ByteArray?,
    preprocessorPath: ByteArray?,
    dataPaths: Array<ByteArray>,
    loadMode: Int,
    options: Array<Any>,
  ): Long

  /**
   * @param startToken 0: that of the program.
   * @param prompt null: that of the program.
   */
  @JvmStatic
  external fun asrTranscribe(
    asr: Long,
    wavPath: ByteArray,
    maxNewTokens: Long,
    temperature: Double,
    startToken: Long,
    prompt: LongArray?,
    receiver: Receiver,
  )

  @JvmStatic
  external fun asrTranscribe(
    asr: Long,
    samples: FloatArray,
    maxNewTokens: Long,
    temperature: Double,
    startToken: Long,
    prompt: LongArray?,
    receiver: Receiver,
  )

  /** As [asrTranscribe], in parts with their times. */
  @JvmStatic
  external fun asrSegments(
    asr: Long,
    wavPath: ByteArray,
    maxNewTokens: Long,
    temperature: Double,
    startToken: Long,
    prompt: LongArray?,
    wordTimes: Boolean,
    receiver: SegmentReceiver,
  )

  @JvmStatic
  external fun asrSegments(
    asr: Long,
    samples: FloatArray,
    maxNewTokens: Long,
    temperature: Double,
    startToken: Long,
    prompt: LongArray?,
    wordTimes: Boolean,
    receiver: SegmentReceiver,
  )

  @JvmStatic external fun asrSamplingRate(asr: Long): Int

  @JvmStatic external fun asrTokenId(asr: Long, token: ByteArray): Long

  @JvmStatic external fun asrDetectLanguage(asr: Long, samples: FloatArray): Long

  @JvmStatic external fun asrStop(asr: Long)

  @JvmStatic external fun asrFree(asr: Long)

  /** @param count 0: one for each fast core. */
  @JvmStatic external fun setThreadCount(count: Int)

  @JvmStatic external fun threadCount(): Int

  @JvmStatic external fun operators(): Array<ByteArray>

  @JvmStatic external fun backends(): Array<ByteArray>

  @JvmStatic external fun readLog(): Array<ByteArray>
}
