"""Calls functions with given inputs and reports the results. This process does not know the expected results.

It imports no test framework. Each answer is written at once, as a JSON list on one line: `[number, "value", packed]`,
`[number, "raised", names of the exception's classes]` or `[number, "missing", why]`.
"""
# Every import in this module adds to the duration of each verdict.
# ruff: noqa: PTH109, PTH118

import os
import sys

from . import values


def run(config, events):
    """Make the calls in order, each with its own arguments."""
    workspace = os.getcwd()
    sys.path[:0] = [os.path.normpath(os.path.join(workspace, path)) for path in config["paths"]]
    write, pack, as_json = os.write, values.pack, values.as_json
    for number, (module, name, arguments, named) in enumerate(config["calls"]):
        how, data = _call(module, name, arguments, named, pack)
        text = f"[{number}, {as_json(how)}, {as_json(data)}]\n".encode()
        while text:
            text = text[write(events, text) :]
    return 0


def _call(module, name, arguments, named, pack):
    try:
        function = _find_function(module, name)
    except BaseException as error:  # noqa: BLE001 (SystemExit too is a result here)
        return "missing", f"{type(error).__name__}: {str(error)[:200]}"
    try:
        return "value", pack(function(*values.unpack(arguments), **values.unpack(named)))
    except BaseException as error:  # noqa: BLE001 (SystemExit too is a result here)
        return "raised", [kind.__name__ for kind in type(error).__mro__]


def _find_function(module, name):
    """Return the function with a dotted name. Parts of the name that are modules are imported if necessary."""
    __import__(module)
    member, dotted_name = sys.modules[module], module
    for part in name.split("."):
        dotted_name = f"{dotted_name}.{part}"
        if not hasattr(member, part) and type(member) is type(sys):
            __import__(dotted_name)
        member = getattr(member, part)
    return member
