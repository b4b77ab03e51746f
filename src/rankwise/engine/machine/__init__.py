"""Raw instructions for compiled loops, each with a plain twin for where it can't be built."""
