"""Arrays in, arrays out: what several rooms share and what must be fast. Knows no estimator."""
