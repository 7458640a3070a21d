"""Digit strings from frame scores: a small Viterbi over the lexicon, for all utterances of a set at once."""

import numpy as np

MIN_FRAMES = 3  # of a phone: what a three-state hidden Markov model would ask for


class DigitLoop:
    """Any number of digits in a row, with optional silence before, between and after them.

    Each pronunciation is its phones from left to right, each at least MIN_FRAMES long (one state a frame; all have
    self-loops).  Digits are equally likely; one costs `penalty` (a log-probability) on top of its frames' scores.
    """

    def __init__(self, pronunciations, silence):
        self.phones, self.words, self.starts, self.ends = [silence], [None], [], []
        self.before = [0]  # the state that a state is entered from inside its word
        for word, phones in pronunciations:
            self.starts.append(len(self.phones))
            for i, phone in enumerate(np.repeat(phones, MIN_FRAMES)):
                self.before.append(len(self.phones) - 1 if i else 0)
                self.phones.append(phone)
                self.words.append(word)
            self.ends.append(len(self.phones) - 1)
        self.inside = np.setdiff1d(np.arange(1, len(self.phones)), self.starts)
        self.leaving = np.array([0, *self.ends])  # where a digit, silence or the utterance's end may follow

    def decode(self, scores, penalty):
        """The best words for each of `scores`, a list of frames x phones matrices of log-likelihoods (up to a constant)."""
        lengths = np.array([len(s) for s in scores])
        padded = np.zeros((lengths.max(), len(scores), len(self.phones)), np.float32)
        for u, s in enumerate(scores):
            padded[: len(s), u] = s[:, self.phones]
        rows = np.arange(len(scores))[:, None]

        best = np.full(padded.shape[1:], -np.inf, np.float32)
        best[:, 0] = padded[0, :, 0]
        best[:, self.starts] = padded[0][:, self.starts] + penalty
        final = np.where(lengths[:, None] == 1, best, -np.inf)
        come_from = np.zeros(padded.shape, np.int16)
        for t in range(1, len(padded)):
            exits = self.leaving[best[:, self.leaving].argmax(axis=1)][:, None]
            exit_score = best[rows, exits]
            entry = np.full_like(best, -np.inf)
            source = np.tile(exits, best.shape[1])
            entry[:, 0] = exit_score[:, 0]
            entry[:, self.starts] = exit_score + penalty
            previous = np.array(self.before)[self.inside]
            entry[:, self.inside] = best[:, previous]
            source[:, self.inside] = previous
            moves = entry > best
            come_from[t] = np.where(moves, source, np.arange(best.shape[1]))
            best = np.where(moves, entry, best) + padded[t]
            final[lengths == t + 1] = best[lengths == t + 1]
        last = self.leaving[final[:, self.leaving].argmax(axis=1)]
        return [self._words(come_from[:n, u], state) for u, (n, state) in enumerate(zip(lengths, last))]

    def _words(self, come_from, state):
        words, starts = [], set(self.starts)
        for t in range(len(come_from) - 1, -1, -1):
            previous = come_from[t, state] if t else -1
            if state in starts and previous != state:
                words.append(self.words[state])
            state = previous
        return words[::-1]


def edit_counts(reference, hypothesis):
    """(substitutions, deletions, insertions) of a cheapest alignment of two word lists."""
    row = [(i, 0, 0, i) for i in range(len(hypothesis) + 1)]  # (cost, substitutions, deletions, insertions)
    for r, word in enumerate(reference, 1):
        next_row = [(r, 0, r, 0)]
        for h, other in enumerate(hypothesis, 1):
            cost, s, d, i = row[h - 1]
            wrong = word != other
            options = [(cost + wrong, s + wrong, d, i)]
            cost, s, d, i = row[h]
            options.append((cost + 1, s, d + 1, i))
            cost, s, d, i = next_row[h - 1]
            options.append((cost + 1, s, d, i + 1))
            next_row.append(min(options))
        row = next_row
    return row[-1][1:]
