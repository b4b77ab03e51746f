"""A fuzz over the public API: random types, shapes and values."""
