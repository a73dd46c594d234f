// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch.extension.llm

import java.io.Closeable
import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.withLock
import org.pytorch.executorch.ExecuTorchRuntime
import org.pytorch.executorch.ExecutorchException
import org.pytorch.executorch.ExecutorchRuntimeException
import org.pytorch.executorch.Module
import org.pytorch.executorch.Native
import org.pytorch.executorch.Reaper

/**
 * A language model with its tokenizer, and the conversation so far as its context.
 *
 *     LlmModule(program, tokenizer, 0.8f).use { model ->
 *       model.generate("Once upon a time", 64, { text -> print(text) }, false)
 *     }
 *
 * Functions may be called from any thread and take turns; they take as long as the model does, so on Android call them
 * off the main thread, or collect [generateFlow][org.pytorch.executorch.extension.llm.generateFlow]. The program is
 * loaded by [load] or the first call that needs it. A callback may only call [stop]: other functions throw an
 * [IllegalStateException] in it, as all but [close] do after [close]. Models that read images or sound are not
 * supported; functions that take them throw [ExecutorchException.NotSupported]. A library without language models throws
 * that too: `EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=ON scripts/build_android_library.sh` builds one with them.
 */
public class LlmModule private constructor(private val config: LlmModuleConfig, private val dataFiles: List<String>) :
  Closeable {
  private val lock = ReentrantLock()
  @Volatile private var isClosed = false
  @Volatile private var handle = 0L
  private var reaper: Reaper.Task? = null

  init {
    ExecuTorchRuntime.validateFilePath(config.modulePath, "model")
    ExecuTorchRuntime.validateFilePath(config.tokenizerPath, "tokenizer")
    dataFiles.forEach { ExecuTorchRuntime.validateFilePath(it, "data file") }
    require(config.modelType == MODEL_TYPE_TEXT || config.modelType == MODEL_TYPE_MULTIMODAL) {
      "expected one of the constants LlmModule.MODEL_TYPE_*, found ${config.modelType}"
    }
    require(config.loadMode in Module.LOAD_MODE_FILE..Module.LOAD_MODE_MMAP_USE_MLOCK_IGNORE_ERRORS) {
      "expected one of the constants Module.LOAD_MODE_*, from 0 to 3; found ${config.loadMode}"
    }
  }

  public constructor(config: LlmModuleConfig) : this(config, listOfNotNull(config.dataPath))

  public constructor(
    modulePath: String,
    tokenizerPath: String,
    temperature: Float,
  ) : this(MODEL_TYPE_TEXT, modulePath, tokenizerPath, temperature, emptyList())

  public constructor(
    modulePath: String,
    tokenizerPath: String,
    temperature: Float,
    dataPath: String,
  ) : this(MODEL_TYPE_TEXT, modulePath, tokenizerPath, temperature, listOf(dataPath))

  public constructor(
    modelType: Int,
    modulePath: String,
    tokenizerPath: String,
    temperature: Float,
  ) : this(modelType, modulePath, tokenizerPath, temperature, emptyList())

  @JvmOverloads
  public constructor(
    modelType: Int,
    modulePath: String,
    tokenizerPath: String,
    temperature: Float,
    dataPath: String?,
    numBos: Int = 0,
    numEos: Int = 0,
  ) : this(modelType, modulePath, tokenizerPath, temperature, listOfNotNull(dataPath), numBos, numEos)

  @JvmOverloads
  public constructor(
    modelType: Int,
    modulePath: String,
    tokenizerPath: String,
    temperature: Float,
    dataFiles: List<String>,
    numBos: Int = 0,
    numEos: Int = 0,
  ) : this(
    LlmModuleConfig.create()
      .modulePath(modulePath)
      .tokenizerPath(tokenizerPath)
      .temperature(temperature)
      .modelType(modelType)
      .numBos(numBos)
      .numEos(numEos)
      .build(),
    dataFiles,
  )

  /** Loads the program and the tokenizer, so that the first answer need not. Returns 0; failures are exceptions. */
  public fun load(): Int = exclusively { ExecutorchRuntimeException.OK }

  /**
   * Continues the conversation by [prompt] and by the model's answer, which the callback receives.
   *
   * @param seqLen the most tokens of prompt and answer together.
   * @param echo whether the callback receives the prompt first.
   * @return 0; failures are exceptions, among them [ExecutorchRuntimeException.ExecutorchInvalidArgumentException] for a
   *   prompt that is too long for the context. After a failure call [resetContext].
   */
  @JvmOverloads
  public fun generate(prompt: String, seqLen: Int, llmCallback: LlmCallback, echo: Boolean = true): Int =
    generate(prompt, seqLen, llmCallback, echo, config.temperature, config.numBos, config.numEos)

  @JvmOverloads
  public fun generate(prompt: String, llmCallback: LlmCallback, echo: Boolean = true): Int =
    generate(prompt, DEFAULT_SEQ_LEN, llmCallback, echo)

  public fun generate(
    prompt: String,
    seqLen: Int,
    llmCallback: LlmCallback,
    echo: Boolean,
    temperature: Float,
    numBos: Int,
    numEos: Int,
  ): Int =
    generate(
      prompt,
      LlmGenerationConfig.create().seqLen(seqLen).echo(echo).temperature(temperature).numBos(numBos).numEos(numEos).build(),
      llmCallback,
    )

  /** The same, with all settings. */
  public fun generate(prompt: String, config: LlmGenerationConfig, llmCallback: LlmCallback): Int {
    val receiver =
      object : Native.Receiver {
        override fun receive(text: ByteArray): Boolean {
          if (!config.isWarming) llmCallback.onResult(String(text, Charsets.UTF_8))
          return true
        }
      }
    try {
      exclusively { model ->
        val settings =
          mapOf(
            "max_new_tokens" to config.maxNewTokens,
            "seq_len" to config.seqLen,
            "num_bos" to config.numBos,
            "num_eos" to config.numEos,
            "echo" to if (config.isEcho) 1 else 0,
          )
        val names = settings.keys.map { it.toByteArray() }.toTypedArray()
        val values = settings.values.map { it.toLong() }.toLongArray()
        val grammar = arrayOf(config.grammar.toByteArray(), config.grammarType.toByteArray())
        val temperature = config.temperature.toDouble()
        Native.llmGenerate(model, prompt.toByteArray(), names, values, temperature, grammar, receiver)
        if (!config.isWarming) llmCallback.onStats(statsOf(model))
      }
    } catch (e: ExecutorchRuntimeException) {
      llmCallback.onError(e.errorCode, e.message!!)
      throw e
    }
    return ExecutorchRuntimeException.OK
  }

  /** [generate] with an image before the prompt, which is not supported; without one it is the same as the others. */
  @JvmOverloads
  public fun generate(
    image: IntArray?,
    width: Int,
    height: Int,
    channels: Int,
    prompt: String,
    seqLen: Int,
    llmCallback: LlmCallback,
    echo: Boolean = true,
  ): Int {
    if (image != null && image.isNotEmpty()) noSuchInput("an image of $width by $height pixels and $channels channels")
    return generate(prompt, seqLen, llmCallback, echo)
  }

  /** Adds text to the context without an answer. Returns the number of tokens in the context. */
  public fun prefillPrompt(prompt: String): Long = exclusively { model ->
    Native.llmPrefill(model, prompt.toByteArray())
    Native.llmPosition(model)
  }

  /** Not supported, as are the other functions for images and sound: [ExecutorchException.NotSupported]. */
  public fun prefillImages(image: IntArray, width: Int, height: Int, channels: Int): Long =
    noSuchInput("${image.size} bytes of an image of $width by $height pixels and $channels channels")

  public fun prefillImages(image: FloatArray, width: Int, height: Int, channels: Int): Long =
    noSuchInput("${image.size} elements of an image of $width by $height pixels and $channels channels")

  public fun prefillAudio(audio: ByteArray, batchSize: Int, nBins: Int, nFrames: Int): Long =
    noSuchInput("${audio.size} bytes of sound in $batchSize by $nBins by $nFrames")

  public fun prefillAudio(audio: FloatArray, batchSize: Int, nBins: Int, nFrames: Int): Long =
    noSuchInput("${audio.size} elements of sound in $batchSize by $nBins by $nFrames")

  public fun prefillRawAudio(audio: ByteArray, batchSize: Int, nChannels: Int, nSamples: Int): Long =
    noSuchInput("${audio.size} bytes of sound in $batchSize by $nChannels by $nSamples")

  /**
   * The prompt of a conversation, by the chat template inside the program.
   *
   * @param variables a JSON object: `{"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": true}`.
   * @throws ExecutorchException.NotFound if the program has no template.
   */
  public fun applyChatTemplate(variables: String): String = exclusively {
    String(Native.llmApplyChatTemplate(it, variables.toByteArray())!!, Charsets.UTF_8)
  }

  /** Ends the current answer after the current token. May be called from any thread, also from the callback. */
  public fun stop() {
    // Not under the lock, which the thread that generates holds. `Synchronized` with close(), which frees the model.
    synchronized(this) { if (handle != 0L) Native.llmStop(handle) }
  }

  /** Begins a new conversation. Also makes the module usable again after a failure. */
  public fun resetContext(): Unit = exclusively { Native.llmReset(it) }

  /** [close]. */
  @Deprecated("The module is freed by close().", ReplaceWith("close()"))
  public fun resetNative(): Unit = close()

  /**
   * Frees the model. Calling it again has no effect.
   *
   * @throws IllegalStateException if the model is running in this or another thread.
   */
  override fun close() {
    check(lock.tryLock()) { "the model is in use by another thread: call stop(), and close it when the call has returned" }
    try {
      checkNotInCallback()
      isClosed = true
      synchronized(this) {
        handle = 0
        reaper?.run()
      }
    } finally {
      lock.unlock()
    }
  }

  private inline fun <T> exclusively(block: (Long) -> T): T =
    lock.withLock {
      checkNotInCallback()
      check(!isClosed) { "the module is closed" }
      ExecutorchException.withFile(config.modulePath) {
        if (handle == 0L) open()
        block(handle)
      }
    }

  private fun checkNotInCallback() {
    check(lock.holdCount == 1) { "the model is generating in this thread: a callback may call stop() and nothing else" }
  }

  private fun open() {
    val paths = Array(dataFiles.size) { dataFiles[it].toByteArray() }
    val noOptions = arrayOf<Any>(emptyArray<ByteArray>(), emptyArray<ByteArray>(), IntArray(0))
    val pointer =
      Native.llmLoad(config.modulePath.toByteArray(), config.tokenizerPath.toByteArray(), paths, config.loadMode, noOptions)
    handle = pointer
    reaper = Reaper.register(this) { Native.llmFree(pointer) }
  }

  private fun statsOf(model: Long): String {
    val numbers = Native.llmStats(model)
    val fields = STATS.indices.map { "\"${STATS[it]}\":${numbers[it]}" }
    return fields.joinToString(",", "{", ",\"SCALING_FACTOR_UNITS_PER_SECOND\":1000}")
  }

  private fun noSuchInput(found: String): Nothing =
    throw ExecutorchException.of(
      ExecutorchRuntimeException.NOT_SUPPORTED,
      "language models that read images or sound are not supported, found $found: pass text only",
    )

  public companion object {
    public const val MODEL_TYPE_TEXT: Int = 1
    public const val MODEL_TYPE_TEXT_VISION: Int = 2
    public const val MODEL_TYPE_MULTIMODAL: Int = 2

    private const val DEFAULT_SEQ_LEN = 128

    // The order of Native.llmStats.
    private val STATS =
      arrayOf(
        "prompt_tokens",
        "generated_tokens",
        "model_load_start_ms",
        "model_load_end_ms",
        "inference_start_ms",
        "token_encode_end_ms",
        "prompt_eval_end_ms",
        "first_token_ms",
        "inference_end_ms",
        "aggregate_sampling_time_ms",
      )

    /** Whether this library was built with language models. */
    @JvmStatic public fun isSupported(): Boolean = Native.hasLlm()
  }
}
