"""Faiss: nearest neighbours in an index of lists."""

import hashlib

import faiss
import numpy as np

points = np.random.default_rng(1).normal(size=(20_000, 64)).astype("float32")
index = faiss.IndexIVFFlat(faiss.IndexFlatL2(64), 64, 64)
index.train(points)
index.add(points)
index.nprobe = 8
distances, found = index.search(points[:4000], 10)
print(hashlib.sha1(found.tobytes()).hexdigest(), f"{distances.sum():.1f}")
