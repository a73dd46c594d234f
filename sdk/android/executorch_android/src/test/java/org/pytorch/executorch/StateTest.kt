// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File
import kotlin.test.assertEquals
import org.junit.jupiter.api.Test

/** State that methods share: `add` and `mul` change the same count, which starts at 1, and return its new value. */
internal class StateTest {
  private fun Module.call(method: String, x: Float): Float =
    execute(method, EValue.from(Tensor.fromBlob(floatArrayOf(x), longArrayOf(1))))[0].toTensor().dataAsFloatArray[0]

  @Test
  fun methodsShareState() {
    // The second module starts with the initial count.
    repeat(2) {
      Module.load(File(Corpus.root.parentFile, "shared_state.pte").path).use { module ->
        assertEquals(3f, module.call("add", 2f))
        assertEquals(15f, module.call("mul", 5f))
        assertEquals(16f, module.call("add", 1f))
        assertEquals(48f, module.call("mul", 3f))
      }
    }
  }

  @Test
  fun aMethodThatIsLoadedLaterDoesNotResetIt() {
    Module.load(File(Corpus.root.parentFile, "shared_state.pte").path).use { module ->
      module.loadMethod("add")
      assertEquals(3f, module.call("add", 2f))
      module.loadMethod("mul")
      assertEquals(6f, module.call("mul", 2f))
    }
  }
}
