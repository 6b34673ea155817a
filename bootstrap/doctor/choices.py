"""Settings: whether they are valid, what differs from the defaults, and who may read what is secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import SecretStr

from bootstrap.doctor.context import Patient, mode_of
from bootstrap.doctor.findings import Finding, fault, note, ok, quoted, warning
from settings.places import Places

SAFE_TOKEN_CHARS = 16
_OTHERS = 0o077


def settings(patient: Patient) -> Iterator[Finding]:
    """Look at the settings and the files that they come from."""
    files = [patient.settings.config_dir / name for name in ("config.yaml", ".env")]
    where = f"correct it in {files[0]}, in {files[1]} or in the environment, whichever says so"
    for told in patient.faults:
        name, _, rest = told.partition(": ")
        yield fault(name if rest else "settings", rest or told, where)
    if patient.faults:
        yield note("the rest", "was looked at with the default settings, because these cannot be used")
        return
    yield ok("settings", _told(patient))
    yield from (_secret(name, patient) for name in _secrets(patient))
    for file in files:
        yield from _readable(file, patient)


def _told(patient: Patient) -> str:
    """Which settings are not the defaults; their values are nobody's business here."""
    fields = type(patient.settings).model_fields
    names = sorted(
        name
        for name, field in fields.items()
        if name not in Places.model_fields
        and getattr(patient.settings, name) != field.get_default(call_default_factory=True)
    )
    return f"valid; {len(names)} differ from the defaults" + (f": {', '.join(names)}" if names else "")


def _secrets(patient: Patient) -> list[str]:
    fields = type(patient.settings).model_fields
    return [name for name in fields if isinstance(getattr(patient.settings, name), SecretStr)]


def _secret(name: str, patient: Patient) -> Finding:
    chars = len(getattr(patient.settings, name).get_secret_value())
    if name == "api_token" and chars < SAFE_TOKEN_CHARS:
        told = f"has {chars} characters: it can be found by trying, for the right token is let in whatever came before"
        return warning(name, told, "set a longer one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'")
    return ok(name, "is set; it is shown nowhere")


def _readable(file: Path, patient: Patient) -> Iterator[Finding]:
    mode = mode_of(file)
    if mode is None:
        return
    if mode & _OTHERS and (file.name == ".env" or _names_a_secret(file, patient)):
        yield warning(
            file.name, f"others may read {file} (mode {mode:o}), and secrets stand there", f"chmod 600 {quoted(file)}"
        )
    else:
        yield ok(file.name, f"{file}, mode {mode:o}")


def _names_a_secret(file: Path, patient: Patient) -> bool:
    fields = type(patient.settings).model_fields
    names = [name for name, field in fields.items() if "SecretStr" in str(field.annotation)]
    return bool(
        re.search(rf"^\s*({'|'.join(names)})\s*:", file.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    )
