"""The example of docs/reference/backends.md works as it stands there, and docs/manual/models.md names every backend."""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.core.dialogue import Message, ModelRequest
from nightshift.core.errors import ModelUnavailable
from nightshift.core.tasks.states import Phase
from nightshift.models import BACKENDS
from nightshift.models.base import BackendSettings, BaseModelHandler
from nightshift.models.chain import build_chain

DOCS = Path(__file__).parents[2] / "docs"
DOC = DOCS / "reference" / "backends.md"


@pytest.fixture(scope="module", autouse=True)
def registered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Write the file under another name (it is not part of the package) and add the line to the registry."""
    text = DOC.read_text()
    code = re.search(r"```python path=models/command_line\.py\n(.*?)\n```", text, re.DOTALL)
    line = re.search(r'^    ("command": "models\.command_line:CommandBackend",)$', text, re.MULTILINE)
    assert code
    assert line
    folder = tmp_path_factory.mktemp("example")
    (folder / "nightshift_doc_example.py").write_text(code[1])
    sys.path.insert(0, str(folder))
    BACKENDS["command"] = "nightshift_doc_example:CommandBackend"
    yield
    del BACKENDS["command"]
    sys.path.remove(str(folder))


def command(code: str) -> BaseModelHandler:
    call = f"{sys.executable} -c {shlex.quote(code)}"
    (backend,) = build_chain(BackendSettings(), model_type="command", model_name=call)
    return backend


REQUEST = ModelRequest(phase=Phase.CODING, messages=(Message(role="user", text="hello"),))


async def test_the_example_answers() -> None:
    backend = command("import sys; print(sys.stdin.read().upper())")
    assert await asyncio.to_thread(backend.is_available)
    completion = await backend.generate(REQUEST)
    assert completion.text == "HELLO\n"
    assert completion.tokens_out > 0


async def test_the_example_translates_a_failure_and_ends_when_cancelled() -> None:
    with pytest.raises(ModelUnavailable, match="no luck"):
        await command("raise SystemExit('no luck')").generate(REQUEST)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(command("import time; time.sleep(60)").generate(REQUEST), 0.1)


def test_the_doc_names_every_backend() -> None:
    assert all(f"| `{name}` |" in (DOCS / "manual" / "models.md").read_text() for name in BACKENDS if name != "command")
