from collections.abc import Callable, Sequence
from typing import Any

from sdk.extension.llm.runner import Stats

class AsrTranscribeConfig:
    max_new_tokens: int
    eos_token_ids: set[int]
    temperature: float
    decoder_start_token_id: int
    prompt_token_ids: list[int]
    suppress_token_ids: list[int]
    begin_suppress_token_ids: list[int]
    word_times: bool
    def __init__(
        self,
        max_new_tokens: int = ...,
        eos_token_ids: set[int] = ...,
        temperature: float = ...,
        decoder_start_token_id: int = ...,
        *,
        prompt_token_ids: Sequence[int] = ...,
        suppress_token_ids: Sequence[int] = ...,
        begin_suppress_token_ids: Sequence[int] = ...,
        word_times: bool = ...,
    ) -> None: ...

class Language:
    @property
    def token_id(self) -> int: ...
    @property
    def probability(self) -> float: ...
    @property
    def code(self) -> str: ...

class Word:
    @property
    def start(self) -> float: ...
    @property
    def end(self) -> float: ...
    @property
    def text(self) -> str: ...

class Segment:
    @property
    def start(self) -> float: ...
    @property
    def end(self) -> float: ...
    @property
    def text(self) -> str: ...
    @property
    def tokens(self) -> list[int]: ...
    @property
    def words(self) -> list[Word]: ...

class AsrRunner:
    def __init__(self, model_path: str, tokenizer_path: str | None = ..., data_path: str | None = ...) -> None: ...
    def transcribe(
        self,
        preprocessed_features: Any,
        config: AsrTranscribeConfig | None = ...,
        token_callback: Callable[[str], object] | None = ...,
    ) -> list[int]: ...
    def transcribe_samples(
        self,
        samples: Any,
        config: AsrTranscribeConfig | None = ...,
        token_callback: Callable[[str], object] | None = ...,
    ) -> str: ...
    def transcribe_file(
        self,
        wav_path: str,
        config: AsrTranscribeConfig | None = ...,
        token_callback: Callable[[str], object] | None = ...,
    ) -> str: ...
    def transcribe_segments(
        self,
        sound: Any,
        config: AsrTranscribeConfig | None = ...,
        segment_callback: Callable[[Segment], object] | None = ...,
    ) -> list[Segment]: ...
    def detect_language(self, sound: Any) -> Language: ...
    def default_config(self) -> AsrTranscribeConfig: ...
    def token_id(self, token: str) -> int | None: ...
    @property
    def sampling_rate(self) -> int: ...
    @property
    def stats(self) -> Stats: ...
    def stop(self) -> None: ...
