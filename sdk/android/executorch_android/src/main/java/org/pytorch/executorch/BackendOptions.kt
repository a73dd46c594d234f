// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

/** A setting of a backend. The documentation of the backend lists its keys. */
public class BackendOption(public val key: String, public val value: Int)

/** Settings of backends, given to [Module.load]. */
public class BackendOptionsMap {
  private val options = LinkedHashMap<String, MutableList<BackendOption>>()

  /** Sets one option and returns this map. If a key is set more than once, the last value counts. */
  public fun setInt(backendName: String, key: String, value: Int): BackendOptionsMap {
    options.getOrPut(backendName) { ArrayList() }.add(BackendOption(key, value))
    return this
  }

  public fun isEmpty(): Boolean = options.isEmpty()

  /**
   * The options as the native library takes them: three arrays, with the backend's name, the key and the value of each.
   */
  internal fun flatten(): Triple<Array<ByteArray>, Array<ByteArray>, IntArray> {
    val all = options.flatMap { (backend, list) -> list.map { backend to it } }
    return Triple(
      Array(all.size) { all[it].first.toByteArray() },
      Array(all.size) { all[it].second.key.toByteArray() },
      IntArray(all.size) { all[it].second.value },
    )
  }
}
