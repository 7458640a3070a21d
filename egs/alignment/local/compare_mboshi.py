#!/usr/bin/env python3
"""Compares an alignment of Mboshi with the times that come with the corpus: compare_mboshi.py RESULTS REFERENCE.

RESULTS: a folder of nnet3-align. REFERENCE: a folder with a file NAME.txt for each recording, anywhere below it, of lines 'phone begin end' in
seconds. Compared are the beginning of each phone, and the end of the last one before a pause; and both ends of each word. A recording whose
letters are others than the reference's is left out and counted; the reference has some letters without their accents. The reference is late as a whole: the median distance is taken off first."""

import csv
import statistics
import sys
import unicodedata
from pathlib import Path

PAUSES = {"", "SIL"}


def letter(label):
    """A capital letter without accents."""
    return "".join(mark for mark in unicodedata.normalize("NFD", label.upper()) if not unicodedata.combining(mark))


def read_reference(path):
    """Phones with their times, without pauses."""
    phones = []
    for line in path.read_text(encoding="utf-8").splitlines():
        phone, begin, end = line.split()
        if phone not in PAUSES:
            phones.append((letter(phone), float(begin), float(end)))
    return phones


def read_alignment(table):
    """Phones and words of each recording, with their times, without pauses."""
    found = {}
    with open(table, encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            label = letter(row["label"])
            if row["type"] in ("word", "phone") and label not in PAUSES:
                intervals = found.setdefault(Path(row["recording"]).name, {"word": [], "phone": []})
                intervals[row["type"]].append((label, float(row["begin"]), float(row["end"])))
    return found


def distances_of(own, phones):
    """Signed distances of the boundaries of phones, and of those of words; None if the phones are others."""
    if [phone for phone, _, _ in own["phone"]] != [phone for phone, _, _ in phones]:
        return None
    of_phones, of_words = [], []
    for i, ((_, begin, end), (_, own_begin, own_end)) in enumerate(zip(phones, own["phone"])):
        of_phones.append(own_begin - begin)
        if i + 1 == len(phones) or phones[i + 1][1] > end + 1e-3:
            of_phones.append(own_end - end)
    for _, own_begin, own_end in own["word"]:
        inside = [i for i, (_, begin, end) in enumerate(own["phone"]) if begin > own_begin - 1e-4 and end < own_end + 1e-4]
        of_words += [own_begin - phones[inside[0]][1], own_end - phones[inside[-1]][2]]
    return of_phones, of_words


def main():
    results, folder = map(Path, sys.argv[1:])
    references = {path.stem: path for path in folder.rglob("*.txt")}
    found = read_alignment(results / "alignment.csv")
    of_phones, of_words, compared, others, missing = [], [], 0, 0, 0
    for name, own in found.items():
        if name not in references:
            missing += 1
            continue
        distances = distances_of(own, read_reference(references[name]))
        if distances is None:
            others += 1
            continue
        compared += 1
        of_phones += distances[0]
        of_words += distances[1]
    print(f"{len(found)} recordings are aligned: {compared} are compared, {others} have other phones in the reference, {missing} have no reference")
    if not compared:
        sys.exit("no recording could be compared")
    shift = statistics.median(of_phones)
    print(f"the reference is {-1000 * shift:.0f} ms late; without that")
    for name, signed in ("phones", of_phones), ("words", of_words):
        apart = sorted(abs(distance - shift) for distance in signed)
        within = ", ".join(f"{ms} ms {100 * sum(d <= ms / 1000 + 1e-6 for d in apart) / len(apart):.1f} %" for ms in (10, 20, 25, 50))
        print(f"{len(apart)} boundaries of {name}: within {within}; "
              f"median {1000 * statistics.median(apart):.0f} ms, mean {1000 * statistics.mean(apart):.1f} ms")


if __name__ == "__main__":
    main()
