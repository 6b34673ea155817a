"""Unpacks an archive of a few kilobytes that expands to three times the granted disk space."""

import io
import time
import zipfile


def attack(facts: dict[str, str]) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(6):
            archive.writestr(f"part-{number}", bytes(int(facts["work_mb"]) << 19))
    try:
        with zipfile.ZipFile(packed) as archive:
            archive.extractall(".")
    finally:
        time.sleep(0.35)
