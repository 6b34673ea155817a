"""GitHub, GitLab, Gitea and Forgejo: issues become tasks, and finished branches become draft pull requests."""
