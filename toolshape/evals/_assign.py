"""A table of scores in; which row goes with which column, so that the sum is the greatest there is, out."""

import math
from collections.abc import Sequence


def best_pairs(scores: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The pairs of a best assignment, each row and each column at most once.

    Args:
        scores: A row for each expected call, a column for each that was made.
    """
    rows, columns = len(scores), len(scores[0]) if scores else 0
    if rows > columns:
        turned = [[scores[row][column] for row in range(rows)] for column in range(columns)]
        return sorted((row, column) for column, row in best_pairs(turned))
    search = _Search(scores, columns)
    for row in range(1, rows + 1):
        search.add(row)
    return sorted((row - 1, column - 1) for column, row in enumerate(search.row_of) if row and column)


class _Search:
    """The Hungarian algorithm: rows are added one by one, each by a cheapest path of exchanges. Counts from 1."""

    def __init__(self, scores: Sequence[Sequence[float]], columns: int) -> None:
        self.scores, self.columns = scores, columns
        self.of_rows, self.of_columns = [0.0] * (len(scores) + 1), [0.0] * (columns + 1)  # potentials
        self.row_of = [0] * (columns + 1)

    def add(self, row: int) -> None:
        """Assign one more row."""
        self.row_of[0], column = row, 0
        least, used, before = [math.inf] * (self.columns + 1), [False] * (self.columns + 1), [0] * (self.columns + 1)
        while self.row_of[column]:
            used[column] = True
            column = self.reach(column, least, used, before)
        while column:
            self.row_of[column] = self.row_of[before[column]]
            column = before[column]

    def reach(self, column: int, least: list[float], used: list[bool], before: list[int]) -> int:
        """The nearest column that is not used yet; potentials move so that it costs nothing."""
        row = self.row_of[column]
        for other in range(1, self.columns + 1):
            cost = -self.scores[row - 1][other - 1] - self.of_rows[row] - self.of_columns[other]
            if not used[other] and cost < least[other]:
                least[other], before[other] = cost, column
        nearest = min((one for one in range(1, self.columns + 1) if not used[one]), key=least.__getitem__)
        delta = least[nearest]
        for other in range(self.columns + 1):
            if used[other]:
                self.of_rows[self.row_of[other]] += delta
                self.of_columns[other] -= delta
            else:
                least[other] -= delta
        return nearest


def best_in_order(scores: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The same, where pairs do not cross: a later row goes with a later column."""
    rows, columns = len(scores), len(scores[0]) if scores else 0
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows - 1, -1, -1):
        for column in range(columns - 1, -1, -1):
            both = scores[row][column] + best[row + 1][column + 1]
            best[row][column] = max(both, best[row + 1][column], best[row][column + 1])
    found: list[tuple[int, int]] = []
    row = column = 0
    while row < rows and column < columns:
        if math.isclose(best[row][column], scores[row][column] + best[row + 1][column + 1], abs_tol=1e-12):
            found.append((row, column))
            row, column = row + 1, column + 1
        elif math.isclose(best[row][column], best[row + 1][column], abs_tol=1e-12):
            row += 1
        else:
            column += 1
    return found


def best_in_steps(scores: Sequence[Sequence[float]], steps: Sequence[int]) -> list[tuple[int, int]]:
    """The same, where columns of one step have no order among themselves: a later row goes with no earlier step.

    The rows are cut into as many runs as there are steps, some of them empty, and each run is assigned to its step. Of
    all cuts the best is found from the last step to the first.

    Args:
        scores: As for ``best_pairs``.
        steps: The step of each column, none before the one that it follows.
    """
    groups = [[column for column, other in enumerate(steps) if other == step] for step in dict.fromkeys(steps)]
    if all(len(group) == 1 for group in groups):
        return best_in_order(scores)
    rows = len(scores)
    best = [0.0] * (rows + 1)  # of the rows from each one on, in the steps that come after
    cuts: list[list[int]] = []
    for group in reversed(groups):
        table = [[row[column] for column in group] for row in scores]
        totals = [
            [gain + best[first + number] for number, gain in enumerate(_gains(table[first:]))]
            for first in range(rows + 1)
        ]
        cuts.append([first + max(range(len(each)), key=each.__getitem__) for first, each in enumerate(totals)])
        best = [max(each) for each in totals]
    found: list[tuple[int, int]] = []
    first = 0
    for group, cut in zip(groups, reversed(cuts), strict=True):
        run = [[row[column] for column in group] for row in scores[first : cut[first]]]
        found += [(first + row, group[column]) for row, column in best_pairs(run)]
        first = cut[first]
    return found


def _gains(scores: Sequence[Sequence[float]]) -> list[float]:
    """The sum of a best assignment of no row, of the first, of the first two, and so on."""
    columns = len(scores[0]) if scores else 0
    padded = [
        [*row, *[0.0] * len(scores)] for row in scores
    ]  # so that each row has a column, though it be worth nothing
    search = _Search(padded, columns + len(scores))
    found = [0.0]
    for row in range(1, len(scores) + 1):
        if any(scores[row - 1]):
            search.add(row)
        pairs = ((other, column) for column, other in enumerate(search.row_of) if other and column)
        found.append(sum(padded[other - 1][column - 1] for other, column in pairs))
    return found
