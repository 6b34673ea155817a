"""Findings in Python, also through aliases, constants and nested code; and code that gives no findings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.verdict.checks import python
from nightshift.verdict.checks.catalogue import PYTHON
from tests.support.checking import hooks


def rules(text: str, *, is_test: bool = False) -> set[str]:
    return {seen.rule for seen in python.scan(text, hooks, is_test=is_test)}


SEEN = {
    "python.eval": [
        "import builtins as b\nb.eval(x)", "f = eval\nf(y)", "list(map(eval, xs))", "eval(f'{x}')",
        "'\\d'\neval(x)",
    ],
    "python.eval-built": ["e = str(a)\nfor b in c:\n    e += b\neval(e)", "eval('+'.join(x))"],
    "python.exec": ["exec(open(p).read())"],
    "python.compile": ["compile(x, 'a', 'exec')"],
    "python.import-builtin": ["__import__(name)"],
    "python.dynamic-import": ["import importlib\nimportlib.import_module(name)"],
    "python.dynamic-attribute": ["import os\ngetattr(os, name)()"],
    "python.os-system": [
        "from os import *\nsystem('ls')", "__import__('os').system('ls')", "import os as o\np = o\np.system('ls')",
        "import os\ngetattr(os, 'sys' + 'tem')('ls')",
        "import importlib\nimportlib.import_module('os').popen('ls')", "import os\nmap(os.system, xs)",
        "exec('import os\\nos.system(x)')",
    ],
    "python.os-exec": ["import os\nos.execv(a, b)", "import os\nos.spawnlp(m, a, b)"],
    "python.subprocess-shell": ["import subprocess\nsubprocess.run(c, shell=True)"],
    "python.subprocess": ["import asyncio\nasyncio.create_subprocess_exec('ls')"],
    "python.fork": ["import os\nif os.fork(): pass"],
    "python.fork-bomb": ["import os\nwhile True: os.fork()"],
    "python.native": ["from ctypes import CDLL"],
    "python.socket": ["from socket import create_connection as c\nc(x)"],
    "python.network-client": ["import requests", "from urllib.request import urlopen"],
    "python.delete-outside": [
        "import shutil\nshutil.rmtree('/')", "import shutil, pathlib\nshutil.rmtree(pathlib.Path.home() / 'x')",
        "from pathlib import Path\np = Path('~/x').expanduser()\np.rmdir()",
        "import os\nos.unlink(os.environ['HOME'] + '/x')", "import os\nROOT = '/usr'\nos.remove(f'{ROOT}/{name}')",
    ],
    "python.write-outside": ["open('/etc/x', 'w')", "from pathlib import Path\n(Path.home() / 'x').write_text('')"],
    "python.private-file": ["from pathlib import Path\n(Path.home() / '.ssh' / 'id_rsa').read_text()"],
    "python.permissions": ["import os\nos.chmod(p, 0o777)", "import os\nos.chmod(p, 0o4755)", "p.chmod(0o666)"],
    "python.privilege": ["import os\nos.setuid(0)"],
    "python.pickle": ["from marshal import loads\nloads(x)"],
    "python.test-detection": [
        "import sys\nif 'pytest' in sys.modules: pass", "import os\nos.environ.get('PYTEST_CURRENT_TEST')",
        "import sys\nsys.modules.get('pytest')", "import sys\nx = 'pytest' in sys.argv[0]", "import pytest",
    ],
    "python.swap": [
        "import builtins\nbuiltins.open = f", "import sys\nsys.modules['x'] = y", "import os\nos.path.exists = f",
    ],
    "python.hard-exit": ["import os\nos.kill(os.getpid(), 9)", "from os import abort\nabort()"],
    "python.signals": ["import atexit\natexit.register(f)"],
    "python.patching": ["import csv\ncsv.reader = f"],
    "command.install-at-run-time": [
        "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', name])",
        "import os\nos.system('uv pip install x')", "import subprocess\nsubprocess.run(['npm', 'ci'])",
    ],
    "command.rm-outside": [
        "import subprocess\nC = ['rm', '-rf']\nsubprocess.run(C + ['/'])",
        "import subprocess\nsubprocess.run('rm -rf /'.split())",
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import os; os.system(\"rm -rf /\")'])",
        "import os\nos.execlp('rm', 'rm', '-rf', '/')",
        "import subprocess\nsubprocess.run(['rm', '-rf', '*'], cwd='/')",
    ],
}  # fmt: skip
UNSEEN = [
    "model.eval(); df.eval('a + b'); cursor.execute('DELETE')", "import re, ast\nre.compile(x); ast.literal_eval(x)",
    "def eval(x):\n    return x\neval(3)", "eval('1 + 1')",
    "import os\nos.environ['A']; os.environ.get('B'); 'C' in os.environ; os.environ.setdefault('A', 'b')",
    "import os\nos.chmod(p, 0o644); os.remove('build/x')", "import shutil, tempfile\nshutil.rmtree(tempfile.mkdtemp())",
    "def f(path):\n    import os\n    os.remove(path)", "import sys\nsys.exit(1)\nlogger = sys.modules[__name__]",
    "import os\nd = {**os.environ}", "# coding: euc-jp\n",
    "import hashlib\nhashlib.md5(b'')", "x = 'import os; os.system(1)'", "globals()['x'] = 1",
    "x = 1\ny = 2\n# coding: rot13\n",
    "import socket\ndef f(s: socket.socket, t: 'x' = None) -> socket.socket | None:\n    u: socket.socket = s",
    "from pathlib import Path\nPath('x').unlink(missing_ok=True)",
]  # fmt: skip


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in SEEN.items() for text in texts])
def test_it_is_seen(rule: str, text: str) -> None:
    assert rule in rules(text)


@pytest.mark.parametrize("text", UNSEEN)
def test_it_is_nothing_special(text: str) -> None:
    assert rules(text) == set()


def test_every_rule_of_the_catalogue_is_seen_somewhere() -> None:
    assert {rule.name for rule in PYTHON} - SEEN.keys() == set()


def test_a_test_may_know_that_it_is_one() -> None:
    assert rules("import pytest, sys\nif 'pytest' in sys.modules: pass\n", is_test=True) == set()


def test_a_finding_names_line_text_and_command() -> None:
    seen = python.scan("import os\n\nos.system('rm -rf /')\n", hooks)
    assert {(finding.rule, finding.line) for finding in seen} == {("python.os-system", 3), ("command.rm-outside", 3)}
    assert next(finding for finding in seen if finding.rule == "python.os-system").what == "`os.system('rm -rf /')`"
    assert next(finding for finding in seen if finding.argv).argv == ("rm", "-rf", "/")


def test_code_in_constant_text_is_told_at_the_line_that_runs_it() -> None:
    (seen,) = python.scan("x = 1\nexec('a = 1\\nimport ctypes')\n", hooks)
    assert (seen.rule, seen.line) == ("python.native", 2)
    nested = "import ctypes"
    for _ in range(6):
        nested = f"exec({nested!r})"
    assert python.scan(nested, hooks) == []


@given(st.text(max_size=200))
def test_no_text_makes_it_fail(text: str) -> None:
    python.scan(text, hooks)


@pytest.mark.parametrize("text", ["(" * 500, "x = " + "-" * 100_000 + "1", "\0", "x = 1\n" * 90_000])
def test_what_is_no_python_or_too_much_is_passed_over(text: str) -> None:
    assert python.scan(text, hooks) == []


LARGE = {
    "forks": "import os\n" + "while x:\n    os.fork()\n" * 3000,
    "turns": "x" + "[::-1]" * 90 + "\n" + ("eval(x" + "[::-1]" * 80 + ")\n") * 300,
    "sums": "f(" * 90 + ")" * 90 + "\neval(" + " + ".join(["1"] * 3000) + ")",
    "doubling": "\n".join(f"a{n + 1} = a{n} + a{n}" for n in range(2000)) + "\neval(a2000)",
    "joins": "import os.path\n" + "os.path.join(" * 80 + "'a'" + ", 'b')" * 80,
    "chains": "".join(f"class C{n + 1}(C{n}):\n def __eq__(self, o): return self.a(o)\n" for n in range(3000)),
    "twice": "class C(int):\n" + "  def __eq__(self, o): return self.a(o)\n  def a(self, o): return self.a(o)\n" * 2000,
    "starts": "t = f()\n" * 5000 + "t.start()\n" * 5000,
    "names": "name = " + " + ".join(["x"] * 500) + "\n" + "getattr(a, name)\nos.listdir(name)\n" * 3000,
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_large_and_deep_programs_are_read_to_their_end(text: str) -> None:
    python.scan(text, hooks)


def test_names_that_lead_in_circles_come_to_an_end() -> None:
    for text in ("a = b\nb = a\na(1)", "x = x + 'a'\nimport os\nos.system(x)", "f = lambda: f\nf()()()"):
        python.scan(text, hooks)
