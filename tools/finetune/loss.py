"""The contrastive loss of LexSemBridge, Eq. 4."""

import torch


def contrastive(queries, passages, target, tau):
    """Mean over the queries of the cross-entropy of their passage, in nats.

    queries [n, d] and passages [m, d] are unit vectors, no text twice among the passages; target [n] is
    the row of each query's own. All other rows are its negatives: those mined for it, and those of the batch.
    """
    return torch.nn.functional.cross_entropy(queries @ passages.t() / tau, target)
