"""One file a framework: its own callbacks or stream become events of a run."""
