"""The program that runs a model file with llama.cpp; `llama_cpp.py` starts it and asks it over HTTP.

The first line of standard input is a JSON object: `path` of the model file, `num_ctx`, and the `key` that requests have
to show. Standard output gets one line when the model is loaded, `{"address": "http://127.0.0.1:…"}`, or `{"error": …}`;
the library's own complaints go to standard error. The program ends with its input, so it outlives nobody.

It is run as a file of its own, isolated (`-I`), and imports nothing of Nightshift.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

ERRORS_ALONE = 1


def main() -> None:
    """Load the model and serve."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the library prints is no answer
    os.putenv("GGML_NO_BACKTRACE", "1")  # a crash is to end the process, not to start a debugger
    try:
        server = serve(json.loads(sys.stdin.readline()))
    except (ImportError, RuntimeError, ValueError) as error:
        print(json.dumps({"error": str(error)}), file=out, flush=True)
        return
    print(json.dumps({"address": server.listening_address}), file=out, flush=True)
    sys.stdin.read()
    os._exit(0)  # the library would wait for replies that nobody reads any more


def serve(options: Mapping[str, Any]) -> Any:
    """A server that answers on the loopback to those who have the key."""
    import xllamacpp  # type: ignore[import-untyped]  # noqa: PLC0415  its absence is an answer

    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx = options["path"], options["num_ctx"]
    params.api_keys = [options["key"]]
    params.ui = False
    params.cache_ram_mib = 0  # besides the latest prompt it would keep earlier ones, up to 8 GB
    params.verbosity = ERRORS_ALONE
    params.cpuparams.n_threads = threads()
    return xllamacpp.Server(params)


def threads() -> int:
    """All physical cores but one; hyper-threads add nothing to this kind of work.

    The threads wait for each other many times a token, and they wait by spinning: one that has lost its core to a
    sandbox holds up all. On two cores, two threads wrote 80 tokens a second where one wrote 48; while tests kept both
    cores busy, 0.5 where one wrote 6.
    """
    import psutil  # noqa: PLC0415  as above

    cores = psutil.cpu_count(logical=False) or 1
    return max(1, min(cores, len(os.sched_getaffinity(0))) - 1)


if __name__ == "__main__":
    main()
