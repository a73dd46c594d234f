// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import android.graphics.Bitmap
import java.io.File
import java.nio.ByteBuffer
import kotlin.test.assertContentEquals
import kotlin.test.assertTrue
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.conflate
import kotlinx.coroutines.flow.flowOf
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.single
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test
import org.pytorch.executorch.extension.asr.AsrModule
import org.pytorch.executorch.extension.asr.transcribeFlow
import org.pytorch.executorch.extension.llm.LlmModule
import org.pytorch.executorch.extension.llm.generateFlow
import org.pytorch.executorch.training.SGD
import org.pytorch.executorch.training.TrainingModule

/** The code of docs/android.md, which tests/python/android compares with this. */
internal class GuideTest {
  @Test
  fun theGuidesCodeRuns() = runBlocking {
    val corpus = Corpus("bundled")
    val input = Corpus.toEValue(corpus.calls[0].inputs[0]).toTensor()
    val expected = corpus.load().use { it.forward(EValue.from(input))[0].copy().toTensor().dataAsFloatArray }
    assertContentEquals(expected, classify(input.dataAsFloatArray, corpus.program))
    corpus.load().use { module ->
      assertContentEquals(expected, scores(module, input))
      assertContentEquals(expected, scores(module, flowOf(input)).single())
    }
  }

  @Test
  fun theGuidesTrainingLearns() {
    val sample = Tensor.fromBlob(floatArrayOf(1f, 0f), longArrayOf(1, 2)) to Tensor.fromBlob(longArrayOf(1), longArrayOf(1))
    TrainingModule.load(File(Corpus.root.parentFile, "training/xor.pte").path).use { module ->
      fun loss() = module.executeForwardBackward("forward", EValue.from(sample.first), EValue.from(sample.second))[0].toTensor().dataAsFloatArray[0]
      val before = loss()
      learn(module, List(5) { sample })
      assertTrue(loss() < before)
    }
  }
}

fun classify(image: FloatArray, model: String): FloatArray =
  Module.load(model, Module.LOAD_MODE_MMAP).use { module ->
    val input = Tensor.fromBlob(image, longArrayOf(1, 4))
    val outputs = module.forward(EValue.from(input))
    outputs[0].toTensor().dataAsFloatArray
  }

fun scores(module: Module, photo: Bitmap): FloatArray {
  val processor = ImageProcessor(224, 224, ImageNormalization.imagenet())
  return module.forward(EValue.from(processor.process(photo)))[0].toTensor().dataAsFloatArray
}

suspend fun answer(model: LlmModule, question: String, show: (String) -> Unit) {
  val messages = """{"messages": [{"role": "user", "content": "$question"}], "add_generation_prompt": true}"""
  model.generateFlow(model.applyChatTemplate(messages)).collect { show(it) }
}

suspend fun describe(model: LlmModule, pixels: ByteBuffer, show: (String) -> Unit) {
  model.prefillPrompt("USER: ")
  model.prefillImages(pixels, width = 336, height = 336, channels = 3)
  model.generateFlow("\nWhat is this? ASSISTANT:").collect { show(it) }
}

suspend fun dictate(model: AsrModule, recording: FloatArray, show: (String) -> Unit) {
  model.transcribeFlow(recording).collect { show(it) }
}

suspend fun scores(module: Module, image: Tensor): FloatArray =
  module.forwardAsync(EValue.from(image))[0].toTensor().dataAsFloatArray

fun scores(module: Module, frames: Flow<Tensor>): Flow<FloatArray> =
  frames.conflate().map { EValue.from(it) }.executeOn(module).map { it[0].toTensor().dataAsFloatArray }

fun learn(module: TrainingModule, samples: List<Pair<Tensor, Tensor>>) {
  val optimizer = SGD.create(module.namedParameters("forward"), 0.1)
  for ((input, target) in samples) {
    module.executeForwardBackward("forward", EValue.from(input), EValue.from(target))
    optimizer.step(module.namedGradients("forward"))
  }
}
