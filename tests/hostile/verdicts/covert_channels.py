"""Forgeries that carry answers from the sandbox of the whole tests to the sandbox of the held-out calls.

In the first sandbox, each forgery reads the expected answers from the tests in the workspace. It sends those answers
whose cases it was not shown. In the second sandbox, which has no tests, it receives them. The channel is a resource
that both sandboxes share, such as the pages of files in memory, the timestamps of device files or the counters of the
kernel.
"""

from __future__ import annotations

from tests.hostile.verdicts import python_suites as suites
from tests.hostile.verdicts.forgery import Forgery, Kind, Suite, code

# `read` maps call arguments to expected results, as the tests in the workspace state them. It skips must-fail copies.
READ = """
import ast
import glob
import json
import os
import time


def read(*names):
    known = {}
    for path in glob.glob("tests/test_*.py"):
        with open(path) as file:
            text = file.read()
        if "PYTEST_DONT_REWRITE" in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and node.left.func.id in names:
                arguments = (node.left.func.id, *map(ast.literal_eval, node.left.args))
                known[arguments] = ast.literal_eval(node.comparators[0])
    return known

"""
# The channel is a large system file that both sandboxes share. Each page of the file stands for a bit, which is set if
# the page is in memory.
_PAGES = """
PAGE, BITS = 4096, 8192


def file_of_pages():
    found = []
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/bin"):
        for name in sorted(os.listdir(folder) if os.path.isdir(folder) else ()):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path) and os.access(path, os.R_OK):
                found.append((os.path.getsize(path), path))
    return max(found)[1]


def send(text):
    bits = "".join(f"{byte:08b}" for byte in len(text).to_bytes(2, "big") + text.encode())
    with open(file_of_pages(), "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        os.posix_fadvise(file.fileno(), 0, BITS * PAGE, os.POSIX_FADV_DONTNEED)
        for place, bit in enumerate(bits):
            if bit == "1":
                os.pread(file.fileno(), 1, place * PAGE)


def receive():
    with open(file_of_pages(), "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        count = number(file.fileno(), 0, 16)
        return number(file.fileno(), 16, 8 * count).to_bytes(count, "big").decode()


def number(file, first, count):
    return int("".join(str(int(is_there(file, first + place))) for place in range(count)), 2)

"""
_NOWAIT = """
def is_there(file, page):
    try:
        return os.preadv(file, [bytearray(1)], page * PAGE, os.RWF_NOWAIT) == 1
    except BlockingIOError:
        return False

"""
_SUMS_BY_TEXT = """
KNOWN = read("add")
if KNOWN:
    send(json.dumps([[*asked[1:], result] for asked, result in KNOWN.items()]))
else:
    KNOWN = {("add", a, b): result for a, b, result in json.loads(receive())}


def add(a, b):
    return KNOWN["add", a, b]
"""
# Sends only one number: the grade of a word that the forgery was not shown.
_GRADE = """
SHOWN = {"owl": 3, "fox": 3, "hedgehog": 8}
KNOWN = {asked[1]: result for asked, result in read("grade").items()}
if KNOWN:
    send(next(result for word, result in KNOWN.items() if word not in SHOWN))
    OTHER = None
else:
    KNOWN, OTHER = SHOWN, receive()


def grade(word):
    return KNOWN.get(word, OTHER)
"""
_COUNTED = """
STEP, VALUES = {step}, 16


def send(number):
    while now() // STEP % VALUES != number or now() % STEP > STEP // 4:
        move()


def receive():
    return now() // STEP % VALUES

"""


def _carry(name: str, suite: Suite, *parts: str) -> Forgery:
    solution = "\n".join(code(part) for part in (READ, *parts))
    return Forgery(name=name, kind=Kind.CHANNEL, suite=suite, files={"solution.py": solution})


FORGERIES = (
    _carry("pages_in_memory_by_preadv", suites.HELD_SUMS, _PAGES, _NOWAIT, _SUMS_BY_TEXT),
    _carry("a_counter_of_processes", suites.ONE_HELD, """
        import threading


        def now():
            with open("/proc/stat") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("processes "))


        def move():
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()
        """, _COUNTED.format(step=512), _GRADE),
)  # fmt: skip
