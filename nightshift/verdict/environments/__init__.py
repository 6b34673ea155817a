"""The packages that a task's code runs with: distributions, wheels and layers, and the code that requests them."""
