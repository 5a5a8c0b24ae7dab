"""Assigns the rows of a score table to its columns, for the highest total score."""

import math
from collections.abc import Sequence


def best_pairs(scores: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return the (row, column) pairs with the highest total score.

    Each row and column is used at most once.

    Args:
        scores: The score table: a row for each expected call, and a column for each actual call.
    """
    rows, columns = len(scores), len(scores[0]) if scores else 0
    if rows > columns:
        transposed = [[scores[row][column] for row in range(rows)] for column in range(columns)]
        return sorted((row, column) for column, row in best_pairs(transposed))
    search = _Search(scores, columns)
    for row in range(1, rows + 1):
        search.add(row)
    return sorted(
        (row - 1, column - 1) for column, row in enumerate(search.row_of) if row and column
    )


class _Search:
    """The Hungarian algorithm, which adds the rows one by one.

    Rows and columns are numbered from 1.

    The cost of a pair is its negated score. Every row and column has a potential (``of_rows``,
    ``of_columns``). The reduced cost of a pair is its cost minus both potentials. It is never
    negative, and is zero for assigned pairs. A new row may need a column that is taken. Then the
    row of that column moves to another column, and so on. The cheapest chain of moves is a shortest
    path. Dijkstra's algorithm finds this path on the reduced costs. After each added row, the
    assignment is optimal for all rows so far. ``_gains`` relies on this.
    """

    def __init__(self, scores: Sequence[Sequence[float]], columns: int) -> None:
        self.scores, self.columns = scores, columns
        self.of_rows, self.of_columns = [0.0] * (len(scores) + 1), [0.0] * (columns + 1)
        # A column with 0 is free. Column 0 is a dummy that holds the row to add.
        self.row_of = [0] * (columns + 1)

    def add(self, row: int) -> None:
        """Assign one more row: extend the path to a free column, then make the
        moves backwards along the path.
        """
        self.row_of[0], column = row, 0
        least_costs, used_columns, previous_columns = (
            [math.inf] * (self.columns + 1),
            [False] * (self.columns + 1),
            [0] * (self.columns + 1),
        )
        while self.row_of[column]:
            used_columns[column] = True
            column = self.reach(column, least_costs, used_columns, previous_columns)
        while column:
            self.row_of[column] = self.row_of[previous_columns[column]]
            column = previous_columns[column]

    def reach(self, column: int, least: list[float], used: list[bool], before: list[int]) -> int:
        """Return the nearest unused column, and shift the potentials until a
        move to this column costs nothing.
        """
        row = self.row_of[column]
        for candidate in range(1, self.columns + 1):
            cost = (
                -self.scores[row - 1][candidate - 1]
                - self.of_rows[row]
                - self.of_columns[candidate]
            )
            if not used[candidate] and cost < least[candidate]:
                least[candidate], before[candidate] = cost, column
        nearest = min(
            (candidate for candidate in range(1, self.columns + 1) if not used[candidate]),
            key=least.__getitem__,
        )
        delta = least[nearest]
        for candidate in range(self.columns + 1):
            if used[candidate]:
                self.of_rows[self.row_of[candidate]] += delta
                self.of_columns[candidate] -= delta
            else:
                least[candidate] -= delta
        return nearest


def best_in_order(scores: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return the pairs of the best assignment that keeps the order: a
    later row gets a later column.

    ``best[row][column]`` is the highest total score for the rows from ``row`` on and the columns
    from ``column`` on. The function fills this table from the end, and then reads the pairs from
    the start.
    """
    rows, columns = len(scores), len(scores[0]) if scores else 0
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows - 1, -1, -1):
        for column in range(columns - 1, -1, -1):
            paired_score = scores[row][column] + best[row + 1][column + 1]
            best[row][column] = max(paired_score, best[row + 1][column], best[row][column + 1])
    pairs: list[tuple[int, int]] = []
    row = column = 0
    while row < rows and column < columns:
        if math.isclose(
            best[row][column], scores[row][column] + best[row + 1][column + 1], abs_tol=1e-12
        ):
            pairs.append((row, column))
            row, column = row + 1, column + 1
        elif math.isclose(best[row][column], best[row + 1][column], abs_tol=1e-12):
            row += 1
        else:
            column += 1
    return pairs


def best_in_steps(scores: Sequence[Sequence[float]], steps: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of the best assignment that keeps the order of steps.

    Within a step, columns have no order.

    The function cuts the rows into consecutive groups, one for each step (a group may be empty). It
    assigns each group to the columns of its step. Dynamic programming finds the best cuts, from the
    last step to the first.

    Args:
        scores: As for ``best_pairs``.
        steps: The step number of each column, in ascending order.
    """
    groups = [
        [column for column, column_step in enumerate(steps) if column_step == step]
        for step in dict.fromkeys(steps)
    ]
    if all(len(group) == 1 for group in groups):
        return best_in_order(scores)
    rows = len(scores)
    # ``best[first]`` is the highest total score for the rows from ``first`` on, in later steps.
    best = [0.0] * (rows + 1)
    cuts: list[list[int]] = []
    for group in reversed(groups):
        table = [[row[column] for column in group] for row in scores]
        totals = [
            [gain + best[first + number] for number, gain in enumerate(_gains(table[first:]))]
            for first in range(rows + 1)
        ]
        cuts.append(
            [
                first + max(range(len(sums)), key=sums.__getitem__)
                for first, sums in enumerate(totals)
            ]
        )
        best = [max(sums) for sums in totals]
    pairs: list[tuple[int, int]] = []
    first = 0
    for group, cut in zip(groups, reversed(cuts), strict=True):
        run = [[row[column] for column in group] for row in scores[first : cut[first]]]
        pairs += [(first + row, group[column]) for row, column in best_pairs(run)]
        first = cut[first]
    return pairs


def _gains(scores: Sequence[Sequence[float]]) -> list[float]:
    """Return the best total score for no rows, for the first row, for
    the first two rows, and so on.
    """
    columns = len(scores[0]) if scores else 0
    # Extra columns with the score 0 guarantee a column for every row.
    padded = [[*row, *[0.0] * len(scores)] for row in scores]
    search = _Search(padded, columns + len(scores))
    sums = [0.0]
    for row in range(1, len(scores) + 1):
        if any(scores[row - 1]):
            search.add(row)
        pairs = (
            (assigned_row, column)
            for column, assigned_row in enumerate(search.row_of)
            if assigned_row and column
        )
        sums.append(sum(padded[assigned_row - 1][column - 1] for assigned_row, column in pairs))
    return sums
