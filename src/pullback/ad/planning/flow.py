"""The cheapest cut between two nodes of a network, by the flow that saturates it (Dinic)."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

SOURCE, SINK = 0, 1


class Network:
    """Arcs have a capacity, `inf` at most. Of several cheapest cuts the one nearest to the source
    is found. Arcs may be added between two cuts: what flows already goes on to."""

    def __init__(self) -> None:
        self.arcs: list[list[int]] = [[], []]  # node -> those that leave it
        self.to: list[int] = []
        self.room: list[
            float
        ] = []  # that of the opposite arc is at the number with the last bit flipped

    def node(self) -> int:
        self.arcs.append([])
        return len(self.arcs) - 1

    def arc(self, a: int, b: int, capacity: float = inf) -> None:
        for start, end, room in ((a, b, capacity), (b, a, 0.0)):
            self.arcs[start].append(len(self.to))
            self.to.append(end)
            self.room.append(room)

    def cut(self) -> Iterable[int]:
        """The nodes on the source's side of the cut."""
        while True:
            level = self._levels()
            if SINK not in level:
                return level
            waiting = [list(arcs) for arcs in self.arcs]
            while self._push(level, waiting):
                pass

    def _levels(self) -> dict[int, int]:
        """How far each node is from the source, on arcs that have room."""
        level = {SOURCE: 0}
        for node in (queue := [SOURCE]):
            for arc in self.arcs[node]:
                if self.room[arc] > 0 and self.to[arc] not in level:
                    level[self.to[arc]] = level[node] + 1
                    queue.append(self.to[arc])
        return level

    def _push(self, level: dict[int, int], waiting: list[list[int]]) -> bool:
        """Send as much as fits along one shortest way, if there is any left."""
        room, to, path, node = self.room, self.to, list[int](), SOURCE
        while node != SINK:
            arcs, further = waiting[node], level[node] + 1
            while arcs and not (room[arcs[-1]] > 0 and level.get(to[arcs[-1]]) == further):
                arcs.pop()
            if arcs:
                path.append(arcs[-1])
                node = to[arcs[-1]]
            elif path:
                node = to[path.pop() ^ 1]
                waiting[node].pop()
            else:
                return False
        most = min(room[arc] for arc in path)
        for arc in path:
            room[arc] -= most
            room[arc ^ 1] += most
        return True
