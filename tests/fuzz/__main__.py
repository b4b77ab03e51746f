"""Run the fuzz from the folder of the tests.

``python -m fuzz --minutes 20 --seed 0``, ``--cases 1000`` for a number of cases, ``--case N`` for
one: a finding names the case that reproduces it. A third of the cases is hard: few rows, ties,
offsets, scales, weights of 0.
"""

import argparse
import sys
import time

from fuzz.runner import hard, one_case, recipes, run, table

BLOCK = 1000

parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
parser.add_argument("--minutes", type=float, default=2.0)
parser.add_argument("--seed", type=int, default=0, help="the first case")
parser.add_argument("--cases", type=int, help="how many cases, whatever time they take")
parser.add_argument("--case", type=int, help="run this case only, in this process")
parser.add_argument("--recipes", choices=["draw", "call"], help="only check the good arguments")
parser.add_argument("--hard", type=int, help="only good arguments, in this many hard worlds each")
options = parser.parse_args()
if options.hard:
    sys.exit(hard(options.hard))
if options.recipes:
    sys.exit(recipes(call=options.recipes == "call"))
if options.case is not None:
    sys.exit(one_case(options.case))
end, start, findings = time.monotonic() + 60 * options.minutes, options.seed, []
stop = sys.maxsize if options.cases is None else start + options.cases
try:
    while start < stop and (options.cases is not None or time.monotonic() < end):
        findings += run(start, min(start + BLOCK, stop))
        start += BLOCK
        print(f"{start - options.seed} cases, {len(findings)} findings", file=sys.stderr)
finally:
    print(table(findings))
    print(f"{min(start, stop) - options.seed} cases")
sys.exit(bool(findings))
