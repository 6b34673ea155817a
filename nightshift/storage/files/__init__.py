"""Files of ours on the disk: written whole or not at all, whatever dies meanwhile."""
