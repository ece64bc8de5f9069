"""scikit-learn, whose wheel brings an OpenMP library of its own: k-means and boosted trees."""

import hashlib

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier

random = np.random.default_rng(1)
x = random.normal(size=(20_000, 20))
y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(int)
means = KMeans(8, n_init=2, random_state=0).fit(x)
trees = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(x, y)
print(f"{means.inertia_:.6f}", means.n_iter_)
print(hashlib.sha1(trees.predict_proba(x).tobytes()).hexdigest(), trees.score(x, y))
