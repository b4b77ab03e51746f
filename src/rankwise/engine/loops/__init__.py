"""Compiled loops on plain arrays. They release the GIL, are cached, and import nothing of ours.

A loop that learns writes to the arrays it is given and returns -1, or the number of the first row
whose score is not finite. Since 0 * nan and 0 * inf are nan, that finds every bad entry of X at no
cost: a separate look at X would cost as much as the learning itself.
"""
