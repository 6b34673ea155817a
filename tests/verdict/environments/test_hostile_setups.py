"""Hostile setup scripts in the real sandbox behind the real proxy; each tries one attack, and none succeeds.

A script that never attempts its attack proves nothing. So each script prints a line after its attempt, and a control
shows that the same attack works where it is allowed.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.errors import SandboxError
from nightshift.verdict.environments.making import Environments
from tests.support.package_index import PackageIndex
from tests.support.processes import alive
from tests.support.setups import build_left, run_in, setups, tree

SITE = "$(python -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))')"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PackageIndex]:
    with PackageIndex(tmp_path / "index") as served:
        served.add("moonphase", "1.0", {"moonphase.py": "FULL = 7\n"})
        yield served


async def read_words(environments: Environments, script: str) -> str:
    """Return the output of a script that attempts an attack and then fails on purpose."""
    with pytest.raises(SandboxError) as failed:
        await build_left(environments, tree(f"{script}\necho tried\nexit 9"))
    text = str(failed.value)
    assert "ended with 9" in text
    assert text.rstrip().endswith("tried"), text
    return text


async def test_nothing_but_the_proxy_leads_out_and_it_does_not_lead_to_this_machine(
    folder: Path, index: PackageIndex
) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    script = f"""
python - <<'END'
import os, socket, urllib.request
def tries(name, work):
    try:
        print(name, 'ESCAPED', work())
    except Exception as error:
        print(name, 'held', type(error).__name__)
port = {listener.getsockname()[1]}
tries('direct', lambda: socket.create_connection(('127.0.0.1', port), 3))
tries('raw-address', lambda: socket.create_connection(('203.0.113.80', 443), 3))
tries('name', lambda: socket.getaddrinfo('pypi.org', 443))
dns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); dns.settimeout(2)
tries('dns', lambda: (dns.sendto(b'x' * 30, ('8.8.8.8', 53)), dns.recv(10)))
tries('raw-socket', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
tries('vsock', lambda: socket.socket(40, socket.SOCK_STREAM))
tries('proxied-to-loopback', lambda: urllib.request.urlopen(f'http://127.0.0.1:{{port}}/', timeout=3).read())
tries('proxied-by-name', lambda: urllib.request.urlopen(f'http://localhost:{{port}}/', timeout=3).read())
tries('metadata', lambda: urllib.request.urlopen('http://169.254.169.254/latest/', timeout=3).read())
tries('abstract-socket', lambda: socket.socket(socket.AF_UNIX).connect('\\0nightshift'))
print('control', urllib.request.urlopen('http://127.0.0.1:{index.port}/simple/moonphase/', timeout=20).status)
END
"""
    text = await read_words(setups(folder, index.environ), script)
    assert "ESCAPED" not in text
    assert text.count(" held ") == 10, text
    assert "control 200" in text
    with listener, pytest.raises(BlockingIOError):
        listener.accept()  # nobody has connected


async def test_nothing_of_the_daemons_can_be_read(
    folder: Path, index: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = f"hunter2{secrets.token_hex(8)}"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    own = folder / "secret.txt"
    own.write_text(secret)
    own.chmod(0o600)
    environ = {**index.environ, "OPENAI_API_KEY": secret}
    script = f"""
grep -rl {secret[:7]} /proc/*/environ /proc/*/cmdline 2>/dev/null; env | grep -c hunter2
cat {own} /root/.pip/pip.conf /etc/shadow {Path.home()}/.ssh/* 2>/dev/null
ls -d {folder} /root /home /var/tmp/* 2>/dev/null; ls /proc | grep -c '^[0-9]'
ls -l /proc/self/fd | grep -c socket
"""
    text = await read_words(setups(folder, environ), script)
    assert secret not in text
    assert str(folder) not in text.partition("last words")[2]
    numbers = [int(word) for word in text.partition("last words: ")[2].split() if word.isdigit()]
    assert (numbers[0], numbers[-1]) == (0, 0), text
    assert numbers[1] < 10, "it sees no processes but its own"


async def test_no_other_environment_can_be_written_or_seen(folder: Path, index: PackageIndex) -> None:
    environments = setups(folder, index.environ)
    await build_left(environments, tree("echo 7 > /env/first"))
    (first,) = environments.list_parts()
    there = folder / "environments" / first.name / "env" / "first"
    script = f"echo 8 > {there}; ls {folder}/environments; ls /env; echo 9 >> /opt/runner/code/x; touch /usr/x"
    text = await read_words(environments, script)
    assert "first" not in text.partition("last words: ")[2].replace(str(there), "")
    assert there.read_text() == "7\n"
    assert there.stat().st_uid == os.geteuid()
    assert there.stat().st_mode & 0o222 & ~0o200 == 0


async def test_what_is_left_leads_nowhere_and_runs_nothing_by_itself(folder: Path, index: PackageIndex) -> None:
    script = f"""
set -e
site={SITE}
ln -s /etc/passwd /env/passwd; ln -s ../../../../../../etc /env/up; ln -s /env/loop /env/loop
ln -s /env/data /env/inner; echo 7 > /env/data; ln -s / /env/lib/root; ln -s inner/../.. /env/trick
mkdir /env/deep; ln -s ../.. /env/deep/out; ln -s deep/out/../.. /env/chain
mkfifo /env/pipe; python -c "import socket; socket.socket(socket.AF_UNIX).bind('/env/sock')"
cp /bin/true /env/suid; chmod 6755 /env/suid; mkdir /env/closed; echo x > /env/closed/x; chmod 000 /env/closed
echo 'import os; os.system("touch /tmp/pth")' > $site/evil.pth
echo 'raise SystemExit' | tee $site/sitecustomize.py $site/usercustomize.py $site/json.py > $site/abc.py
echo 'raise SystemExit' > $site/pytest.py
mkdir $site/_pytest $site/nightshift_inside; touch $site/_pytest/__init__.py $site/nightshift_inside/__init__.py
for name in python pytest git node sh bash tool; do
  rm -f /env/bin/$name; printf '#!/bin/sh\\necho evil\\n' > /env/bin/$name; chmod 755 /env/bin/$name
done
touch $site/good.py
mkdir -p node_modules/.bin node_modules/a; echo '{{"version": "1.0.0"}}' > node_modules/a/package.json
ln -s /etc/shadow node_modules/a/x; ln -s ../a/package.json node_modules/.bin/node; mkfifo node_modules/a/pipe
"""
    environments = setups(folder, index.environ)
    shown = await build_left(environments, tree(script))
    (environment,) = environments.list_parts()
    environment_folder = (folder / "environments" / environment.name).resolve()
    entries = [*environment_folder.rglob("*")]
    names = {str(path.relative_to(environment_folder)) for path in entries}
    assert {"env/data", "env/inner", "env/closed/x", "env/bin/tool", "node_modules/a/package.json"} <= names
    for path in entries:
        mode = path.lstat().st_mode
        assert path.is_symlink() or path.is_file() or path.is_dir(), f"{path} is special"
        assert path.is_symlink() or not mode & 0o7022, f"{path} has the mode {mode:o}"
        if path.is_symlink() and path.parent.name != "bin":
            assert path.resolve().is_relative_to(environment_folder), f"{path} leads to {path.readlink()}"
    left = {path.name for path in (environment_folder / "env").rglob("*")}
    bad = {"evil.pth", "sitecustomize.py", "usercustomize.py", "json.py", "abc.py", "pytest.py", "_pytest",
           "nightshift_inside", "git", "node", "sh", "bash", "pytest"}  # fmt: skip
    assert not bad & left
    assert not (environment_folder / "node_modules/.bin/node").is_symlink()
    assert (environment_folder / "env/bin/python").is_symlink(), "it is ours again"
    code = "import json, good, os, pathlib; print(json.__file__.startswith('/env'), os.path.exists('/tmp/pth'))"
    result = await run_in(shown, code)
    assert result.stdout.split() == [b"False", b"False"], result.stderr


@pytest.mark.parametrize(
    ("script", "limits", "why"),
    [
        ("for n in 1 2; do dd if=/dev/zero of=/env/$n bs=1M count=150 status=none; done; sleep 60", {}, "than 200 MB"),
        ("while :; do :; done", {"wall_s": 4}, "took longer than 4 s"),
        ("yes", {}, "wrote more than 1 MB"),
        ("bomb() { bomb | bomb & }; bomb; sleep 3; exit 5", {"pids": 64, "wall_s": 60}, "ended with 5|longer"),
    ],
    ids=["large files", "endless", "flood", "fork bomb"],
)  # fmt: skip
async def test_a_script_that_takes_too_much_is_cut(
    folder: Path, index: PackageIndex, script: str, limits: dict[str, Any], why: str
) -> None:
    environments = setups(folder, index.environ, most_mb=200, **limits)
    with pytest.raises(SandboxError, match=why):
        await build_left(environments, tree(script))
    assert not list((folder / "environments").iterdir())


async def test_a_folder_that_is_too_deep_is_cut_and_removed(folder: Path, index: PackageIndex) -> None:
    deep = "python -c \"import os\nfor _ in range(3000):\n    os.mkdir('d'); os.chdir('d')\"; sleep 60"
    with pytest.raises(SandboxError, match="too deep"):
        await build_left(setups(folder, index.environ), tree(f"cd /env; {deep}"))
    assert not list((folder / "environments").iterdir())


async def test_nothing_that_a_script_started_lives_on(folder: Path, index: PackageIndex) -> None:
    mark = f"31{secrets.randbelow(10**6):06}"
    environments = setups(folder, index.environ)
    await build_left(environments, tree(f"setsid nohup sleep {mark} > /dev/null 2>&1 & disown; sleep 1"))
    assert not alive(mark)
