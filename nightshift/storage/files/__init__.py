"""Files of ours on the disk: written completely or not at all, even if the process dies or the power fails."""
