"""GitHub, GitLab, Gitea and Forgejo: issues come in as tasks, finished branches go out as draft pull requests."""
