"""What a task's code is run with: distributions, wheels and layers of packages, and who asks for them."""
