// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch.extension.llm

import java.io.Closeable
import java.nio.ByteBuffer
import java.nio.ByteOrder
import org.pytorch.executorch.ExecuTorchRuntime
import org.pytorch.executorch.ExecutorchException
import org.pytorch.executorch.ExecutorchRuntimeException
import org.pytorch.executorch.Module
import org.pytorch.executorch.Native
import org.pytorch.executorch.NativeModel

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
 * [IllegalStateException] in it. After [close], all functions but [close] and [stop] throw this exception. If a program
 * takes no pictures or sound, functions for these throw [ExecutorchException.NotSupported] and keep the context. A
 * library without language models throws that too: `EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=ON scripts/build_android_library.sh` builds one with them.
 */
public class LlmModule private constructor(private val config: LlmModuleConfig, private val dataFiles: List<String>) :
  Closeable {
  private val nativeModel = NativeModel(config.modulePath, ::open) { Native.llmFree(it) }

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
  public fun load(): Int = nativeModel.use { ExecutorchRuntimeException.OK }

  /**
   * Continues the conversation by [prompt] and by the model's answer, which the callback receives.
   *
   * @param seqLen the most tokens of prompt and answer together.
   * @param echo whether the callback receives the prompt first.
   * @return 0. Failures are exceptions. Settings or a prompt that cannot be used, such as a prompt that is too long for
   *   the context, are an [ExecutorchRuntimeException.ExecutorchInvalidArgumentException] and leave the conversation as
   *   it was. After a failure of the model itself, later calls may fail until [resetContext].
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
  ): Int = generate(prompt, configOf(seqLen, echo, temperature, numBos, numEos), llmCallback)

  /** The same, with all settings. */
  public fun generate(prompt: String, config: LlmGenerationConfig, llmCallback: LlmCallback): Int =
    answer(null, IntArray(3), prompt, config, llmCallback)

  private fun answer(image: ByteArray?, sizes: IntArray, prompt: String, config: LlmGenerationConfig, llmCallback: LlmCallback): Int {
    val receiver =
      object : Native.Receiver {
        override fun receive(text: ByteArray): Boolean {
          if (!config.isWarming) llmCallback.onResult(String(text, Charsets.UTF_8))
          return true
        }
      }
    reporting(llmCallback) {
      nativeModel.use { model ->
        val settings =
          mapOf(
            "max_new_tokens" to config.maxNewTokens,
            "seq_len" to config.seqLen,
            "num_bos" to config.numBos,
            "num_eos" to config.numEos,
            "echo" to if (config.isEcho) 1 else 0,
            "lookup_tokens" to config.lookupTokens,
            "draft_tokens" to config.draftTokens,
          )
        val names = settings.keys.map { it.toByteArray() }.toTypedArray()
        val values = settings.values.map { it.toLong() }.toLongArray()
        val grammar = arrayOf(config.grammar.toByteArray(), config.grammarType.toByteArray())
        val temperature = config.temperature.toDouble()
        Native.llmGenerate(model, image, sizes, prompt.toByteArray(), names, values, temperature, grammar, receiver)
        if (!config.isWarming) llmCallback.onStats(statsOf(model))
      }
    }
    return ExecutorchRuntimeException.OK
  }

  /**
   * [generate] with a picture before the prompt: [channels] planes of [height] rows of [width] numbers from 0 to 255. With
   * null, or no pixels, it acts as [generate] without a picture. The picture's tokens count as those of the prompt. A picture or
   * prompt that cannot be used leaves the conversation as it was.
   */
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
  ): Int =
    generate(image, width, height, channels, prompt, seqLen, llmCallback, echo, config.temperature, config.numBos, config.numEos)

  public fun generate(
    image: IntArray?,
    width: Int,
    height: Int,
    channels: Int,
    prompt: String,
    seqLen: Int,
    llmCallback: LlmCallback,
    echo: Boolean,
    temperature: Float,
    numBos: Int,
    numEos: Int,
  ): Int {
    val pixels = if (image != null && image.isNotEmpty()) bytesOf(image) else null
    val config = configOf(seqLen, echo, temperature, numBos, numEos)
    return answer(pixels, intArrayOf(width, height, channels), prompt, config, llmCallback)
  }

  /** Adds text to the context without an answer. Returns the number of tokens in the context. */
  public fun prefillPrompt(prompt: String): Long = prefill { Native.llmPrefill(it, prompt.toByteArray()) }

  /**
   * Adds a picture to the context, of the size that the program takes: [channels] planes of [height] rows of [width]
   * numbers from 0 to 255. Returns the number of tokens in the context, of which a picture has several.
   *
   * @throws ExecutorchException.NotSupported for a program without pictures. The context is then as before.
   */
  public fun prefillImages(image: IntArray, width: Int, height: Int, channels: Int): Long {
    val pixels = bytesOf(image)
    return prefill { Native.llmPrefillMedia(it, INPUT_IMAGE, intArrayOf(width, height, channels), pixels) }
  }

  /** The same for numbers that the caller has normalised, as the image processor of the model in transformers does. */
  public fun prefillImages(image: FloatArray, width: Int, height: Int, channels: Int): Long = prefill {
    Native.llmPrefillMedia(it, INPUT_NORMALIZED_IMAGE, intArrayOf(width, height, channels), image)
  }

  /** The same for the bytes of a direct buffer, from its start, which are read in place. */
  public fun prefillImages(image: ByteBuffer, width: Int, height: Int, channels: Int): Long {
    checkDirect(image)
    return prefill { Native.llmPrefillMedia(it, INPUT_IMAGE, intArrayOf(width, height, channels), image) }
  }

  /** The same for floats that are normalised, in a direct buffer in native byte order. */
  public fun prefillNormalizedImage(image: ByteBuffer, width: Int, height: Int, channels: Int): Long {
    checkDirect(image)
    require(image.order() == ByteOrder.nativeOrder()) { "expected a buffer in native byte order" }
    return prefill { Native.llmPrefillMedia(it, INPUT_NORMALIZED_IMAGE, intArrayOf(width, height, channels), image) }
  }

  /**
   * Adds sound to the context: [batchSize] windows of features, each [nBins] rows of [nFrames] bytes, for a program whose
   * encoder takes whole numbers. Results and exceptions are those of [prefillImages].
   */
  public fun prefillAudio(audio: ByteArray, batchSize: Int, nBins: Int, nFrames: Int): Long = prefill {
    Native.llmPrefillMedia(it, INPUT_AUDIO_BYTES, intArrayOf(batchSize, nBins, nFrames), audio)
  }

  /** The same for features that are floats. */
  public fun prefillAudio(audio: FloatArray, batchSize: Int, nBins: Int, nFrames: Int): Long = prefill {
    Native.llmPrefillMedia(it, INPUT_AUDIO, intArrayOf(batchSize, nBins, nFrames), audio)
  }

  /**
   * The same for samples, [batchSize] x [nChannels] x [nSamples], for a program that computes the features itself. A
   * sample of one byte is an unsigned number around 128, of two bytes a signed number, of four bytes a float, in native
   * byte order. Channels are averaged.
   */
  public fun prefillRawAudio(audio: ByteArray, batchSize: Int, nChannels: Int, nSamples: Int): Long = prefill {
    Native.llmPrefillMedia(it, INPUT_RAW_AUDIO, intArrayOf(batchSize, nChannels, nSamples), audio)
  }

  /**
   * The prompt of a conversation, by the chat template inside the program.
   *
   * @param variables a JSON object: `{"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": true}`.
   * @throws ExecutorchException.NotFound if the program has no template.
   */
  public fun applyChatTemplate(variables: String): String = nativeModel.use {
    String(Native.llmApplyChatTemplate(it, variables.toByteArray())!!, Charsets.UTF_8)
  }

  /**
   * An answer as a message of the conversation, with the calls of tools that it has: a JSON object `{"role":
   * "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {}}}]}`,
   * without `tool_calls` if there are none.
   *
   * @throws ExecutorchException.NotFound if the program has no chat template.
   * @throws ExecutorchException.NotSupported if the template has no known form of calls.
   */
  public fun parseToolCalls(answer: String): String = nativeModel.use {
    String(Native.llmParseToolCalls(it, answer.toByteArray())!!, Charsets.UTF_8)
  }

  /**
   * Lets [draft], a smaller model of the same vocabulary, draft tokens for this one; drafts change no answer. See
   * [LlmGenerationConfig.draftTokens]. This module owns the model of [draft] from now on, and [draft] is closed, unless
   * the function throws.
   */
  public fun setDraft(draft: LlmModule) {
    require(draft !== this) { "a model cannot draft for itself: load a smaller one" }
    nativeModel.use { model -> draft.nativeModel.giveAway { Native.llmSetDraft(model, it) } }
  }

  /** Writes the conversation so far to a file. */
  public fun saveSession(path: String): Unit = nativeModel.use { Native.llmSaveSession(it, path.toByteArray()) }

  /**
   * Loads a conversation that [saveSession] wrote for the same program.
   *
   * @throws ExecutorchRuntimeException for a file that is cut, changed or of another program. The conversation is then as
   *   before.
   */
  public fun loadSession(path: String): Unit = nativeModel.use { Native.llmLoadSession(it, path.toByteArray()) }

  /** Ends the current answer after the current token. May be called from any thread, also from the callback. */
  public fun stop(): Unit = nativeModel.meanwhile { Native.llmStop(it) }

  /** Begins a new conversation. Also makes the module usable again after a failure. */
  public fun resetContext(): Unit = nativeModel.use { Native.llmReset(it) }

  /** [close]. */
  @Deprecated("The module is freed by close().", ReplaceWith("close()"))
  public fun resetNative(): Unit = close()

  /**
   * Frees the model. Calling it again has no effect.
   *
   * @throws IllegalStateException if the model is running in this or another thread.
   */
  override fun close(): Unit = nativeModel.close()

  private fun configOf(seqLen: Int, echo: Boolean, temperature: Float, numBos: Int, numEos: Int): LlmGenerationConfig =
    LlmGenerationConfig.create().seqLen(seqLen).echo(echo).temperature(temperature).numBos(numBos).numEos(numEos).build()

  private inline fun reporting(llmCallback: LlmCallback, block: () -> Unit) {
    try {
      block()
    } catch (e: ExecutorchRuntimeException) {
      llmCallback.onError(e.errorCode, e.message!!)
      throw e
    }
  }

  /** Runs [block], which adds to the context. Returns the number of tokens in it. */
  private inline fun prefill(crossinline block: (Long) -> Unit): Long = nativeModel.use { model ->
    block(model)
    Native.llmPosition(model)
  }

  private fun open(): Long {
    val paths = Array(dataFiles.size) { dataFiles[it].toByteArray() }
    val (program, tokenizer) = listOf(config.modulePath, config.tokenizerPath).map { it.toByteArray() }
    return Native.llmLoad(program, tokenizer, paths, config.loadMode, NativeModel.noOptions)
  }

  private fun statsOf(model: Long): String {
    val numbers = Native.llmStats(model)
    val fields = STATS.indices.map { "\"${STATS[it]}\":${numbers[it]}" }
    return fields.joinToString(",", "{", ",\"SCALING_FACTOR_UNITS_PER_SECOND\":1000}")
  }

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
