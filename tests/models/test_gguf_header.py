"""The head of a model file is read, and a damaged file is refused instead of crashing the native library."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.gguf_header import is_gguf, read_header
from tests.support import tiers
from tests.support.tiny_gguf import CHAT_TEMPLATE, write_tiny_gguf


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf", context_length=777)


def test_the_head_tells_context_template_and_control_tokens(model: Path) -> None:
    header = read_header(model)
    assert (header.name, header.context_length) == ("tiny random llama", 777)
    assert header.chat_template == CHAT_TEMPLATE
    assert set(header.control.values()) == {"<s>", "</s>", "<|im_start|>", "<|im_end|>"}
    assert is_gguf(model)


def test_other_files_are_no_models(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_text("hello")
    assert not is_gguf(tmp_path / "a.gguf")
    assert not is_gguf(tmp_path / "missing.gguf")
    with pytest.raises(ValueError, match="not a GGUF"):
        read_header(tmp_path / "a.gguf")


@given(st.integers(4, 9000), st.binary(max_size=12))
@settings(max_examples=tiers.examples(60), deadline=None)
def test_a_damaged_head_is_an_error_that_can_be_told(model: Path, at: int, noise: bytes) -> None:
    raw = bytearray(model.read_bytes()[:20_000])
    raw[at : at + len(noise)] = noise
    damaged = model.with_name("damaged.gguf")
    for body in (bytes(raw), bytes(raw[:at])):
        damaged.write_bytes(body)
        try:
            read_header(damaged)
        except ValueError as error:
            assert str(error)  # noqa: PT017 - either it is readable or this is the only error
