"""A coding agent that speaks the Agent Client Protocol and follows a script. The tests run it inside the sandbox.

Run the agent as `python3 acp_agent.py SCRIPT`. SCRIPT is a JSON object that maps a phase's name (or `*` for any phase)
to a list of actions. Each action is a list whose first item is the action's name. The agent knows nothing of Nightshift
and imports only the standard library.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

SESSION = "s-1"


class Agent:
    def __init__(self, script: dict[str, list[list[Any]]]) -> None:
        self.script, self.number, self.calls, self.cancelled = script, 0, 0, False

    def send(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def read(self) -> dict[str, Any]:
        line = sys.stdin.readline()
        if not line:
            raise SystemExit(0)
        message: dict[str, Any] = json.loads(line)
        return message

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        self.send(id=f"a{self.number}", method=method, params={"sessionId": SESSION, **params})
        while True:
            message = self.read()
            if message.get("id") == f"a{self.number}" and "method" not in message:
                return message
            self.cancelled |= message.get("method") == "session/cancel"

    def update(self, name: str, **more: Any) -> None:
        update = {"sessionUpdate": name, **more}
        self.send(method="session/update", params={"sessionId": SESSION, "update": update})

    def say(self, text: str) -> None:
        for piece in re.findall(r"\S+\s*", text):
            self.update("agent_message_chunk", content={"type": "text", "text": piece})

    def permission(self, title: str, path: str) -> str:
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                   {"optionId": "no", "name": "No", "kind": "reject_once"}]  # fmt: skip
        call = {"toolCallId": f"p{self.number}", "title": title, "kind": "edit", "locations": [{"path": path}]}
        answer = self.ask("session/request_permission", toolCall=call, options=options)
        return str(answer["result"]["outcome"].get("optionId", "cancelled"))

    def tool(self, title: str, **given: Any) -> None:
        self.calls += 1
        call = f"c{self.calls}"
        self.update("tool_call", toolCallId=call, title=title, kind="edit", status="in_progress", rawInput=given)
        self.update("tool_call_update", toolCallId=call, status="completed")

    def run(self) -> None:
        while True:
            asked = self.read()
            method, number = asked.get("method"), asked.get("id")
            if method == "initialize":
                methods = [{"id": "key", "name": "A key"}]
                self.send(id=number, result={"protocolVersion": self.script.get("version", 1), "authMethods": methods})
            elif method == "session/new":
                if self.script.get("needs_login"):
                    self.send(id=number, error={"code": -32000, "message": "Authentication required"})
                else:
                    self.send(id=number, result={"sessionId": SESSION})
            elif method == "authenticate":
                self.script.pop("needs_login", None)
                self.send(id=number, result={})
            elif method == "session/prompt":
                text = asked["params"]["prompt"][0]["text"]
                result = self.work(text)
                self.send(id=number, result=result)

    def work(self, text: str) -> dict[str, Any]:
        match = re.search(r"Phase: (\w+)", text)
        phase = match[1] if match else "*"
        phase += " again" if "Find the cause of the failure" in text and f"{phase} again" in self.script else ""
        result: dict[str, Any] = {"stopReason": "end_turn"}
        for name, *words in self.script.get(phase, self.script.get("*", [])):
            if name == "stop":
                result["stopReason"] = words[0]
            elif name == "usage":
                result["usage"] = {"inputTokens": words[0], "outputTokens": words[1], "totalTokens": sum(words)}
            else:
                getattr(self, f"do_{name}")(*words)
        return result

    # The actions that scripts can use.

    def do_say(self, text: str) -> None:
        self.say(text)

    def do_write(self, path: str, text: str) -> None:
        self.tool("write", path=path)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)

    def do_read(self, path: str) -> None:
        self.tool("read", path=path)
        self.say(json.dumps(Path(path).read_text()))

    def say_answer(self, answer: dict[str, Any]) -> None:
        self.say(json.dumps(answer.get("result", {}).get("content") or answer.get("error", {}).get("message", "done")))

    def do_remove(self, path: str) -> None:
        Path(path).unlink()

    def do_link(self, target: str, path: str) -> None:
        Path(path).unlink(missing_ok=True)
        Path(path).symlink_to(target)

    def do_pipe(self, path: str) -> None:
        os.mkfifo(path)

    def do_permission(self, title: str, path: str) -> None:
        self.say(f"{title}: {self.permission(title, path)}\n")

    def do_call(self, method: str) -> None:
        self.say_answer(self.ask(method))

    def do_environment(self) -> None:
        self.say(json.dumps(dict(os.environ)))

    def do_fill(self, path: str, megabytes: int) -> None:
        Path(path).write_bytes(bytes(megabytes << 20))

    def do_list(self, path: str) -> None:
        try:
            self.say(" ".join(sorted(each.name for each in Path(path).iterdir())))
        except OSError as error:
            self.say(str(error))

    def do_try_write(self, path: str) -> None:
        try:
            Path(path).write_text("x")
            self.say(f"wrote {path}\n")
        except OSError as error:
            self.say(f"{error.strerror}\n")

    def do_connect(self, host: str, port: int) -> None:
        try:
            socket.create_connection((host, port), timeout=5).close()
            self.say("connected\n")
        except OSError as error:
            self.say(f"no way: {error}\n")

    def do_fetch(self, url: str) -> None:
        import ssl

        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler(), urllib.request.HTTPSHandler(context=context)
        )
        try:
            with opener.open(url, timeout=10) as answer:
                self.say(answer.read().decode() + "\n")
        except OSError as error:
            self.say(f"refused: {error}\n")

    def do_die(self, code: int) -> None:
        sys.stderr.write("it hurts\n")
        sys.stderr.flush()
        os._exit(code)

    def do_sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def do_noise(self, count: int) -> None:
        for _ in range(count):
            print("DEBUG: this is no message")

    def do_flood(self, megabytes: int) -> None:
        sys.stdout.write("x" * (megabytes << 20))
        sys.stdout.flush()

    def do_complain(self, megabytes: int) -> None:
        sys.stderr.write("x" * (megabytes << 20))
        sys.stderr.flush()

    def do_odd(self) -> None:
        update = '{"method": "session/update", "params": {"sessionId": "s-1", "update": 5}}'
        for line in (
            "[]",
            "null",
            '{"id": 77, "result": 1}',
            '{"method": 5, "id": 1}',
            '{"id": [], "error": 3}',
            update,
        ):
            print(line, flush=True)


if __name__ == "__main__":
    Agent(json.loads(Path(sys.argv[1]).read_text())).run()
