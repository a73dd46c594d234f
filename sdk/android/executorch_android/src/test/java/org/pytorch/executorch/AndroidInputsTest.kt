// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import android.content.res.AssetFileDescriptor
import android.content.res.AssetManager
import android.graphics.Bitmap
import android.hardware.HardwareBuffer
import android.os.Build
import android.os.ParcelFileDescriptor
import java.io.File
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertSame
import kotlin.test.assertTrue
import org.junit.jupiter.api.Test

/** Images and assets. The classes of Android are stand-ins: src/stand_in. */
internal class AndroidInputsTest {
  /** Leaves bytes as they are. */
  private val plain = ImageNormalization(1f, FloatArray(3), floatArrayOf(1f, 1f, 1f))
  /** Two pixels: red, green and blue are 1, 2, 3 and 4, 5, 6. */
  private val colors = intArrayOf(0xFF010203.toInt(), 0xFF040506.toInt())
  private val planes = floatArrayOf(1f, 4f, 2f, 5f, 3f, 6f)
  private val processor = ImageProcessor(2, 1, plain)

  private fun direct(vararg bytes: Int) = Tensor.allocateByteBuffer(bytes.size).also { buffer -> bytes.forEach { buffer.put(it.toByte()) } }

  private fun bitmap(config: Bitmap.Config) = Bitmap.createBitmap(colors, 2, 1, config)

  @Test
  fun aBitmapBecomesPlanes() {
    val tensor = processor.process(bitmap(Bitmap.Config.ARGB_8888))
    assertContentEquals(longArrayOf(1, 3, 1, 2), tensor.shape())
    assertContentEquals(planes, tensor.dataAsFloatArray)
    assertContentEquals(planes.reversedArray().let { floatArrayOf(it[4], it[5], it[2], it[3], it[0], it[1]) }, processor.process(bitmap(Bitmap.Config.ARGB_8888), ImageOrientation.DOWN).dataAsFloatArray)
    val reused = Tensor.zeros(longArrayOf(1, 3, 1, 2), DType.FLOAT)
    assertSame(reused, processor.process(bitmap(Bitmap.Config.ARGB_8888), into = reused))
    assertContentEquals(planes, reused.dataAsFloatArray)
  }

  /** The code of docs/android.md makes an image of 224 by 224, which this program does not take. */
  @Test
  fun theGuidesCodeRuns() {
    Module.load(Corpus.path("linear")).use { module ->
      val error = assertFailsWith<ExecutorchException> { scores(module, bitmap(Bitmap.Config.ARGB_8888)) }
      assertTrue("Input 0 must have 2 dimensions, found 4" in error.message!!, error.message)
    }
  }

  @Test
  fun bitmapsOfOtherConfigsAreConvertedAndFreed() {
    val alive = Bitmap.alive
    val hardware = bitmap(Bitmap.Config.HARDWARE)
    assertContentEquals(planes, processor.process(hardware).dataAsFloatArray)
    assertTrue(!hardware.isRecycled)
    assertEquals(alive + 1, Bitmap.alive)
    val error = assertFailsWith<IllegalArgumentException> { processor.process(bitmap(Bitmap.Config.ALPHA_8)) }
    assertTrue("ALPHA_8" in error.message!!)
  }

  @Test
  fun aHardwareBufferBecomesPlanes() {
    val alive = Bitmap.alive
    val buffer = HardwareBuffer(colors, 2, 1, HardwareBuffer.RGBA_8888, HardwareBuffer.USAGE_GPU_SAMPLED_IMAGE)
    assertContentEquals(planes, processor.process(buffer).dataAsFloatArray)
    assertTrue(!buffer.isClosed)
    assertEquals(alive, Bitmap.alive)
    val other = HardwareBuffer(colors, 2, 1, HardwareBuffer.YCBCR_420_888, HardwareBuffer.USAGE_GPU_SAMPLED_IMAGE)
    assertTrue("format 35" in assertFailsWith<IllegalArgumentException> { processor.process(other) }.message!!)
    Build.VERSION.SDK_INT = 28
    try {
      val error = assertFailsWith<ExecutorchException.NotSupported> { processor.process(buffer) }
      assertTrue("API 28" in error.message!!)
    } finally {
      Build.VERSION.SDK_INT = 35
    }
  }

  @Test
  fun elementsAreNormalizedAndScaled() {
    val normalization = ImageNormalization(2f, floatArrayOf(0f, 4f, 0f), floatArrayOf(1f, 1f, 0.5f))
    assertContentEquals(floatArrayOf(2f, 8f, 0f, 6f, 12f, 24f), ImageProcessor(2, 1, normalization).process(bitmap(Bitmap.Config.ARGB_8888)).dataAsFloatArray)
    // Half-pixel centres: the samples of four columns are at 0 (outside of the first centre), 0.25, 0.75 and 1.
    val wider = ImageProcessor(4, 1, plain).process(bitmap(Bitmap.Config.ARGB_8888)).dataAsFloatArray
    assertContentEquals(floatArrayOf(1f, 1.75f, 3.25f, 4f), wider.copyOf(4))
    assertContentEquals(floatArrayOf(2.5f, 3.5f, 4.5f), ImageProcessor(1, 1, plain).process(bitmap(Bitmap.Config.ARGB_8888)).dataAsFloatArray)
    val red = Bitmap.createBitmap(intArrayOf(0xFFFF0000.toInt()), 1, 1, Bitmap.Config.ARGB_8888)
    val imagenet = ImageProcessor(1, 1, ImageNormalization.imagenet()).process(red).dataAsFloatArray
    for ((found, wanted) in imagenet.zip(listOf((1 - 0.485) / 0.229, -0.456 / 0.224, -0.406 / 0.225))) assertEquals(wanted, found.toDouble(), 1e-5)
    assertContentEquals(floatArrayOf(1f, 0f, 0f), ImageProcessor(1, 1).process(red).dataAsFloatArray)
  }

  @Test
  fun aLetterboxIsWhereItIsSaid() {
    val centre = ImageProcessor(4, 4, plain, ImageResizeMode.LETTERBOX, -7f)
    assertContentEquals(intArrayOf(0, 1), centre.computeLetterboxPadding(2, 1))
    assertContentEquals(intArrayOf(1, 0), centre.computeLetterboxPadding(2, 1, ImageOrientation.RIGHT))
    val elements = centre.process(bitmap(Bitmap.Config.ARGB_8888)).dataAsFloatArray
    assertContentEquals(FloatArray(4) { -7f }, elements.copyOf(4))
    assertEquals(1f, elements[4])
    val corner = ImageProcessor(4, 4, plain, ImageResizeMode.LETTERBOX_TOP_LEFT, -7f)
    assertContentEquals(intArrayOf(0, 0), corner.computeLetterboxPadding(2, 1))
    assertEquals(1f, corner.process(bitmap(Bitmap.Config.ARGB_8888)).dataAsFloatArray[0])
  }

  @Test
  fun cameraFramesHaveTwoPlanes() {
    val chroma = direct(128, 128)
    for (format in ImagePixelFormat.values().filter { it >= ImagePixelFormat.NV12 }) {
      val isFull = format >= ImagePixelFormat.NV12_FULL_RANGE
      val luma = if (isFull) direct(0, 255, 0, 255) else direct(16, 235, 16, 235)
      val found = processor.process(luma, 2, 2, 2, format, chroma = chroma, chromaBytesPerRow = 2).dataAsFloatArray
      for (i in found.indices) assertEquals(if (i % 2 == 0) 0f else 255f, found[i], 0.01f)
    }
  }

  @Test
  fun wrongImagesAreErrors() {
    val pixels = direct(1, 2, 3, 255, 4, 5, 6, 0)
    assertContentEquals(planes, processor.process(pixels, 2, 1, 8, ImagePixelFormat.RGBA).dataAsFloatArray)
    fun refused(words: String, block: () -> Unit) {
      val error = assertFailsWith<RuntimeException> { block() }
      assertTrue(error is IllegalArgumentException || error is ExecutorchException, error.toString())
      assertTrue(words in error.message!!, error.message)
    }
    refused("expected 16 bytes of pixels for 2 rows of 8 bytes, found a buffer of 8") { processor.process(pixels, 2, 2, 8, ImagePixelFormat.RGBA) }
    refused("the stride is 4") { processor.process(pixels, 2, 1, 4, ImagePixelFormat.RGBA) }
    refused("direct") { processor.process(java.nio.ByteBuffer.allocate(8), 2, 1, 8, ImagePixelFormat.RGBA) }
    refused("chroma is a null pointer") { processor.process(pixels, 4, 2, 4, ImagePixelFormat.NV21) }
    refused("expected an even width and height") { processor.process(pixels, 2, 1, 8, ImagePixelFormat.NV21, chroma = direct(1, 2), chromaBytesPerRow = 2) }
    refused("bytes of chroma") { processor.process(pixels, 4, 2, 4, ImagePixelFormat.NV21, chroma = direct(1), chromaBytesPerRow = 4) }
    refused("[1, 3, 1, 2]") { processor.process(pixels, 2, 1, 8, ImagePixelFormat.RGBA, into = Tensor.zeros(longArrayOf(1, 3, 2, 2), DType.FLOAT)) }
    refused("INT32") { processor.process(pixels, 2, 1, 8, ImagePixelFormat.RGBA, into = Tensor.zeros(longArrayOf(1, 3, 1, 2), DType.INT32)) }
    val turned = Tensor.fromBlob(Tensor.allocateByteBuffer(24), longArrayOf(1, 3, 1, 2), DType.FLOAT, intArrayOf(0, 2, 3, 1))
    refused("contiguous") { processor.process(pixels, 2, 1, 8, ImagePixelFormat.RGBA, into = turned) }
    refused("found 0 by 1") { processor.computeLetterboxPadding(0, 1) }
    refused("a width of 0") { ImageProcessor(0, 1) }
    refused("each of three channels") { ImageNormalization(1f, FloatArray(2), FloatArray(3)) }
    refused("positive deviations") { ImageNormalization(1f, FloatArray(3), FloatArray(3)) }
  }

  /** A package in which the program lies at an offset, with other bytes around it. */
  private fun inPackage(block: (File, Long, Long) -> Unit) {
    val program = File(Corpus.path("add")).readBytes()
    val apk = File.createTempFile("app", ".apk")
    try {
      apk.writeBytes(ByteArray(4096 + 100) { 'x'.code.toByte() } + program + ByteArray(5000))
      block(apk, 4096 + 100L, program.size.toLong())
    } finally {
      apk.delete()
    }
  }

  private fun assertAdds(module: Module) {
    val ones = EValue.from(Tensor.ones(longArrayOf(2, 3), DType.FLOAT))
    assertContentEquals(FloatArray(6) { 2f }, module.forward(ones, ones)[0].toTensor().dataAsFloatArray)
  }

  @Test
  fun aProgramIsLoadedFromTheMiddleOfThePackage() = inPackage { apk, offset, length ->
    val assets = AssetManager(apk, "model.pte", offset, length)
    Module.loadAsset(assets, "model.pte").use(::assertAdds)
    Module.loadAsset(assets, "model.pte", Module.LOAD_MODE_FILE, 1).use(::assertAdds)
    val descriptor = assets.openFd("model.pte")
    val module = Module.load(descriptor)
    descriptor.close()
    module.use(::assertAdds)
    val error = assertFailsWith<IllegalArgumentException> { Module.loadAsset(assets, "other.pte") }
    assertTrue("other.pte" in error.message!! && "noCompress" in error.message!!, error.message)
  }

  @Test
  fun aDescriptorOfUnknownLengthIsReadToItsEnd() {
    ParcelFileDescriptor.open(File(Corpus.path("add")), ParcelFileDescriptor.MODE_READ_ONLY).use {
      Module.load(AssetFileDescriptor(it, 0, AssetFileDescriptor.UNKNOWN_LENGTH)).use(::assertAdds)
    }
  }
}
