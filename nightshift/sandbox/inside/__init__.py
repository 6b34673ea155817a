"""What runs inside the sandbox; shown there under a name of its own, importing nothing of ours."""
