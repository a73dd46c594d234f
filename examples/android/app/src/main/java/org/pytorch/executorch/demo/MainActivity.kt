// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch.demo

import android.app.Activity
import android.os.Bundle
import android.view.Gravity
import android.widget.Button
import android.widget.LinearLayout
import android.widget.TextView
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.MainScope
import kotlinx.coroutines.cancel
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import org.pytorch.executorch.EValue
import org.pytorch.executorch.ExecutorchRuntimeException
import org.pytorch.executorch.Module
import org.pytorch.executorch.Tensor
import org.pytorch.executorch.forwardAsync

/** Loads the model from the assets, runs it on random numbers and shows the scores and the time. */
class MainActivity : Activity(), CoroutineScope by MainScope() {
  private val model = lazy {
    assets.openFd("model.pte").use { Module.load(it.parcelFileDescriptor.fd, it.startOffset, it.length) }
  }

  override fun onCreate(savedInstanceState: Bundle?) {
    super.onCreate(savedInstanceState)
    val text = TextView(this).apply { textSize = 18f }
    val button = Button(this).apply {
      setText("Run")
      setOnClickListener { launch { text.text = run() } }
    }
    setContentView(
      LinearLayout(this).apply {
        orientation = LinearLayout.VERTICAL
        gravity = Gravity.CENTER
        addView(button)
        addView(text)
      }
    )
  }

  private suspend fun run(): String =
    try {
      val module = withContext(Dispatchers.IO) { model.value }
      val pixels = FloatArray(28 * 28) { Math.random().toFloat() }
      val start = System.nanoTime()
      val scores = module.forwardAsync(EValue.from(Tensor.fromBlob(pixels, longArrayOf(1, 28 * 28))))[0].toTensor().dataAsFloatArray
      val milliseconds = (System.nanoTime() - start) / 1e6
      "class ${scores.indices.maxByOrNull { scores[it] }} in %.2f ms".format(milliseconds)
    } catch (e: ExecutorchRuntimeException) {
      e.detailedError
    }

  override fun onDestroy() {
    cancel()
    super.onDestroy() // the module is freed when nothing runs it any more
  }
}
