"""Raw instructions for compiled loops, each with a plain twin that serves in its place."""
