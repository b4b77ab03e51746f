"""Settings for all tests."""

import matplotlib as mpl
from hypothesis import settings

mpl.use("agg")
settings.register_profile("default", deadline=None, max_examples=60, print_blob=True)
settings.load_profile("default")
