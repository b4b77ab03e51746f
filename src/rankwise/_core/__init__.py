"""Code that two or more packages share; nothing here is public."""
