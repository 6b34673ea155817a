"""The example in docs/reference/backends.md works as written, and docs/manual/models.md names every backend."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.app import packages
from nightshift.core.built_in import BUILT_IN
from nightshift.core.dialogue import Message, ModelRequest
from nightshift.core.errors import ModelUnavailable
from nightshift.core.tasks.states import Phase
from nightshift.models import backends
from nightshift.models.base import BackendSettings, BaseModelHandler
from nightshift.models.chain import build_chain
from tests.support.doc_pages import list_shown_files

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Install the example's package, as a reader would, into a folder that only these tests import from."""
    files = list_shown_files("backends.md")
    assert list(files) == ["nightshift_command.py", "pyproject.toml"]
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    for path, text in files.items():
        (source / path).write_text(text)
    python = Path(sys.executable)
    words = ["-q", "--no-deps", "--no-build-isolation", "--target", str(target), str(source)]
    subprocess.run([*packages.uv_install(python), *words], check=True)
    sys.path.insert(0, str(target))
    backends.cache_clear()
    yield
    sys.path.remove(str(target))
    backends.cache_clear()


def command(code: str) -> BaseModelHandler:
    call = f"{sys.executable} -c {shlex.quote(code)}"
    (backend,) = build_chain(BackendSettings(), model_type="command", model_name=call)
    return backend


REQUEST = ModelRequest(phase=Phase.CODING, messages=(Message(role="user", text="hello"),))


def test_the_example_takes_part_after_the_backends_that_nightshift_brings() -> None:
    names = list(backends())
    assert names.index("llama_cpp") < names.index("command")
    assert names[-1] in {"command", BUILT_IN}


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
    assert all(
        f"| `{name}` |" in (DOCS / "manual" / "models.md").read_text() for name in backends() if name != "command"
    )
