"""Git for the rest of the program, and the state of the daemon's own repository.

The implementation is `nightshift/git/`.

python -c "from git_manager import git_manager; print(git_manager.get_repository_stats())"
"""

from nightshift.app.git_beside import OwnRepository
from nightshift.git.manager import GitManager

__all__ = ["GitManager", "git_manager"]

git_manager = OwnRepository()
