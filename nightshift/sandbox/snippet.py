"""Direct execution: runs a piece of Python code in the sandbox, from any program, without tasks or tests.

Code, files and standard input enter through one pipe. Of the caller's machine, the code sees only the interpreter and
the given libraries. Nothing is run if no isolation holds.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Ended, SandboxJob, SandboxLimits, SandboxResult

if TYPE_CHECKING:
    from nightshift.core.ports import Sandbox
    from nightshift.sandbox.runtime import Runtime

SNIPPET_LIMITS = SandboxLimits(wall_s=10.0, cpus=2.0, memory_mb=512)
"""Two cores, 512 MB for all processes together, ten seconds."""

SCRIPT = "snippet.py"
_ENTRY = "import sys; sys.path.insert(0, sys.argv[1]); from nightshift_inside import snippet; snippet.main()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """The result of running a piece of code.

    Attributes:
        exit_code: the exit status; negative if a signal ended the code.
        ended: why the run ended.
        stdout: the output, safe to print and log. Bytes that are not UTF-8 are replaced. Control and format characters
            (all but newline and tab) become visible escapes. Cut at `limits.output_bytes`, like the other outputs.
        stderr: the error output, in the same form.
        raw_stdout: the output byte for byte.
        duration_s: duration of the run in seconds.
        peak_memory_mb: peak memory usage; None if it could not be measured.
        sandbox: name of the isolation.
    """

    exit_code: int
    ended: Ended
    stdout: str
    stderr: str
    raw_stdout: bytes = field(repr=False)
    duration_s: float
    peak_memory_mb: float | None
    sandbox: str

    @property
    def ok(self) -> bool:
        """True if the code ran to its end with exit status 0."""
        return self.ended is Ended.EXITED and self.exit_code == 0


async def run_python(
    code: str,
    *,
    stdin: str | bytes = "",
    files: Mapping[str, str | bytes] | None = None,
    libraries: Sequence[Path] = (),
    limits: SandboxLimits = SNIPPET_LIMITS,
    sandbox: str | Sandbox = "auto",
) -> Snippet:
    """Run Python code in the sandbox and wait for its end, however it ends.

    The code runs as `snippet.py` in an empty private folder, which is removed afterwards. It has no network, no home,
    and none of the caller's environment.

    Args:
        code: the text of a script.
        stdin: the content of its standard input.
        files: maps paths, relative to that folder, to contents.
        libraries: `site-packages` folders on this machine from which the code may import; shown read-only.
        limits: limits of the run.
        sandbox: `auto`, the name of an isolation, or a sandbox object. `auto` chooses the strongest isolation that
            passes its self-test, once for each event loop.

    Raises:
        SandboxError: no isolation holds on this machine, or a file's name is not allowed; nothing was run.
    """
    from nightshift.sandbox.runtime import ROOT, open_runtime  # noqa: PLC0415 (importing the package stays cheap)

    runtime = open_runtime(ROOT / ".runner", libraries)
    isolation = await _choose_isolation(sandbox, runtime, ROOT / "state") if isinstance(sandbox, str) else sandbox
    job = _job(runtime, {**(files or {}), SCRIPT: code}, stdin, limits)
    return _tell_snippet(await isolation.run(job), isolation.name)


def _tell_snippet(result: SandboxResult, name: str) -> Snippet:
    from nightshift.core.text.masking import printable  # noqa: PLC0415 (see `run_python`)

    texts = [printable(raw, max_chars=len(raw), max_line=len(raw)) for raw in (result.stdout, result.stderr)]
    return Snippet(
        exit_code=result.exit_code,
        ended=result.ended,
        stdout=texts[0],
        stderr=texts[1],
        raw_stdout=result.stdout,
        duration_s=result.duration_s,
        peak_memory_mb=result.peak_memory_mb,
        sandbox=name,
    )


def _job(runtime: Runtime, files: Mapping[str, str | bytes], stdin: str | bytes, limits: SandboxLimits) -> SandboxJob:
    from nightshift.core.text.encoding import encode  # noqa: PLC0415 (see `run_python`)
    from nightshift.sandbox.packing import pack  # noqa: PLC0415 (see `run_python`)

    packed = pack((path, encode(text) if isinstance(text, str) else text) for path, text in files.items())
    header_fields = {
        "start": SCRIPT,
        "files": [(path, size) for path, size, _ in packed.index],
        "watched": [],
        "again": False,
    }
    header = json.dumps(header_fields).encode()
    given = encode(stdin) if isinstance(stdin, str) else stdin
    return SandboxJob(
        argv=(*runtime.python, "-I", "-S", "-B", "-c", _ENTRY, runtime.code, *runtime.libraries[1:]),
        mounts=runtime.mounts,
        stdin=b"".join((b"%d\n" % len(header), header, packed.blob, given)),
        limits=limits,
    )


class _Isolations:
    """The isolations that passed their self-test in one event loop."""

    def __init__(self) -> None:
        self.lock, self.by_name = asyncio.Lock(), dict[str, "Sandbox"]()


_isolations: WeakKeyDictionary[asyncio.AbstractEventLoop, _Isolations] = WeakKeyDictionary()


async def _choose_isolation(name: str, runtime: Runtime, scratch: Path) -> Sandbox:
    """Return the named isolation. Each event loop tests its own, because some isolations have connections in it."""
    from nightshift.sandbox.choice import choose  # noqa: PLC0415 (see `run_python`)

    isolations = _isolations.setdefault(asyncio.get_running_loop(), _Isolations())
    async with isolations.lock:
        if name not in isolations.by_name:
            try:
                choice = await choose(name, runtime=runtime, scratch=scratch)
            except KeyError:
                raise SandboxError(f"there is no sandbox {name!r}") from None
            if choice.sandbox is None:
                raise SandboxError(f"Nightshift ran nothing, because no sandbox passed its self-test\n{choice.report}")
            isolations.by_name[name] = choice.sandbox
    return isolations.by_name[name]
