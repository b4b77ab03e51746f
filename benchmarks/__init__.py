"""Races of rankwise against what a user would pick instead.

``python -m benchmarks`` lists the races, ``python -m benchmarks NAME`` runs one. To add a race,
add one module that ends in ``RACE = Race(...)``: its name is the file's, its description the first
line of the docstring. A module with a function ``main(arguments)`` instead is launched alike.
"""
