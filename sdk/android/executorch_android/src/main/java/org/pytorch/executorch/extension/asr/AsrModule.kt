// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch.extension.asr

import java.io.Closeable
import java.io.File
import org.pytorch.executorch.ExecuTorchRuntime
import org.pytorch.executorch.ExecutorchException
import org.pytorch.executorch.ExecutorchRuntimeException
import org.pytorch.executorch.Module
import org.pytorch.executorch.Native
import org.pytorch.executorch.NativeModel

/**
 * A model that transcribes speech, such as Whisper: `sdk asr export` makes its program.
 *
 *     AsrModule(program, null).use { model -> println(model.transcribe("speech.wav")) }
 *
 * Functions may be called from any thread and take turns; they take as long as the model does, so on Android call them
 * off the main thread, or collect [transcribeFlow][org.pytorch.executorch.extension.asr.transcribeFlow]. A callback may
 * only call [stop]: other functions throw an [IllegalStateException] in it. After [close], all functions but [close]
 * and [stop] throw this exception. A library without models of speech throws [ExecutorchException.NotSupported]:
 * `EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=ON scripts/build_android_library.sh` builds one with them.
 *
 * @param modelPath of the `.pte` file, with the methods `encoder` and `text_decoder`.
 * @param tokenizerPath of a `tokenizer.json`, `tokenizer.model` or `tokenizer.bin`, or of the folder that has the first;
 *   null: the tokenizer inside the program.
 * @param dataPath of a `.ptd` file with weights; null: none.
 * @param preprocessorPath of a program whose method `forward` makes the encoder's input of samples; null: the method
 *   `preprocessor` of the program, or without one, an encoder that takes samples.
 */
public class AsrModule
@JvmOverloads
constructor(
  private val modelPath: String,
  tokenizerPath: String?,
  private val dataPath: String? = null,
  private val preprocessorPath: String? = null,
) : Closeable {
  private val tokenizerPath =
    tokenizerPath?.let { path -> if (File(path).isDirectory) File(path, "tokenizer.json").path else path }
  private val nativeModel = NativeModel(modelPath, ::open) { Native.asrFree(it) }

  init {
    ExecuTorchRuntime.validateFilePath(modelPath, "model")
    this.tokenizerPath?.let { ExecuTorchRuntime.validateFilePath(it, "tokenizer") }
    dataPath?.let { ExecuTorchRuntime.validateFilePath(it, "data file") }
    preprocessorPath?.let { ExecuTorchRuntime.validateFilePath(it, "preprocessor") }
  }

  /** Whether the module is not closed. */
  public val isValid: Boolean
    get() = !nativeModel.isClosed

  /** Whether the program and the tokenizer are loaded. */
  public val isLoaded: Boolean
    get() = nativeModel.isLoaded

  /** The sampling rate that the model expects, in Hz. */
  public val samplingRate: Int
    get() = nativeModel.use { Native.asrSamplingRate(it) }

  /** Loads the program and the tokenizer, so that the first text need not. Returns 0; failures are exceptions. */
  public fun load(): Int = nativeModel.use { ExecutorchRuntimeException.OK }

  /**
   * The text of a WAV file with the model's sampling rate, whose channels are averaged. A long file is transcribed in windows
   * of as much sound as the model takes, each by itself.
   *
   * @param config null: the settings that the program names, and the defaults of [AsrTranscribeConfig].
   * @param callback receives the text in pieces, too.
   * @throws ExecutorchException for a file that is not a WAV file or has another rate, among others.
   */
  @JvmOverloads
  public fun transcribe(wavPath: String, config: AsrTranscribeConfig? = null, callback: AsrCallback? = null): String {
    ExecuTorchRuntime.validateFilePath(wavPath, "WAV file")
    return text(config, callback) { model, settings, receiver ->
      val (most, temperature, start) = settings
      Native.asrTranscribe(model, wavPath.toByteArray(), most, temperature.toDouble(), start, settings.prompt(), receiver)
    }
  }

  /** The same for samples from -1 to 1 of one channel, [samplingRate] a second. */
  @JvmOverloads
  public fun transcribe(samples: FloatArray, config: AsrTranscribeConfig? = null, callback: AsrCallback? = null): String =
    text(config, callback) { model, settings, receiver ->
      val (most, temperature, start) = settings
      Native.asrTranscribe(model, samples, most, temperature.toDouble(), start, settings.prompt(), receiver)
    }

  /**
   * The text of a WAV file in parts with their times. A window begins where the last complete part of the previous window
   * ends, so that no word is cut.
   *
   * @param callback receives each part, too.
   * @throws ExecutorchException as [transcribe], and for a program that names no tokens for timestamps, or that cannot
   *   find times of words although [AsrTranscribeConfig.wordTimes] is set.
   */
  @JvmOverloads
  public fun transcribeSegments(
    wavPath: String,
    config: AsrTranscribeConfig? = null,
    callback: AsrSegmentCallback? = null,
  ): List<AsrSegment> {
    ExecuTorchRuntime.validateFilePath(wavPath, "WAV file")
    return segments(config, callback) { model, settings, receiver ->
      val (most, temperature, start) = settings
      val prompt = settings.prompt()
      val path = wavPath.toByteArray()
      Native.asrSegments(model, path, most, temperature.toDouble(), start, prompt, settings.wordTimes, receiver)
    }
  }

  /** The same for samples from -1 to 1 of one channel, [samplingRate] a second. */
  @JvmOverloads
  public fun transcribeSegments(
    samples: FloatArray,
    config: AsrTranscribeConfig? = null,
    callback: AsrSegmentCallback? = null,
  ): List<AsrSegment> =
    segments(config, callback) { model, settings, receiver ->
      val (most, temperature, start) = settings
      val prompt = settings.prompt()
      Native.asrSegments(model, samples, most, temperature.toDouble(), start, prompt, settings.wordTimes, receiver)
    }

  /** The number of a token, such as `<|en|>`; null if the tokenizer does not have it. */
  public fun tokenId(token: String): Long? =
    try {
      nativeModel.use { Native.asrTokenId(it, token.toByteArray()) }
    } catch (e: ExecutorchException.NotFound) {
      null
    }

  /**
   * The token of the most likely language in the first window of samples, for the beginning of
   * [AsrTranscribeConfig.promptTokenIds]: [tokenId] of `<|de|>` for German.
   *
   * @throws ExecutorchException.NotSupported if the program names no languages.
   */
  public fun detectLanguage(samples: FloatArray): Long = nativeModel.use { Native.asrDetectLanguage(it, samples) }

  /** Ends the current transcription after the current token. May be called from any thread, also from the callback. */
  public fun stop(): Unit = nativeModel.meanwhile { Native.asrStop(it) }

  /**
   * Frees the model. Calling it again has no effect.
   *
   * @throws IllegalStateException if the model is running in this or another thread.
   */
  override fun close(): Unit = nativeModel.close()

  private fun text(
    config: AsrTranscribeConfig?,
    callback: AsrCallback?,
    transcribe: (Long, AsrTranscribeConfig, Native.Receiver) -> Unit,
  ): String {
    val found = StringBuilder()
    val receiver =
      object : Native.Receiver {
        override fun receive(text: ByteArray): Boolean {
          val piece = String(text, Charsets.UTF_8)
          found.append(piece)
          callback?.onToken(piece)
          return true
        }
      }
    try {
      nativeModel.use { transcribe(it, config ?: AsrTranscribeConfig(), receiver) }
    } catch (e: ExecutorchRuntimeException) {
      callback?.onError(e.errorCode, e.message!!)
      throw e
    }
    return found.toString()
  }

  private fun segments(
    config: AsrTranscribeConfig?,
    callback: AsrSegmentCallback?,
    transcribe: (Long, AsrTranscribeConfig, Native.SegmentReceiver) -> Unit,
  ): List<AsrSegment> {
    val found = mutableListOf<AsrSegment>()
    val receiver =
      object : Native.SegmentReceiver {
        override fun receive(
          start: Double,
          end: Double,
          text: ByteArray,
          times: DoubleArray,
          words: Array<ByteArray>,
        ): Boolean {
          val list = words.mapIndexed { i, word -> AsrWord(times[2 * i], times[2 * i + 1], String(word, Charsets.UTF_8)) }
          found += AsrSegment(start, end, String(text, Charsets.UTF_8), list)
          callback?.onSegment(found.last())
          return true
        }
      }
    nativeModel.use { transcribe(it, config ?: AsrTranscribeConfig(), receiver) }
    return found
  }

  private fun AsrTranscribeConfig.prompt(): LongArray? = promptTokenIds?.toLongArray()

  private fun open(): Long =
    Native.asrLoad(
      modelPath.toByteArray(),
      tokenizerPath?.toByteArray(),
      preprocessorPath?.toByteArray(),
      listOfNotNull(dataPath).map { it.toByteArray() }.toTypedArray(),
      Module.LOAD_MODE_MMAP,
      NativeModel.noOptions,
    )

  public companion object {
    /** Whether this library was built with models of speech. */
    @JvmStatic public fun isSupported(): Boolean = Native.hasAsr()
  }
}
