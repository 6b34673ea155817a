"""Builds its own package, whose setup script may run any code."""

import os
import subprocess
import sys

SCRIPT = "import os\nopen(os.environ['CANARY'], 'a').write('touched')\n"


def attack(facts: dict[str, str]) -> None:
    os.mkdir("package")
    with open("package/setup.py", "w") as file:
        file.write(SCRIPT)
    command = [sys.executable, "setup.py", "--quiet", "install"]
    done = subprocess.run(command, cwd="package", env={"CANARY": facts["canary"]}, capture_output=True, check=False)
    print(done.returncode)
