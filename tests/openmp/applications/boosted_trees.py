"""LightGBM: boosted trees with a given number of threads."""

import hashlib
import sys

import lightgbm
import numpy as np

random = np.random.default_rng(1)
x = random.normal(size=(20_000, 20))
y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(int)
settings = {"objective": "binary", "num_threads": int(sys.argv[1]), "deterministic": True, "force_row_wise": True}
booster = lightgbm.train({**settings, "verbose": -1, "seed": 1}, lightgbm.Dataset(x, y), 50)
print(hashlib.sha1(booster.predict(x).tobytes()).hexdigest())
