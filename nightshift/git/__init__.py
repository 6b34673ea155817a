"""How git is spoken to: the mechanics behind `git_manager.py`, which alone imports this package."""
