"""Calls test functions without pytest in the process, for code that behaves only while it is being tested."""
# Every import here costs each verdict its time; `_json` is the part of `json` that is written in C.
# ruff: noqa: PTH109, PTH110, PTH118, PTH120, PTH123

import os
import sys
from _json import encode_basestring_ascii as quoted


def run(config, events):
    """Call each named function of each file; report `passed` or the name of the exception that it raised."""
    write = os.write
    workspace = os.getcwd()
    sys.path.extend(os.path.normpath(os.path.join(workspace, path)) for path in config["paths"])
    results = {}
    for number, (path, names) in enumerate(config["files"].items()):
        folder = _import_root(os.path.join(workspace, path))
        if folder not in sys.path:
            sys.path.append(folder)  # as pytest does: a test may import what lies beside it
        try:
            module = _load(f"checks_{number}", os.path.join(workspace, path))
        except BaseException as error:  # noqa: BLE001 (SystemExit too is a result here)
            results.update(dict.fromkeys((f"{path}::{name}" for name in names), type(error).__name__))
            continue
        for name in names:
            results[f"{path}::{name}"] = _call(module, name)
    write(events, f"{{{', '.join(f'{quoted(name)}: {quoted(result)}' for name, result in results.items())}}}".encode())
    return 0


def _import_root(path):
    """The first folder above a file that is no package."""
    folder = os.path.dirname(path)
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return folder


def _load(name, path):
    module = type(sys)(name)
    module.__file__ = path
    sys.modules[name] = module
    with open(path, "rb") as source:
        exec(compile(source.read(), path, "exec"), module.__dict__)  # noqa: S102 (a test of the suite: that is its run)
    return module


def _call(module, name):
    try:
        getattr(module, name)()
    except BaseException as error:  # noqa: BLE001 (SystemExit too is a result here)
        return type(error).__name__
    return "passed"
