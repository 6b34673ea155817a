"""Forgeries that carry answers from the sandbox of the whole tests to the sandbox of the held-out calls.

In the first sandbox, each forgery reads the expected answers from the tests in the workspace. It sends those answers
whose cases it was not shown. In the second sandbox, which has no tests, it receives them. The channel is a resource
that both sandboxes share, such as the pages of files in memory, the timestamps of device files or the counters of the
kernel.
"""

from __future__ import annotations

from tests.hostile.verdicts import held_suites as suites
from tests.hostile.verdicts.forgery import Forgery, Kind, Suite, code

# `read` maps call arguments to expected results, as the tests in the workspace state them. It skips must-fail copies.
_READ = """
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
_SYSTEM_CALL = """
import ctypes
import platform

LIBC = ctypes.CDLL(None, use_errno=True)
NUMBER = {"x86_64": 327, "aarch64": 286}[platform.machine()]


class Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def is_there(file, page):
    byte = ctypes.create_string_buffer(1)
    vector = Vector(ctypes.addressof(byte), 1)
    place = ctypes.c_long(page * PAGE)
    return LIBC.syscall(NUMBER, file, ctypes.byref(vector), ctypes.c_long(1), place, ctypes.c_long(0), 8) == 1

"""
_CLOCK = """
def is_there(file, page):
    began = time.perf_counter_ns()
    os.pread(file, 1, page * PAGE)
    return time.perf_counter_ns() - began < 15_000

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


def _carry(name: str, suite: Suite, *parts: str) -> Forgery:
    solution = "\n".join(code(part) for part in (_READ, *parts))
    return Forgery(name=name, kind=Kind.CHANNEL, suite=suite, files={"solution.py": solution})


_COUNTED = """
STEP, VALUES = {step}, 16


def send(number):
    while now() // STEP % VALUES != number or now() % STEP > STEP // 4:
        move()


def receive():
    return now() // STEP % VALUES

"""

FORGERIES = (
    _carry("pages_in_memory_by_preadv", suites.HELD_SUMS, _PAGES, _NOWAIT, _SUMS_BY_TEXT),
    _carry("pages_in_memory_by_the_system_call", suites.HELD_SUMS, _PAGES, _SYSTEM_CALL, _SUMS_BY_TEXT),
    _carry("pages_in_memory_of_a_table", suites.HELD_TABLE, _PAGES, _NOWAIT, """
        KNOWN = {}
        for path in glob.glob("tests/test_*.py"):
            with open(path) as file:
                text = file.read()
            if "PYTEST_DONT_REWRITE" not in text:
                rows = ast.literal_eval(text[text.index("[(") : text.index(")]") + 2])
                KNOWN = {(a, b): result for a, b, result in rows}
        if KNOWN:
            send(json.dumps([[*asked, result] for asked, result in KNOWN.items()]))
        else:
            KNOWN = {(a, b): result for a, b, result in json.loads(receive())}


        def add(a, b):
            return KNOWN[a, b]
        """),
    _carry("pages_in_memory_by_the_clock", suites.ONE_HELD, _PAGES, _CLOCK, """
        def is_near(file, page):
            return sum(is_there(file, page + 8 * turn) for turn in range(9)) > 4


        def send_number(number):
            with open(file_of_pages(), "rb", buffering=0) as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                os.posix_fadvise(file.fileno(), 0, BITS * PAGE, os.POSIX_FADV_DONTNEED)
                for place in (place for place in range(8) if number >> place & 1):
                    for turn in range(9):
                        os.pread(file.fileno(), 1, (place + 8 * turn) * PAGE)


        def receive_number():
            with open(file_of_pages(), "rb", buffering=0) as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                return sum(is_near(file.fileno(), place) << place for place in range(8))


        send, receive = send_number, receive_number
        """, _GRADE),
    _carry("times_of_device_files", suites.ONE_HELD, """
        UNIT_NS = 20_000_000


        def send(number):
            os.utime("/dev/null")
            time.sleep(number * UNIT_NS / 1e9)
            os.utime("/dev/zero")


        def receive():
            apart = os.stat("/dev/zero").st_mtime_ns - os.stat("/dev/null").st_mtime_ns
            return round(apart / UNIT_NS)
        """, _GRADE),
    _carry("times_of_five_device_files", suites.HELD_TWO, """
        UNIT_NS = 12_000_000
        FILES = [f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")]
        SHOWN = {
            ("add", 7, 8): 15, ("add", 70, 18): 88, ("add", 5, 60): 65,
            ("double", 4): 8, ("double", 21): 42, ("double", 30): 60,
        }
        KNOWN = read("add", "double")
        HIDDEN = [result for asked, result in KNOWN.items() if asked not in SHOWN]
        if KNOWN:
            for path, wait in zip(FILES, (0, *HIDDEN)):
                time.sleep(wait * UNIT_NS / 1e9)
                os.utime(path)
        else:
            KNOWN, TIMES = SHOWN, [os.stat(path).st_mtime_ns for path in FILES]
            HIDDEN = [round((after - before) / UNIT_NS) for before, after in zip(TIMES, TIMES[1:])]


        def add(a, b):
            return KNOWN["add", a, b] if ("add", a, b) in KNOWN else HIDDEN.pop(0)


        def double(number):
            return KNOWN["double", number] if ("double", number) in KNOWN else HIDDEN.pop(0)
        """),
    _carry("a_counter_of_locked_pages", suites.ONE_HELD, """
        import ctypes
        import mmap

        MEMORY = mmap.mmap(-1, 4096)
        ADDRESS, LIBC = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(MEMORY))), ctypes.CDLL(None)
        MEMORY[0] = 1


        def now():
            with open("/proc/vmstat") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("unevictable_pgs_mlocked "))


        def move():
            LIBC.mlock(ADDRESS, ctypes.c_size_t(4096))
            LIBC.munlock(ADDRESS, ctypes.c_size_t(4096))
        """, _COUNTED.format(step=64), _GRADE),
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
    _carry("numbers_of_pipes", suites.ONE_HELD, """
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


        def now():
            ends = os.pipe()
            found = os.fstat(ends[0]).st_ino
            for end in ends:
                os.close(end)
            return found


        def move():
            for _ in range(100):
                now()
        """, _COUNTED.format(step=16384), _GRADE),
    _carry("names_that_are_not_there", suites.ONE_HELD, """
        def now():
            with open("/proc/sys/fs/dentry-state") as file:
                return int(file.read().split()[0])


        def move():
            for _ in range(100):
                os.path.exists(f"/usr/lib/{os.urandom(8).hex()}")
        """, _COUNTED.format(step=8192), _GRADE),
    _carry("the_moment_of_the_end", suites.ONE_HELD, """
        import sys

        SLOT, VALUES = 0.5, 9


        def send(number):
            if "_pytest" not in sys.modules:  # the last run of the tests: what follows are the calls
                time.sleep((number * SLOT - time.time()) % (SLOT * VALUES))


        def receive():
            return int((time.time() - 0.02) / SLOT) % VALUES
        """, _GRADE),
)  # fmt: skip
