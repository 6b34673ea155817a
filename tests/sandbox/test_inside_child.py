from __future__ import annotations

import json

from sandbox.inside import child


def test_only_failures_of_decisive_files_settle_a_run() -> None:
    def settled(*events: object) -> bool:
        text = "".join(json.dumps(event) + "\n" for event in events)
        return child.settled(text.encode(), ["t.py"])

    assert settled({"e": "end", "id": "t.py::test_a", "fail": {"kind": "E"}})
    assert settled({"e": "collect", "id": "t.py"})
    assert not settled({"e": "end", "id": "t.py::test_a", "fail": None})
    assert not settled({"e": "end", "id": "other.py::test_a", "fail": {"kind": "E"}})
    assert not settled({"e": "end"}, "text", 7, {"e": "end", "id": 3, "fail": {}}, None)


def test_output_is_told_apart_by_test_and_cut_from_the_front() -> None:
    token = b"--mark--"
    output = b"before" + token + b"a\nfirst" + token + b"\n" + token + b"b\n" + b"x" * 9000 + b"end"
    found = child.segments(output, token)
    assert found[""] == "before"
    assert found["a"] == "first"
    assert len(found["b"]) == child.SEGMENT
    assert found["b"].endswith("end")
