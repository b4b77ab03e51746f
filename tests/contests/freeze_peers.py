"""Write what choix and evalica make of some contests: ``python tests/contests/freeze_peers.py``.

Both must be installed (the dependency group "bench"). The test of `BradleyTerry` reads the file.
"""

import json
from pathlib import Path

import numpy as np

N = 6


def main():
    import choix
    import evalica

    random = np.random.default_rng(7)
    truth = random.normal(size=N)
    first = random.integers(N, size=200)
    second = (first + random.integers(1, N, size=200)) % N
    chance = 1 / (1 + np.exp(truth[second] - truth[first]))
    outcome = (random.random(200) < chance).astype(float)
    outcome[random.random(200) < 0.2] = 0.5
    decided = outcome != 0.5
    won = outcome == 1
    pairs = [
        (int(u), int(v)) if w else (int(v), int(u))
        for u, v, w in zip(first[decided], second[decided], won[decided], strict=True)
    ]
    kinds = [evalica.Winner.Y, evalica.Winner.Draw, evalica.Winner.X]
    winners = [kinds[int(2 * y)] for y in outcome]
    found = evalica.bradley_terry(
        first.tolist(), second.tolist(), winners, tolerance=1e-14, limit=100_000
    )
    scores = np.log(found.scores.sort_index().to_numpy())
    frozen = {
        "first": first.tolist(),
        "second": second.tolist(),
        "outcome": outcome.tolist(),
        "choix, decided": choix.opt_pairwise(N, pairs, alpha=0.0, tol=1e-12).tolist(),
        "choix, decided, alpha": choix.opt_pairwise(N, pairs, alpha=0.5, tol=1e-12).tolist(),
        "evalica, ties half": (scores - scores.mean()).tolist(),
    }
    path = Path(__file__).parent / "data" / "peers.json"
    path.write_text(json.dumps(frozen) + "\n")


if __name__ == "__main__":
    main()
