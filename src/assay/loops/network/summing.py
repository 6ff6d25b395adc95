"""The gradients of a batch's pieces, added like a tournament: neighbours first, then neighbouring pairs, and so on.

2, 4, 8, … pieces that begin at a multiple of their number are a branch of that tree, whose sum may come from elsewhere with the same bits.
"""

from __future__ import annotations

from assay.compiled import inner
from assay.compiled.simd.memory import data_pointer

STRETCH = 256  # weights at a time, whose sums on the way stay near the processor
DEEP = 40  # rounds of the tournament, of more pieces than there can be
ROOM = STRETCH * DEEP


@inner
def sum_pieces(S, G, at, pieces, size, room):  # type: ignore[no-untyped-def]
    """S[k] = the sum of G[at + p size + k] over the pieces p. Addresses; `room`: an array of ROOM numbers, which the caller holds; S may be the first piece."""
    if pieces == 2:
        for k in range(size):
            S[k] = G[at + k] + G[at + size + k]
        return
    if pieces <= 3:  # the tournament is their order
        for k in range(size):
            S[k] = G[at + k]
        for p in range(1, pieces):
            other = at + p * size
            for k in range(size):
                S[k] += G[other + k]
        return
    held = data_pointer(room)
    for begin in range(0, size, STRETCH):
        n = min(STRETCH, size - begin)
        depth = 0  # sums on the way that wait for their neighbour
        for p in range(pieces):
            source, to = at + p * size + begin, depth * STRETCH
            for k in range(n):
                held[to + k] = G[source + k]
            played = p
            while played % 2 == 1:
                to -= STRETCH
                depth -= 1
                for k in range(n):
                    held[to + k] += held[to + STRETCH + k]
                played //= 2
            depth += 1
        for last in range(depth - 1, 0, -1):
            to = (last - 1) * STRETCH
            for k in range(n):
                held[to + k] += held[to + STRETCH + k]
        for k in range(n):
            S[begin + k] = held[k]
