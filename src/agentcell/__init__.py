"""Watch an AI agent work, live, in the notebook cell that made it."""
