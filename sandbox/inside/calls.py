"""Calls functions with given inputs and reports what came back; what should have come back is not known in here.

No test framework is in the process. Each answer is written as soon as it is there: `[number, "value", packed]`,
`[number, "raised", names of the exception's classes]` or `[number, "missing", why]`, one JSON list a line.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH109, PTH118

import importlib
import json
import os
import sys

from . import values


def run(config, events):
    """Make the calls in their order, each with arguments of its own."""
    workspace = os.getcwd()
    sys.path.extend(os.path.normpath(os.path.join(workspace, path)) for path in config["paths"])
    write, dumps, pack = os.write, json.dumps, values.pack
    for number, (module, name, arguments, named) in enumerate(config["calls"]):
        text = (dumps([number, *_call(module, name, arguments, named, pack)]) + "\n").encode()
        while text:
            text = text[write(events, text) :]
    return 0


def _call(module, name, arguments, named, pack):
    try:
        function = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
    except BaseException as error:  # noqa: BLE001 (SystemExit too is a result here)
        return "missing", f"{type(error).__name__}: {str(error)[:200]}"
    try:
        return "value", pack(function(*values.unpack(arguments), **values.unpack(named)))
    except BaseException as error:  # noqa: BLE001 (SystemExit too is a result here)
        return "raised", [kind.__name__ for kind in type(error).__mro__]
