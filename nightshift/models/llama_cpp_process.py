"""The program that runs a model file with llama.cpp. `llama_cpp.py` starts the program and asks it over HTTP.

The first line of standard input is a JSON object: the `path` of the model file, `num_ctx`, and the `key` that requests
must present. When the model is loaded, one line is written to standard output, `{"address": "http://127.0.0.1:…"}` or
`{"error": …}`. The library's own messages go to standard error. The program exits when its input closes, so it cannot
outlive its parent process.

This file runs as a separate program in Python's isolated mode (`-I`) and imports nothing of Nightshift.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

ERRORS_ALONE = 1


def main() -> None:
    """Load the model and serve requests."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keep the library's own output away from the answer
    os.putenv("GGML_NO_BACKTRACE", "1")  # a crash must end the process, not start a debugger
    try:
        server = serve(json.loads(sys.stdin.readline()))
    except (ImportError, RuntimeError, ValueError) as error:
        print(json.dumps({"error": str(error)}), file=out, flush=True)
        return
    print(json.dumps({"address": server.listening_address}), file=out, flush=True)
    sys.stdin.read()
    os._exit(0)  # exit at once: the library would wait for replies that nobody reads


def serve(options: Mapping[str, Any]) -> Any:
    """Return a server on the loopback address that answers requests that present the key."""
    import xllamacpp  # type: ignore[import-untyped]  # noqa: PLC0415  its absence is an answer

    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx = options["path"], options["num_ctx"]
    params.api_keys = [options["key"]]
    params.ui = False
    params.cache_ram_mib = 0  # otherwise the library keeps earlier prompts too, up to 8 GB
    params.verbosity = ERRORS_ALONE
    params.cpuparams.n_threads = threads()
    return xllamacpp.Server(params)


def threads() -> int:
    """Return the number of threads: all physical cores but one. Hyper-threads do not speed up this work.

    The threads wait for each other by spinning, many times per token. So a single thread that has lost its core to a
    sandbox delays all others. On two cores, two threads wrote 80 tokens a second and one wrote 48. While tests kept
    both cores busy, two threads wrote 0.5 tokens a second and one wrote 6.
    """
    import psutil  # noqa: PLC0415  as above

    cores = psutil.cpu_count(logical=False) or 1
    return max(1, min(cores, len(os.sched_getaffinity(0))) - 1)


if __name__ == "__main__":
    main()
