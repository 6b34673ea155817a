"""An owner's tasks in one workspace, with the replies of a competent model.

Ten tasks write small programs, which the owner's documents name. The other tasks change, remove and document these
programs. The paths in a reply are relative to the task's project. Some later tasks contradict the tests of earlier
tasks on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Tale:
    """A task: the project that a plan assigns it to, and the replies of the coder and of the writer of tests.

    `removes` are files that the coder deletes. If `files` contain tests, these are earlier tests of the agent that the
    task contradicts.
    """

    words: str
    project: str
    files: Mapping[str, str] = field(default_factory=dict)
    tests: Mapping[str, str] = field(default_factory=dict)
    removes: tuple[str, ...] = ()


STATS = '''"""Statistics of a column of a CSV file."""

import csv
import statistics
import sys


def summary(lines, column):
    """Count, mean, smallest and largest value of a column; empty cells are passed over."""
    values = [float(row[column]) for row in csv.DictReader(lines) if row[column]]
    if not values:
        return {"count": 0}
    return {"count": len(values), "mean": statistics.fmean(values), "min": min(values), "max": max(values)}


def main(arguments):
    """Print the summary of a file's column; the exit status."""
    if len(arguments) != 2:
        print("usage: stats.py FILE COLUMN", file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8", newline="") as lines:
        for name, value in summary(lines, arguments[1]).items():
            print(f"{name}: {value:g}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''
STATS_TESTS = """from stats import main, summary

LINES = ["name,age", "Ada,36", "Bo,", "Cy,40"]


def test_a_column_is_summed_up():
    assert summary(LINES, "age") == {"count": 2, "mean": 38.0, "min": 36.0, "max": 40.0}


def test_nothing_has_no_mean():
    assert summary(["age"], "age") == {"count": 0}


def test_a_file_is_read(tmp_path, capsys):
    path = tmp_path / "people.csv"
    path.write_text("\\n".join(LINES))
    assert main([str(path), "age"]) == 0
    assert capsys.readouterr().out == "count: 2\\nmean: 38\\nmin: 36\\nmax: 40\\n"


def test_arguments_are_needed():
    assert main([]) == 2
"""

TODO = '''"""A list of things to do, kept in a JSON file."""

import argparse
import json
import sys
from pathlib import Path


def load(path):
    """The items in a file; none where it is not there yet."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def save(path, items):
    """Write all items."""
    path.write_text(json.dumps(items, indent=1), encoding="utf-8")


def add(items, text):
    """The items with a new one at the end."""
    if not text.strip():
        raise ValueError("an item needs a text")
    return [*items, {"text": text.strip(), "done": False}]


def finish(items, number):
    """The items with one of them done; numbers begin at 1."""
    if not 1 <= number <= len(items):
        raise ValueError(f"there is no item {number}")
    return [{**item, "done": item["done"] or place == number} for place, item in enumerate(items, 1)]


def shown(items):
    """One line an item."""
    return [f"{number}. [{'x' if item['done'] else ' '}] {item['text']}" for number, item in enumerate(items, 1)]


def main(arguments):
    """The command line; the exit status."""
    parser = argparse.ArgumentParser(prog="todo")
    parser.add_argument("--file", type=Path, default=Path("todo.json"))
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("add").add_argument("text")
    commands.add_parser("done").add_argument("number", type=int)
    commands.add_parser("list")
    asked = parser.parse_args(arguments)
    items = load(asked.file)
    try:
        if asked.command == "add":
            items = add(items, asked.text)
        elif asked.command == "done":
            items = finish(items, asked.number)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    save(asked.file, items)
    print("\\n".join(shown(items)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''
TODO_TESTS = """import pytest

from todo import add, finish, load, main, save, shown


def test_an_item_is_added_at_the_end():
    assert add(add([], "milk"), " bread ") == [{"text": "milk", "done": False}, {"text": "bread", "done": False}]


def test_an_item_needs_a_text():
    with pytest.raises(ValueError, match="needs a text"):
        add([], " ")


def test_one_item_is_done():
    items = add(add([], "milk"), "bread")
    assert shown(finish(items, 2)) == ["1. [ ] milk", "2. [x] bread"]
    assert shown(finish(finish(items, 2), 1)) == ["1. [x] milk", "2. [x] bread"]


def test_there_must_be_such_an_item():
    for number in (0, 2):
        with pytest.raises(ValueError, match="no item"):
            finish(add([], "milk"), number)


def test_items_are_kept(tmp_path):
    path = tmp_path / "list.json"
    assert load(path) == []
    save(path, add([], "milk"))
    assert load(path) == [{"text": "milk", "done": False}]


def test_the_command_line(tmp_path, capsys):
    path = str(tmp_path / "list.json")
    assert main(["--file", path, "add", "milk"]) == 0
    assert main(["--file", path, "done", "1"]) == 0
    assert capsys.readouterr().out == "1. [ ] milk\\n1. [x] milk\\n"
    assert main(["--file", path, "done", "7"]) == 1
    assert main(["--file", path, "list"]) == 0
    assert capsys.readouterr() == ("1. [x] milk\\n", "there is no item 7\\n")
"""

BOOKS = '''"""A REST API for books, kept in SQLite."""

import sqlite3

from flask import Flask, jsonify, request


def create_app(database="books.db"):
    """The application over a database file."""
    app = Flask(__name__)

    def connection():
        opened = sqlite3.connect(database)
        opened.row_factory = sqlite3.Row
        opened.execute("CREATE TABLE IF NOT EXISTS books (id INTEGER PRIMARY KEY, title TEXT NOT NULL, author TEXT)")
        return opened

    @app.get("/books")
    def books():
        with connection() as db:
            return jsonify([dict(row) for row in db.execute("SELECT id, title, author FROM books ORDER BY id")])

    @app.post("/books")
    def add():
        sent = request.get_json(silent=True)
        title = sent.get("title") if isinstance(sent, dict) else None
        if not isinstance(title, str) or not title.strip():
            return jsonify(error="a book needs a title"), 400
        author = str(sent.get("author", ""))
        with connection() as db:
            row = db.execute("INSERT INTO books (title, author) VALUES (?, ?)", (title.strip(), author))
        return jsonify(id=row.lastrowid, title=title.strip(), author=author), 201

    return app
'''
BOOKS_TESTS = """import pytest

from app import create_app


@pytest.fixture
def client(tmp_path):
    return create_app(str(tmp_path / "books.db")).test_client()


def test_there_are_no_books_at_first(client):
    answer = client.get("/books")
    assert (answer.status_code, answer.get_json()) == (200, [])


def test_a_book_is_added_and_listed(client):
    added = client.post("/books", json={"title": " Emma ", "author": "Austen"})
    assert added.status_code == 201
    assert added.get_json() == {"id": 1, "title": "Emma", "author": "Austen"}
    client.post("/books", json={"title": "Ulysses"})
    assert client.get("/books").get_json() == [
        {"id": 1, "title": "Emma", "author": "Austen"},
        {"id": 2, "title": "Ulysses", "author": ""},
    ]


@pytest.mark.parametrize("sent", [{}, {"title": " "}, {"title": 7}, ["Emma"]])
def test_a_book_needs_a_title(client, sent):
    answer = client.post("/books", json=sent)
    assert answer.status_code == 400
    assert answer.get_json() == {"error": "a book needs a title"}
"""

HEALTH = '''"""A health check endpoint."""

import time

from flask import Flask, jsonify

BEGAN = time.monotonic()


def health(now):
    """What the endpoint says at this reading of the monotonic clock, in seconds."""
    return {"status": "ok", "uptime_s": int(now - BEGAN)}


app = Flask(__name__)


@app.get("/health")
def answer():
    """The state of the service."""
    return jsonify(health(time.monotonic()))
'''
HEALTH_TESTS = """from service import BEGAN, app, health


def test_the_uptime_is_in_whole_seconds():
    assert health(BEGAN + 2.9) == {"status": "ok", "uptime_s": 2}


def test_the_endpoint_answers():
    answer = app.test_client().get("/health")
    assert answer.status_code == 200
    assert answer.get_json()["status"] == "ok"
"""

ACCOUNTS = '''"""Registration of users."""

import re

ADDRESS = re.compile(r"[A-Za-z0-9._-]+@[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)+")


class Refused(ValueError):
    """A registration that is not taken; its text says why."""


class Accounts:
    """Users by their address, which is one whatever its case."""

    def __init__(self):
        self.names = {}

    def register(self, address, name):
        """Take a new user; his address as it is kept."""
        address = address.strip().lower()
        if not ADDRESS.fullmatch(address):
            raise Refused(f"{address!r} is no address")
        if address in self.names:
            raise Refused(f"{address} is registered")
        self.names[address] = name
        return address
'''
ACCOUNTS_TESTS = """import pytest

from accounts import Accounts, Refused


def test_a_user_is_registered():
    accounts = Accounts()
    assert accounts.register(" Ada@Example.org ", "Ada") == "ada@example.org"
    assert accounts.names == {"ada@example.org": "Ada"}


def test_an_address_is_taken_once():
    accounts = Accounts()
    accounts.register("ada@example.org", "Ada")
    with pytest.raises(Refused, match="is registered"):
        accounts.register("ADA@example.org", "Eve")
    assert accounts.names == {"ada@example.org": "Ada"}


@pytest.mark.parametrize("address", ["", "ada", "ada@", "@example.org", "ada@example", "a b@example.org"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(Refused, match="is no address"):
        Accounts().register(address, "Ada")
"""

VALIDATION = '''"""Checks records against a table of rules."""


def faults(record, rules):
    """What is wrong with a record, a line each; rules are name to type, all of them required."""
    found = [f"{name} is missing" for name in rules if name not in record]
    for name, value in record.items():
        if name not in rules:
            found.append(f"{name} is not known")
        elif not isinstance(value, rules[name]) or (rules[name] is int and isinstance(value, bool)):
            found.append(f"{name} must be {rules[name].__name__}")
    return found
'''
VALIDATION_TESTS = """from validation import faults

RULES = {"name": str, "age": int}


def test_a_sound_record_has_no_faults():
    assert faults({"name": "Ada", "age": 36}, RULES) == []


def test_each_fault_is_named():
    assert faults({"age": "36", "size": 1}, RULES) == ["name is missing", "age must be int", "size is not known"]


def test_a_truth_is_no_number():
    assert faults({"name": "Ada", "age": True}, RULES) == ["age must be int"]
"""

TODO_API = '''"""The list of things to do as a REST API."""

from pathlib import Path

from flask import Flask, jsonify, request

from todo import add, finish, load, save


def create_app(path="todo.json"):
    """The application over a file of items."""
    app, path = Flask(__name__), Path(path)

    @app.get("/items")
    def items():
        return jsonify(load(path))

    @app.post("/items")
    def new():
        sent = request.get_json(silent=True)
        try:
            changed = add(load(path), str(sent["text"]))
        except (KeyError, TypeError, ValueError):
            return jsonify(error="an item needs a text"), 400
        save(path, changed)
        return jsonify(changed[-1]), 201

    @app.post("/items/<int:number>/done")
    def done(number):
        try:
            changed = finish(load(path), number)
        except ValueError as error:
            return jsonify(error=str(error)), 404
        save(path, changed)
        return jsonify(changed[number - 1])

    return app
'''
TODO_API_TESTS = """import pytest

from api import create_app


@pytest.fixture
def client(tmp_path):
    return create_app(tmp_path / "todo.json").test_client()


def test_items_are_added_and_done(client):
    added = client.post("/items", json={"text": "milk"})
    assert (added.status_code, added.get_json()) == (201, {"text": "milk", "done": False})
    done = client.post("/items/1/done")
    assert (done.status_code, done.get_json()) == (200, {"text": "milk", "done": True})
    assert client.get("/items").get_json() == [{"text": "milk", "done": True}]


@pytest.mark.parametrize("sent", [{}, {"text": " "}, [1]])
def test_an_item_needs_a_text(client, sent):
    assert client.post("/items", json=sent).status_code == 400
    assert client.get("/items").get_json() == []


def test_there_must_be_such_an_item(client):
    answer = client.post("/items/3/done")
    assert (answer.status_code, answer.get_json()) == (404, {"error": "there is no item 3"})
"""

LINKS = '''"""Short names for long links, kept in SQLite."""

import sqlite3

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


def short(number):
    """A number, 1 or more, as a short word."""
    word = ""
    while number:
        number, rest = divmod(number, len(LETTERS))
        word = LETTERS[rest] + word
    return word


class Links:
    def __init__(self, database=":memory:"):
        self.db = sqlite3.connect(database)
        self.db.execute("CREATE TABLE IF NOT EXISTS links (id INTEGER PRIMARY KEY, target TEXT UNIQUE)")

    def shorten(self, target):
        if not target.startswith(("http://", "https://")):
            raise ValueError("a link begins with http:// or https://")
        with self.db:
            self.db.execute("INSERT OR IGNORE INTO links (target) VALUES (?)", (target,))
        return short(self.db.execute("SELECT id FROM links WHERE target = ?", (target,)).fetchone()[0])

    def target(self, word):
        try:
            row = self.db.execute("SELECT target FROM links WHERE id = ?", (int(word, len(LETTERS)),)).fetchone()
        except ValueError:
            return None
        return row[0] if row else None
'''
LINKS_TESTS = """import pytest

from links import Links, short


def test_numbers_are_short_words():
    assert [short(number) for number in (1, 9, 10, 35, 36, 1296)] == ["1", "9", "a", "z", "10", "100"]


def test_a_link_is_found_by_its_word():
    links = Links()
    assert links.shorten("https://example.org/a") == "1"
    assert links.shorten("https://example.org/b") == "2"
    assert links.target("2") == "https://example.org/b"


def test_the_same_link_has_the_same_word():
    links = Links()
    links.shorten("https://example.org/b")
    assert links.shorten("https://example.org/a") == links.shorten("https://example.org/a") == "2"


@pytest.mark.parametrize("word", ["7", "", "not there!"])
def test_an_unknown_word_has_no_target(word):
    assert Links().target(word) is None


def test_other_texts_are_refused():
    with pytest.raises(ValueError, match="begins with"):
        Links().shorten("ftp://example.org")


def test_links_are_kept(tmp_path):
    path = tmp_path / "links.db"
    word = Links(path).shorten("http://example.org")
    assert Links(path).target(word) == "http://example.org"
"""

LIMITER = '''"""Lets only so many calls pass in a span of time."""

import time
from collections import deque


class Limiter:
    """At most `most` calls within `span_s` seconds."""

    def __init__(self, most, span_s, clock=time.monotonic):
        self.most, self.span_s, self.clock = most, span_s, clock
        self.passed = deque()

    def allows(self):
        """Tell whether a call may pass now, and count it if so."""
        now = self.clock()
        while self.passed and now - self.passed[0] >= self.span_s:
            self.passed.popleft()
        if len(self.passed) >= self.most:
            return False
        self.passed.append(now)
        return True
'''
LIMITER_TESTS = """from limiter import Limiter


def test_so_many_calls_pass():
    limiter = Limiter(2, 10, clock=lambda: 5.0)
    assert [limiter.allows() for _ in range(3)] == [True, True, False]


def test_calls_pass_again_when_the_span_is_over():
    times = iter([0.0, 9.9, 10.0, 10.1])
    limiter = Limiter(1, 10, clock=lambda: next(times))
    assert [limiter.allows() for _ in range(4)] == [True, False, True, False]
"""

PRICES = """// Prices as they are shown.

export function price(cents, currency = "EUR") {
  if (!Number.isInteger(cents)) throw new TypeError("a price is in whole cents");
  const sign = cents < 0 ? "-" : "";
  const digits = String(Math.abs(cents)).padStart(3, "0");
  const whole = digits.slice(0, -2).replace(/\\B(?=(\\d{3})+$)/g, ",");
  return `${sign}${whole}.${digits.slice(-2)} ${currency}`;
}
"""
PRICES_TESTS = """import assert from "node:assert/strict";
import { test } from "node:test";

import { price } from "../prices.mjs";

test("cents are two digits", () => {
  assert.equal(price(5), "0.05 EUR");
  assert.equal(price(-250), "-2.50 EUR");
});

test("thousands are parted", () => {
  assert.equal(price(123456789, "USD"), "1,234,567.89 USD");
  assert.equal(price(99999), "999.99 EUR");
});

test("a price is in whole cents", () => {
  assert.throws(() => price(1.5), TypeError);
});
"""

MADE = (
    Tale(
        words="Build a script to parse CSV files and generate statistics",
        project="csv_stats",
        files={"stats.py": STATS},
        tests={"tests/test_stats.py": STATS_TESTS},
    ),
    Tale(
        words="Create a CLI tool for managing TODO items stored in JSON",
        project="todo",
        files={"todo.py": TODO},
        tests={"tests/test_todo.py": TODO_TESTS},
    ),
    Tale(
        words="Create a Flask REST API for managing books with SQLite",
        project="books",
        files={"app.py": BOOKS},
        tests={"tests/test_app.py": BOOKS_TESTS},
    ),
    Tale(
        words="Create a health check endpoint with Flask",
        project="health",
        files={"service.py": HEALTH},
        tests={"tests/test_service.py": HEALTH_TESTS},
    ),
    Tale(
        words="Create a user registration with email validation",
        project="accounts",
        files={"accounts.py": ACCOUNTS},
        tests={"tests/test_accounts.py": ACCOUNTS_TESTS},
    ),
    Tale(
        words="Create a data validation utility",
        project="validation",
        files={"validation.py": VALIDATION},
        tests={"tests/test_validation.py": VALIDATION_TESTS},
    ),
    Tale(
        words="Build a REST API for managing the todo items",
        project="todo",
        files={"api.py": TODO_API},
        tests={"tests/test_api.py": TODO_API_TESTS},
    ),
    Tale(
        words="Write a shortener for links that keeps them in SQLite",
        project="links",
        files={"links.py": LINKS},
        tests={"tests/test_links.py": LINKS_TESTS},
    ),
    Tale(
        words="Write a rate limiter: so many calls in a span of time",
        project="limiter",
        files={"limiter.py": LIMITER},
        tests={"tests/test_limiter.py": LIMITER_TESTS},
    ),
    Tale(
        words="Write a JavaScript module that shows prices",
        project="prices",
        files={"prices.mjs": PRICES},
        tests={"tests/prices.test.mjs": PRICES_TESTS},
    ),
)


def _with(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


TODO_2 = _with(
    TODO,
    (
        "\n\ndef shown(",
        '''

def remove(items, number):
    """The items without one of them; numbers begin at 1."""
    if not 1 <= number <= len(items):
        raise ValueError(f"there is no item {number}")
    return [*items[: number - 1], *items[number:]]


def shown(''',
    ),
    (
        '    commands.add_parser("list")\n',
        '    commands.add_parser("remove").add_argument("number", type=int)\n    commands.add_parser("list")\n',
    ),
    (
        "            items = finish(items, asked.number)\n",
        (
            '            items = finish(items, asked.number)\n        elif asked.command == "remove":\n'
            "            items = remove(items, asked.number)\n"
        ),
    ),
)
REMOVE_TESTS = """import pytest

from todo import add, main, remove, shown


def test_an_item_is_removed():
    items = add(add(add([], "milk"), "bread"), "tea")
    assert shown(remove(items, 2)) == ["1. [ ] milk", "2. [ ] tea"]
    assert shown(remove(items, 1)) == ["1. [ ] bread", "2. [ ] tea"]
    assert shown(remove(items, 3)) == ["1. [ ] milk", "2. [ ] bread"]


@pytest.mark.parametrize("number", [0, 2])
def test_there_must_be_such_an_item(number):
    with pytest.raises(ValueError, match=f"no item {number}"):
        remove(add([], "milk"), number)


def test_the_command_line_removes(tmp_path, capsys):
    path = str(tmp_path / "list.json")
    for words in (["add", "milk"], ["add", "tea"], ["remove", "1"]):
        assert main(["--file", path, *words]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1. [ ] tea"
    assert main(["--file", path, "remove", "2"]) == 1
"""
TODO_3 = TODO_2.replace("finish(", "complete(")
STATS_2 = _with(
    STATS,
    ("Count, mean, smallest and largest value", "Count, mean, median, smallest and largest value"),
    (
        '"mean": statistics.fmean(values), "min": min(values), "max": max(values)}',
        (
            '"mean": statistics.fmean(values), "median": statistics.median(values),\n'
            '            "min": min(values), "max": max(values)}'
        ),
    ),
)
STATS_TESTS_2 = _with(
    STATS_TESTS,
    ('"mean": 38.0, "min"', '"mean": 38.0, "median": 38.0, "min"'),
    ("mean: 38\\nmin", "mean: 38\\nmedian: 38\\nmin"),
)
MEDIAN_TESTS = """from stats import summary


def test_the_median_is_the_middle_value():
    assert summary(["age", "1", "2", "9"], "age")["median"] == 2.0
    assert summary(["age", "1", "2", "9", "4"], "age")["median"] == 3.0
"""
BOOKS_2 = _with(
    BOOKS,
    ("import sqlite3\n\n", "import sqlite3\nimport time\n\n"),
    ("    app = Flask(__name__)\n", "    app, began = Flask(__name__), time.monotonic()\n"),
    (
        "    return app\n",
        """    @app.get("/health")
    def health():
        return jsonify(status="ok", uptime_s=int(time.monotonic() - began))

    return app
""",
    ),
)
BOOKS_HEALTH_TESTS = """from app import create_app


def test_the_service_tells_its_health(tmp_path):
    answer = create_app(str(tmp_path / "books.db")).test_client().get("/health")
    assert answer.status_code == 200
    assert answer.get_json() == {"status": "ok", "uptime_s": 0}
"""
BOOKS_3 = _with(
    BOOKS_2,
    (
        '    @app.get("/health")',
        """    @app.delete("/books/<int:number>")
    def remove(number):
        with connection() as db:
            gone = db.execute("DELETE FROM books WHERE id = ?", (number,)).rowcount
        return ("", 204) if gone else (jsonify(error=f"there is no book {number}"), 404)

    @app.get("/health")""",
    ),
)
BOOKS_DELETE_TESTS = """from app import create_app


def test_a_book_is_deleted_once(tmp_path):
    client = create_app(str(tmp_path / "books.db")).test_client()
    for title in ("Emma", "Ulysses"):
        client.post("/books", json={"title": title})
    assert client.delete("/books/1").status_code == 204
    assert [book["title"] for book in client.get("/books").get_json()] == ["Ulysses"]
    again = client.delete("/books/1")
    assert (again.status_code, again.get_json()) == (404, {"error": "there is no book 1"})
"""
ACCOUNTS_2 = _with(ACCOUNTS, ("[A-Za-z0-9._-]+@", "[A-Za-z0-9._+-]+@"))
PLUS_TESTS = """from accounts import Accounts


def test_an_address_may_have_a_plus_sign():
    assert Accounts().register("ada+news@example.org", "Ada") == "ada+news@example.org"
"""
LIMITER_2 = (
    LIMITER
    + '''
    def wait_s(self):
        """How many seconds it takes until a call may pass; 0.0 where one may now."""
        if len(self.passed) < self.most:
            return 0.0
        return max(0.0, self.passed[-self.most] + self.span_s - self.clock())
'''
)
WAIT_TESTS = """from limiter import Limiter


def test_nobody_waits_while_calls_may_pass():
    assert Limiter(1, 10, clock=lambda: 3.0).wait_s() == 0.0


def test_the_wait_is_for_the_end_of_the_span():
    times = iter([1.0, 2.0, 4.0, 11.5])
    limiter = Limiter(2, 10, clock=lambda: next(times))
    assert limiter.allows() and limiter.allows()
    assert limiter.wait_s() == 7.0
    assert limiter.wait_s() == 0.0
"""
LINKS_2 = _with(
    LINKS,
    (
        "class Links:\n",
        'class Links:\n    """Links by their short word; a link has one word however often it is asked for."""\n\n',
    ),
    (
        "def shorten(self, target):\n",
        'def shorten(self, target):\n        """The word of a link. Raises ValueError where it is no link."""\n',
    ),
    (
        "def target(self, word):\n",
        'def target(self, word):\n        """The link of a word; None for an unknown one."""\n',
    ),
)
TODO_README = """# todo

A list of things to do, kept in a JSON file.

    python todo.py add "buy milk"
    python todo.py done 1
    python todo.py remove 1
    python todo.py list

`--file FILE` before the command names another file than `todo.json`. The same list as a REST API is in
[api.py](api.py):

```python
from api import create_app

app = create_app("todo.json")
assert app.test_client().get("/items").status_code == 200
```

Tests: `python -m pytest`.
"""
BOOKS_README = """# books

A REST API for books, kept in SQLite; the application is made by `create_app` in [app.py](app.py).

| request | answer |
|---|---|
| `GET /books` | all books |
| `POST /books` with `title` and `author` | the new book |
| `DELETE /books/1` | nothing |
| `GET /health` | the state of the service |

Install what it needs with `pip install -r requirements.txt`, and start it with `flask run`.
"""

LIMITER_FILES = (
    "README.md",
    "requirements.txt",
    "pytest.ini",
    "limiter.py",
    "tests/test_limiter.py",
    "tests/test_wait.py",
)

CHANGED = (
    Tale(
        words="The todo tool should be able to remove an item, by a command remove NUMBER",
        project="todo",
        files={"todo.py": TODO_2},
        tests={"tests/test_remove.py": REMOVE_TESTS},
    ),
    Tale(
        words="The CSV statistics should also tell the median, between mean and min",
        project="csv_stats",
        files={"stats.py": STATS_2, "tests/test_stats.py": STATS_TESTS_2},
        tests={"tests/test_median.py": MEDIAN_TESTS},
    ),
    Tale(
        words="Rename finish() of the todo list to complete(), everywhere",
        project="todo",
        files={
            "todo.py": TODO_3,
            "api.py": TODO_API.replace("finish", "complete"),
            "tests/test_todo.py": TODO_TESTS.replace("finish", "complete"),
        },
    ),
    Tale(
        words="Answer /health in the books API as well",
        project="books",
        files={"app.py": BOOKS_2},
        tests={"tests/test_health.py": BOOKS_HEALTH_TESTS},
    ),
    Tale(
        words="Let the books API delete a book",
        project="books",
        files={"app.py": BOOKS_3},
        tests={"tests/test_delete.py": BOOKS_DELETE_TESTS},
    ),
    Tale(
        words="Registration refuses addresses with a plus sign; they are valid",
        project="accounts",
        files={"accounts.py": ACCOUNTS_2},
        tests={"tests/test_plus.py": PLUS_TESTS},
    ),
    Tale(
        words="The rate limiter should tell how long to wait",
        project="limiter",
        files={"limiter.py": LIMITER_2},
        tests={"tests/test_wait.py": WAIT_TESTS},
    ),
    Tale(words="Write docstrings for the link shortener", project="links", files={"links.py": LINKS_2}),
    Tale(words="Document the todo tool in its README", project="todo", files={"README.md": TODO_README}),
    Tale(
        words="Document the endpoints of the books API in its README",
        project="books",
        files={"README.md": BOOKS_README},
    ),
    Tale(words="Remove the limiter project, nobody uses it", project="limiter", removes=LIMITER_FILES),
)
