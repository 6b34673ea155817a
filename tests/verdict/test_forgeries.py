"""Forged passes: each fools the exit status of a bare pytest, and none gets a passing verdict."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from nightshift.core.tasks.task import Files
from nightshift.core.tasks.verdicts import FindingKind
from tests.support.sandboxes import Judge, runtime

GIVEN = {
    "tests/test_given.py": (
        "from solution import add\n\n\ndef test_a():\n    assert add(2, 3) == 5\n\n\n"
        "def test_b():\n    assert add(-1, 1) == 0\n\n\ndef test_c():\n    assert add(10, 20) == 30\n"
    )
}
WRONG = "def add(a, b):\n    return a * b\n"
TWO = {"tests/test_1.py": "from solution import add\n\n\ndef test_callable():\n    assert callable(add) == True\n"}
TWO |= {"tests/test_2.py": GIVEN["tests/test_given.py"]}
FORGERIES: dict[str, Files] = {
    "leaves_at_import": {"solution.py": "import os\nos._exit(0)\n"},
    "is_equal_to_everything": {"solution.py": (
        "class Yes(int):\n    def __eq__(self, other):\n        return True\n    __hash__ = int.__hash__\n\n"
        "def add(a, b):\n    return Yes()\n"
    )},
    "answers_only_under_pytest": {"solution.py": (
        "import sys\n\ndef add(a, b):\n    return a + b if '_pytest' in sys.modules else a * b\n"
    )},
    "reads_the_answer_from_the_test": {"solution.py": (
        "import linecache, re, sys\n\ndef add(a, b):\n    frame = sys._getframe(1)\n"
        "    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)\n"
        "    return int(re.search(r'== (-?\\d+)', line)[1])\n"
    )},
    "writes_events_to_every_descriptor": {"solution.py": (
        "import glob, json, os, re\n\nlines = []\nfor path in glob.glob('tests/test_*.py'):\n"
        "    for name in re.findall(r'^def (test\\w+)', open(path).read(), re.M):\n        test = f'{path}::{name}'\n"
        "        rows = [[w, 'passed', 0, 0, None, False, 0.0] for w in ('setup', 'call', 'teardown')]\n"
        "        lines.append({'e': 'start', 'id': test})\n"
        "        lines.append({'e': 'end', 'id': test, 'rows': rows, 'fail': None})\n"
        "lines.append({'e': 'finish', 'exit': 0, 'changed': []})\n"
        "data = ''.join(json.dumps(line) + '\\n' for line in lines).encode()\n"
        "for fd in range(3, 256):\n    try:\n        os.write(fd, data)\n    except OSError:\n        pass\n"
        "os._exit(0)\n"
    )},
    "steals_and_rewrites_the_signed_answer": {"solution.py": (
        f"import os, time\n{WRONG}\nif os.fork() == 0:\n    os.setsid()\n    try:\n"
        "        pipe = open('/proc/1/fd/1', 'rb')\n        text = pipe.read(1 << 20)\n"
        "        open('/proc/1/fd/1', 'wb').write(text.replace(b'failed', b'passed'))\n    except OSError:\n"
        "        time.sleep(60)\n    os._exit(0)\n"
    )},
    "kills_the_parent": {"solution.py": (
        f"import os\n{WRONG}\nfor number in (9, 2, 15):\n    try:\n        os.kill(1, number)\n    except OSError:\n"
        "        pass\n"
    )},
    "stands_between_all_plugins": {"solution.py": (
        f"import gc\nimport pluggy\n{WRONG}\nfor manager in gc.get_objects():\n"
        "    if isinstance(manager, pluggy.PluginManager):\n"
        "        def forged(name, *rest, real=manager._inner_hookexec):\n            found = real(name, *rest)\n"
        "            if name == 'pytest_runtest_makereport':\n"
        "                found.outcome, found.longrepr = 'passed', None\n            return found\n\n"
        "        manager._inner_hookexec = forged\n"
    )},
    "rewrites_the_next_test_file_and_puts_it_back": {"solution.py": (
        "import atexit, os\n\ndef write(path, text):\n    os.chmod(path, 0o666)\n    open(path, 'w').write(text)\n\n"
        "for name in os.listdir('tests'):\n    path = f'tests/{name}'\n"
        "    text = open(path).read() if name.endswith('.py') else ''\n    if 'add(10, 20)' in text:\n"
        "        write(path, 'import solution\\nsolution.write(__file__, solution.text)\\n'\n"
        "            'def test_a(): pass\\ndef test_b(): pass\\ndef test_c(): pass\\n')\n        break\n"
        f"{WRONG}"
    )},
    "hooks_reports_in_a_conftest": {"solution.py": WRONG, "conftest.py": (
        "import pytest\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    report = yield\n    report.outcome, report.longrepr = 'passed', None\n    return report\n"
    )},
    "deselects_the_given_and_runs_its_own": {
        "solution.py": WRONG,
        "tests/test_own.py": "def test_own():\n    pass\n",
        "conftest.py": "def pytest_collection_modifyitems(items):\n"
        "    items[:] = [item for item in items if 'own' in item.nodeid]\n",
    },
    "replaces_the_answer_from_the_tests_package": {
        "solution.py": WRONG,
        "tests/__init__.py": "import sys, types\nright = types.ModuleType('solution')\nright.add = lambda a, b: a + b\n"
        "sys.modules['solution'] = right\n",
    },
}  # fmt: skip
IN_SANDBOX_ONLY = {"steals_and_rewrites_the_signed_answer", "kills_the_parent"}
"""Forgeries that must not run outside of a sandbox."""


def fools_pytest(folder: Path, files: Files) -> bool:
    """Check whether the exit status of a bare pytest takes a forgery for a pass."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    library = next(mount.host for mount in runtime().mounts if mount.inside.endswith("/lib"))
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{folder}:{library}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    argv = [*runtime().python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, timeout=30, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("name", FORGERIES)
async def test_a_forged_pass_is_refused_or_doubtful(name: str, judge: Judge, tmp_path: Path) -> None:
    files, given = FORGERIES[name], TWO if "next_test_file" in name else GIVEN
    judged = await judge(files, given)
    assert not judged.passed or judged.doubt
    assert judged.evidence.dropped.keys() == files.keys() - {"solution.py"}
    assert name in IN_SANDBOX_ONLY or fools_pytest(tmp_path, {**given, **files})


@pytest.mark.parametrize("name", ["is_equal_to_everything", "reads_the_answer_from_the_test"])
async def test_must_fail_copies_notice_a_forgery_whose_checks_cannot_be_replayed(name: str, judge: Judge) -> None:
    given = {path: text.replace("()", "(capsys)") for path, text in GIVEN.items()}
    forged, honest = await asyncio.gather(
        judge(FORGERIES[name], given), judge({"solution.py": "def add(a, b):\n    return a + b\n"}, given)
    )
    assert FindingKind.COPY in {finding.kind for finding in forged.findings}
    assert not forged.passed or forged.doubt
    assert honest.passed, honest.reason
    assert honest.evidence.twins == 3
