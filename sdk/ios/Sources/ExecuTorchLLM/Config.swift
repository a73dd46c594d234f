// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import ExecuTorch

/// The settings of an answer: `Config { $0.temperature = 0; $0.maximumNewTokens = 64 }`.
public final class Config {
  /// Whether the callback receives the prompt first.
  public var isEchoEnabled: Bool = true
  /// The most tokens of the answer; -1: what the context has room for.
  public var maximumNewTokens: Int = -1
  /// Whether this run only warms up: the callback then receives nothing.
  public var isWarming: Bool = false
  /// The most tokens of prompt and answer together; -1: all of the context.
  public var sequenceLength: Int = -1
  /// 0: always the likeliest token; higher values make the answer more random.
  public var temperature: Double = 0.8
  /// The number of begin tokens before the prompt.
  public var bosCount: Int = 0
  /// The number of end tokens after it.
  public var eosCount: Int = 0
  /// The grammar that the answer must follow, of the type that `grammarType` names; "" allows any text.
  public var grammar: String = ""
  /// "json_schema", "regex", "gbnf" or "lark".
  public var grammarType: String = ""
  /// The most tokens that prompt look-up checks at once; 0: no look-up.
  public var lookupTokens: Int = 0
  /// The most tokens that the model of ``TextRunner/setDraft(_:)`` drafts at once; 0: none.
  public var draftTokens: Int = 0

  public init() {}

  public init(_ block: (Config) -> Void) {
    block(self)
  }

  public func copy() -> Config {
    Config {
      $0.isEchoEnabled = isEchoEnabled
      $0.maximumNewTokens = maximumNewTokens
      $0.isWarming = isWarming
      $0.sequenceLength = sequenceLength
      $0.temperature = temperature
      $0.bosCount = bosCount
      $0.eosCount = eosCount
      $0.grammar = grammar
      $0.grammarType = grammarType
      $0.lookupTokens = lookupTokens
      $0.draftTokens = draftTokens
    }
  }

  func make() throws -> LanguageModelConfig {
    var made: OpaquePointer?
    try check { et_llm_config_create(&made, $0) }
    let config = LanguageModelConfig(made!)
    let integers = [
      ("echo", isEchoEnabled ? 1 : 0), ("max_new_tokens", maximumNewTokens), ("seq_len", sequenceLength),
      ("num_bos", bosCount), ("num_eos", eosCount),
      ("lookup_tokens", lookupTokens), ("draft_tokens", draftTokens),
    ]
    for (name, value) in integers {
      try check { et_llm_config_set_int(config.pointer, name, Int64(value), $0) }
    }
    try check { et_llm_config_set_double(config.pointer, "temperature", temperature, $0) }
    for (name, value) in [("grammar", grammar), ("grammar_type", grammarType)] {
      try check { et_llm_config_set_string(config.pointer, name, value, $0) }
    }
    return config
  }
}
