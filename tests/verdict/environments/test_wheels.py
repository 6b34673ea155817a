from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import pytest

from nightshift.core.errors import SandboxError, SandboxUnready
from nightshift.verdict.environments.wheels import Unobtainable, Unreachable, Wheels, call
from tests.support.wheelhouse import environ, source, wheel

SERIES = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    wheel(folder, "moonphase", "1.0", {"moonphase.py": "FULL = 1\n"}, needs=("tidewave>=1",))
    wheel(folder, "moonphase", "1.1", {"moonphase.py": "FULL = 2\n"}, needs=("tidewave>=1",))
    wheel(folder, "tidewave", "2.0", {"tidewave/__init__.py": "HIGH = 1\n"})
    return folder


@pytest.fixture
def wheels(index: Path) -> Wheels:
    return Wheels(SERIES, environ=environ(index))


async def test_a_package_is_resolved_with_all_that_it_depends_on(wheels: Wheels) -> None:
    first, second = await wheels.resolve(["moonphase"])
    assert (first.name, first.version, first.summary) == ("moonphase", "1.1", "What moonphase is for")
    assert (second.name, second.version, len(second.sha256)) == ("tidewave", "2.0", 64)
    (old, _) = await wheels.resolve(["moonphase==1.0"])
    assert old.version == "1.0"
    alone = await wheels.look_up("moonphase<1.1")
    assert alone == old


async def test_a_wheel_that_is_not_the_one_that_was_resolved_is_refused(
    wheels: Wheels, index: Path, tmp_path: Path
) -> None:
    resolved = await wheels.pinned({"moonphase": "1.0"})
    wheel(index, "moonphase", "1.0", {"moonphase.py": "FULL = 666\n"})
    with pytest.raises(SandboxError, match="pip failed"):
        await wheels.install(resolved, tmp_path / "out")
    assert not (tmp_path / "out" / "moonphase.py").exists()


async def test_a_source_distribution_is_never_built_whatever_the_owners_settings(index: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "pip.conf").write_text("[global]\nno-binary = :all:\nuser = true\n")
    wheels = Wheels(SERIES, environ={**environ(index), "PIP_CONFIG_FILE": str(tmp_path / "pip.conf")})
    source(index, "oldsource", "1.0", f"open({str(ran)!r}, 'w')\nfrom setuptools import setup\nsetup()\n")
    wheel(index, "newer", "1.0", {"newer.py": ""}, needs=("oldsource",))
    for asked in ("oldsource", "newer"):
        with pytest.raises(Unobtainable, match=r"oldsource has no wheel .*; packages are never built from source"):
            await wheels.resolve([asked])
    await wheels.install(await wheels.pinned({"tidewave": "2.0"}), tmp_path / "out")
    assert (tmp_path / "out" / "tidewave").is_dir()
    assert not ran.exists()


async def test_a_name_that_the_index_does_not_have_is_told(wheels: Wheels) -> None:
    with pytest.raises(Unobtainable, match="the package index has no package sunphase with a suitable version"):
        await wheels.look_up("sunphase")


async def test_what_is_no_package_name_never_reaches_pip(wheels: Wheels) -> None:
    for name in ("--index-url=https://x.example", "./moonphase", "https://x.example/a.whl", ""):
        with pytest.raises(Unobtainable, match="is not a valid package"):
            await wheels.pinned({name: "1.0"})
        with pytest.raises(Unobtainable, match="is not a valid package"):
            await wheels.resolve([name])


async def test_versions_that_do_not_go_together_are_told(wheels: Wheels, index: Path) -> None:
    with pytest.raises(Unobtainable, match="the required versions conflict"):
        await wheels.resolve(["moonphase==1.0", "moonphase==1.1"])
    pinned = Wheels(SERIES, environ=environ(index), pins=["tidewave==0.1"])
    with pytest.raises(Unobtainable):
        await pinned.resolve(["moonphase"])


async def test_an_index_that_does_not_answer_is_another_matter() -> None:
    away = Wheels(SERIES, environ={"PATH": "/usr/bin:/bin", "PIP_INDEX_URL": "http://127.0.0.1:9/simple"})
    with pytest.raises(Unreachable, match="does not answer"):
        await away.look_up("moonphase")


async def test_nothing_of_the_daemons_environment_reaches_pip(index: Path) -> None:
    wheels = Wheels(
        SERIES, environ={**environ(index), "OPENAI_API_KEY": "secret", "PYTHONPATH": "/x", "PIP_TARGET": "/y"}
    )
    assert not {"OPENAI_API_KEY", "PYTHONPATH", "PIP_TARGET"} & wheels._environ.keys()


async def test_what_was_ended_by_another_one_has_failed_at_nothing() -> None:
    with pytest.raises(SandboxUnready, match="sh was ended by SIGKILL"):
        await call(["/bin/sh", "-c", "kill -KILL $$"], {}, 10)


async def test_what_is_called_does_not_outlive_a_cancellation(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    words = ["/bin/sh", "-c", f"(sleep 1; touch {mark}) & wait"]
    job = asyncio.create_task(call(words, {"PATH": "/bin:/usr/bin"}, 20))
    await asyncio.sleep(0.2)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    await asyncio.to_thread(time.sleep, 1.1)
    assert not mark.exists()
    with pytest.raises(TimeoutError):
        await call(["/bin/sleep", "5"], {}, 0.1)
