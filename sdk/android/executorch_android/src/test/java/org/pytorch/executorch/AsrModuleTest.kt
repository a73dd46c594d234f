// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.Locale
import kotlin.concurrent.thread
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assumptions.assumeTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout
import org.pytorch.executorch.extension.asr.AsrCallback
import org.pytorch.executorch.extension.asr.AsrModule
import org.pytorch.executorch.extension.asr.AsrSegment
import org.pytorch.executorch.extension.asr.AsrTranscribeConfig
import org.pytorch.executorch.extension.asr.transcribeFlow

/** Text from speech. tests/data/make_speech.py makes the programs and says what transformers makes of the sound. */
@Timeout(60)
internal class AsrModuleTest {
  private val folder = File(Corpus.root.parentFile, "speech")
  private val program = File(folder, "whisper.pte").path
  private val preprocessor = File(folder, "preprocessor.pte").path
  private val samples = FloatArray(16 * 200) { (it * 37 % 256) / 256f }
  private val few = AsrTranscribeConfig(maxNewTokens = 12)
  private val expected =
    File(folder, "whisper.expected").readLines()[0].split(" ").joinToString("") { (it.toInt() + 32).toChar().toString() }

  init {
    assumeTrue(AsrModule.isSupported(), "built without EXECUTORCH_BUILD_EXTENSION_ASR_RUNNER")
  }

  private fun <T> withModel(block: (AsrModule) -> T): T = AsrModule(program, null, null, preprocessor).use(block)

  /** A WAV file of float32 samples. */
  private fun wav(rate: Int = 16000): File {
    val bytes = ByteBuffer.allocate(44 + 4 * samples.size).order(ByteOrder.LITTLE_ENDIAN)
    bytes.put("RIFF".toByteArray()).putInt(36 + 4 * samples.size).put("WAVEfmt ".toByteArray()).putInt(16)
    bytes.putShort(3).putShort(1).putInt(rate).putInt(4 * rate).putShort(4).putShort(32)
    bytes.put("data".toByteArray()).putInt(4 * samples.size)
    samples.forEach(bytes::putFloat)
    return File.createTempFile("sound", ".wav").apply {
      deleteOnExit()
      writeBytes(bytes.array())
    }
  }

  private class Answer(private val onPiece: () -> Unit = {}) : AsrCallback {
    val pieces = mutableListOf<String>()
    val errors = mutableListOf<Pair<Int, String>>()

    override fun onToken(token: String) {
      pieces += token
      onPiece()
    }

    override fun onError(errorCode: Int, message: String) {
      errors += errorCode to message
    }
  }

  @Test
  fun theTextIsThatOfTransformers() = withModel { model ->
    assertTrue(model.isValid)
    assertFalse(model.isLoaded)
    assertEquals(0, model.load())
    assertTrue(model.isLoaded)
    assertEquals(16000, model.samplingRate)
    val answer = Answer()
    assertEquals(expected, model.transcribe(wav().path, few, answer))
    assertEquals(expected, answer.pieces.joinToString(""))
    assertEquals(expected, model.transcribe(samples, few))
    assertEquals(expected + expected, model.transcribe(samples + samples, few)) // two windows
    assertTrue(model.transcribe(wav().path).startsWith(expected)) // 128 tokens by default, or the model's context
  }

  @Test
  fun settingsChangeTheText() = withModel { model ->
    val built = AsrTranscribeConfig.Builder().setMaxNewTokens(3).setTemperature(0f).setDecoderStartTokenId(92).build()
    assertEquals(AsrTranscribeConfig(3, 0f, 92), built)
    assertEquals(expected.take(3), model.transcribe(samples, built))
    val english = model.tokenId("<en>")!!
    assertNull(model.tokenId("<|xx|>"))
    assertEquals(expected, model.transcribe(samples, few.copy(promptTokenIds = listOf(english))))
    assertTrue(expected != model.transcribe(samples, few.copy(promptTokenIds = emptyList())))
    assertTrue(expected != model.transcribe(samples, few.copy(decoderStartTokenId = 5)))
    for (words in listOf("maxNewTokens is 0", "temperature is -1")) {
      val error = assertFailsWith<IllegalArgumentException> {
        AsrTranscribeConfig.Builder().apply { if ("max" in words) setMaxNewTokens(0) else setTemperature(-1f) }
      }
      assertTrue(words in error.message!!, error.message)
    }
  }

  private fun line(kind: String, start: Double, end: Double, text: String): String =
    String.format(Locale.ROOT, "%s\t%.4f\t%.4f\t%s", kind, start, end, text)

  private fun lines(segments: List<AsrSegment>): List<String> =
    segments.flatMap { segment ->
      listOf(line("part", segment.start, segment.end, segment.text)) +
        segment.words.map { line("word", it.start, it.end, it.text) }
    }

  @Test
  fun partsAndWordsHaveTheTimesOfTransformers() =
    AsrModule(File(folder, "timed.pte").path, null, null, preprocessor).use { model ->
      val config = AsrTranscribeConfig.Builder().setMaxNewTokens(12).setWordTimes(true).build()
      val wanted = File(folder, "timed.expected").readLines()
      val given = mutableListOf<AsrSegment>()
      val found = model.transcribeSegments(samples, config, given::add)
      assertEquals(wanted, lines(found).take(wanted.size)) // those of the first window
      assertTrue(wanted.size > 1)
      assertEquals(found, given)
      assertEquals(found, model.transcribeSegments(wav().path, config))
      assertTrue(model.transcribeSegments(samples, config.copy(wordTimes = false)).all { it.words.isEmpty() })
      val stopped = mutableListOf<AsrSegment>()
      model.transcribeSegments(samples + samples, config) {
        stopped += it
        model.stop()
      }
      assertEquals(found.take(1), stopped)
      assertFailsWith<NumberFormatException> { model.transcribeSegments(samples, config) { "?".toInt() } }
    }

  @Test
  fun segmentsNeedTokensOfTimes() {
    val error = assertFailsWith<ExecutorchException.NotSupported> { withModel { it.transcribeSegments(samples) } }
    assertTrue("does not name its timestamp tokens" in error.message!!, error.message)
  }

  /** The encoder takes the samples themselves; each token is the previous token plus the sum of the samples. */
  @Test
  fun aModelWithoutAPreprocessor() = AsrModule(File(folder, "samples.pte").path, null).use { model ->
    val sound = FloatArray(2000).apply { this[1999] = 3f }
    assertEquals("#&),", model.transcribe(sound, AsrTranscribeConfig(4)))
  }

  @Test
  fun theCallbackAndOtherThreadsStopIt() = withModel { model ->
    val answer = Answer { model.stop() }
    model.transcribe(samples, few, answer)
    assertTrue(answer.pieces.size <= 2)
    val other = Answer { thread { model.stop() }.join() }
    model.transcribe(samples, few, other)
    assertTrue(other.pieces.size <= 2)
    for (call in listOf<() -> Any>(model::load, model::close, { model.tokenId("a") ?: 0 }, { model.transcribe(samples) })) {
      val error = assertFailsWith<IllegalStateException> { model.transcribe(samples, few, Answer { call() }) }
      assertTrue("a callback may call stop()" in error.message!!, error.message)
    }
    assertEquals(expected, model.transcribe(samples, few))
  }

  @Test
  fun theFlowHasThePieces() = withModel { model ->
    runBlocking {
      assertEquals(expected, model.transcribeFlow(wav().path, few).toList().joinToString(""))
      assertEquals(expected.take(3), model.transcribeFlow(samples, few).take(3).toList().joinToString(""))
      val shown = StringBuilder()
      dictate(model, samples, shown::append) // of docs/android.md
      assertTrue(shown.startsWith(expected))
    }
  }

  @Test
  fun whatCannotBeUsedIsNamed() = withModel { model ->
    fun refused(words: String, block: () -> Any) {
      val error = assertFailsWith<IllegalArgumentException> { block() }
      assertTrue(words in error.message!!, error.message)
    }
    refused("there is no model at /none.pte") { AsrModule("/none.pte", null) }
    refused("there is no tokenizer at /none.json") { AsrModule(program, "/none.json") }
    refused("there is no tokenizer at ${File(folder, "tokenizer.json").path}") { AsrModule(program, folder.path) }
    refused("there is no data file at /none.ptd") { AsrModule(program, null, "/none.ptd") }
    refused("there is no preprocessor at /none.pte") { AsrModule(program, null, null, "/none.pte") }
    refused("there is no WAV file at /none.wav") { model.transcribe("/none.wav") }
    val answer = Answer()
    val rate = assertFailsWith<ExecutorchException> { model.transcribe(wav(8000).path, few, answer) }
    assertTrue("8000 samples a second, the model takes 16000" in rate.message!!, rate.message)
    assertEquals(listOf(ExecutorchRuntimeException.INVALID_ARGUMENT to rate.message!!), answer.errors)
    assertTrue("not a WAV file" in assertFailsWith<ExecutorchException> { model.transcribe(program) }.message!!)
    assertTrue("no samples" in assertFailsWith<ExecutorchException> { model.transcribe(FloatArray(0)) }.message!!)
    val other = assertFailsWith<ExecutorchException> { AsrModule(Corpus.path("add"), null).use { it.load() } }
    assertTrue("no method 'encoder'" in other.message!!, other.message)
    assertFailsWith<ExecutorchException.NotSupported> { AsrModule(program, null).use { it.transcribe(samples) } }
    assertEquals(expected, model.transcribe(samples, few))
    model.close()
    model.close()
    model.stop()
    assertFalse(model.isValid || model.isLoaded)
    assertTrue("closed" in assertFailsWith<IllegalStateException> { model.transcribe(samples) }.message!!)
  }
}
