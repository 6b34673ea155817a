"""Finds, installs and mounts the packages that a task's code runs with, and asks the owner about new packages."""
