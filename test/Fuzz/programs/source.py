"""Sources of choices. A choice is an integer below a bound; 0 is always the simplest one, so that
programs shrink with their choices.
"""

import random


class Source:
    def below(self, bound):
        raise NotImplementedError

    def chance(self, percent):
        """Whether something rarer than the simplest happens."""
        return self.below(100) >= 100 - percent

    def choose(self, options):
        return options[self.below(len(options))]

    def between(self, low, high):
        return low + self.below(high - low + 1)

    def weighted(self, options):
        """One of (weight, option), the simplest first."""
        left = self.below(sum(weight for weight, _ in options))
        for weight, option in options:
            if left < weight:
                return option
            left -= weight
        raise AssertionError("weights add up")


class Random(Source):
    """Choices of a generator of random numbers; the choices are kept."""

    def __init__(self, seed):
        self._random = random.Random(seed).random
        self.choices = []

    def below(self, bound):
        chosen = int(self._random() * bound)
        self.choices.append((chosen, bound))
        return chosen


class Replay(Source):
    """Recorded choices; the simplest one when none are left. Choices beyond a bound become the
    largest below it.
    """

    def __init__(self, choices):
        self._left = iter(choices)
        self.choices = []

    def below(self, bound):
        chosen = min(next(self._left, (0, 1))[0], bound - 1)
        self.choices.append((chosen, bound))
        return chosen
